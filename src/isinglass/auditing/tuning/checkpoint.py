"""Checkpoint of a search: every evaluation in one file."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import field_checks
from isinglass.auditing.tuning.evaluation import AttackerGain, Measurement
from isinglass.auditing.tuning.workers import Task
from isinglass.documents import BrokenDocumentError, read_json
from isinglass.errors import AuditError

Array = NDArray[Any]
FORMAT = "isinglass-tune-2"
_FORMER = ("isinglass-tune-1",)
_LARGEST_SHARE = 10.0  # of a gain's interval, which may reach a little beyond 1


@dataclass(slots=True)
class Book:
    """Measurements already made, in memory and, where one was named, in a file."""

    seed: int
    path: Path | None = None
    entries: dict[str, Measurement] = field(default_factory=dict)

    @classmethod
    def open(
        cls, path: str | Path | None, X: Array, asked: dict[str, Any], seed: int | None
    ) -> Book:
        if path is None:
            return cls(secrets.randbelow(2**31) if seed is None else seed)
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8") if path.exists() else ""
        except OSError as error:
            raise AuditError(f"{path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise AuditError(f"{path} is not a file that a search can go on from") from None
        # A digest under a salt of its own: the file says nothing about the table but "the same".
        lines = text.splitlines()
        if not lines:
            head: dict[str, Any] = {
                "format": FORMAT,
                "seed": secrets.randbelow(2**31) if seed is None else seed,
                "salt": secrets.token_hex(16),
            }
            head["table"] = _digest(X, asked, head["salt"])
            book = cls(head["seed"], path)
            book._write(json.dumps(head))
            return book
        try:
            head = read_json(lines[0])
            if head["format"] in _FORMER:
                raise AuditError(
                    f"{path} was kept by an earlier version, which measured less; begin a new file"
                )
            salt = field_checks.word(head["salt"], "salt")
            same = head["table"] == _digest(X, asked, salt)
            book = cls(field_checks.whole(head["seed"], "seed"), path)
            for line in lines[1:]:
                entry = _parsed(line)
                if entry is not None:  # a last line that was cut short is measured again
                    of = field_checks.word(entry["of"], "of", longest=1_000)
                    book.entries[of] = _measurement(entry["found"])
        except (ValueError, LookupError, TypeError):
            raise AuditError(f"{path} is not a file that a search can go on from") from None
        if not same or (seed is not None and seed != book.seed):
            raise AuditError(f"{path} belongs to another table, or to a search with other settings")
        if not text.endswith("\n"):
            book._write("")  # what comes next must not end up behind a line that was cut short
        return book

    def seed_of(self, task: Task) -> int:
        """The seed of a task: its own, whenever and wherever it is measured."""
        words = hashlib.sha256(f"{self.seed} {task.of}".encode()).digest()
        return int.from_bytes(words[:4], "little") >> 1

    def find(self, task: Task) -> Measurement | None:
        """The measurement, where it was made before."""
        return self.entries.get(task.name)

    def keep(self, task: Task, found: Measurement) -> None:
        """Note a measurement, in the file too."""
        self.entries[task.name] = found
        self._write(json.dumps({"of": task.name, "found": asdict(found)}))

    def _write(self, line: str) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise AuditError(f"{self.path} cannot be written: {error.strerror}") from None


def _measurement(facts: dict[str, Any]) -> Measurement:
    """A measurement as this program could have written it."""
    attackers = tuple(AttackerGain(**a) for a in facts["attackers"])
    steps = field_checks.names(facts["contenders"], "contenders")
    found = Measurement(**{**facts, "attackers": attackers, "contenders": steps})
    for name in ("n_outliers", "n_labeled", "n_scored"):
        field_checks.whole(getattr(found, name), name)
    _share(found.detection, "detection")
    for area in (found.auc_table, found.auc_release):
        if area is not None:
            _share(area, "auc")
    told: tuple[Measurement | AttackerGain, ...] = (found, *attackers)
    for one in told:
        field_checks.word(one.strongest, "strongest")
        for name in ("gain", "gain_low", "gain_high"):
            _share(getattr(one, name), name)
    for attacker in attackers:
        field_checks.word(attacker.name, "name")
    return found


def _share(value: Any, name: str) -> None:
    if abs(field_checks.number(value, name)) > _LARGEST_SHARE:
        raise ValueError(f"{name} must be a share")


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        return dict(read_json(line))
    except BrokenDocumentError:
        return None


def _digest(X: Array, asked: dict[str, Any], salt: str) -> str:
    key = hashlib.sha256(salt.encode() + json.dumps(asked, sort_keys=True).encode())
    key.update(str(X.shape).encode() + np.ascontiguousarray(X).tobytes())
    return key.hexdigest()
