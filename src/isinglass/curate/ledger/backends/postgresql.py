"""PostgreSQL backend: a schema of its own, an advisory lock, durable settings checked."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isinglass.curate.ledger.backends import base as store
from isinglass.curate.ledger.backends.base import (
    ADD,
    ADD_COUNTS,
    BY_QUERY,
    COLUMNS,
    PIECE,
    Database,
    RedactedErrors,
    new_file,
    schema,
)
from isinglass.curate.ledger.backends.sqlite import SQLite
from isinglass.curate.ledger.entries import Entry
from isinglass.errors import LedgerError


class PostgreSQL(Database):
    """A schema of a PostgreSQL database, named by its address; one ledger in each schema."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        try:
            import psycopg
        except ImportError:
            raise LedgerError(
                "a ledger in PostgreSQL needs psycopg; run pip install 'isinglass[postgres]'"
            ) from None
        self._psycopg, self._url, self._inside, self.empty = psycopg, url, False, False
        self.name = self._address(url)
        self._told = RedactedErrors(f"the ledger {self.name}", self._why)
        with self._told:
            self._open()
            try:
                self._prepare(create)
            except BaseException:
                self._db.close()
                raise

    def _address(self, url: str) -> str:
        """Host and database, read as the server's own library does: never a password."""
        with contextlib.suppress(self._psycopg.Error):
            parts = self._psycopg.conninfo.conninfo_to_dict(url)
            host, port = str(parts.get("host", "")), str(parts.get("port", ""))
            name = str(parts.get("dbname", ""))
            # A password with a slash or a question mark in it would be taken for one of these.
            if re.fullmatch(r"[\d,]*", port) and "@" not in host + name:
                return f"postgresql://{host}{':' if port else ''}{port}/{name}"
        raise LedgerError(
            "the postgresql:// address cannot be read; in a password, write / ? # @ as %2F %3F "
            "%23 %40"
        )

    def _open(self) -> None:
        self._db = self._psycopg.connect(self._url, autocommit=True)
        self._db.execute(f"SET lock_timeout = {int(1000 * store.LOCK_TIMEOUT_S)}")
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            row = self._db.execute(f"SHOW {setting}").fetchone()
            if row is None or row[0] == "off":
                self._db.close()
                raise LedgerError(
                    f"{self.name} cannot be written durably: its setting {setting} is off"
                )

    def _prepare(self, create: bool) -> None:
        with self.locked():
            table = self._rows(
                "SELECT c.relpersistence = 'p', obj_description(c.oid, 'pg_class') "
                "FROM pg_class c WHERE c.relname = 'entries' "
                "AND c.relnamespace = current_schema()::regnamespace"
            )
            if not table and not create:
                self.empty = True
            elif not table:
                self._db.execute("\n".join(schema("postgresql.sql")).encode(), prepare=False)
                self.made = True
            elif table[0] != (True, "isinglass ledger 1"):
                raise LedgerError(
                    f"the table `entries` at {self.name} is another program's, or not durable"
                )

    def _why(self, error: BaseException) -> str | None:
        if isinstance(error, self._psycopg.Error):
            code = getattr(error, "sqlstate", None) or ""
            why = next((why for name, why in _POSTGRESQL.items() if code.startswith(name)), code)
            return why or ("the server cannot be reached, or does not accept this user or database")
        return None

    def discard(self) -> None:
        with contextlib.suppress(LedgerError, self._psycopg.Error):
            if self.made:
                with self.locked():
                    if self.last() is None:
                        drop = b"DROP TABLE entries; DROP FUNCTION entries_only_added()"
                        self._db.execute(drop, prepare=False)
        self._db.close()

    def begin(self) -> None:
        # Each statement after the lock sees what was committed before it was granted.
        lock = f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({_LOCK})"
        try:
            self._run(lock.encode(), prepare=False)
        except BaseException:  # begun, but not locked
            self.rollback()
            raise
        self._inside = True

    def _run(self, statement: bytes, values: Sequence[Any] | None = None, **how: Any) -> Any:
        """Execute; on a connection that was lost meanwhile, once more on a new one.

        Never in the middle of a transaction: its first half is gone.
        """
        with self._told:
            try:
                return self._db.execute(statement, values, **how)
            except self._psycopg.OperationalError:
                if self._inside or not self._db.closed:
                    raise
            self._open()
            return self._db.execute(statement, values, **how)

    def commit(self) -> None:
        with self._told:
            done = self._db.execute("COMMIT", prepare=False)
        if done.statusmessage != "COMMIT":  # what was not kept is not answered
            raise LedgerError(f"the ledger {self.name} did not keep what was written")
        self._inside = False

    def rollback(self) -> None:
        self._inside = False
        idle = self._psycopg.pq.TransactionStatus.IDLE
        if self._db.info.transaction_status != idle:
            with contextlib.suppress(self._psycopg.Error):
                self._db.execute("ROLLBACK", prepare=False)
            # A connection that was cut while it waited never comes to rest; the next is a new one.
            if self._db.info.transaction_status != idle:
                self._db.close()

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        done = self._run(statement.replace("?", "%s").encode(), values, binary=True)
        with self._told:
            return list(done.fetchall())

    def add(self, entries: Sequence[Entry]) -> None:
        with self._told:
            if len(entries) == 1:
                self._db.execute(ADD.replace("?", "%s").encode(), entries[0])
                return
            statement = f"COPY entries ({COLUMNS}) FROM STDIN".encode()
            with self._db.cursor() as cursor, cursor.copy(statement) as copy:
                for entry in entries:
                    copy.write_row(entry)

    def has_counts(self) -> bool:
        table = self._rows(
            "SELECT c.relpersistence = 'p', obj_description(c.oid, 'pg_class') "
            "FROM pg_class c WHERE c.relname = 'noised_counts' "
            "AND c.relnamespace = current_schema()::regnamespace"
        )
        if table and table[0] != (True, "isinglass noised counts 1"):
            raise LedgerError(
                f"the table `noised_counts` at {self.name} is another program's, or not durable"
            )
        return bool(table)

    def prepare_counts(self) -> None:
        if not self.has_counts():
            with self._told:
                statements = "\n".join(schema("postgresql_counts.sql"))
                self._db.execute(statements.encode(), prepare=False)

    def add_counts(self, seq: int, data: bytes) -> None:
        with self._told:
            self._db.execute(ADD_COUNTS.replace("?", "%s").encode(), (seq, data))

    def by_query(
        self, digests: Sequence[bytes], version: int, user: str | None = None
    ) -> list[Entry]:
        only, value = store.whose(user)
        statement = BY_QUERY.format(among="= ANY(?)", whose=only)
        rows = self._rows(statement, (list(digests), version, *value))
        return [Entry._make(row) for row in rows]

    def copy(self, path: Path) -> None:
        with new_file(path) as new, contextlib.closing(SQLite(new)) as other:
            last, seq = self.last(), 1
            while last is not None and seq <= last.seq:
                # Entries that were added meanwhile wait for the next copy.
                entries = [entry for entry in self.since(seq) if entry.seq <= last.seq]
                with other.locked():
                    other.add(entries)
                seq += PIECE
            for seq in self.counted():
                data = self.counts(seq)
                if last is not None and seq <= last.seq and data is not None:
                    with other.locked():
                        other.prepare_counts()
                        other.add_counts(seq, data)

    def close(self) -> None:
        self._db.close()


# Any number does, so long as every isinglass that shares a server takes the same.
_LOCK = int.from_bytes(b"isinglas", "big") >> 1
_POSTGRESQL = {
    "53100": "the server's disk is full",
    "55P03": f"another process has held it for {store.LOCK_TIMEOUT_S:.0f} s",
    "42501": "the server does not allow this user to",
    "28": "the server does not accept this user",
    "3D000": "the server has no such database",
}
