"""Graded quadrature against closed forms, where Gauss-Hermite fails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from isinglass import theory
from isinglass.activations import ACTIVATIONS, Activation
from isinglass.theory.closed_forms import _KOLMOGOROV, product
from isinglass.theory.quadrature import Pair, expect, expect_pair

BOUNDED = ("tanh", "erf", "sign", "sigmoid", "double_logistic")
NORMS = (0.0, 1e-3, 0.3, 1.0, 25.0, 1e4)
CORRELATIONS = (-1.0, -1 + 1e-12, -0.7, 0.0, 0.5, 0.9999, 1 - 1e-16, 1.0)


def by_quadrature(name):
    """The same function, under a name that has no closed form."""
    return Activation("own", ACTIVATIONS[name].function)


@pytest.mark.parametrize("name", [*BOUNDED, "relu"])
@pytest.mark.parametrize("rho", CORRELATIONS)
def test_quadrature_agrees_with_the_closed_form(name, rho):
    for s, t in [(0.0, 1.0), (1e-3, 1e-3), (1.0, 1.0), (0.3, 25.0), (1e4, 0.3), (1e4, 1e4)]:
        closed = theory.expected_product(name, s, t, rho * s * t)
        numeric = theory.expected_product(by_quadrature(name), s, t, rho * s * t)
        scale = max(1.0, s * t) if name == "relu" else 1.0
        assert numeric == pytest.approx(closed, abs=2e-11 * scale)


@pytest.mark.parametrize("name", [*BOUNDED, "relu", "square", "identity"])
@pytest.mark.parametrize("s", NORMS)
def test_single_variable_quadrature_agrees_with_the_closed_form(name, s):
    closed = theory.expected_square(name, s)
    numeric = theory.expected_square(by_quadrature(name), s)
    assert numeric == pytest.approx(closed, rel=1e-11, abs=2e-11)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.floats(1e-3, 1e4), st.floats(1e-3, 1e4), st.floats(-1, 1))
def test_tanh_mixture_and_quadrature_agree_everywhere(s, t, rho):
    closed = theory.expected_product("tanh", s, t, rho * s * t)
    numeric = theory.expected_product(by_quadrature("tanh"), s, t, rho * s * t)
    assert numeric == pytest.approx(closed, abs=3e-11)


@pytest.mark.parametrize("name", ["identity", "square", "sign"])
def test_all_hidden_moments_agree_with_quadrature(name):
    for s, t, rho in [(1.0, 1.0, 0.5), (2.0, 0.7, -0.9), (30.0, 0.1, 0.999), (1.0, 1.0, -1.0)]:
        closed = theory.hidden_moments(name, s, t, rho * s * t)
        numeric = theory.hidden_moments(by_quadrature(name), s, t, rho * s * t)
        for moment in ("mu_x", "mu_y", "c_f", "kappa", "h2", "h4"):
            assert getattr(numeric, moment) == pytest.approx(
                getattr(closed, moment), rel=1e-9, abs=1e-12
            )


def test_tanh_is_a_mixture_of_error_functions():
    z = np.linspace(-6, 6, 41)
    u, weight = _KOLMOGOROV.T
    assert weight.sum() == pytest.approx(1, abs=1e-12)
    mixture = special.erf(z[:, None] / (np.sqrt(2) * u)) @ weight
    np.testing.assert_allclose(mixture, np.tanh(z), atol=1e-8)


def test_a_kink_away_from_zero_costs_digits_but_not_the_answer():
    def clip(z):
        return np.clip(z, -1, 1)

    for s in (0.1, 1.0, 10.0, 1e4):
        exact = theory.expected_clipped_square(s)
        assert theory.expected_square(clip, s) == pytest.approx(exact, abs=1e-6)
        bent = theory.hidden_moments(clip, s, s, 0.99 * s * s)
        assert bent.h2 == pytest.approx(2 * exact - 2 * bent.c_f, abs=1e-4)


def test_a_step_away_from_zero_is_averaged_over_pairs():
    def step(z):
        return np.where(z > 0.5, 1.0, 0.0)

    # Independent variables: the product of the two tail probabilities.
    tail = special.ndtr(-0.5)
    assert theory.expected_product(step, 1, 1, 0) == pytest.approx(tail**2, abs=1e-3)


def test_what_oscillates_far_out_is_refused_not_guessed():
    with pytest.raises(ValueError, match="vary slowly"):
        theory.expected_product(np.sin, 1e3, 1e3, 0.5e6)


def test_what_overflows_is_refused():
    with pytest.raises(ValueError, match="finite"):
        theory.expected_square(np.exp, 1e3)


def test_a_borrowed_name_gets_no_closed_form():
    impostor = Activation("tanh", lambda z: 2 * np.tanh(z))
    assert product(impostor, Pair.of_moments(1, 1, 0.5)) is None
    honest = theory.expected_product("tanh", 1, 1, 0.5)
    assert theory.expected_product(impostor, 1, 1, 0.5) == pytest.approx(4 * honest)


def test_normal_moments_are_exact():
    assert expect(np.ones_like, 3.0) == pytest.approx(1, abs=1e-14)
    assert expect(lambda x: x**8, 1.0) == pytest.approx(105, rel=1e-12)
    pair = Pair.of_moments(2.0, 0.5, 0.3)
    moments = expect_pair(lambda x, y: np.stack([x * x, y * y, x * y, x, y]), pair)
    assert moments == pytest.approx([4, 0.25, 0.3, 0, 0], abs=1e-12)


@pytest.mark.parametrize("factor", [1.0, -1.0, 3.0])
def test_records_that_are_parallel_have_no_angle(factor):
    x = np.array([0.3, -0.2, 0.9])
    pair = Pair.of_records(x, factor * x, 1.7, 0.0)
    assert pair.sine == pytest.approx(0, abs=1e-15)
    assert pair.cosine == pytest.approx(np.sign(factor), abs=1e-15)
    assert pair.gap == pytest.approx((1.7 * (factor - 1)) ** 2 * (x @ x), abs=1e-14)


def test_the_angle_of_close_records_survives():
    pair = Pair.of_records([1e4, 0.0], [1e4, 1e-6], 1.0, 0.0)
    assert pair.sine == pytest.approx(1e-10, rel=1e-12)
    assert pair.gap == pytest.approx(1e-12, rel=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_angle_of_records_in_general_position_survives(sign):
    # Dyadic numbers, so the records themselves are exact.
    x, across = np.array([3, -2, 9]) / 8, np.array([2, 3, 0]) * 2.0**-40
    pair = Pair.of_records(x, sign * (x + across), 1.0, 0.0)
    assert pair.sine == pytest.approx(np.sqrt(13) * 2.0**-40 / pair.t, rel=1e-9, abs=0)
    assert np.sign(pair.cosine) == sign
