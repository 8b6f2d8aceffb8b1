"""A release in other units, with columns and rows in any order, is the table."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.columns.matching import match_columns, rank_correlations, ranks, shape_costs
from isinglass.attack.knowledge import ColumnStatistics, PopulationSample, PublicTable
from isinglass.attack.matched_columns import MatchedColumnsAttack
from isinglass.errors import AttackError

N, D = 800, 6


def table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, D)) + 0.4 * rng.normal(size=(n, D))
    X[:, 0], X[:, 1] = np.exp(X[:, 0]), np.round(2 * X[:, 1])
    return X * np.logspace(-1, 3, D)


X = table()
STATISTICS = ColumnStatistics.of(X)
KNOWN = {
    "statistics": STATISTICS,
    "sample": STATISTICS | PopulationSample(X[::8]),
    "table": STATISTICS | PublicTable(X),
}


def in_other_units(rows, seed=1):
    """Lines of either direction, columns shuffled: the release, and whose column is whose."""
    rng = np.random.default_rng(seed)
    units = np.exp(rng.normal(0, 3, D)) * rng.choice([-1, 1], D)
    order = rng.permutation(D)
    return (rows * units + units * 100 * rng.normal(size=D))[:, order], order


def error(guess, truth):
    return float(np.square((guess - truth) / X.std(axis=0)).mean())


@pytest.mark.parametrize("known", KNOWN)
def test_units_and_the_order_of_columns_hide_nothing(known):
    released, _ = in_other_units(X)
    guess = MatchedColumnsAttack(random_state=0).guess(released, KNOWN[known])
    assert error(guess, X) < 0.01


def test_half_of_the_rows_in_other_units_are_read_as_well():
    rows = np.random.default_rng(3).permutation(N)[: N // 2]
    released, _ = in_other_units(X[rows])
    guess = MatchedColumnsAttack(random_state=0).guess(released, KNOWN["table"])
    assert error(guess, X[rows]) < 0.01


def test_ranks_in_place_of_values_are_read_by_dependence():
    released = np.column_stack([ranks(column) for column in X.T])[:, [3, 0, 5, 1, 4, 2]]
    guess = MatchedColumnsAttack(random_state=0).guess(released, KNOWN["table"])
    assert error(guess, X) < 0.05


def test_columns_that_look_alike_are_told_apart_by_how_they_go_together():
    rng = np.random.default_rng(4)
    mixing = np.tril(rng.normal(size=(D, D))) + np.eye(D)
    rows = rng.normal(size=(3000, D)) @ mixing.T
    order, signs = rng.permutation(D), rng.choice([-1.0, 1.0], D)
    other = (rng.normal(size=(3000, D)) @ mixing.T * signs)[:, order]
    found = match_columns(shape_costs(rows, other), *map(rank_correlations, (rows, other)))
    assert np.array_equal(order[found.released], np.arange(D))
    # All directions may be turned at once: normal columns and their dependence look the same.
    assert np.abs((found.signs * signs).sum()) == D


def test_a_column_that_was_left_out_is_guessed_by_its_mean():
    released, order = in_other_units(X)
    guess = MatchedColumnsAttack(random_state=0).guess(released[:, 1:], KNOWN["table"])
    rest = np.delete(np.arange(D), order[0])
    assert np.square((guess - X)[:, rest] / X[:, rest].std(axis=0)).mean() < 0.01
    assert np.ptp(guess[:, order[0]]) == 0


def test_noise_is_read_as_no_record():
    released = np.random.default_rng(5).normal(size=X.shape)
    guess = MatchedColumnsAttack(random_state=0).guess(released, KNOWN["table"])
    assert np.isfinite(guess).all()
    follow = [np.corrcoef(g, x)[0, 1] for g, x in zip(guess.T, X.T, strict=True)]
    assert np.abs(follow).max() < 0.15


def test_it_needs_to_know_something():
    with pytest.raises(AttackError, match="ColumnStatistics"):
        MatchedColumnsAttack().guess(X, PopulationSample(X[:0]))


def test_equal_values_share_a_rank():
    assert ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]
