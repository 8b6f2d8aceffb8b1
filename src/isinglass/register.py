"""The owner's private register of releases: has this table, or most of it, left before?"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.errors import ReleaseError

_SKETCH = 256
# Two tables are the same for us when this share of the smaller one's rows is in the other.
_SHARED = 0.1


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Keyed digests of a table: of every column's values, and of a sample of its rows.

    Neither depends on the order of rows or columns. The sample is the rows with the smallest
    digests, so two tables that share rows share digests (a bottom-k sketch). Without the
    register's secret a digest says nothing about a value; nobody but the owner holds either.
    """

    n_rows: int
    columns: tuple[str, ...] = field(repr=False)
    rows: tuple[int, ...] = field(repr=False)

    def same_rows_as(self, other: Fingerprint) -> bool:
        """Do the two tables share rows, or have the same rows with columns added or left out?"""
        fewest = min(len(self.columns), len(other.columns))
        alike = len(set(self.columns) & set(other.columns))
        if self.n_rows == other.n_rows and fewest and alike >= max(1, fewest / 2):
            return True
        # Among the smallest digests of both, those in both estimate the share of common rows.
        union = sorted(set(self.rows) | set(other.rows))[:_SKETCH]
        common = len(set(union) & set(self.rows) & set(other.rows))
        smaller, larger = sorted((max(self.n_rows, 1), max(other.n_rows, 1)))
        jaccard = common / max(len(union), 1)
        return jaccard * (smaller + larger) / (1 + jaccard) >= _SHARED * smaller


class Fingerprinter:
    """Gathers a fingerprint block by block.

    Values are rounded to float32 first, so that a table and its copy as text look the same.
    """

    def __init__(self, secret: bytes, names: Sequence[str]) -> None:
        self._secret = secret
        self._n_rows = 0
        self._factors = [self._word(b"column", name.encode()) | 1 for name in names]
        self._sums = np.zeros((len(names), 2), dtype=np.uint64)
        self._rows = np.empty(0, dtype=np.uint64)
        self._mixer = np.uint64(self._word(b"rows", b"") | 1)

    def _word(self, kind: bytes, text: bytes) -> int:
        digest = hashlib.blake2b(text, key=self._secret, person=kind, digest_size=8)
        return int.from_bytes(digest.digest(), "little")

    def add(self, block: NDArray[Any]) -> None:
        """Take in rows."""
        total = np.zeros(len(block), dtype=np.uint64)
        with np.errstate(over="ignore"):
            for j, factor in enumerate(self._factors):
                # Adding zero turns -0.0 into 0.0.
                bits = (block[:, j].astype(np.float32) + np.float32(0)).view(np.uint32)
                words = bits.astype(np.uint64)
                self._sums[j, 0] += words.sum(dtype=np.uint64)
                self._sums[j, 1] += (words * words).sum(dtype=np.uint64)
                words *= np.uint64(factor)
                total += words
            # The low bits of a sum of products are weak; fold the high ones in.
            total ^= total >> np.uint64(32)
            total *= self._mixer
            total ^= total >> np.uint64(29)
        self._n_rows += len(block)
        self._rows = np.union1d(self._rows, _smallest(total))[:_SKETCH]

    def result(self) -> Fingerprint:
        """The fingerprint of all rows so far."""
        columns = []
        for sums in self._sums:
            text = b"%d:%d:%d" % (self._n_rows, *sums.tolist())
            digest = hashlib.blake2b(text, key=self._secret, person=b"values", digest_size=16)
            columns.append(digest.hexdigest())
        return Fingerprint(self._n_rows, tuple(sorted(columns)), tuple(self._rows.tolist()))


def _smallest(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """At least the `_SKETCH` smallest different words, cheaply, unless rows repeat a lot."""
    if len(words) > 4 * _SKETCH:
        first = np.partition(words, 4 * _SKETCH)[: 4 * _SKETCH]
        if len(np.unique(first)) >= _SKETCH:
            return first
    return words


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the register."""

    when: str
    release: str
    method: str
    fingerprint: Fingerprint


class Register:
    """An append-only file in the owner's home, with the secret that keys its digests beside it."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = Path(folder) if folder is not None else _home()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._secret = self._read_secret()
        except OSError as error:
            raise ReleaseError(
                f"the register of releases in {self._folder} cannot be used: {error.strerror}; "
                "name another folder in ISINGLASS_HOME"
            ) from None

    @property
    def _path(self) -> Path:
        return self._folder / "releases.jsonl"

    def fingerprinter(self, names: Sequence[str]) -> Fingerprinter:
        """Something to feed a table's rows to."""
        return Fingerprinter(self._secret, names)

    def earlier(self, fingerprint: Fingerprint) -> list[Entry]:
        """Releases of the same rows that were made before."""
        return [e for e in self._entries() if e.fingerprint.same_rows_as(fingerprint)]

    def add(self, fingerprint: Fingerprint, *, release: str, method: str) -> None:
        """Note a release, durably, before it is handed over."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        line = json.dumps(asdict(Entry(now, release, method, fingerprint))) + "\n"
        try:
            with self._locked() as handle:
                # A line that a crash cut short must not swallow this one.
                whole = not os.path.getsize(self._path) or self._path.read_bytes()[-1:] == b"\n"
                os.write(handle, (line if whole else "\n" + line).encode())
                os.fsync(handle)
        except OSError as error:
            raise ReleaseError(
                f"the register of releases cannot be written: {error.strerror}"
            ) from None

    def _entries(self) -> Iterator[Entry]:
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                facts = json.loads(line)
                stored = facts.pop("fingerprint")
                prints = Fingerprint(
                    stored["n_rows"], tuple(stored["columns"]), tuple(stored["rows"])
                )
                yield Entry(**facts, fingerprint=prints)
            except (ValueError, KeyError, TypeError):
                continue  # a line cut short by a crash: its release was never handed over

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            with contextlib.suppress(ImportError):
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)

    def _read_secret(self) -> bytes:
        path = self._folder / "register.secret"
        if not path.exists():
            # Written aside and linked, so that two first uses at once agree on one secret.
            aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            handle = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(32))
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(aside, path)
            aside.unlink()
        secret = path.read_bytes()
        if len(secret) != 32:
            raise ReleaseError(
                f"{path} is damaged; move the folder away to start a new register of releases"
            )
        return secret


def _home() -> Path:
    if home := os.environ.get("ISINGLASS_HOME"):
        return Path(home)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "isinglass"
