"""What a tool could not hide: residues, gaps, order, places and cells name the record."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.knowledge import ColumnStatistics, KnownPairs, PublicTable
from isinglass.attack.pattern_linkage import PatternLinkageAttack
from isinglass.attack.row_factor import RowFactorAttack
from isinglass.attack.views.row_shift import without_shift
from isinglass.errors import AttackError

N, D, PAIRS = 240, 5, 40


def _table():
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(N, D)) @ (np.eye(D) + 0.3 * rng.normal(size=(D, D)))
    return np.round(mixed * [1, 3, 10, 2, 5] + 10 * np.arange(D), 3)


X = _table()
SD = X.std(axis=0)
ORDER = np.random.default_rng(1).permutation(N)
KNOWN, SAMPLE = ORDER[:PAIRS], ORDER[PAIRS : PAIRS + 40]
STATISTICS = ColumnStatistics.of(X)
#: What each attacker holds, and the rows on which the guess counts.
INSIDER = PublicTable(X[ORDER]) | KnownPairs(KNOWN, X[KNOWN]), ORDER[PAIRS:]
NO_PAIRS = PublicTable(X[ORDER]), ORDER
ACQUAINTED = (
    STATISTICS | PublicTable(X[SAMPLE], complete=False) | KnownPairs(KNOWN, X[KNOWN]),
    SAMPLE,
)
ALL = {"insider": INSIDER, "no pairs": NO_PAIRS, "acquainted": ACQUAINTED}


def linked(released, who):
    """Share of rows that were given the record behind them, and by which features."""
    known, rows = ALL[who]
    attack = PatternLinkageAttack(random_state=0)
    guess = attack.guess(released, known)
    how = "plain" if attack.kept is None else attack.kept.how
    return float((guess == X).all(axis=1)[rows].mean()), how


def in_steps(grid, seed=2):
    noise = 6 * SD * np.random.default_rng(seed).normal(size=X.shape)
    return np.round(X + grid * np.round(noise / grid), 9)


@pytest.mark.parametrize("who", ALL)
@pytest.mark.parametrize("grid", [1.0, 10.0, 0.25, np.array([0.5, 5, 1, 0.2, 2])], ids=str)
def test_noise_in_steps_leaves_what_is_left_after_full_steps(grid, who):
    share, how = linked(in_steps(grid), who)
    assert share > 0.9
    assert "modulo" in how or who == "acquainted"


@pytest.mark.parametrize("who", ["insider", "acquainted"])
def test_known_pairs_find_a_grid_that_is_no_round_number(who):
    share, how = linked(in_steps(0.37), who)
    assert share > 0.9
    assert how == "values modulo a grid"


def test_only_some_columns_in_steps_name_the_record():
    noise = np.random.default_rng(3).normal(size=X.shape)
    released = X + np.where(np.arange(D) < 2, np.round(60 * noise), 3 * SD * noise)
    assert linked(released, "insider")[0] > 0.9


@pytest.mark.parametrize("who", ["insider", "acquainted"])
@pytest.mark.parametrize("how", ["multiplied", "in further digits"])
def test_known_pairs_find_how_fast_a_column_turns(who, how):
    u = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    noise = np.round(6 * np.random.default_rng(4).normal(size=X.shape), 2)
    released = (7919 * u) % 1 if how == "multiplied" else noise + 0.009 * u
    assert linked(released, who)[0] > 0.9


def by_row(what, rng):
    number = rng.normal(size=(N, 1))
    return {
        "added": X + 200 * number,
        "added in deviations": X + 20 * SD * number,
        "added to deviations": (X - X.mean(axis=0)) / SD + 20 * number,
        "added and multiplied": X / SD * np.exp(rng.normal(size=(N, 1))) + 9 * number,
        "another order": rng.permuted(X, axis=1),
        "another order of deviations": rng.permuted((X - X.mean(axis=0)) / SD, axis=1),
    }[what]


@pytest.mark.parametrize("who", ALL)
@pytest.mark.parametrize(
    "what",
    [
        "added", "added in deviations", "added to deviations", "added and multiplied",
        "another order", "another order of deviations",
    ],
)  # fmt: skip
def test_what_is_done_to_all_values_of_a_row_leaves_their_gaps_or_their_set(what, who):
    assert linked(by_row(what, np.random.default_rng(5)), who)[0] > 0.9


@pytest.mark.parametrize("what", ["added", "added in deviations", "added to deviations"])
def test_a_number_added_to_each_row_is_undone_by_whoever_has_the_file_only(what):
    released = by_row(what, np.random.default_rng(5))
    for known, least in ((STATISTICS, 0.5), (STATISTICS | PublicTable(X), 0.95)):
        guess = RowFactorAttack(added=True).guess(released, known)
        explained = 1 - np.square(guess - X).mean(axis=0) / X.var(axis=0)
        assert explained.mean() > least


def test_nothing_is_taken_off_where_nothing_was_added():
    rng = np.random.default_rng(9)
    for released in (X, X + 6 * SD * rng.normal(size=X.shape), 5 * X, rng.normal(size=X.shape)):
        assert without_shift(released, STATISTICS, X) is None


def test_bent_columns_keep_their_order():
    bent = np.column_stack([np.exp(X[:, 0]), -(X[:, 1] ** 3), np.tanh(X[:, 2] / 20 - 1), *X.T[3:]])
    bent[:, 3:] = np.argsort(np.argsort(bent[:, 3:], axis=0), axis=0)
    share, how = linked(bent, "insider")
    assert share > 0.9
    assert how.startswith("places")


def in_cells(what, rng):
    swapped = np.column_stack([rng.permutation(column) for column in X.T])
    left = rng.random(X.shape) < 0.5
    return {
        "swapped": np.where(left, X, swapped) + 1e-5 * SD * rng.normal(size=X.shape),
        "the mean": np.where(left, X, X.mean(axis=0)),
        "zero": np.where(left, X, 0.0),
        "heavy tails": X + 0.05 * SD * rng.standard_cauchy(X.shape) ** 3,
    }[what]


@pytest.mark.parametrize("who", ALL)
@pytest.mark.parametrize("what", ["swapped", "the mean", "zero", "heavy tails"])
def test_cells_that_were_left_alone_name_the_record(what, who):
    share, how = linked(in_cells(what, np.random.default_rng(6)), who)
    assert share > 0.65
    assert how.startswith("cells") or who == "acquainted"


@pytest.mark.parametrize("who", ALL)
def test_releases_that_hide_everything_link_nobody(who):
    rng = np.random.default_rng(7)
    controls = {
        "noise": rng.normal(size=X.shape),
        "synthetic": rng.multivariate_normal(X.mean(axis=0), np.cov(X.T), size=N),
        "strong noise": X + 6 * SD * rng.normal(size=X.shape),
        "strong noise, rounded": np.round(X + 6 * SD * rng.normal(size=X.shape), 3),
        "swapped": np.column_stack([rng.permutation(column) for column in X.T]),
        "whole numbers": np.round(X + 6 * SD * rng.normal(size=X.shape)),
    }
    by_chance = 1 / len(SAMPLE) if who == "acquainted" else 1 / N
    for name, released in controls.items():
        assert linked(released, who)[0] < by_chance + 0.1, name


def test_a_table_of_one_column_or_without_variation_is_no_obstacle():
    rng = np.random.default_rng(8)
    for records in (X[:, :1], np.zeros_like(X), np.column_stack([X, np.ones(N)])):
        released = records + np.round(60 * rng.normal(size=records.shape))
        for pairs in (0, 1, 3, PAIRS):
            known = PublicTable(records) | KnownPairs(np.arange(pairs), records[:pairs])
            guess = PatternLinkageAttack(random_state=0).guess(released, known)
            assert guess.shape == records.shape
            assert np.isfinite(guess).all()


def test_an_infinite_public_record_is_refused():
    with pytest.raises(AttackError, match="finite numbers only"):
        PatternLinkageAttack().guess(X, PublicTable(np.where(X > X.mean(), np.inf, X)))
