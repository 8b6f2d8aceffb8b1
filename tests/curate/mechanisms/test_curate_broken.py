"""Mechanisms that are broken on purpose: the falsifier finds each, and names what is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from isinglass.chance import Coin
from isinglass.curate.mechanisms.compiler import BothHeads, Compiled, compile_mechanism
from isinglass.curate.mechanisms.falsify import falsify
from isinglass.curate.mechanisms.mechanism import (
    Mechanism,
    Present,
    Sensitive,
    Sparse,
    bounded_mechanism,
    dp_mechanism,
)


class OneMore(Sparse):
    """Distance off by one: 2 where the answer turns over."""

    def distance(self, *counts):
        return super().distance(*counts) + 1


class OneMoreInside(Present):
    """Off by one only for anomalies."""

    def distance(self, *counts):
        return super().distance(*counts) + self.anomalous(*counts)


class OneMoreSensitive(Sensitive):
    """The paper's bound, off by one below the threshold."""

    def distance(self, *counts):
        more = counts[1] < self.beta + 1 - self.k
        return super().distance(*counts) + more


class Zero(Sparse):
    """Distance not at least 1."""

    def distance(self, *counts):
        return super().distance(*counts) - 1


class Steep(Sparse):
    """2-Lipschitz, declared 1."""

    def distance(self, *counts):
        return 2 * super().distance(*counts) - 1


class SteepBelow(Steep):
    """2-Lipschitz where the answer is yes: only the chances of "no" change too much."""

    def distance(self, *counts):
        return (super() if self.anomalous(*counts) else Sparse(self.beta, self.r)).distance(*counts)


class SteepAbove(Steep):
    """2-Lipschitz where the answer is no: only the chances of "yes" change too much."""

    def distance(self, *counts):
        return (Sparse(self.beta, self.r) if self.anomalous(*counts) else super()).distance(*counts)


class SteepAndSaid(Steep):
    """The same, declared 2."""

    lipschitz = 2


class Narrow(Sparse):
    """Looks farther than it says."""

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "influence", self.r / 2)


class AsIfDifferential(Sensitive):
    """Sensitive privacy, sold as differential."""

    privacy = "differential"


class TooFew(Sensitive):
    """Covers one more record than k allows."""

    def covers(self, before, after):
        return max(before[1], after[1]) >= self.beta - self.k


class NoOne(Sensitive):
    """Covers nobody."""

    def covers(self, before, after):
        return False


class Forgets(Present):
    """Does not see that a copy may leave."""

    def distance(self, *counts):
        return Sparse(self.beta, self.r, False).distance(*counts)


@dataclass(frozen=True)
class TooKeen(Compiled):
    """A compiled question whose gain is too large."""

    def gain(self, own, near):
        return 5 * super().gain(own, near)


class Optimist(Mechanism):
    """Tells a smaller error than it makes."""

    def error_probability(self, *counts):
        return super().error_probability(*counts) / 2


TOO_MUCH = "a chance changes by more than the price allows"
BROKEN = [
    (bounded_mechanism(OneMore(2, 1.0), 1), TOO_MUCH),
    (bounded_mechanism(OneMoreInside(2, 1.0), 1), TOO_MUCH),
    (bounded_mechanism(OneMoreSensitive(3, 1.0, 2), 1), TOO_MUCH),
    (bounded_mechanism(Zero(2, 1.0), 1), "a distance is below 1"),
    (bounded_mechanism(Steep(2, 1.0), 1), TOO_MUCH),
    (bounded_mechanism(SteepBelow(3, 1.0), 1), TOO_MUCH),
    (bounded_mechanism(SteepAbove(3, 1.0), 1), TOO_MUCH),
    (bounded_mechanism(Narrow(2, 1.0), 1), "a record beyond the declared influence"),
    (bounded_mechanism(AsIfDifferential(2, 1.0), 1), TOO_MUCH),
    (bounded_mechanism(TooFew(3, 1.0), 1), TOO_MUCH),
    (bounded_mechanism(NoOne(3, 1.0), 1), "no neighbors are covered"),
    (bounded_mechanism(Forgets(2, 1.0), 1), TOO_MUCH),
    (
        replace(
            compile_mechanism(dp_mechanism(3, 1.0, "0.5")),
            question=TooKeen(dp_mechanism(3, 1.0, "0.5"), 20, 1),
            cap=89 * 21,
            coin=BothHeads(dp_mechanism(3, 1.0, "0.5").coin, Coin(Fraction(1, 4), most=20)),
        ),
        TOO_MUCH,
    ),
    # Charged less than used; a coin whose error is exp(-e m) / 2, or exp(-e m), or at another e.
    (replace(dp_mechanism(2, 1.0, 1), micro=999_999), TOO_MUCH),
    (replace(dp_mechanism(2, 1.0, 1), coin=Coin(Fraction(1), Fraction(0), most=45)), TOO_MUCH),
    (replace(dp_mechanism(2, 1.0, 0.1), coin=Coin(Fraction(1, 10), most=444)), TOO_MUCH),
    (replace(dp_mechanism(2, 1.0, 1), coin=Coin(Fraction(1, 2), Fraction(1), most=45)), None),
    (replace(dp_mechanism(2, 1.0, 1), coin=Coin(Fraction(11, 10), Fraction(1), most=45)), TOO_MUCH),
    (Optimist(**vars(dp_mechanism(2, 1.0, 1))), "error_probability is not the chance"),
]


@pytest.mark.parametrize(("mechanism", "problem"), BROKEN)
def test_what_is_broken_is_found_and_named(mechanism, problem):
    found = falsify(mechanism, [1, 2, 3, 4, 5], most=3)
    if problem is None:  # an unusual coin that errs more than it must breaks nothing
        assert found.passed
        return
    assert not found.passed
    assert any(said.startswith(problem) for said in found.problems), found


def test_a_factor_of_two_holds_once_it_is_declared_and_paid_for():
    mechanism = bounded_mechanism(SteepAndSaid(2, 1.0), "0.5")
    found = falsify(mechanism, [1, 2, 3], most=4)
    assert found.passed
    assert found.allowed == 1
    assert found.worst == pytest.approx(1, rel=1e-12)


def test_where_the_worst_is_can_be_checked_by_hand():
    mechanism = bounded_mechanism(AsIfDifferential(3, 1.0), 1)
    found = falsify(mechanism, [1, 2, 3, 4, 5], most=3)
    table, j, i = found.at
    assert i == j  # only the record asked about is not covered

    def counts(copies):
        return copies[i], sum(copies[max(0, i - 1) : i + 2])

    more = [c + (at == j) for at, c in enumerate(table)]
    assert mechanism.loss(counts(table), counts(more)) == pytest.approx(found.worst, rel=1e-12)
    assert found.worst == pytest.approx(math.log((1 + math.e) * math.exp(2) - 1), rel=1e-12)
