"""Randomization levels: goldens, brute-force twins, closed forms, and what the posterior may be."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr

from isinglass.datasets import uni_dis
from isinglass.errors import PrivacyWarning
from isinglass.measure.randomization import (
    adaptive_level,
    average_level,
    expected_randomization_level,
    largest_dimension,
    levels_from_fits,
    noise_for_average,
    posterior,
    potential_fit,
    randomization_level,
    uniform_cube_average,
    worst_level,
)

X = np.array([[0.0], [1.0], [2.0], [5.0]])
Z = np.array([[0.4], [1.6], [1.9], [4.0]])
THREE = 3 / sqrt(12)  # deviation of uniform noise that is 3 wide


# Goldens.


def test_golden_levels():
    found = randomization_level(X, Z, scale=1)
    assert found.tolist() == [1, 2, 1, 1]
    assert found.dtype == np.int64
    assert average_level(found) == 1.25
    found = randomization_level(X, Z, scale=THREE, distribution="uniform")
    assert found.tolist() == [2, 2, 2, 1]
    assert average_level(found) == 1.75


def test_golden_posteriors():
    found, defined = posterior(Z[:2], X, scale=1)
    wanted = [
        [0.4532969991, 0.4101600863, 0.1365304324, 0.0000124822],
        [0.1363253672, 0.4095440363, 0.4526161585, 0.0015144380],
    ]
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert defined.all()


def test_golden_expectations():
    found = expected_randomization_level(X, scale=1)
    wanted = [1.4734024580, 1.6398252094, 1.5339999939, 1.0957669985]
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    found = expected_randomization_level(X, scale=THREE, distribution="uniform")
    np.testing.assert_allclose(found, [2, 7 / 3, 2, 1], atol=1e-9)


def pair_chance(delta, scale, distribution="gaussian"):
    """The chance that one of two records fits the other's release: its expected level less 1."""
    two = np.vstack([np.zeros(len(delta)), delta])
    found = expected_randomization_level(two, scale=scale, distribution=distribution)
    assert found[0] == found[1]
    return found[0] - 1


def test_golden_chances_of_a_pair():
    for distance, wanted in zip(
        (1, 2, 3, 4), (0.3085375387, 0.1586552539, 0.0668072013, 0.0227501319), strict=True
    ):
        assert pair_chance([distance], 1) == pytest.approx(wanted, abs=1e-9)
    delta = np.array([0.5, -1, 2, 0.1, 0.7])
    assert pair_chance(delta, [1, 2, 1.5, 0.5, 3]) == pytest.approx(0.2206199904, abs=1e-9)
    width = np.array([3.0, 4, 5, 2, 3])
    found = pair_chance(delta, width / sqrt(12), "uniform")
    assert found == pytest.approx(0.273125, abs=1e-9)
    assert found <= (1 - np.mean(np.abs(delta) / width)) ** 5  # Corollary 3.1


@pytest.mark.parametrize("n", [1, 2, 70])
@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_identical_records_all_have_the_level_n(n, distribution):
    # In one column that varies and one that does not: the copies differ in the noise alone.
    same = np.full((n, 3), 7.25)
    noise = np.random.default_rng(0).uniform(-1, 1, size=same.shape)
    settings = {"scale": 1.0, "distribution": distribution}
    assert (randomization_level(same, same + noise, **settings) == n).all()
    assert (expected_randomization_level(same, **settings) == n).all()
    halves = np.vstack([same, same + [1e9, 0, 0]])
    released = halves + np.vstack([noise, noise])
    assert (randomization_level(halves, released, **settings) == n).all()
    np.testing.assert_allclose(
        expected_randomization_level(halves, **settings),
        1 + (n - 1) / (2 - (distribution == "uniform")),
    )


# Twins.


def exact_levels(table, released, scale, distribution):
    """By the definition, in fractions: no rounding, so that every tie is one."""
    n, d = table.shape
    out = []
    for i in range(n):

        def misfit(j, i=i):
            steps = [Fraction(released[i, c]) - Fraction(table[j, c]) for c in range(d)]
            if distribution == "gaussian":
                return sum((s / scale[c]) ** 2 for c, s in enumerate(steps))
            # Half the width is sqrt(3) scale; compare squares.
            return any(s**2 > 3 * scale[c] ** 2 for c, s in enumerate(steps))

        out.append(sum(misfit(j) <= misfit(i) for j in range(n)))
    return out  # fmt: skip


grids = st.integers(1, 3).flatmap(
    lambda d: st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            arrays(np.int64, (n, d), elements=st.integers(-3, 3)),
            arrays(np.int64, (n, d), elements=st.integers(-3, 3)),
            st.lists(st.sampled_from([1, 2, 3, 7]), min_size=d, max_size=d),
        )
    )
)


@settings(max_examples=150, deadline=None)
@given(grid=grids, tenth=st.booleans(), offset=st.sampled_from([0, 1000]))
def test_gaussian_levels_are_exact_on_grids_full_of_ties(grid, tenth, offset):
    table, noise, scale = grid
    # A scale of 0.1, which no float64 is, makes ties that rounding breaks.
    scale = [Fraction(s, 10 if tenth else 1) for s in scale]
    table = (table + offset).astype(float)
    released = table + noise
    found = randomization_level(table, released, scale=[float(s) for s in scale])
    live = (table != table[0]).any(axis=0)
    kept = [s for s, alive in zip(scale, live, strict=True) if alive]
    assert found.tolist() == exact_levels(table[:, live], released[:, live], kept, "gaussian")


@settings(max_examples=150, deadline=None)
@given(grid=grids, offset=st.sampled_from([0, 1000]))
def test_uniform_levels_are_exact_on_grids_full_of_ties(grid, offset):
    table, noise, scale = grid
    table = (table + offset).astype(float)
    released = table + noise % np.array(scale)
    # Records exactly on the edge of the box count: scale² = width² / 3, width whole.
    live = (table != table[0]).any(axis=0)
    found = randomization_level(
        table, released, scale=np.array(scale) / sqrt(3), distribution="uniform"
    )
    box = np.abs(released[:, None] - table)[..., live] <= np.array(scale)[live]
    assert found.tolist() == box.all(axis=2).sum(axis=1).tolist()


def brute_levels(table, released, scale):
    step = (table - table[:, None]) / scale
    noise = ((released - table) / scale)[:, None]
    return ((step * (2 * noise - step)).sum(axis=2) >= 0).sum(axis=1)


@pytest.mark.parametrize(
    "case",
    ["plain", "weak noise", "strong noise", "outliers", "offset", "copies", "huge", "tiny", "far"],
)
def test_gaussian_levels_agree_with_numpy_where_single_precision_could_not_tell(case):
    rng = np.random.default_rng(5)
    table, scale = rng.normal(size=(1500, 8)), np.full(8, 2.0)
    if case == "weak noise":
        scale *= 0.01
    elif case == "strong noise":
        scale *= 1e4
    elif case == "outliers":
        table[::100] *= 1e6
    elif case == "offset":
        table += 1e7
    elif case == "copies":
        table = np.repeat(table[:50], 30, axis=0)
    elif case == "far":
        table *= 8e18  # products overflow where squares do not
    elif case in ("huge", "tiny"):
        factor = 1e25 if case == "huge" else 1e-30
        table, scale = table * factor, scale * (factor if case == "huge" else 1.0)
    released = table + scale * rng.normal(size=table.shape)
    found = randomization_level(table, released, scale=scale)
    assert found.tolist() == brute_levels(table, released, scale).tolist()


@pytest.mark.parametrize(("n", "d", "ratio"), [(1, 1, 1), (64, 2, 1), (65, 3, 0.2), (3000, 6, 2)])
def test_uniform_levels_agree_with_numpy(n, d, ratio, monkeypatch):
    monkeypatch.setattr("isinglass.measure.level_counts._BOX_RECORDS", 1024)  # several parts
    rng = np.random.default_rng(6)
    table = rng.normal(size=(n, d))
    released = table + sqrt(3) * ratio * rng.uniform(-1, 1, size=table.shape)
    found = randomization_level(table, released, scale=ratio, distribution="uniform")
    half = sqrt(3) * ratio * (1 + 1e-12) + 1e-15
    wanted = [(np.abs(z - table) <= half).all(axis=1).sum() for z in released]
    # One record alone is a constant column, which does not count.
    assert found.tolist() == (wanted if n > 1 else [1])


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_expectations_agree_with_numpy_over_several_blocks(distribution):
    rng = np.random.default_rng(7)
    table = rng.normal(size=(700, 5)) * [1, 2, 3, 4, 5] + 100
    table[300:350] = table[:50]
    scale = np.array([2.0, 2, 3, 3, 4])
    delta = (table[:, None] - table) / scale
    pairs = (
        ndtr(-0.5 * np.sqrt((delta**2).sum(axis=2)))
        if distribution == "gaussian"
        else np.maximum(0, 1 - np.abs(delta) / sqrt(12)).prod(axis=2)
    )
    np.fill_diagonal(pairs, 1)
    found = expected_randomization_level(table, scale=scale, distribution=distribution)
    np.testing.assert_allclose(found, pairs.sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_the_expectation_is_the_mean_over_draws(distribution):
    rng = np.random.default_rng(8)
    table = rng.normal(size=(40, 3))
    draws = []
    for _ in range(600):
        noise = (
            rng.normal(size=table.shape)
            if distribution == "gaussian"
            else rng.uniform(-sqrt(3), sqrt(3), size=table.shape)
        )
        settings = {"scale": 1.5, "distribution": distribution}
        draws.append(randomization_level(table, table + 1.5 * noise, **settings))
    expected = expected_randomization_level(table, **settings)
    error = np.std(draws, axis=0) / sqrt(600)
    assert (np.abs(np.mean(draws, axis=0) - expected) < 5 * error).all()


# Fits and posteriors.


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_the_posterior_of_the_truth_is_at_most_one_over_the_level(distribution):
    rng = np.random.default_rng(9)
    table = rng.normal(size=(300, 4))
    table[250:] = table[:50]
    noise = rng.normal(size=table.shape) if distribution == "gaussian" else rng.uniform(
        -sqrt(3), sqrt(3), size=table.shape
    )  # fmt: skip
    settings = {"scale": 0.7, "distribution": distribution}
    released = table + 0.7 * noise
    levels = randomization_level(table, released, **settings)
    fits = potential_fit(released, table, **settings)
    np.testing.assert_array_equal(levels_from_fits(fits, np.arange(300)), levels)
    chances, defined = posterior(released, table, **settings)
    assert defined.all()
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (np.diag(chances) <= 1 / levels * (1 + 1e-9)).all()
    assert levels.min() < 20 < levels.max()


def test_fits_are_log_densities():
    from scipy.stats import norm, uniform

    scale = np.array([0.5, 2.0])
    table, released = np.array([[0.0, 1], [1, 0]]), np.array([[0.2, 0.3], [0.9, 3.1]])
    wanted = norm.logpdf(released[:, None], table, scale).sum(axis=2)
    np.testing.assert_allclose(potential_fit(released, table, scale=scale), wanted)
    half = sqrt(3) * scale
    wanted = uniform.logpdf(released[:, None], table - half, 2 * half).sum(axis=2)
    found = potential_fit(released, table, scale=scale, distribution="uniform")
    np.testing.assert_allclose(found, wanted)
    assert found[1, 0] == -np.inf


def test_a_posterior_without_any_fitting_record_is_zero_and_says_so():
    found, defined = posterior([[0.5], [40.0]], X, scale=1, distribution="uniform")
    assert defined.tolist() == [True, False]
    assert found[1].tolist() == [0, 0, 0, 0]
    found, defined = posterior([[1e6]], X, scale=1)  # far out, yet one record is the likeliest
    assert defined.all()
    assert found[0].tolist() == [0, 0, 0, 1]


def test_levels_from_fits_count_ties_within_rounding():
    fits = np.array([[-10.0, -10 - 1e-12, -10 - 1e-9, 3], [-np.inf, 1, -np.inf, -np.inf]])
    assert levels_from_fits(fits, [0, 1]).tolist() == [3, 1]
    assert levels_from_fits(fits, [3, 0]).tolist() == [1, 4]
    with pytest.raises(ValueError, match="below 4"):
        levels_from_fits(fits, [0, 4])
    with pytest.raises(ValueError, match="shapes"):
        levels_from_fits(fits, [0])


# Published runs and closed forms.


@pytest.mark.parametrize(
    ("d", "gaussian", "uniform"), [(10, (784.6, 12), (1307.1, 13)), (50, (533, 11), (239.0, 7))]
)
def test_one_run_on_uniform_records(d, gaussian, uniform):
    table = uni_dis(2000, n_features=d, random_state=d).X
    rng = np.random.default_rng(d)
    for distribution, (mean, deviation) in (("gaussian", gaussian), ("uniform", uniform)):
        noise = (
            rng.normal(size=table.shape)
            if distribution == "gaussian"
            else rng.uniform(-sqrt(3), sqrt(3), size=table.shape)
        )
        found = randomization_level(table, table + 8 * noise, scale=8, distribution=distribution)
        assert average_level(found) == pytest.approx(mean, abs=4 * deviation)


@pytest.mark.parametrize(
    ("d", "distribution", "wanted", "tolerance"),
    [
        (1, "uniform", 9583.375, 1e-3), (64, "uniform", 657.1734, 1e-3),
        (75, "uniform", 411.8669, 1e-3), (100, "uniform", 142.7803, 1e-3),
        (1, "gaussian", 4713.2895, 1e-3), (64, "gaussian", 2407.4, 2),
        (75, "gaussian", 2229.1, 2), (100, "gaussian", 1892.2, 2),
    ],
)  # fmt: skip
def test_average_of_a_uniform_cube(d, distribution, wanted, tolerance):
    found = uniform_cube_average(10_000, d, 8, distribution)
    assert found == pytest.approx(wanted, abs=tolerance)


@pytest.mark.parametrize("ratio", [0.05, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_the_closed_form_is_the_integral_over_two_columns(ratio, distribution):
    nodes, weights = np.polynomial.legendre.leggauss(400)
    t, w = (nodes + 1) / 2, weights / 2
    w = w * 2 * (1 - t)  # density of |u - u'|
    if distribution == "gaussian":
        chance = ndtr(-sqrt(12) * np.hypot(t[:, None], t) / (2 * ratio))
    else:
        one = np.maximum(0, 1 - t / ratio)
        chance = one[:, None] * one
    found = uniform_cube_average(2, 2, ratio, distribution) - 1
    assert found == pytest.approx(float(w @ chance @ w), rel=1e-4, abs=1e-9)


def test_figure_4_largest_dimension_with_an_average_of_3300():
    ratios = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16)
    uniform = [largest_dimension(3300, 10_000, c, "uniform") for c in ratios]
    gaussian = [largest_dimension(3300, 10_000, c, "gaussian") for c in ratios]
    assert uniform == [2, 6, 9, 12, 16, 19, 22, 26, 29, 32, 39, 46, 52]
    assert gaussian == [0, 1, 3, 6, 10, 14, 19, 25, 31, 39, 56, 76, 99]


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_noise_for_a_wanted_average(distribution):
    ratio = noise_for_average(
        lambda c: uniform_cube_average(10_000, 75, c, distribution), 1000, tolerance=1e-9
    )
    assert uniform_cube_average(10_000, 75, ratio, distribution) == pytest.approx(1000)
    table = np.random.default_rng(10).normal(size=(300, 4)) * [1, 10, 100, 0]
    ratio = noise_for_average(table, 30, distribution=distribution)
    expected = expected_randomization_level(
        table, scale=ratio * table.std(axis=0), distribution=distribution
    )
    assert 30 <= average_level(expected) < 30.05
    assert noise_for_average(np.ones((5, 2)), 5, distribution=distribution) == 0
    with pytest.raises(ValueError, match="however strong"):
        noise_for_average(table, 301, distribution=distribution)


def test_worst_level_is_an_order_statistic():
    values = np.random.default_rng(11).permutation(np.arange(1, 101))
    assert worst_level(values) == 1
    assert worst_level(values, 0.07) == 7  # 0.07 * 100 rounds up to a little over 7
    assert worst_level(values, 0.071) == 8
    assert worst_level(values, 1) == 100
    assert worst_level([5, 3], 0.01) == 3
    with pytest.raises(ValueError, match="quantile must be > 0"):
        worst_level(values, 0)
    with pytest.raises(ValueError, match="got shape"):
        average_level([])


# One's own size of noise.


def test_adaptive_level_agrees_with_the_definition():
    rng = np.random.default_rng(12)
    table = rng.normal(size=(60, 3)) * [1, 5, 0] + [0, 100, 4]
    table[40:50] = table[:10]
    sigmas, units = rng.uniform(0.1, 3, size=60), np.array([1.0, 5, 0])
    sigmas[40:45] = sigmas[:5]
    released = table + sigmas[:, None] * units * rng.normal(size=table.shape)
    square = (((released[:, None] - table)[..., :2] / units[:2]) ** 2).sum(axis=2)
    fits = -2 * np.log(sigmas) - square / (2 * sigmas**2)
    wanted = levels_from_fits(fits, np.arange(60))
    assert adaptive_level(table, released, sigmas, units).tolist() == wanted.tolist()
    assert (wanted[:5] >= 2).all()


def test_equal_sizes_of_noise_give_the_plain_level():
    rng = np.random.default_rng(13)
    table = rng.normal(size=(80, 3))
    released = table + 0.5 * rng.normal(size=table.shape)
    found = adaptive_level(table, released, np.full(80, 0.5), np.ones(3))
    assert found.tolist() == randomization_level(table, released, scale=0.5).tolist()
    with pytest.raises(ValueError, match="sigmas must be one finite number > 0"):
        adaptive_level(table, released, np.zeros(80), np.ones(3))


# What is left out, and what is refused.


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_columns_that_are_constant_or_without_noise_do_not_count(distribution):
    rng = np.random.default_rng(14)
    table = rng.normal(size=(50, 3))
    table[:, 1] = 4
    released = table + [1, 0, 0] * rng.uniform(-1, 1, size=table.shape)
    settings = {"distribution": distribution}
    one = randomization_level(table[:, :1], released[:, :1], scale=1, **settings)
    with pytest.warns(PrivacyWarning, match="1 of 3 columns vary and have no noise"):
        found = randomization_level(table, released, scale=[1, 0, 0], **settings)
    assert found.tolist() == one.tolist()
    found = randomization_level(table[:, :2], released[:, :2], scale=[1, 0], **settings)
    assert found.tolist() == one.tolist()


def test_a_release_that_uniform_noise_cannot_make_is_told():
    with pytest.warns(PrivacyWarning, match="1 of 4 released rows"):
        found = randomization_level(X, Z, scale=0.9 / sqrt(3), distribution="uniform")
    assert found.tolist() == [2, 2, 2, 4]


def test_storing_a_release_in_single_precision_does_not_move_a_record_out_of_its_box():
    rng = np.random.default_rng(15)
    table = 1000 + rng.normal(size=(200, 3))
    edge = table + 0.01 * rng.choice([-1.0, 1.0], size=table.shape)
    found = randomization_level(
        table, edge.astype(np.float32), scale=0.01 / sqrt(3), distribution="uniform"
    )
    assert found.min() >= 1
    assert found.mean() < 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"distribution": "laplace"}, "distribution must be"),
        ({"scale": [1, 2]}, "scale must be one number"),
        ({"scale": -1}, "scale must be >= 0"),
        ({"released": Z[:3]}, "a row for each record"),
        ({"released": np.hstack([Z, Z])}, "the same columns"),
        ({"released": np.full_like(Z, np.nan)}, "finite numbers only"),
        ({"original": X[:0], "released": Z[:0]}, "there must be one"),
    ],
)
def test_bad_arguments_are_told(change, message):
    arguments = {"original": X, "released": Z, "scale": 1} | change
    with pytest.raises(ValueError, match=message):
        randomization_level(arguments.pop("original"), arguments.pop("released"), **arguments)
    with pytest.raises(ValueError, match="ratio > 0"):
        uniform_cube_average(10, 1, 0)
    with pytest.raises(ValueError, match="distribution must be"):
        uniform_cube_average(10, 1, 1, "laplace")
    with pytest.raises(ValueError, match="wanted must be > 1"):
        largest_dimension(1, 10, 1)
