"""Compiled mechanisms: the given one's own coin, whichever it is, and a curator that asks them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from isinglass.chance import Coin
from isinglass.curate.curator import Curator
from isinglass.curate.mechanisms.compiler import compile_mechanism
from isinglass.curate.mechanisms.falsify import falsify
from isinglass.curate.mechanisms.mechanism import Present, bounded_mechanism, dp_mechanism
from isinglass.curate.questions.builtin import presence_distance, sensitive_distance
from isinglass.errors import BudgetError

UNIVERSE = [1, 2, 3, 4, 5]


class Doubled(Present):
    """Distances twice as fine, declared and paid for."""

    name = "doubled"
    lipschitz = 2

    def distance(self, *counts):
        return 2 * super().distance(*counts) - 1


GIVEN = {
    "usual": dp_mechanism(3, 1.0, "0.5"),
    "constant": dp_mechanism(3, 1.0, "0.5", cap=1),
    # Errs more than it must: falls at half the speed, from the same start.
    "slow coin": replace(
        dp_mechanism(3, 1.0, "0.5"), coin=Coin(Fraction(1, 4), Fraction(1, 2), most=89)
    ),
    "weaker start": replace(
        dp_mechanism(3, 1.0, "0.5"), coin=Coin(Fraction(1, 4), Fraction(1, 4), most=89)
    ),
    "two steps": bounded_mechanism(Doubled(3, 1.0), "0.25"),
}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("k", [1, 2])
def test_whatever_falsify_passes_is_compiled_with_its_own_coin(name, k):
    given = GIVEN[name]
    assert falsify(given, UNIVERSE, most=2).passed
    made = compile_mechanism(given, k=k)
    assert made.micro == 2 * given.micro
    for near in range(9):
        for own in range(near + 1):
            gain = sensitive_distance(own, near, 3, k) - presence_distance(own, near, 3)
            expected = given.coin.probability(given.multiple(own, near)) * math.exp(-gain / 4)
            assert made.error_probability(own, near) == pytest.approx(expected, rel=1e-12)
    found = falsify(made, UNIVERSE, most=2)
    assert found.passed, found
    losses = [made.loss((1, near), (0, near - 1)) for near in range(1, 8)]
    assert max(losses) <= made.guarantee().worst_case


@pytest.mark.parametrize("name", GIVEN)
def test_as_many_bytes_are_drawn_whatever_the_counts(name):
    made, sizes = compile_mechanism(GIVEN[name]), set()
    for counts in [(0, 0), (1, 1), (2, 3), (1, 4), (0, 50)]:
        drawn: list[int] = []
        made.answer(*counts, draw=lambda n, drawn=drawn: drawn.append(n) or bytes(n - 1) + b"\1")
        sizes.add(tuple(drawn))
    assert len(sizes) == 1


def test_answers_err_as_often_as_is_told():
    made = compile_mechanism(GIVEN["slow coin"])
    rng = np.random.default_rng(3)
    for counts in [(0, 2), (1, 1), (1, 3)]:
        chance, n = made.error_probability(*counts), 3000
        wrong = sum(
            made.answer(*counts, draw=rng.bytes) != made.anomalous(*counts) for _ in range(n)
        )
        assert abs(wrong - n * chance) < 5 * math.sqrt(n * chance * (1 - chance))


def test_mechanisms_with_other_chances_have_other_names():
    """Or one would be given the other's stored answers."""
    names = {name: compile_mechanism(given).question.name for name, given in GIVEN.items()}
    names["capped"] = compile_mechanism(GIVEN["usual"], cap=1).question.name
    assert names["usual"] == "compiled dp"
    assert len(set(names.values())) == len(names)
    assert all(name.startswith("compiled ") for name in names.values())


class Wider(Present):
    """Looks farther than r."""

    def look(self, table, places, cap):
        found = super().look(table, places, cap)
        return found + 0 * table.within(places, 2 * self.r, cap)[:, np.newaxis]


class Longer(Present):
    """Three counts a row."""

    def look(self, table, places, cap):
        found = super().look(table, places, cap)
        return np.column_stack([found, found[:, 0]])

    def anomalous(self, *counts):
        return super().anomalous(*counts[:2])

    def distance(self, *counts):
        return super().distance(*counts[:2])


class Opposite(Present):
    """Asks for the contrary."""

    def anomalous(self, *counts):
        return not super().anomalous(*counts)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (Wider(3, 1.0), "must look within r, which is 1, and at no other distance"),
        (Longer(3, 1.0), "must look at the copies of a record"),
        (Opposite(3, 1.0), "must answer whether a record is present"),
    ],
)
def test_what_cannot_be_compiled_is_refused_with_the_reason(question, reason):
    assert falsify(bounded_mechanism(question, 1), UNIVERSE, most=2).pairs
    with pytest.raises(ValueError, match=f"^mechanism {reason}"):
        compile_mechanism(bounded_mechanism(question, 1))


TABLE = np.concatenate([np.zeros((30, 1)), [[50.0]]])


def test_a_curator_asks_a_compiled_mechanism_at_its_own_price(tmp_path):
    made = compile_mechanism(dp_mechanism(9, 1.0, 2))
    with Curator(TABLE, budget=8, ledger=tmp_path / "ledger.db", mode=made, pad=False) as one:
        lone, crowd = one.ask([[50.0], [0.0]], epsilon=4)
        promise = lone.guarantee
        assert (lone.anomalous, crowd.anomalous) == (True, False)  # wrong once in e^9 or more
        assert (lone.spent, lone.left, lone.queries_left) == (4.0, 4.0, 1)
        assert (promise.mode, promise.privacy, promise.k) == ("compiled dp", "sensitive", 1)
        assert promise.worst_case >= made.loss((1, 1), (0, 0))
        with pytest.raises(ValueError, match="epsilon must be 4, the mechanism's own price, got 2"):
            one.ask([50.0], epsilon=2)
        assert one.ask([50.0], epsilon="4.0").spent == 0  # stored
        one.ask([50.0], epsilon=4, fresh=True)
        with pytest.raises(BudgetError):
            one.ask([50.0], epsilon=4, fresh=True)
        assert one.ledger.contract.modes == ("compiled dp",)
        assert (one.ledger.contract.k_min, one.ledger.contract.beta_max) == (1, 9)


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (dp_mechanism(9, 1.0, 1), "only where compile_mechanism made it"),
        (compile_mechanism(dp_mechanism(9, 1.0, 1)).question, "the compiled mechanism itself"),
    ],
)
def test_a_curator_takes_no_other_mechanism(tmp_path, mode, reason):
    with pytest.raises(ValueError, match=reason):
        Curator(TABLE, budget=8, ledger=tmp_path / "ledger.db", mode=mode)
    assert not list(tmp_path.iterdir())


def test_a_curator_takes_no_other_beta(tmp_path):
    made = compile_mechanism(dp_mechanism(9, 1.0, 1))
    with pytest.raises(ValueError, match="beta and r must be None where mode is a mechanism"):
        Curator(TABLE, 9, 1.0, 8, tmp_path / "ledger.db", mode=made)
