"""What tests of the curator's commands share: a table, records, and the command itself."""

from __future__ import annotations

import contextlib
import csv
import io
import signal
import sys
import warnings

import numpy as np
import pytest

from isinglass import cli

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


def command(tmp_path, monkeypatch):
    """The command in this process, in a folder with a table and three records far apart."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(signal, "signal", lambda number, handler: signal.SIG_DFL)
    table = np.random.default_rng(0).normal(size=(40, 2)).round(3)
    write("table.csv", [*table.tolist(), [SECRET, SECRET]])
    write("records.csv", [[0.0, 0.0], [50.0, 50.0], [SECRET, -SECRET]])

    def run(*arguments):
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "argv", ["isinglass", *map(str, arguments)])
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as stop,
        ):
            cli.main()
        return stop.value.code or 0, out.getvalue(), err.getvalue()

    return run


def refused(done, code, *words):
    """One sentence on stderr, nothing on stdout, no value of any record."""
    assert done[0] == code, done
    assert done[1] == ""
    assert done[2].startswith("isinglass: ")
    assert done[2].count("\n") == 1
    for word in words:
        assert word in done[2], done[2]
    assert "76543" not in done[2]
