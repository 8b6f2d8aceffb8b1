"""What the card says to whoever was counted: true at every price, and nothing at too high ones."""

import json
import math
import re

import numpy as np
import pytest
from tests.cli.commands import inside

import isinglass as ig
from isinglass import model
from isinglass.detect.private.card import card_page
from isinglass.detect.private.for_everyone import (
    EARLIER,
    most_certain,
    refuse_empty_promise,
    sentence_for_everyone,
)
from isinglass.model import pack

ONE, DELTA = 10**6, 10**9  # epsilon 1, delta 1e-6
TABLE = np.random.default_rng(0).normal(size=(2000, 2))
PERCENT = {0.1: "52.5", 1: "73.2", 3: "95.3", 20: "100"}


def fitted(epsilon, **more):
    return ig.PrivateDetector(epsilon, bounds=(-10, 10), **more).fit(TABLE)


def entries_of(found, path):
    found.save(path, force=True)
    return model.read(path).entries


@pytest.mark.filterwarnings("ignore:the noise is large", "ignore:epsilon .* is a weak promise")
@pytest.mark.parametrize("epsilon", PERCENT)
def test_the_sentence_follows_from_the_price(epsilon, tmp_path):
    entries = entries_of(fitted(epsilon, records_per_person=2), tmp_path / "m.zip")
    card = json.loads(entries["card.json"])
    said = card["for_everyone"]
    assert ("almost the same" in said) is (epsilon <= 1)
    assert ("only loosely" in said) is (epsilon > 3)
    assert f"right with a chance of at most {PERCENT[epsilon]} %" in said
    assert "everybody with at most 2 records" in said
    for page in (card_page(card, signer=None, owner=None), entries["score.html"].decode()):
        assert said in page.replace("&nbsp;%", " %")  # which stays with its number
    ig.load_model(tmp_path / "m.zip", unsigned=True)


@pytest.mark.parametrize("micro", [1, 10**5, ONE, 3 * ONE, 12_345_678])
@pytest.mark.parametrize("femto", [0, DELTA, 10**12])
def test_the_percentage_is_that_of_the_best_guess_rounded_up(micro, femto):
    odds = math.exp(micro / 1e6)
    exact = 100 * (odds + femto / 1e15) / (1 + odds)
    assert -1e-9 < float(most_certain(micro, femto)) - exact < 0.1 + 1e-9


def test_the_best_guess_against_randomized_response_is_right_as_often_as_said():
    """Of all mechanisms of one bit, this one tells most: its guesses meet the bound."""
    rng, epsilon, n = np.random.default_rng(1), 1.0, 400_000
    truth = rng.random(n) < 0.5
    told = np.where(rng.random(n) < math.exp(epsilon) / (1 + math.exp(epsilon)), truth, ~truth)
    right = 100 * (told == truth).mean()
    assert float(most_certain(ONE, 0)) - 0.7 < right < float(most_certain(ONE, 0)) + 0.6


def test_a_price_that_promises_nothing_is_refused():
    refuse_empty_promise(20 * ONE, 10**12)
    for settings, said in (
        ({"epsilon": 20.000001}, "epsilon must be at most 20 for a model, got 20.000001"),
        ({"epsilon": 1000, "delta": 0.5}, "epsilon must be at most 20"),
        ({"delta": 0.0011}, "delta must be at most 0.001 for a model, got 0.0011"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            ig.PrivateDetector(bounds=(-10, 10), **settings).fit(TABLE)


def test_a_weak_promise_is_warned_of():
    with pytest.warns(UserWarning, match=r"epsilon 3.5 is a weak promise: .* chance of 97.1 %"):
        fitted("3.5")


def test_the_command_warns_and_refuses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))
    lines = ["a,b", *(f"{x!r},{y!r}" for x, y in TABLE.tolist())]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "b.csv").write_text("a,-10,10\nb,-10,10\n")
    make = ("model", "t.csv", "--bounds", "b.csv", "-o", "m.zip", "--card", "c.html")
    done = inside(*make, "--no-ledger", "--epsilon", 1000, "--delta", "0.5")
    assert done.returncode == 2
    assert "--epsilon must be at most 20 for a model, got 1000" in done.stderr
    done = inside(*make, "--ledger", "l.db", "--budget", 3, "--epsilon", 1, "--delta", "0.01")
    assert done.returncode == 2
    assert "--delta must be at most 0.001" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "home") == ["b.csv", "t.csv"]
    pay = (*make, "--ledger", "l.db", "--budget", 9, "--epsilon", 4)
    weak = "warning: epsilon 4 is a weak promise"
    assert inside(*pay).stderr.count(weak) == 1
    assert "limited only loosely" in (tmp_path / "c.html").read_text()
    again = inside(*pay, "--force")  # what is stored is no stronger a promise
    assert "nothing now" in again.stdout
    assert again.stderr.count(weak) == 1


@pytest.mark.filterwarnings("ignore:epsilon .* is a weak promise")
@pytest.mark.parametrize("epsilon", [1, 4])
def test_a_file_of_an_earlier_version_opens_and_its_card_is_doubted(epsilon, tmp_path, recwarn):
    path = tmp_path / "m.zip"
    entries = entries_of(fitted(epsilon), path)
    card = json.loads(entries["card.json"]) | {"for_everyone": EARLIER}
    path.write_bytes(pack("m", entries | {"card.json": json.dumps(card).encode()}))
    recwarn.clear()
    ig.load_model(path, unsigned=True)
    said = [str(w.message) for w in recwarn]
    assert len(said) == (epsilon > 1)
    assert not said or "its card says that it would be almost the same" in said[0]


def test_a_sentence_for_one_record():
    assert "at most one record in the table" in sentence_for_everyone(ONE, DELTA, 1)
    assert "at most 1,000 records in" in sentence_for_everyone(ONE, DELTA, 1000)
