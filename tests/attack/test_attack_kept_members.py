"""Membership by kept values: counts, what chance makes of them, and rows that fit as well."""

import numpy as np
import pytest
from scipy.stats import poisson

from isinglass.attack.knowledge import (
    ColumnStatistics,
    KeptColumns,
    Knowledge,
    PublicParameters,
)
from isinglass.attack.members.kept_values import ABSENT, KeptMatches
from isinglass.attack.members.membership import membership_scores
from isinglass.auditing.membership import area_under_curve
from isinglass.errors import AttackError


def column(*values):
    return np.array(values, dtype=float)[:, np.newaxis]


def test_rows_with_a_records_values_are_counted():
    same = KeptMatches.of(column(1, 1, 2, 3), column(1, 2, 7))
    np.testing.assert_array_equal(same.count, [2, 1, 0])
    assert same.scores()[2] == ABSENT


def test_groups_of_very_different_sizes_tell_nothing_by_them():
    kept = np.repeat([1.0, 2.0], [1_000, 3_000])[:, np.newaxis]
    np.testing.assert_allclose(KeptMatches.of(kept, column(1, 2)).scores(), 0.0, atol=1e-3)


def poisson_groups(rates, seed=0):
    sizes = np.random.default_rng(seed).poisson(rates)
    return np.repeat(np.arange(len(rates)), sizes).astype(float)[:, np.newaxis], sizes


def test_groups_of_one_rate_expect_that_rate():
    """A member adds a row to its group, so that c of 4 rows make it c / 4 times likelier."""
    kept, sizes = poisson_groups(np.full(5_000, 4.0))
    asked = column(*(int(np.flatnonzero(sizes == c)[0]) for c in (2, 4, 8)))
    scores = KeptMatches.of(kept, asked).scores()
    np.testing.assert_allclose(scores, np.log([0.5, 1.0, 2.0]), atol=0.1)


def test_groups_of_two_rates_expect_their_posterior_mean():
    kept, sizes = poisson_groups(np.repeat([0.5, 6.0], [20_000, 5_000]), seed=1)
    asked = column(*(int(np.flatnonzero(sizes == c)[0]) for c in (1, 2, 3, 6)))
    same = KeptMatches.of(kept, asked)
    c = same.count
    rare, often = 20_000 * np.exp(-0.5) * 0.5**c, 5_000 * np.exp(-6.0) * 6.0**c
    mean = (rare * 0.5 + often * 6.0) / (rare + often)
    np.testing.assert_allclose(same.expected, mean, rtol=0.25)


def test_the_area_of_an_even_category_is_that_of_a_poisson_number_and_one_more():
    kept, _ = poisson_groups(np.full(3_000, 4.0), seed=2)
    strangers = np.random.default_rng(3).integers(0, 3_000, 4_000).astype(float)[:, np.newaxis]
    scores = KeptMatches.of(kept, np.vstack([kept, strangers])).scores()
    area = area_under_curve(scores[: len(kept)], scores[len(kept) :])[0]
    k = np.arange(60)
    law = poisson.pmf(k, 4.0)
    wins = sum(law[i] * (law[: i + 1].sum() + 0.5 * law[i + 1]) for i in k[:-1])
    assert area == pytest.approx(wins, abs=0.02)


def test_rare_values_that_meet_tell_more_than_frequent_ones():
    rng = np.random.default_rng(4)
    share = 1 / np.arange(1, 61)
    kept = np.column_stack([rng.choice(60, 2_000, p=share / share.sum()) for _ in "ab"])
    asked = np.array([p for p in np.ndindex(60, 60) if (kept == p).all(axis=1).sum() == 1])
    scores = KeptMatches.of(kept.astype(float), asked.astype(float)).scores()
    usual = (asked + 1).prod(axis=1)
    assert scores[usual > 300].mean() > scores[usual < 60].mean() + 0.5


def test_equal_in_single_precision_is_equal_and_a_missing_value_is_one():
    same = KeptMatches.of(column(0.1, np.nan), column(np.float32(0.1), np.nan, 0.2))
    np.testing.assert_array_equal(same.count, [1, 1, 0])


def test_records_need_the_kept_columns_of_the_release():
    with pytest.raises(AttackError, match="the 1 kept columns"):
        KeptMatches.of(column(1), np.ones((1, 2)))


def world(method, scale=3.0, n=300):
    """A release under noise with a group of five records for each kept value, and strangers."""
    rng = np.random.default_rng(3)
    table, others = rng.normal(size=(2, n, 4))
    released = table + scale * rng.normal(size=table.shape)
    group = np.repeat(np.arange(n // 5), 5).astype(float)[:, np.newaxis]
    known = Knowledge() | ColumnStatistics.of(table) | KeptColumns(group)
    said = {"scale": scale, "relative": False, "distribution": "gaussian"}
    known |= PublicParameters(method, said if method == "additive_noise" else {})
    return released, np.vstack([table, others]), known, np.vstack([group, group])


def test_the_likelihood_among_rows_of_the_same_values_is_that_by_hand():
    released, records, known, own = world("additive_noise")
    own = np.where(own < 10, 0.0, own)  # one group is ten times as large as the others
    known |= KeptColumns(own[: len(released)])
    found = membership_scores(released, records, known, own_kept=own)
    statistics = known.need(ColumnStatistics)
    spread = np.hypot(statistics.deviation, 3.0)
    fit = -np.square((released[:, None] - records) / 3.0).sum(axis=2) / 2
    stranger = -np.square((released - statistics.mean) / spread).sum(axis=1) / 2
    # No direction spreads farther than chance makes it: one variance about the mean for all.
    off = (released - statistics.mean) / spread
    stranger /= np.linalg.eigvalsh(off.T @ off / len(off)).mean()
    same = own[: len(released)] == own.T
    ratio = np.where(same, np.exp(fit - stranger[:, None]), 0.0).sum(axis=0)
    expected = KeptMatches.of(own[: len(released)], own).expected
    assert np.ptp(expected) > 20
    away = found["kept_and_near"] - np.log(ratio / expected)
    np.testing.assert_allclose(away, away[0], atol=1e-9)


@pytest.mark.parametrize("method", ["additive_noise", "condensation"])
def test_rows_of_the_same_values_tell_more_than_all_rows(method):
    released, records, known, own = world(method, 1.0)
    found = membership_scores(released, records, known, own_kept=own)
    n = len(released)
    areas = {name: area_under_curve(s[:n], s[n:])[0] for name, s in found.items()}
    assert areas["kept_values"] == pytest.approx(0.5)
    assert areas["kept_and_near"] > areas.get("likelihood", areas["nearest"]) + 0.05


def test_without_the_records_own_values_nobody_asks():
    released, records, known, _ = world("additive_noise")
    assert not [n for n in membership_scores(released, records, known) if n.startswith("kept")]
