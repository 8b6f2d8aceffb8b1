"""Codes, directions and means of groups leave patterns by which records are recognized."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.codes import CodesAttack
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KnownPairs,
    PopulationSample,
    PublicTable,
)
from isinglass.attack.linking.code_patterns import row_colors, same_columns
from isinglass.attack.linking.groups import group_members
from isinglass.attack.linking.quiet import quiet_directions
from isinglass.attack.pattern_linkage import PatternLinkageAttack
from isinglass.attack.row_factor import RowFactorAttack
from isinglass.errors import AttackError

N, D = 600, 5


def table(seed=0):
    """Columns of whole numbers that go together, some of few values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2)) @ rng.normal(size=(2, D)) + 0.5 * rng.normal(size=(N, D))
    return np.round(X * [2, 4, 8, 16, 32]) + 100


X = table()
STATISTICS = ColumnStatistics.of(X)
PAIRS = KnownPairs(np.arange(50), X[:50])
TABLE = STATISTICS | PublicTable(X)


def coded(rows, seed=1):
    """Each value of each column replaced by a random number of its own."""
    rng = np.random.default_rng(seed)
    columns = []
    for column in rows.T:
        values, where = np.unique(column, return_inverse=True)
        columns.append(rng.permutation(len(values))[where])
    return np.column_stack(columns).astype(float)


def linked(released, known=TABLE | PAIRS, seed=0):
    """Share of the rows that were linked with a record of the same values; how it was done."""
    attack = PatternLinkageAttack(random_state=seed)
    guess = attack.guess(released, known)
    how = "plain" if attack.kept is None else attack.kept.how
    return float((guess == X).all(axis=1)[50:].mean()), how


def test_codes_leave_which_record_is_whose():
    share, how = linked(coded(X))
    assert share > 0.95
    assert how == "codes"


@pytest.mark.parametrize("order", [np.arange(D), np.array([3, 1, 4, 0, 2])])
def test_codes_are_read_wherever_rows_and_columns_stand(order):
    places = np.random.default_rng(2).permutation(N)
    released = coded(X)[places][:, order]
    assert np.array_equal(order[same_columns(released, X)], np.arange(D))
    guess = CodesAttack(random_state=0).guess(released, TABLE)
    assert (guess == X[places]).mean() > 0.95


def test_a_sample_reads_the_most_frequent_codes():
    few = np.random.default_rng(3).choice([1.0, 2.0, 7.0], p=[0.7, 0.2, 0.1], size=(2000, 3))
    known = ColumnStatistics.of(few) | PopulationSample(few[::5])
    guess = CodesAttack(random_state=0).guess(coded(few), known)
    assert (guess == few).mean() > 0.95


def test_known_pairs_are_entries_of_the_dictionary():
    guess = CodesAttack(random_state=0).guess(coded(X), STATISTICS | PAIRS)
    seen = np.array([np.isin(X[:, j], X[:50, j]) for j in range(D)]).T
    assert (guess[seen] == X[seen]).all()
    assert (guess[~seen] != X[~seen]).all()


def test_values_that_never_repeat_have_no_pattern():
    unlike = np.random.default_rng(4).normal(size=X.shape)
    assert np.ptp(CodesAttack().guess(unlike, TABLE), axis=0).max() == 0
    guess = PatternLinkageAttack().guess(unlike[:, 1:], TABLE)
    assert np.ptp(guess, axis=0).max() == 0


def test_codes_need_records_to_be_read_with():
    with pytest.raises(AttackError, match="sample, pairs or a public table"):
        CodesAttack().guess(coded(X), STATISTICS)


def test_colors_do_not_change_with_codes_or_order():
    places = np.random.default_rng(5).permutation(N)
    ours, theirs = row_colors(coded(X)[places], X, np.random.default_rng(6))
    assert np.array_equal(ours, theirs[:, places])
    assert len(np.unique(theirs[-1])) > 0.95 * N


@pytest.mark.parametrize("what", ["sign", "factor", "both, from the mean, in deviations"])
def test_a_number_for_each_row_leaves_its_direction(what):
    rng = np.random.default_rng(7)
    signs, sizes = rng.choice([-1.0, 1.0], (N, 1)), np.exp(rng.normal(size=(N, 1)))
    released = {
        "sign": X * signs,
        "factor": X * sizes,
        "both, from the mean, in deviations": (X - X.mean(axis=0)) / X.std(axis=0) * signs * sizes,
    }[what]
    assert linked(released)[0] > 0.95


@pytest.mark.parametrize("sign", [True, False])
def test_a_number_for_each_row_is_undone_without_row_numbers(sign):
    rng = np.random.default_rng(8)
    c = rng.choice([-1.0, 1.0], (N, 1)) if sign else np.exp(rng.normal(size=(N, 1)))
    for known, most in ((STATISTICS, 1.5), (TABLE, 1e-3)):
        guess = RowFactorAttack().guess(X * c, known)
        lost = np.square(guess - X).sum(axis=0) / np.square(X - X.mean(axis=0)).sum(axis=0)
        assert lost.mean() < most


def sorted_means(rows, key, size=5):
    """Groups of records that follow one another in an order, each replaced by its mean."""
    released, order = np.empty_like(rows), np.argsort(key, kind="stable")
    for start in range(0, len(rows), size):
        group = order[start : start + size]
        released[group] = rows[group].mean(axis=0)
    return released


def nearest_means(rows, size=5):
    """Microaggregation: the record farthest from the mean with the ones nearest to it."""
    unit, left = (rows - rows.mean(axis=0)) / rows.std(axis=0), np.arange(len(rows))
    released = rows.copy()
    while len(left) >= size:
        far = left[np.square(unit[left] - unit[left].mean(axis=0)).sum(axis=1).argmax()]
        group = left[np.argsort(np.square(unit[left] - unit[far]).sum(axis=1))[:size]]
        released[group] = rows[group].mean(axis=0)
        left = np.setdiff1d(left, group)
    return released


@pytest.mark.parametrize("how", ["a column", "the sum", "neighbors"])
def test_the_records_behind_a_mean_are_found(how):
    rows = X + 0.1 * np.random.default_rng(9).normal(size=X.shape)  # no two alike
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    released = {
        "a column": lambda: sorted_means(rows, rows[:, 3]),
        "the sum": lambda: sorted_means(rows, standard.sum(axis=1)),
        "neighbors": lambda: nearest_means(rows),
    }[how]()
    found = group_members(released, rows, np.random.default_rng(0))
    assert len(found) > 0.8 * N
    assert all(row in members for row, members in found.items())
    assert {len(members) for members in found.values()} == {5}


def test_noise_has_no_members_and_is_linked_with_nobody():
    rng = np.random.default_rng(10)
    assert group_members(rng.normal(size=X.shape), X, rng) == {}
    assert linked(rng.normal(size=X.shape))[0] < 0.05
    assert linked(np.column_stack([rng.permutation(column) for column in X.T]))[0] < 0.05


def test_without_pairs_the_clearest_features_count():
    rng = np.random.default_rng(11)
    assert linked(X * np.exp(rng.normal(size=(N, 1))), TABLE)[0] > 0.95
    assert linked(coded(X), TABLE)[0] > 0.95


def test_noise_of_low_rank_leaves_records_where_it_is_quiet():
    """Seven loud directions of twelve; no pair is known."""
    rng = np.random.default_rng(8)
    wide = rng.gamma(2.0, size=(N, 6)) @ rng.normal(size=(6, 12)) + rng.normal(size=(N, 12))
    loud = 8 * rng.normal(size=(N, 7)) @ rng.normal(size=(7, 12)) * wide.std(axis=0)
    attack = PatternLinkageAttack(random_state=0)
    guess = attack.guess(wide + loud, ColumnStatistics.of(wide) | PublicTable(wide))
    assert (guess == wide).all(axis=1).mean() > 0.95
    assert attack.kept.how == "directions in which the noise is quiet"
    everywhere = wide + 8 * rng.normal(size=wide.shape) * wide.std(axis=0)
    assert not list(quiet_directions(everywhere, wide))
