"""Register of releases, private to the owner, by keyed digests of tables."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isinglass import field_checks, files
from isinglass.documents import read_json
from isinglass.errors import ReleaseError
from isinglass.messages import spell
from isinglass.table.fingerprint import Fingerprint, Fingerprinter

#: tables that were counted for a model: their own scores are their owner's
_COUNTED = "counted.jsonl"


@dataclass(frozen=True, slots=True)
class RegisteredRelease:
    """One line of the register, by its number; `never_left` says why it does not count."""

    when: str
    release: str
    method: str
    fingerprint: Fingerprint
    #: Keyed digest of the file's bytes; None in lines of earlier versions.
    digest: str | None = None
    entry: int = 0  # its line's number
    never_left: str | None = None


class Register:
    """An append-only file in the owner's home, with the secret that keys its digests beside it."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = Path(folder) if folder is not None else files.home()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._secret = self._read_secret()
        except OSError as error:
            raise ReleaseError(
                f"the register of releases in {self._folder} cannot be used: {error.strerror}; "
                "name another folder in ISINGLASS_HOME"
            ) from None

    @classmethod
    def begun(cls) -> bool:
        """Whether a release was ever noted here; unlike opening the register, writes nothing."""
        return (files.home() / "releases.jsonl").exists()

    @classmethod
    def has_counted(cls) -> bool:
        """Whether a table was ever counted for a model here; writes nothing."""
        try:
            (files.home() / _COUNTED).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # it may well be there: reading it says what is wrong
            return True
        return True

    @property
    def folder(self) -> Path:
        """Where the register is kept."""
        return self._folder

    @property
    def _path(self) -> Path:
        return self._folder / "releases.jsonl"

    def fingerprinter(self, names: Sequence[str]) -> Fingerprinter:
        """Something to feed a table's rows to."""
        return Fingerprinter(self._secret, names)

    def earlier(self, fingerprint: Fingerprint) -> list[RegisteredRelease]:
        """Releases of the same rows that were made before, but for those that never left."""
        return [e for e in self.entries() if e.never_left is None and _same(e, fingerprint)]

    def never_left(self, fingerprint: Fingerprint) -> list[RegisteredRelease]:
        """Releases of the same rows that are marked as never having left."""
        return [e for e in self.entries() if e.never_left is not None and _same(e, fingerprint)]

    def mark_never_left(self, entry: int, reason: str) -> RegisteredRelease:
        """Note that a release was made and never handed over; its own line stays as it is."""
        if not (0 < len(reason) <= field_checks.LONGEST_NAME and reason.isprintable()):
            raise ValueError("reason must be some printable characters")
        try:
            with files.open_to_append(self._path) as handle:
                marked = next((e for e in self.entries() if e.entry == entry), None)
                if marked is None:
                    raise ReleaseError(f"the register of releases has no entry {entry}")
                if marked.never_left is not None:
                    raise ReleaseError(f"entry {entry} is marked already: {marked.never_left}")
                facts = {"when": _now(), "never_left": entry, "reason": reason}
                files.append_line(handle, json.dumps(facts))
        except OSError as error:
            raise ReleaseError(
                f"the register of releases cannot be written: {error.strerror}"
            ) from None
        return replace(marked, never_left=reason)

    def add(
        self,
        fingerprint: Fingerprint,
        *,
        release: str,
        method: str,
        digest: str | None = None,
        again: bool = False,
    ) -> None:
        """Note a release, durably, before it is handed over; two at once do not both pass."""
        facts = {"when": _now(), "release": release, "method": method}
        facts |= {} if digest is None else {"digest": digest}
        line = json.dumps(facts | {"fingerprint": fingerprint.to_json()})
        try:
            with files.open_to_append(self._path) as handle:
                if not again and self.earlier(fingerprint):
                    raise ReleaseError(
                        "the same rows were released by someone else at this very moment; pass "
                        f"{spell('again', True)} if that is meant"
                    )
                first = files.append_line(handle, line)
            if first:
                files.sync(self._folder)
        except OSError as error:
            raise ReleaseError(
                f"the register of releases cannot be written: {error.strerror}"
            ) from None

    def note_counted(self, path: str | Path) -> None:
        """Note that a file was counted for a model, so that nobody scores it by mistake."""
        real = os.path.realpath(path)
        try:
            line = json.dumps({"path": real, "digest": self.file_digest(real)})
            with files.open_to_append(self._folder / _COUNTED) as handle:
                files.append_line(handle, line)
        except OSError as error:
            raise ReleaseError(
                f"{path} cannot be noted in {self._folder}: {error.strerror}"
            ) from None

    def was_counted(self, path: str | Path) -> bool:
        """Whether a file is one that was counted for a model: the same path or bytes."""
        real = os.path.realpath(path)
        counted = self._folder / _COUNTED
        try:
            lines = [line for line in counted.read_bytes().split(b"\n") if line]
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ReleaseError(
                f"the register of counted tables {counted} cannot be read: {error.strerror}"
            ) from None
        digest, cut = self.file_digest(real), 0
        for line in lines:
            try:
                facts = read_json(line)
                if facts["path"] == real or facts["digest"] == digest:
                    return True
            except (ValueError, LookupError, TypeError):
                cut += 1  # a line cut short by a crash
        if lines and cut == len(lines):
            raise ReleaseError(
                f"the register of counted tables {counted} is damaged: it names no table; move it "
                "away to begin another"
            )
        return False

    def file_digest(self, path: str | Path) -> str:
        """Keyed digest of a file's bytes, which tells nobody else which file it is of."""
        with open(path, "rb") as file:
            return hmac.new(
                self._secret, hashlib.file_digest(file, "sha256").digest(), "sha256"
            ).hexdigest()

    def entries(self) -> list[RegisteredRelease]:
        """All releases, in their order, each with what was noted about it later."""
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ReleaseError(
                f"the register of releases {self._path} cannot be read: {error.strerror}"
            ) from None
        found: dict[int, RegisteredRelease] = {}
        for number, line in enumerate(lines, start=1):  # lines are only added: numbers stay
            try:
                facts = read_json(line)
                if "never_left" in facts:
                    marked = field_checks.whole(facts["never_left"], "never_left")
                    reason = field_checks.word(
                        facts["reason"], "reason", longest=field_checks.LONGEST_NAME
                    )
                    found[marked] = replace(found[marked], never_left=reason)
                    continue
                prints = Fingerprint.from_json(facts["fingerprint"])
                when, release, method = (
                    field_checks.word(facts[name], name, longest=field_checks.LONGEST_NAME)
                    for name in ("when", "release", "method")
                )
                digest = facts.get("digest")
                if digest is not None:
                    digest = field_checks.word(digest, "digest")
                found[number] = RegisteredRelease(
                    when, release, method, prints, digest, entry=number
                )
            except (ValueError, LookupError, TypeError, AttributeError):
                continue  # a line cut short by a crash: its release was never handed over
        return list(found.values())

    def _read_secret(self) -> bytes:
        path = self._folder / "register.secret"
        if not path.exists():
            # Of two first uses at once, both take the secret of the one that came first.
            with contextlib.suppress(FileExistsError):
                files.write_new(path, secrets.token_bytes(32))
        secret = path.read_bytes()
        if len(secret) != 32:
            raise ReleaseError(
                f"{path} is damaged; move the folder away to start a new register of releases"
            )
        return secret


def _same(entry: RegisteredRelease, fingerprint: Fingerprint) -> bool:
    return entry.fingerprint.same_rows_as(fingerprint)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
