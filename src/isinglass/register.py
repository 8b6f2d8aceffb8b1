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
from isinglass.table.write import sync

_SKETCH = 256
# Two tables are the same for us when this share of the smaller one's rows is in the other.
_SHARED = 0.1

Sketch = tuple[int, ...]
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Keyed digests of a table: of every column's values, and of a sample of its rows.

    None depends on the order of rows or columns. The sample is the rows with the smallest
    digests, so two tables that share rows share digests (a bottom-k sketch). It is taken twice:
    `rows` knows the columns by their names, `nameless` does not know which value is in which
    column. Without the register's secret a digest says nothing about a value; nobody but the
    owner holds either.
    """

    n_rows: int
    columns: tuple[str, ...] = field(repr=False)
    rows: tuple[int, ...] = field(repr=False)
    nameless: tuple[int, ...] = field(repr=False, default=())

    def same_rows_as(self, other: Fingerprint) -> bool:
        """Do the two tables share rows, or have the same rows with columns added or left out?"""
        fewest = min(len(self.columns), len(other.columns))
        alike = len(set(self.columns) & set(other.columns))
        if self.n_rows == other.n_rows and fewest and alike >= max(1, fewest / 2):
            return True
        return _share_rows(self.rows, self.n_rows, other.rows, other.n_rows) or _share_rows(
            self.nameless, self.n_rows, other.nameless, other.n_rows
        )


def _share_rows(one: Sketch, n_one: int, two: Sketch, n_two: int) -> bool:
    """Is a tenth of the smaller table's rows in the other, by the sketches of both?"""
    if not one or not two or _repetitive(one, n_one) or _repetitive(two, n_two):
        return False
    # Among the smallest digests of both, those in both estimate the share of common rows.
    union = sorted({*one, *two})[:_SKETCH]
    jaccard = len({*union} & {*one} & {*two}) / len(union)
    return jaccard * (n_one + n_two) / (1 + jaccard) >= _SHARED * min(n_one, n_two)


def _repetitive(sketch: Sketch, n_rows: int) -> bool:
    """Do most rows occur several times? Then other tables have the same ones by chance."""
    different: float = len(sketch)
    if len(sketch) == _SKETCH:
        different = (_SKETCH - 1) * 2.0**64 / (sketch[-1] + 1)
    return different < n_rows / 2


class Fingerprinter:
    """Gathers a fingerprint block by block.

    Values are rounded to float32 first, so that a table and its copy as text look the same.
    """

    def __init__(self, secret: bytes, names: Sequence[str]) -> None:
        self._secret = secret
        self._n_rows = 0
        self._factors = [np.uint64(self._word(b"column", n.encode()) | 1) for n in names]
        self._sums = np.zeros((len(names), 2), dtype=np.uint64)
        self._first = np.zeros(len(names), dtype=np.uint64)
        self._varies = np.zeros(len(names), dtype=bool)
        self._rows = np.empty(0, dtype=np.uint64)
        self._nameless = np.empty(0, dtype=np.uint64)
        self._mixer = np.uint64(self._word(b"rows", b"") | 1)
        self._offset = np.uint64(self._word(b"nameless", b""))

    def _word(self, kind: bytes, text: bytes) -> int:
        digest = hashlib.blake2b(text, key=self._secret, person=kind, digest_size=8)
        return int.from_bytes(digest.digest(), "little")

    def add(self, block: NDArray[Any]) -> None:
        """Take in rows."""
        if len(block) == 0:
            return
        by_name = np.zeros(len(block), dtype=np.uint64)
        nameless = np.full(len(block), self._offset)
        words, squares = np.empty((2, len(block)), dtype=np.uint64)
        numbers = np.empty(len(block), dtype=np.float32)
        bits = numbers.view(np.uint32)
        with np.errstate(over="ignore"):
            for j, factor in enumerate(self._factors):
                numbers[:] = block[:, j]
                numbers += np.float32(0)  # turns -0.0 into 0.0
                words[:] = bits
                if self._n_rows == 0:
                    self._first[j] = bits[0]
                self._varies[j] = self._varies[j] or (words != self._first[j]).any()
                np.multiply(words, words, out=squares)
                self._sums[j, 0] += words.sum()
                self._sums[j, 1] += squares.sum()
                nameless += squares
                words *= factor
                by_name += words
            self._rows = self._smallest(self._rows, by_name)
            self._nameless = self._smallest(self._nameless, nameless)
        self._n_rows += len(block)

    def _smallest(self, sketch: Words, sums: Words) -> Words:
        """Join the digests made of these sums to a sketch."""
        # The low bits of a sum of products are weak; fold the high ones in.
        sums ^= sums >> np.uint64(32)
        sums *= self._mixer
        sums ^= sums >> np.uint64(29)
        if len(sketch) == _SKETCH:
            sums = sums[sums < sketch[-1]]
        return np.union1d(sketch, sums)[:_SKETCH]

    def result(self) -> Fingerprint:
        """The fingerprint of all rows so far."""
        # A column of one value says nothing about which table it is in, unless all are such.
        telling = self._varies if self._varies.any() else ~self._varies
        columns = []
        for sums in self._sums[telling]:
            text = b"%d:%d:%d" % (self._n_rows, *sums.tolist())
            digest = hashlib.blake2b(text, key=self._secret, person=b"values", digest_size=16)
            columns.append(digest.hexdigest())
        sketches = (tuple(sketch.tolist()) for sketch in (self._rows, self._nameless))
        return Fingerprint(self._n_rows, tuple(sorted(columns)), *sketches)


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
    def folder(self) -> Path:
        """Where the register is kept."""
        return self._folder

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
                size = os.fstat(handle).st_size
                whole = size == 0 or os.pread(handle, 1, size - 1) == b"\n"
                data = (line if whole else "\n" + line).encode()
                while data:
                    data = data[os.write(handle, data) :]
                os.fsync(handle)
            if size == 0:
                sync(self._folder)
        except OSError as error:
            raise ReleaseError(
                f"the register of releases cannot be written: {error.strerror}"
            ) from None

    def _entries(self) -> Iterator[Entry]:
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise ReleaseError(
                f"the register of releases {self._path} cannot be read: {error.strerror}"
            ) from None
        for line in lines:
            try:
                facts = json.loads(line)
                stored = facts["fingerprint"]
                sketches = (tuple(stored.get(name, ())) for name in ("columns", "rows", "nameless"))
                prints = Fingerprint(stored["n_rows"], *sketches)
                yield Entry(facts["when"], facts["release"], facts["method"], prints)
            except (ValueError, LookupError, TypeError, AttributeError):
                continue  # a line cut short by a crash: its release was never handed over

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
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
            try:
                os.link(aside, path)
            except FileExistsError:
                pass
            finally:
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
