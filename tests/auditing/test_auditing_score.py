"""Scores: what counts as recovered, what blind guessing gets, how wide an interval must be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.auditing.scoring import (
    Yardstick,
    best_constant,
    constants,
    gain_interval,
    nearest_guesses,
    nearest_others,
    over_trials,
    score_rows,
    wilson,
)
from isinglass.auditing.split import all_rows, far_rows, pair_levels, split_rows


def yard_of(table):
    return Yardstick.of(table.min(axis=0), table.max(axis=0), table.std(axis=0, ddof=1))


def scored(guess, truth, *, outlier=None, others=None, blind=None):
    yard = yard_of(truth)
    none = np.zeros(len(truth), dtype=bool)
    if blind is None:
        blind = {r: constants(truth, yard.widths(r)) for r in ("within", "near")}
    return score_rows(
        guess,
        truth,
        yard,
        blind,
        outlier=none if outlier is None else outlier,
        chosen=~none,
        others=others,
        rng=np.random.default_rng(0),
    )


def test_the_truth_scores_one_everywhere():
    truth = np.random.default_rng(0).normal(size=(200, 3))
    score = scored(truth, truth)
    assert (score.success == 1).all()
    assert (score.near == 1).all()
    assert (score.r2 == 1).all()
    assert (score.error == 0).all()
    assert score.gain() == 1


def test_success_counts_values_within_a_tenth_of_the_range():
    # Range 10: an error of exactly 1 still counts, 1.01 does not.
    truth = np.array([[0.0], [10.0], [5.0], [2.0]])
    guess = truth + np.array([[1.0], [-1.0], [1.01], [0.0]])
    assert scored(guess, truth).success[0] == 0.75


def test_the_column_mean_explains_nothing():
    truth = np.random.default_rng(1).normal(size=(500, 2))
    score = scored(np.broadcast_to(truth.mean(axis=0), truth.shape), truth)
    assert np.allclose(score.r2, 0)
    assert score.gain() < 0.02


def test_one_far_value_cannot_hide_recovery():
    # The range is a thousand deviations: any guess is within a tenth of it, and so is blindness.
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(1000, 1))
    truth[0] = 1e4
    exact, blind = scored(truth, truth), scored(rng.permutation(truth), truth)
    assert exact.success[0] - exact.baseline[0] < 0.01
    assert exact.gain() > 0.99
    assert blind.gain() < 0.05


def brute_best_constant(values, width):
    starts = [(((values >= a) & (values <= a + 2 * width)).sum(), -a) for a in values]
    return max(starts)[0]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.integers(-8, 8), min_size=1, max_size=30),
    st.integers(0, 4),
)
def test_best_constant_covers_as_many_as_any_window(values, width):
    column = np.array(values, dtype=float)[:, None]
    constant = best_constant(column, np.array([float(width)]))[0]
    covered = (np.abs(column[:, 0] - constant) <= width).sum()
    assert covered == brute_best_constant(column[:, 0], width)


def test_outliers_and_rest_are_scored_apart():
    truth = np.arange(100.0)[:, None]
    outlier = np.zeros(100, dtype=bool)
    outlier[:10] = True
    guess = np.where(outlier[:, None], truth, -1000.0)
    score = scored(guess, truth, outlier=outlier)
    assert score.outliers == 1
    assert score.rest == 0
    assert score.success[0] == 0.1


def test_control_is_the_same_guess_beside_other_records():
    rng = np.random.default_rng(3)
    truth, others = rng.uniform(size=(4000, 2)), rng.uniform(size=(1000, 2))
    score = scored(truth, truth, others=others)
    # Two independent uniform numbers are within a tenth with probability .19.
    assert score.control == pytest.approx(0.19, abs=0.02)


def test_nearest_guesses_agree_with_brute_force():
    rng = np.random.default_rng(4)
    guess, truth, span = rng.normal(size=(70, 3)), rng.normal(size=(50, 3)), np.array([1, 2, 0.5])
    away = (((truth[:, None] - guess) / span) ** 2).sum(axis=2)
    assert np.array_equal(nearest_guesses(guess, truth, span), guess[away.argmin(axis=1)])


def test_a_permuted_copy_is_found_whole_by_nearest_record():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(300, 6))
    shown = nearest_guesses(rng.permutation(truth), truth, np.ptp(truth, axis=0))
    assert np.array_equal(shown, truth)


def test_the_nearest_other_record_agrees_with_brute_force():
    table = np.random.default_rng(6).integers(0, 4, size=(60, 3)).astype(float)
    span = np.array([3.0, 6.0, 3.0])
    away = (((table[:, None] - table) / span) ** 2).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    away[away == 0] = np.inf  # a copy is the record itself
    found = (((nearest_others(table, table, span) - table) / span) ** 2).sum(axis=1)
    assert np.allclose(found, away.min(axis=1))


def test_another_sample_of_the_population_gains_nothing():
    rng = np.random.default_rng(9)
    truth, other = rng.normal(size=(2, 1500, 3))
    span = np.ptp(truth, axis=0)
    shown, blind = nearest_guesses(other, truth, span), nearest_others(truth, truth, span)
    score = scored(shown, truth, blind={"within": blind, "near": blind})
    assert score.success.mean() > 0.9
    assert score.gain() < 0.05


@pytest.mark.parametrize(
    ("share", "n", "low", "high"),
    # R: prop.test(x, n, correct=FALSE)$conf.int
    [(0.5, 100, 0.403832, 0.596168), (0.0, 10, 0.0, 0.277533), (1.0, 10, 0.722467, 1.0)],
)
def test_wilson_interval(share, n, low, high):
    assert wilson(share, n) == pytest.approx((low, high), abs=1e-6)


def test_wilson_covers_dependent_values():
    """Columns of one record go together: an interval over values would miss far too often."""
    rng = np.random.default_rng(7)
    hit = 0
    for _ in range(300):
        shares = np.repeat(rng.random(100) < 0.3, 20).reshape(100, 20).mean(axis=1)
        low, high = wilson(float(shares.mean()), 100)
        hit += low <= 0.3 <= high
    assert hit >= 0.92 * 300


def test_interval_covers_what_other_keys_gave():
    low, high = over_trials([0.5, 0.1], 10_000)
    assert low <= 0.1
    assert high >= 0.5
    low, high = over_trials([0.5, 0.2, 0.4, 0.6], 10_000)
    # Student's interval for the mean of .2, .4, .6: .4 ± 4.3027 · .2 / sqrt 3.
    assert (low, high) == pytest.approx((0.0, 0.8968), abs=1e-3)


def test_gain_limits_hold_the_gain():
    rng = np.random.default_rng(8)
    truth = rng.normal(size=(300, 4))
    score = scored(truth + rng.normal(scale=0.5, size=truth.shape), truth)
    low, high = gain_interval(score, [])
    assert low < score.gain() < high


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(8, 400), st.integers(1, 12), st.integers(0, 5))
def test_no_record_is_both_known_and_scored(n_rows, n_columns, seed):
    rng = np.random.default_rng(seed)
    outliers = rng.permutation(n_rows)[: n_rows // 10]
    split = split_rows(n_rows, n_columns, outliers, rng, enough=50)
    assert len(set(split.attacked.tolist())) == len(split.attacked)
    scored = split.attacked[split.chosen | split.outlier]
    assert not set(scored.tolist()) & set(split.sample.tolist())
    assert sorted(split.attacked.tolist()) == list(range(n_rows))
    assert not split.chosen[: split.n_known].any()
    assert not split.outlier[: split.n_known].any()
    scored_outliers = set(split.attacked[split.outlier].tolist())
    given_away = set(split.attacked[: split.n_known].tolist()) | set(split.sample.tolist())
    assert scored_outliers == set(outliers.tolist()) - given_away


def test_pair_levels():
    assert pair_levels(100_000, 29) == (30, 58, 290, 1000)
    assert pair_levels(150, 4) == (2, 5, 8, 50)
    assert pair_levels(9, 4) == (3,)
    assert pair_levels(100_000, 29, most=40) == (30, 40)
    assert pair_levels(100_000, 29, most=0) == ()


def test_of_a_large_release_an_attack_sees_a_part():
    split = split_rows(50_000, 3, np.arange(40), np.random.default_rng(0))
    assert split.chosen.sum() == 9604
    assert len(split.attacked) < 12_000
    # Records of the sample are looked for among the rows, which so must be there.
    assert np.isin(split.sample[:1000], split.attacked[split.n_few :]).all()


def test_given_knowledge_attacks_every_row():
    split = all_rows(10, np.array([2, 5]))
    assert split.chosen.all()
    assert split.outlier.nonzero()[0].tolist() == [2, 5]


def test_records_that_carry_a_column_are_scored_and_never_given_away():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(600, 3))
    assert len(far_rows(table)) == 0
    assert len(far_rows(rng.normal(size=(30, 3)))) == 0
    table[17, 0] = table[401, 2] = 200.0
    far = far_rows(table)
    np.testing.assert_array_equal(far, [17, 401])
    for seed in range(20):
        split = split_rows(600, 3, np.arange(5), np.random.default_rng(seed), enough=50, far=far)
        assert np.isin(far, split.attacked[split.chosen]).all()
        assert not np.isin(far, split.sample).any()
        assert len(np.unique(split.attacked)) == len(split.attacked) == 600
