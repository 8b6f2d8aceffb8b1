"""Base class of ledger databases: one lock, appended rows, a few queries."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any

from isinglass import files
from isinglass.curate.ledger.entries import Entry
from isinglass.errors import LedgerError

LOCK_TIMEOUT_S = 60.0
PIECE = 10_000  # entries that are read at a time

COLUMNS = ", ".join(f'"{name}"' for name in Entry._fields)
_NEWER = f"SELECT {COLUMNS} FROM entries WHERE seq >= ? ORDER BY seq LIMIT {PIECE}"
_ONE = f"SELECT {COLUMNS} FROM entries WHERE seq = ?"
_LAST = f"SELECT {COLUMNS} FROM entries ORDER BY seq DESC LIMIT 1"
_BY_KEY = f'SELECT {COLUMNS} FROM entries WHERE "user" = ? AND "key" = ? ORDER BY seq'
# The newest answer to each query: drawing afresh leaves several. Perhaps of one user's alone.
BY_QUERY = (
    f"SELECT {COLUMNS} FROM entries WHERE seq IN (SELECT max(seq) FROM entries "
    "WHERE query {among} AND version = ?{whose} AND anomalous IS NOT NULL GROUP BY query)"
)
NEWEST = (
    f"SELECT {COLUMNS} FROM entries WHERE query = ? AND version = ?{{whose}} "
    "AND anomalous IS NOT NULL ORDER BY seq DESC LIMIT 1"
)
_WHOSE = ' AND "user" = ?'
ADD = f"INSERT INTO entries ({COLUMNS}) VALUES ({', '.join('?' * len(Entry._fields))})"
_CHANGES = f"SELECT {COLUMNS} FROM entries WHERE kind IN ('amend', 'version') ORDER BY seq"
_MODELS = f"SELECT {COLUMNS} FROM entries WHERE kind = 'model' ORDER BY seq"
_COUNTS = "SELECT data FROM noised_counts WHERE seq = ?"
_COUNTED = "SELECT seq FROM noised_counts ORDER BY seq"
ADD_COUNTS = "INSERT INTO noised_counts (seq, data) VALUES (?, ?)"
_ASKERS = (
    "SELECT \"user\", count(*), min(at), max(at) FROM entries WHERE kind = 'answer' "
    'GROUP BY "user" ORDER BY "user"'
)
_TOTALS = "SELECT kind, count(*), sum(micro) FROM entries GROUP BY kind ORDER BY kind"


class RedactedErrors:
    """Turns the errors of a database or a file into sentences without its own words.

    A database's words may quote a row, and a row holds an end user's record.
    """

    def __init__(self, name: str, why: Callable[[BaseException], str | None]) -> None:
        self._name, self._why = name, why

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is not None and (why := self._why(error)) is not None:
            raise LedgerError(f"{self._name} cannot be used: {why}") from None


class Database(ABC):
    """Where entries are kept."""

    #: where, fit to print: never a password
    name: str
    #: whether it was made by this very object
    made: bool = False
    #: whether nothing of a ledger was in it when it was opened
    empty: bool = False

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One transaction under the ledger's one lock, kept if the block ends well."""
        try:
            self.begin()
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise
        finally:
            self.rollback()  # should an interrupt have come before the one above

    @abstractmethod
    def begin(self) -> None: ...
    @abstractmethod
    def commit(self) -> None: ...
    @abstractmethod
    def rollback(self) -> None:
        """Undo a transaction, if there is one, and let go of the lock."""

    @abstractmethod
    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]: ...
    @abstractmethod
    def add(self, entries: Sequence[Entry]) -> None: ...
    @abstractmethod
    def by_query(
        self, digests: Sequence[bytes], version: int, user: str | None = None
    ) -> list[Entry]:
        """The newest answers to queries, of all users or of one."""

    @abstractmethod
    def close(self) -> None: ...
    @abstractmethod
    def discard(self) -> None:
        """Take away again what was made here, so long as nobody has written to it."""

    def since(self, seq: int) -> list[Entry]:
        """The entry `seq` and those after it, at most `PIECE` of them."""
        return [Entry._make(row) for row in self._rows(_NEWER, (seq,))]

    def entry(self, seq: int) -> Entry | None:
        """The entry of this number."""
        rows = self._rows(_ONE, (seq,))
        return Entry._make(rows[0]) if rows else None

    def last(self) -> Entry | None:
        """The newest entry."""
        rows = self._rows(_LAST)
        return Entry._make(rows[0]) if rows else None

    def by_key(self, user: str, key: str) -> list[Entry]:
        """What was asked under a user's key."""
        return [Entry._make(row) for row in self._rows(_BY_KEY, (user, key))]

    def changes(self) -> list[Entry]:
        """The entries that changed the terms or the table."""
        return [Entry._make(row) for row in self._rows(_CHANGES)]

    def models(self) -> list[Entry]:
        """The entries that models were paid for with."""
        return [Entry._make(row) for row in self._rows(_MODELS)]

    @abstractmethod
    def has_counts(self) -> bool:
        """Whether there is a table of noised counts: the first model brings it."""

    @abstractmethod
    def prepare_counts(self) -> None:
        """Make the table of noised counts, where there is none; inside a transaction."""

    @abstractmethod
    def add_counts(self, seq: int, data: bytes) -> None:
        """Keep noised counts beside the entry `seq`; inside a transaction."""

    def counts(self, seq: int) -> bytes | None:
        """The noised counts that were kept beside an entry."""
        rows = self._rows(_COUNTS, (seq,)) if self.has_counts() else []
        return bytes(rows[0][0]) if rows else None

    def counted(self) -> list[int]:
        """The numbers of the entries that have noised counts beside them."""
        return [seq for (seq,) in self._rows(_COUNTED)] if self.has_counts() else []

    def totals(self) -> list[tuple[str, int, int]]:
        """Kinds of entries, how many, and what they cost."""
        return [(kind, count, int(micro)) for kind, count, micro in self._rows(_TOTALS)]

    def askers(self) -> list[tuple[str, int, str, str]]:
        """Who asked, how many answers they paid for, and when the first and the last."""
        return [tuple(row) for row in self._rows(_ASKERS)]

    @abstractmethod
    def copy(self, path: Path) -> None:
        """Write all entries, as they are now, to a new SQLite file, which is not there yet.

        With the noised counts that belong to them.
        """


class MissingDatabase(Database):
    """Where a ledger can be made, and is not yet: it has no entries and takes none."""

    def __init__(self, name: str) -> None:
        self.name = name

    def begin(self) -> None:
        pass

    def commit(self) -> None:
        pass

    def rollback(self) -> None:
        pass

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return []

    def add(self, entries: Sequence[Entry]) -> None:
        raise LedgerError(f"there is no ledger at {self.name}")

    def by_query(
        self, digests: Sequence[bytes], version: int, user: str | None = None
    ) -> list[Entry]:
        return []

    def has_counts(self) -> bool:
        return False

    def prepare_counts(self) -> None:
        raise LedgerError(f"there is no ledger at {self.name}")

    def add_counts(self, seq: int, data: bytes) -> None:
        raise LedgerError(f"there is no ledger at {self.name}")

    def copy(self, path: Path) -> None:
        raise LedgerError(f"there is no ledger at {self.name}")

    def close(self) -> None:
        pass

    def discard(self) -> None:
        pass


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A new file that becomes `path` only when it is whole, and never in the place of another."""
    try:
        with files.linked_file(path) as new:
            yield new
    except FileExistsError:
        raise LedgerError(f"{path} is already there; name another file") from None
    except OSError as error:
        raise LedgerError(f"{path} cannot be written: {error.strerror}") from None


def whose(user: str | None) -> tuple[str, tuple[str, ...]]:
    """A condition, and its value, that leaves one user's entries; nothing for all users'."""
    return ("", ()) if user is None else (_WHOSE, (user,))


def schema(name: str) -> list[str]:
    """The statements of a file beside this one, each ending a paragraph."""
    text = (
        resources.files("isinglass.curate.ledger.backends")
        .joinpath(name)
        .read_text(encoding="utf-8")
    )
    return text.split("\n\n")
