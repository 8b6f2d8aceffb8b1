"""The commands that made the files and that the tests type again; where the files lie."""

from __future__ import annotations

import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isinglass as ig

PASSPHRASE = "compat"
SCHEMA = "compat"
RELEASE = ("release", "table.csv", "--drop", "id,site")
SHUFFLED = (
    "release", "table.csv", "-o", "shuffled.parquet", "--method", "tanh", "--keep", "id",
    "--one-hot", "site", "--bounds", "bounds.csv", "--shuffle",
)  # fmt: skip
TUNE = (
    "tune", "table.csv", "--drop", "id,site", "--methods", "projection", "--seed", 3, "--jobs", 1,
    "--resume", "tune.jsonl",
)  # fmt: skip
AUDIT = (
    "audit", "table.csv", "releases/rotation.parquet", "--key", "releases/rotation.key",
    "--drop", "id,site", "--max-pairs", 8, "--trials", 1, "--seed", 1,
)  # fmt: skip


def numbers(folder: Path) -> NDArray[np.float64]:
    """The table's columns of numbers."""
    return np.loadtxt(folder / "table.csv", delimiter=",", skiprows=1, usecols=(2, 3, 4, 5))


def without_prose(document: Any) -> Any:
    """A command's JSON without its sentences, which may be worded better one day."""
    if isinstance(document, dict):
        prose = {"sentence", "neighbours", "knowledge", "assumes", "warnings"}
        return {n: without_prose(v) for n, v in document.items() if n not in prose}
    if isinstance(document, list):
        return [without_prose(item) for item in document]
    return document


def held(name: str) -> list[str]:
    """Where a ledger's secret and note lie."""
    return ["--secret", f"ledger/{name}.secret", "--note", f"ledger/{name}.note"]


def asked(table: str, where: str, held: list[str]) -> list[object]:
    """The question that every ledger was asked."""
    return [
        "ask", table, "records.csv", "--drop", "id,site", "--beta", 3, "--r", 0.4,
        "--epsilon", "0.1", "--space", "space.json", "--ledger", where, *held, "--no-pad",
    ]  # fmt: skip


def demands(path: Path) -> dict[str, Any]:
    """All that a policy file demands."""
    found = asdict(ig.Policy.load(path))
    return {n: list(v) if isinstance(v, tuple) else v for n, v in found.items()}


def with_schema(url: str, *, create: bool = False) -> str:
    """The address of the ledger's schema in a server."""
    import psycopg

    if create:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
    return f"{url}?options=-csearch_path%3D{SCHEMA}"


def dumped(url: str) -> bytes:
    """The schema as `pg_dump` writes it."""
    words = ["--no-owner", "--no-privileges", "--inserts", f"--schema={SCHEMA}", url]
    return subprocess.run(["pg_dump", *words], check=True, capture_output=True).stdout


def restored(dump: Path, url: str) -> str:
    """Bring a dump into a server; where the ledger is then.

    What `psql` alone understands, and settings that other versions of the server do not have, are
    left out.
    """
    import psycopg

    lines = dump.read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if not line.startswith(("\\", "SET "))]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")  # another test's
        connection.execute("\n".join(wanted).encode(), prepare=False)
    return with_schema(url)
