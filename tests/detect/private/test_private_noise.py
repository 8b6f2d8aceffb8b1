"""Noise and its price: exact masses far into the tails, and prices that add up."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from isinglass.detect.private import noise
from isinglass.detect.private.counts import RawCounts
from isinglass.detect.private.noise import RoundNoise, add_noise, price_rounds
from isinglass.detect.private.verification.noise_law import noise_p_value

DRAWS = 60_000
ONE, DELTA = 10**6, 10**9  # epsilon 1, delta 1e-6
CASES = [(pure, scale) for pure in (True, False) for scale in (1.0, 7.5, 300.0, 1e4, 1e6)]
#: Draws by which a scale that is 1 % wrong is ten standard errors away, of which five show it.
SHARP = {(True, 40.5): 1_000_000, (False, 40.5): 500_000}
STANDARD_ERRORS = 5


@functools.cache
def drawn(scale: float, pure: bool, n: int = DRAWS) -> np.ndarray:
    counts = np.zeros(n, dtype=np.int64)
    return add_noise(counts, RoundNoise(1, 1, scale, pure), n_jobs=2)


def masses(scale: float, pure: bool, edges: np.ndarray) -> np.ndarray:
    """The chance of every set of whole numbers from one edge up to the next, and beyond both."""
    if pure:  # P(X >= x) = q^x / (1 + q) for x >= 1
        q = math.exp(-1 / scale)
        above = q ** np.abs(np.where(edges > 0, edges, 1 - edges)) / (1 + q)
        upper = np.where(edges > 0, above, 1 - above)
    elif scale < 100:
        x = np.arange(-40 * math.ceil(scale), 40 * math.ceil(scale) + 1)
        mass = np.exp(-(x**2) / (2 * scale**2))
        upper = np.array([mass[x >= edge].sum() for edge in edges]) / mass.sum()
    else:  # the error of the integral is a share of about 1 / scale**2
        upper = norm.sf((edges - 0.5) / scale)
    return -np.diff(np.concatenate([[1.0], upper, [0.0]]))


def check(noised: np.ndarray, scale: float, pure: bool) -> None:
    """Hold draws against the exact mass function: bins, each tail by itself, and last digits."""
    n = len(noised)
    step = max(1, round(scale / 4))
    edges = np.arange(-6 * math.ceil(scale), 6 * math.ceil(scale) + 1, step)
    expected = n * masses(scale, pure, edges)
    found = np.bincount(np.searchsorted(edges, noised, side="right"), minlength=len(expected))
    few = expected < 5  # one bin for all of these, which are the tails
    expected = np.append(expected[~few], expected[few].sum())
    found = np.append(found[~few], found[few].sum())
    statistic = ((found - expected) ** 2 / np.maximum(expected, 1e-9)).sum()
    assert chi2.sf(statistic, len(expected) - 1) > 1e-9
    assert abs(standard_errors(noised, scale, pure)) < STANDARD_ERRORS
    for multiple in (*range(1, 9), 10, 14):  # up to where nothing may come any more
        far = np.array([multiple * math.ceil(scale)])
        chance = float(masses(scale, pure, far)[1])
        for beyond in (int((noised >= far).sum()), int((noised <= -far).sum())):
            assert binom.cdf(beyond, n, chance) > 1e-9
            assert binom.sf(beyond - 1, n, chance) > 1e-9
    if scale > 100:
        digits = np.bincount(noised % 64, minlength=64)
        assert chi2.sf(((digits - n / 64) ** 2).sum() / (n / 64), 63) > 1e-9


def standard_errors(noised: np.ndarray, scale: float, pure: bool) -> float:
    """How far the mean size is from what a scale would give: nothing tells a wrong one sooner."""
    size = np.abs(noised / scale) if pure else (noised / scale) ** 2
    x = np.arange(-60 * math.ceil(scale), 60 * math.ceil(scale) + 1) if scale < 1000 else None
    if x is None:
        mean, deviation = (1.0, 1.0) if pure else (1.0, math.sqrt(2))
    else:
        z = np.abs(x / scale) if pure else (x / scale) ** 2
        mass = np.exp(-z if pure else -z / 2)
        mass /= mass.sum()
        mean = float(mass @ z)
        deviation = math.sqrt(float(mass @ (z - mean) ** 2))
    return float(size.mean() - mean) / deviation * math.sqrt(len(noised))


@pytest.mark.parametrize(("pure", "scale"), CASES)
def test_noise_has_the_exact_mass_function(pure, scale):
    check(drawn(scale, pure), scale, pure)


@pytest.mark.parametrize(("pure", "scale"), CASES)
def test_verify_privacy_finds_the_same_of_it(pure, scale):
    assert noise_p_value(drawn(scale, pure), scale, pure=pure) > 1e-9
    assert noise_p_value(drawn(scale, pure), 1.1 * scale, pure=pure) < 1e-6


@pytest.mark.parametrize(("pure", "scale"), SHARP)
def test_a_scale_that_is_wrong_by_a_hundredth_is_seen(pure, scale):
    noised = drawn(scale, pure, SHARP[pure, scale])
    check(noised, scale, pure)
    for wrong in (scale / 1.01, scale * 1.01):
        assert abs(standard_errors(noised, wrong, pure)) > STANDARD_ERRORS
        with pytest.raises(AssertionError):
            check(noised, wrong, pure)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_noise_of_no_scale_is_refused(pure, scale):
    """OpenDP takes a scale of 0, which would let counts out as they are."""
    noise = RoundNoise(1, 1, scale, pure)
    with pytest.raises(ValueError, match="noise must have a scale > 0"):
        add_noise(np.zeros(3, dtype=np.int64), noise)
    raw = RawCounts(3)
    with pytest.raises(ValueError, match="noise must have a scale > 0"):
        raw.noised(noise)
    with pytest.raises(ValueError, match="get noise once"):  # which were overwritten
        raw.noised(RoundNoise(1, 1, 5.0, pure))


@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_rounded_noise_of_floats_is_seen(scale):
    kind = np.float64 if scale == 1.0 else np.float32  # which holds 24 bits of a large number
    rounded = np.rint(np.random.default_rng(0).normal(size=DRAWS).astype(kind) * kind(scale))
    with pytest.raises(AssertionError):
        check(rounded.astype(np.int64), scale, pure=False)


def test_only_vectors_of_64_bit_integers_get_noise():
    for counts in (np.zeros(3), np.zeros(3, np.int32), np.zeros((3, 3), np.int64)):
        with pytest.raises(TypeError, match="64-bit integers"):
            add_noise(counts, RoundNoise(1, 1, 1.0, False))


def test_two_draws_differ_and_are_added_to_the_counts():
    counts = np.full(20_000, 10**12)
    first, second = (add_noise(counts, RoundNoise(1, 1, 50.0, False), n_jobs=n) for n in (1, 2))
    assert (first != second).mean() > 0.9
    assert abs((first - counts).mean()) < 5
    assert add_noise(counts[:0], RoundNoise(1, 1, 50.0, False)).size == 0


@pytest.mark.parametrize("micro", [3 * ONE, ONE, 3 * ONE // 10, ONE // 10, 1])
@pytest.mark.parametrize(
    ("cells", "last"), [((87, 64), None), ((87, 64), 2), ((215,), None), ((87,), 2), ((1, 1), 2)]
)
@pytest.mark.parametrize("records", [1, 7])
def test_the_rounds_cost_no_more_than_the_price_and_hardly_less(micro, cells, last, records):
    gaussian = price_rounds(micro, DELTA, cells, last=last, records=records)
    rounds = gaussian.rounds
    assert [r.cells for r in rounds] == [*cells, *([] if last is None else [last])]
    spent = sum(r.cells * records**2 / (2 * Fraction(r.scale) ** 2) for r in rounds)
    assert 1 - Fraction(1, 10**9) < spent / gaussian.rho <= 1
    assert gaussian.epsilon_for(records) <= micro / ONE * (1 + 1e-15)
    pure = price_rounds(micro, 0, cells, last=last, records=records)
    spent = sum(r.cells * records / Fraction(r.scale) for r in pure.rounds)
    assert 1 - Fraction(1, 10**9) < spent / Fraction(micro, ONE) <= 1


def test_a_scale_is_the_smallest_that_the_price_allows():
    for delta in (DELTA, 0):
        price = price_rounds(ONE, delta, (87, 64))
        whole = Fraction(1) if price.rho is None else price.rho
        for found in price.rounds:
            assert found.cost() <= whole / 2
            less = math.nextafter(found.scale, 0)
            assert RoundNoise(found.cells, 1, less, found.pure).cost() > whole / 2


def test_prices_are_those_of_the_formula_of_canonne_kamath_and_steinke():
    for epsilon, rho in ((3, 0.18506), (1, 0.02435), (0.3, 0.002539), (0.1, 0.0003210)):
        found = float(price_rounds(round(epsilon * ONE), DELTA, (1,)).rho)
        assert found == pytest.approx(rho, rel=5e-4)
        alpha = 1 + np.geomspace(1e-3, 1e6, 200_001)
        log = (alpha - 1) * (alpha * found - epsilon) - np.log(alpha - 1)
        log += alpha * np.log1p(-1 / alpha)
        assert math.exp(log.min()) == pytest.approx(1e-6, rel=1e-3)


def test_more_records_than_priced_for_cost_their_square():
    one, three = (price_rounds(e * ONE, DELTA, (87, 64)) for e in (1, 3))
    assert one.epsilon_for(3) == pytest.approx(3.293, abs=1e-3)  # not 3
    assert three.epsilon_for(3) == pytest.approx(10.479, abs=1e-3)  # not 9
    assert price_rounds(ONE, DELTA, (87, 64), records=2).epsilon_for(6) == one.epsilon_for(3)
    assert price_rounds(ONE, 0, (87, 64), records=2).epsilon_for(6) == 3
    assert one.epsilon_for(10**9) == math.inf


def test_rounds_that_cost_too_much_are_seen(monkeypatch):
    monkeypatch.setattr(noise, "_round_noise", lambda n, k, most, pure: RoundNoise(n, k, 1, pure))
    with pytest.raises(AssertionError, match="cost more"):
        price_rounds(ONE, DELTA, (87, 64))


def test_sensitivity_is_rounded_up():
    for cells in range(1, 2000):
        assert Fraction(noise.sensitivity(cells, 3, pure=False)) ** 2 >= 9 * cells
    assert noise.sensitivity(7, 3, pure=True) == 21
