"""SQLite backend."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isinglass import files
from isinglass.curate.ledger.backends import base as store
from isinglass.curate.ledger.backends.base import (
    ADD,
    ADD_COUNTS,
    BY_QUERY,
    NEWEST,
    Database,
    RedactedErrors,
    new_file,
    schema,
)
from isinglass.curate.ledger.entries import Entry
from isinglass.errors import LedgerError, PrivacyWarning
from isinglass.messages import warn

_PROBES = 512  # digests looked up by one statement


class SQLite(Database):
    """A file, its write-ahead log beside it; every commit is on the disk before it returns."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.name, self._path, self.empty = str(path), path, False
        self._told = RedactedErrors(f"the ledger {self.name}", self._why)
        with self._told:
            if create:
                with contextlib.suppress(FileExistsError):
                    # SQLite gives the files beside this one its mode.
                    files.create_private(path)
                    self.made = True
            self._file = files.identity(self.name)
            self._db = sqlite3.connect(
                path, timeout=store.LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(create)
            except BaseException:
                self.discard()
                raise
        if self.empty:
            return
        if open_to_others := [p for p in self._files() if files.open_to_others(p)]:
            warn(
                PrivacyWarning(f"others can read the ledger {path}, which holds records asked "
                               f"about; run `chmod 600 {' '.join(map(str, open_to_others))}`"),
            )  # fmt: skip

    def _files(self) -> list[Path]:
        """The file, and while it is in use its log and the log's index."""
        names = (self._path.with_name(self._path.name + end) for end in ("", "-wal", "-shm"))
        return [path for path in names if path.exists()]

    def discard(self) -> None:
        # Under the lock: whoever waits for it looks afterwards whether the file is still there.
        with contextlib.suppress(LedgerError, OSError, sqlite3.Error):
            self.rollback()
            if self.made:
                self.begin()
                fresh = self._rows("SELECT count(*) FROM sqlite_schema") == [(0,)]
                if fresh or self.last() is None:
                    for path in self._files():
                        path.unlink(missing_ok=True)
        self._db.close()

    def _pragma(self, name: str) -> Any:
        return self._db.execute(f"PRAGMA {name}").fetchone()[0]

    def _prepare(self, create: bool) -> None:
        tables = "SELECT count(*) FROM sqlite_schema"
        # In this order: another first use may be making them, and sets both at once.
        some = self._rows(tables) != [(0,)]
        ours = self._pragma("application_id") == 1769172583
        if some and not ours:
            raise LedgerError(f"{self.name} is another program's database, not a ledger")
        if not ours and not create:
            self.empty = True
            return
        # An answer is one short entry: small pages are less to write and to sync for each.
        self._db.execute("PRAGMA page_size = 1024")
        self._db.execute("PRAGMA synchronous = FULL")
        # Two first uses at once: going over to a log does not wait for its turn by itself.
        until = time.monotonic() + store.LOCK_TIMEOUT_S
        while True:
            try:
                mode = self._pragma("journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > until:
                    raise
                time.sleep(0.02)
        if not ours:
            with self.locked():
                if self._rows(tables) == [(0,)]:
                    for statement in schema("sqlite.sql"):
                        self._db.execute(statement)
        if (mode, self._pragma("synchronous"), self._pragma("user_version")) != ("wal", 2, 1):
            raise LedgerError(
                f"{self.name} cannot be written durably: SQLite does not keep a write-ahead log "
                "with full synchronization there; use a local disk, and this version of isinglass"
            )

    def _why(self, error: BaseException) -> str | None:
        if isinstance(error, sqlite3.Error):
            code = getattr(error, "sqlite_errorname", type(error).__name__)
            return next((why for name, why in _SQLITE.items() if code.startswith(name)), code)
        return error.strerror if isinstance(error, OSError) else None

    def begin(self) -> None:
        with self._told:
            self.rollback()  # of what an interrupt may have left
            self._db.execute("BEGIN IMMEDIATE")
            if files.identity(self.name) != self._file:
                self.rollback()
                raise LedgerError(f"{self.name} was replaced while it was open; open it again")

    def commit(self) -> None:
        with self._told:
            self._db.execute("COMMIT")

    def rollback(self) -> None:
        if self._db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._told:
            return self._db.execute(statement, values).fetchall()

    def add(self, entries: Sequence[Entry]) -> None:
        with self._told:
            if len(entries) == 1:
                self._db.execute(ADD, entries[0])
            else:
                self._db.executemany(ADD, entries)

    def has_counts(self) -> bool:
        table = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'noised_counts'"
        return bool(self._rows(table) != [(0,)])

    def prepare_counts(self) -> None:
        if not self.has_counts():
            with self._told:
                for statement in schema("sqlite_counts.sql"):
                    self._db.execute(statement)

    def add_counts(self, seq: int, data: bytes) -> None:
        with self._told:
            self._db.execute(ADD_COUNTS, (seq, data))

    def by_query(
        self, digests: Sequence[bytes], version: int, user: str | None = None
    ) -> list[Entry]:
        only, value = store.whose(user)
        if len(digests) == 1:
            rows = self._rows(NEWEST.format(whose=only), (digests[0], version, *value))
            return [Entry._make(row) for row in rows]
        found: list[Entry] = []
        for first in range(0, len(digests), _PROBES):
            some = list(digests[first : first + _PROBES])
            some += some[-1:] * (_PROBES - len(some))  # one statement, so that it stays prepared
            among = f"IN ({', '.join('?' * _PROBES)})"
            rows = self._rows(BY_QUERY.format(among=among, whose=only), (*some, version, *value))
            found += [Entry._make(row) for row in rows]
        return found

    def copy(self, path: Path) -> None:
        with new_file(path) as new:
            other = SQLite(new)
            with contextlib.closing(other), self._told:
                self._db.backup(other._db)

    def close(self) -> None:
        self._db.close()


_SQLITE = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_BUSY": f"another process has held it for {store.LOCK_TIMEOUT_S:.0f} s",
    "SQLITE_READONLY": "it may not be written to",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_NOTADB": "it is not a ledger",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_IOERR": "the disk does not take or give its bytes, or is full",
}
