"""What tests of the curator's commands share: a table, records, and the command itself."""

from __future__ import annotations

import csv

import numpy as np
from tests.cli.commands import inside

NAMES = ["pulse", "pressure"]
SECRET = 76543.21
ASK = ("ask", "table.csv", "records.csv", "--beta", "3", "--r", "1", "--epsilon", "0.1")
FIRST = (*ASK, "--budget", "0.25", "--ledger", "ledger.db", "--no-pad")
AGAIN = (*ASK, "--ledger", "ledger.db", "--no-pad")


def write(path, rows, names=NAMES):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)


def write_files(folder):
    """A table and three records far apart."""
    table = np.random.default_rng(0).normal(size=(40, 2)).round(3)
    write(folder / "table.csv", [*table.tolist(), [SECRET, SECRET]])
    write(folder / "records.csv", [[0.0, 0.0], [50.0, 50.0], [SECRET, -SECRET]])


def command(folder, monkeypatch):
    """The command in this process, beside these files."""
    monkeypatch.chdir(folder)
    write_files(folder)
    return inside


def refused(done, code, *words):
    """One sentence on stderr, nothing on stdout, no value of any record."""
    assert done[0] == code, done
    assert done[1] == ""
    assert done[2].startswith("isinglass: ")
    assert done[2].count("\n") == 1
    for word in words:
        assert word in done[2], done[2]
    assert "76543" not in done[2]
