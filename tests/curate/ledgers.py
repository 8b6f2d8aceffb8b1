"""Small ledgers on a line, whose sums can be worked out by hand."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isinglass.curate.ledger.contract import Contract
from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.query import Query
from isinglass.detect.metric import declare

LINE = declare("euclidean", None, None, 1)
TERMS = Contract(cap=10, modes=("sparse",), columns=("x",), metric={"name": "euclidean"})
TABLE = hashlib.sha256(b"table").digest()
OTHER = hashlib.sha256(b"another table").digest()


def query(x: float, micro: int = 1, *, r: float = 0.5, mode: str = "sparse") -> Query:
    """A query about one place of the line; those within 2r of each other share a budget."""
    return Query(np.array([x], dtype=np.float64), mode, 5, r, micro, influence=r)


def opened(where: str, terms: Contract = TERMS, table: bytes = TABLE, **how: Any) -> Ledger:
    """A ledger with its contract signed."""
    ledger = Ledger(where, **how)
    ledger.sign(terms, LINE, table)
    return ledger


def yes(queries: Sequence[Query]) -> list[bool]:
    """Draw: all anomalous."""
    return [True] * len(queries)


def no(queries: Sequence[Query]) -> list[bool]:
    """Draw: none anomalous."""
    return [False] * len(queries)


def never(queries: Sequence[Query]) -> list[bool]:
    """Draw: must not be called, because nothing is to be drawn."""
    raise AssertionError("drawn once more")


def by_hand(where: str, *statements: str) -> None:
    """Change a ledger as somebody with the database, but without the secret, would."""
    if where.startswith("postgresql"):
        import psycopg

        with psycopg.connect(where) as connection:
            connection.execute("ALTER TABLE entries DISABLE TRIGGER USER")
            for statement in statements:
                connection.execute(statement)
        return
    connection = sqlite3.connect(where)
    for name in ("entries_no_update", "entries_no_delete", "entries_in_order"):
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def rows(where: str, columns: str, rest: str = "") -> list[tuple[Any, ...]]:
    """Read a ledger's table without its help."""
    statement = f"SELECT {columns} FROM entries {rest}"
    if where.startswith("postgresql"):
        import psycopg

        with psycopg.connect(where) as connection:
            return connection.execute(statement).fetchall()
    connection = sqlite3.connect(where)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def files(path: str | Path) -> list[Path]:
    """A SQLite ledger's files."""
    path = Path(path)
    return sorted(path.parent.glob(path.name + "*"))
