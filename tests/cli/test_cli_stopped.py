"""Stopping `isinglass ask`: what is said is true of what was paid."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from tests.cli.asking import AGAIN, FIRST

pytestmark = pytest.mark.usefixtures("curators_files")

SLOW = """
import sys, time
from isinglass.curate import curator
from isinglass.curate.padding import Deadline

def wait(seconds):
    open("waiting", "w").close()
    time.sleep(seconds)

class Slow(Deadline):
    def __init__(self):
        super().__init__(600.0, sleep=wait)

curator.Deadline = Slow
sys.argv = ["isinglass", *sys.argv[1:]]
from isinglass import cli
cli.main()
"""


def answers():
    """How many answers a ledger holds that another process writes."""
    if not os.path.exists("ledger.db"):
        return 0
    db = sqlite3.connect("file:ledger.db?mode=ro", uri=True, timeout=10)
    try:
        return db.execute("SELECT count(*) FROM entries WHERE kind = 'answer'").fetchone()[0]
    except sqlite3.OperationalError:  # it has no tables yet
        return 0
    finally:
        db.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_answers_wait_for_their_deadline_they_are_paid_for(run, number):
    padded = [word for word in FIRST if word != "--no-pad"]
    asked = subprocess.Popen(
        [sys.executable, "-c", SLOW, *padded], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + 120
        # Not as soon as the answers are written: an interrupt before the wait has to wait, too.
        while not os.path.exists("waiting") and time.monotonic() < until:
            time.sleep(0.05)
        assert answers() == 3
        asked.send_signal(number)
        out, err = asked.communicate(timeout=60)
    finally:
        asked.kill()
    assert asked.returncode == 128 + number
    assert out == ""
    assert err.splitlines()[-1] == (
        "isinglass: stopped; what was asked may be paid for: ask again, stored answers come free"
    )
    code, out, _ = run(*AGAIN)
    assert code == 0
    assert "spent 0 in all" in out


def test_stopped_before_anything_is_asked_nothing_was_written(run, monkeypatch):
    from isinglass.cli.show import StoppedError

    def stop(*_, **__):
        raise StoppedError(signal.SIGINT)

    from isinglass.cli import numeric_columns

    monkeypatch.setattr(numeric_columns, "read_numbers", stop)
    code, out, err = run(*FIRST)
    assert (code, out) == (130, "")
    assert err.endswith("nothing was written\n")
    assert not os.path.exists("ledger.db")
