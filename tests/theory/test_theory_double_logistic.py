"""The double logistic's curvature and density, and how well a matrix entry can be guessed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from isinglass import theory
from isinglass.activations import BEST_CURVATURE, double_logistic
from isinglass.chance import generator
from isinglass.theory.double_logistic import curvature_loss, tanh_density, tanh_landmarks


def test_best_curvature_golden():
    # 2.81242909126640045... to fifty digits by power series.
    assert theory.best_curvature() == pytest.approx(2.8124290912664, abs=1e-12)
    assert theory.best_curvature() == pytest.approx(2.81242909, abs=1e-6)


def test_the_packages_constant_is_the_best_curvature():
    assert pytest.approx(theory.best_curvature(), abs=1e-9) == BEST_CURVATURE


def test_best_curvature_has_the_least_loss():
    best = theory.best_curvature()
    assert curvature_loss(best) == pytest.approx(0.00273071, abs=5e-9)
    assert curvature_loss(best) < min(curvature_loss(best - 0.01), curvature_loss(best + 0.01))
    x = np.linspace(0, 1, 10_001)
    off = np.abs(double_logistic(x) - x)
    assert off.max() == pytest.approx(0.09360, abs=1e-5)
    assert x[off.argmax()] == pytest.approx(0.1987, abs=1e-4)


def test_double_logistic_golden():
    values = double_logistic(np.array([0.5, 1.0]))
    np.testing.assert_allclose(values, [0.50495533, 0.93994107], atol=1e-7)


def test_density_golden():
    values = theory.density([0.1, 0.5, 0.9])
    np.testing.assert_allclose(values, [0.3995976782, 0.2526031439, 0.5205340877], atol=1e-7)


def test_interval_mass_golden():
    assert theory.interval_mass(0.3, 0.4) == pytest.approx(0.02589, abs=1e-5)
    assert theory.interval_mass(0.9, 0.95) == pytest.approx(0.03176, abs=1e-5)


@pytest.mark.parametrize("curvature", [0.3, 0.5, BEST_CURVATURE, 8.0])
def test_density_integrates_to_the_interval_mass(curvature):
    for a, b in [(0.05, 0.2), (0.3, 0.9), (-0.7, -0.1), (0.99, 0.999)]:
        integral, _ = quad(lambda y: float(theory.density(y, curvature)), a, b, epsabs=1e-12)
        assert theory.interval_mass(a, b, curvature) == pytest.approx(integral, abs=1e-9)


def test_density_at_its_singular_points():
    np.testing.assert_array_equal(
        theory.density([0.0, 1.0, -1.0, 1.5]), [np.inf, np.inf, np.inf, 0]
    )
    np.testing.assert_array_equal(theory.density([0.0, 1.0, -1.5], 0.4), [np.inf, 0, 0])
    assert np.isnan(theory.density(np.nan))
    # Next to 0 the formula keeps its digits: 1 / sqrt(8 pi b |y|).
    tiny = 1e-200
    assert theory.density(tiny) == pytest.approx(1 / np.sqrt(8 * np.pi * BEST_CURVATURE * tiny))


def test_small_masses_are_the_same_in_both_tails():
    upper, lower = (theory.interval_mass(*ends, 0.05) for ends in [(0.9, 0.95), (-0.95, -0.9)])
    assert 0 < upper < 1e-10
    assert upper == pytest.approx(lower, rel=1e-12, abs=0)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.05, 20))
def test_interval_masses_add_up(a, b, curvature):
    a, b = min(a, b), max(a, b)
    parts = [theory.interval_mass(*ends, curvature) for ends in [(-1, a), (a, b), (b, 1)]]
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(1, abs=1e-12)
    assert theory.interval_mass(-b, -a, curvature) == pytest.approx(parts[1], rel=1e-9, abs=1e-15)


@pytest.mark.slow
def test_density_agrees_with_simulation():
    y = double_logistic(generator(40).normal(size=1_000_000))
    edges = np.linspace(-0.95, 0.95, 20)
    counts, _ = np.histogram(y, edges)
    for count, a, b in zip(counts, edges[:-1], edges[1:], strict=True):
        mass = theory.interval_mass(a, b)
        assert abs(count - mass * len(y)) < 5 * np.sqrt(len(y) * mass * (1 - mass))
        if a * b > 0:  # the density is smooth in bins that do not hold 0
            middle = float(theory.density((a + b) / 2)) * (b - a)
            assert middle == pytest.approx(mass, rel=0.1)


def test_tanh_density_landmarks_golden():
    marks = tanh_landmarks()
    assert marks.convex_until == pytest.approx(0.906808, abs=1e-6)
    assert marks.log_convex_until == pytest.approx(0.896527, abs=1e-6)
    assert marks.mode == pytest.approx(0.957504, abs=1e-6)


def test_tanh_density_turns_at_its_landmarks():
    marks, h = tanh_landmarks(), 1e-4
    for function, turn in [(tanh_density, marks.convex_until), (_log, marks.log_convex_until)]:
        bends = [
            function(y - h) - 2 * function(y) + function(y + h) for y in (turn - 0.01, turn + 0.01)
        ]
        assert bends[0] > 0 > bends[1]
    peak = tanh_density([marks.mode - 1e-3, marks.mode, marks.mode + 1e-3])
    assert peak.argmax() == 1


def _log(y):
    return np.log(tanh_density(y))


def test_tanh_density_is_a_density():
    mass, _ = quad(lambda y: float(tanh_density(y)), -1, 1, epsabs=1e-10)
    assert mass == pytest.approx(1, abs=1e-8)
    np.testing.assert_array_equal(tanh_density([-1.0, 1.0, 2.0]), 0)


@pytest.mark.slow
def test_tanh_density_agrees_with_simulation():
    y = np.tanh(generator(41).normal(size=1_000_000))
    for a, b in [(-0.1, 0.1), (0.5, 0.6), (0.9, 0.98)]:
        mass, _ = quad(lambda z: float(tanh_density(z)), a, b)
        share = np.mean((y > a) & (y < b))
        assert abs(share - mass) < 5 * np.sqrt(mass * (1 - mass) / len(y))


@pytest.mark.parametrize(("ratio", "tail"), [(0.1, 0.9025), (0.5, 0.5625), (1.5, 0.0625)])
def test_random_guess_golden(ratio, tail):
    assert theory.guess_error_tail(ratio, 1.0, guess="random") == pytest.approx(tail, abs=1e-15)


def test_guess_tails_at_their_medians_and_ends():
    alpha = 0.3
    random_median = (2 - np.sqrt(2)) * alpha
    assert theory.guess_error_tail(random_median, alpha, guess="random") == pytest.approx(0.5)
    assert theory.guess_error_tail(alpha / 2, alpha) == pytest.approx(0.5)
    for guess, end in (("best", 1), ("random", 2)):
        assert theory.guess_error_tail(0, alpha, guess=guess) == 1
        assert theory.guess_error_tail(end * alpha, alpha, guess=guess) == 0
        assert theory.guess_error_tail(9.0, alpha, guess=guess) == 0


@pytest.mark.slow
def test_guess_tails_agree_with_simulation():
    alpha, draws = 0.2, 400_000
    secret, drawn = generator(42).uniform(-alpha, alpha, size=(2, draws))
    for d in (0.02, 0.1, 0.17):
        for guess, error in (("best", np.abs(secret)), ("random", np.abs(secret - drawn))):
            tail = theory.guess_error_tail(d, alpha, guess=guess)
            slack = 5 * np.sqrt(tail * (1 - tail) / draws)
            assert abs(np.mean(error >= d) - tail) < slack


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.density(0.5, 0.0), "curvature must be finite and > 0"),
        (lambda: theory.interval_mass(0.5, 0.4), "a must be <= b"),
        (lambda: theory.guess_error_tail(0.1, 0.0), "alpha must be"),
        (lambda: theory.guess_error_tail(-0.1, 1.0), "d must be"),
        (lambda: theory.guess_error_tail(0.1, 1.0, guess="wild"), "guess must be"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
