"""Open the database of a ledger: a file of SQLite, or what a `postgresql://` address names."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from isinglass import files
from isinglass.curate.ledger.backends.base import Database, MissingDatabase
from isinglass.errors import LedgerError

WITHOUT_LOCKS = (
    "ledgers need file locks, which Python does not have on this operating system; keep the "
    "ledger on Linux or macOS"
)


def connect(where: str | Path, *, make: bool = False) -> Database:
    """The database at a path or a `postgresql://` address; `MissingDatabase` if none is there.

    It is made only if `make` says so.
    """
    if not files.LOCKS:
        raise LedgerError(WITHOUT_LOCKS)
    scheme = re.match(r"([A-Za-z][\w+.-]*)://", where) if isinstance(where, str) else None
    found: Database
    if scheme is not None:
        if scheme[1] not in ("postgresql", "postgres"):  # the rest may hold a password
            raise LedgerError(
                "a ledger is a file, or a postgresql:// address, got one that begins with "
                f"{scheme[1]}://"
            )
        from isinglass.curate.ledger.backends.postgresql import PostgreSQL

        found = PostgreSQL(str(where), create=make)
    else:
        from isinglass.curate.ledger.backends.sqlite import SQLite

        path = Path(where).absolute()
        if not make and not path.exists():
            if not path.parent.is_dir():
                raise LedgerError(f"the ledger {path} cannot be used: {os.strerror(errno.ENOENT)}")
            return MissingDatabase(str(path))
        found = SQLite(path, create=make)
    if found.empty:
        found.close()
        return MissingDatabase(found.name)
    return found
