"""A record added to another one, or taken off it, is found among all pairs of the table."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.knowledge import KnownPairs, PublicTable
from isinglass.attack.linking.groups import two_records
from isinglass.attack.pattern_linkage import PatternLinkageAttack

RNG = np.random.default_rng(0)
N = 200
X = RNG.normal(size=(N, 3)) * [1, 3, 10] + [0, 10, 20]
PARTNER = np.roll(RNG.permutation(N), 1)
U = (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("table", [X, U], ids=["table's units", "deviations"])
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_both_records_of_a_sum_are_found(table, factor):
    found = two_records(factor * (table + table[PARTNER]), X, np.random.default_rng(1))
    right = [set(found.get(i, ())) == {i, PARTNER[i]} for i in range(N)]
    assert np.mean(right) > 0.98


def test_a_difference_names_the_record_that_it_began_with():
    released = X - X[PARTNER]
    found = two_records(released, X, np.random.default_rng(1))
    assert np.mean([found.get(i, np.array([-1])).tolist() == [i] for i in range(N)]) > 0.95
    known = PublicTable(X) | KnownPairs(np.arange(30), X[:30])
    guess = PatternLinkageAttack(random_state=0).guess(released, known)
    assert (guess == X).all(axis=1)[30:].mean() > 0.95


def test_chance_finds_no_sums():
    rng = np.random.default_rng(2)
    whole = rng.integers(0, 6, size=(N, 3)).astype(float)
    for released, table in (
        (rng.normal(size=X.shape), X),
        (X + 6 * X.std(axis=0) * rng.normal(size=X.shape), X),
        (X, X),
        # Sums of whole numbers are met by any other whole numbers.
        (rng.integers(0, 12, size=(N, 3)).astype(float), whole),
        (X[:, :1] + X[PARTNER, :1], X[:, :1]),
        (np.zeros_like(X), np.zeros_like(X)),
    ):
        assert two_records(released, table, rng) == {}
