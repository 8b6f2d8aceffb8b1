"""Kills of `isinglass model` at random moments, and what must hold after each."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import numpy as np
from tests.cli.commands import ISINGLASS, inside

from isinglass import model as model_file
from isinglass.curate.ledger.ledger import Ledger

PRICE = 250_000  # millionths of epsilon
ROWS, LOW, HIGH = 20_011, -10, 10
#: moments from which a random wait is counted, and the longest wait in seconds
SINCE = {"start": 2.5, "ledger": 2.0, "paid": 0.7}
_WORDS = ["model", "t.csv", "--epsilon", "0.25", "--bounds", "b.csv", "--ledger", "l.db"]
_WORDS += ["--budget", "3", "--name", "ward", "--card", "card.html", "--expires", "2099-12-31"]


def write_table(folder: Path) -> None:
    """A table and its bounds."""
    X = np.random.default_rng(0).normal(size=(ROWS, 4)).round(4)
    np.savetxt(folder / "t.csv", X, "%.4f", ",", header="a,b,c,d", comments="")
    (folder / "b.csv").write_text("".join(f"{name},{LOW},{HIGH}\n" for name in "abcd"))


def raw_counts(folder: Path) -> np.ndarray:
    """How many records of column a lie in each 16th of its bounds: the first raw counts of all."""
    a = np.loadtxt(folder / "t.csv", delimiter=",", skiprows=1, usecols=0)
    return np.histogram(a, 16, (LOW, HIGH))[0]


def _models() -> int:
    """How many models were paid for from the ledger that another process writes."""
    if not os.path.exists("l.db"):
        return 0
    db = sqlite3.connect("file:l.db?mode=ro", uri=True, timeout=10)
    try:
        return int(db.execute("SELECT count(*) FROM entries WHERE kind = 'model'").fetchone()[0])
    except sqlite3.OperationalError:  # it has no tables yet
        return 0
    finally:
        db.close()


class Kills:
    """One folder after another, in which a model's command is killed and then typed again.

    The folder is the current one while this is used, with an `ISINGLASS_HOME` and a folder for
    temporary files of its own.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._chance = folder, random.Random(seed)
        write_table(folder)
        counts = raw_counts(folder)
        self._raw = [counts.astype(kind).tobytes() for kind in ("<i8", "<i4", "<f8", "<u2")]
        self._raw += [sep.join(map(str, counts.tolist())).encode() for sep in (",", ", ", "\n")]

    def one(self, since: str, *, renew: bool) -> str:
        """Kill one command, look, and type it again; how far it had come.

        The random wait begins when the command does, when it opens the ledger, or once it has paid:
        `since` is a word of `SINCE`.
        """
        place = self._folder / "run"
        shutil.rmtree(place, ignore_errors=True)
        for path in (place, place / "tmp"):
            path.mkdir()
        for name in ("t.csv", "b.csv"):
            shutil.copy(self._folder / name, place)
        os.environ["ISINGLASS_HOME"] = str(place / "home")
        os.chdir(place)
        words, paid = [*_WORDS, "-o", "m.zip"], 0
        if renew:
            assert inside(*_WORDS, "-o", "first.zip").returncode == 0
            os.remove("card.html")
            words, paid = [*_WORDS, "--renew", "-o", "m.zip"], PRICE
        process = subprocess.Popen(
            [*ISINGLASS, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"TMPDIR": str(place / "tmp")},
        )  # fmt: skip
        until = time.monotonic() + 120
        # Either is made before anything is paid.
        opened = place / ("home/requests" if renew else "l.db")
        while process.poll() is None and not (
            since == "start"
            or (since == "ledger" and opened.exists())
            or (since == "paid" and _models() == 1 + renew)
        ):
            assert time.monotonic() < until
            time.sleep(0.005)
        time.sleep(self._chance.uniform(0, SINCE[since]))
        process.kill()
        ended = process.wait(timeout=60) == 0
        spent = self._look(paid)
        whole = Path("m.zip").exists()
        if whole:
            model_file.read("m.zip")
            assert spent == PRICE, "a model that was not paid for"
        leftovers = [path.read_bytes() for path in place.glob(".m.zip*")]
        # With all of its files in place it is done, although it was killed before it said so: then
        # --renew asks for the next version.
        done = renew and whole and not list(Path("home").glob("requests/*"))
        self._type_again(words, done=ended or done, paid=paid)
        final = Path("m.zip").read_bytes()
        assert all(final.startswith(part) for part in leftovers), "a file of something else"
        if ended:
            return "finished"
        return "written" if whole else "paid for" if spent else "unpaid"

    def _look(self, paid: int) -> int:
        """What must hold whatever the moment; what was spent since `paid`."""
        place = Path.cwd()
        assert list((place / "tmp").iterdir()) == []
        for path in place.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                assert not any(raw in data for raw in self._raw), f"raw counts in {path.name}"
        if not Path("l.db").exists():
            return 0
        with Ledger("l.db") as ledger:
            if not ledger.signed:  # killed before the contract was written
                return 0
            assert ledger.verify().problems == []
            spent = ledger.models.micro - paid
        assert spent in (0, PRICE), f"{spent} millionths were spent"
        return spent

    def _type_again(self, words: list[str], *, done: bool, paid: int) -> None:
        """The same command gives the model, for one price in all; and then always those bytes."""
        if not done:
            again = inside(*words, "--force")
            assert again.returncode == 0, again.stderr
        assert self._look(paid) == PRICE
        first = Path("m.zip").read_bytes()
        plain = [word for word in words[:-2] if word != "--renew"]
        Path("t.csv").unlink()
        for name in ("again.zip", "once more.zip"):
            stored = inside(*plain, "--force", "-o", name)
            assert stored.returncode == 0, stored.stderr
            assert Path(name).read_bytes() == first
        assert self._look(paid) == PRICE
        assert list(Path("home").glob("requests/*")) == []
