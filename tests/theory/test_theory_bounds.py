"""Bounds: they hold, they are tight where they should be, and the printed ones fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass import theory
from isinglass.activations import ACTIVATIONS
from isinglass.chance import generator
from isinglass.theory import Setting

quick = settings(deadline=None, derandomize=True, max_examples=50)
SETTING = Setting(n_hidden=3, n_components=2, sigma_a=0.5, sigma_b=0.7)
vectors = st.lists(st.floats(-100, 100), min_size=3, max_size=3)


@pytest.mark.parametrize(
    ("s", "value"),
    [
        (0.1, 0.01),
        (0.5, 0.23013423),
        (1, 0.51605855),
        (2, 0.74051346),
        (10, 0.94686083),
        (1e6, 0.99999946808),
    ],
)
def test_expected_clipped_square_golden(s, value):
    assert theory.expected_clipped_square(s) == pytest.approx(value, abs=1e-8)


def test_expected_clipped_square_rises_from_0_to_1_without_a_seam():
    grid = np.r_[0, np.logspace(-200, 12, 2000), np.inf]
    values = np.array([theory.expected_clipped_square(s) for s in grid])
    assert values[0] == 0
    assert values[-1] == 1
    assert (np.diff(values) >= 0).all()
    for seam in (1 / 40, 1.0):
        below, above = (theory.expected_clipped_square(seam * f) for f in (1 - 1e-12, 1 + 1e-12))
        assert below == pytest.approx(above, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("s", [0.3, 1.0, 4.0])
def test_expected_clipped_square_agrees_with_simulation(s):
    sample = np.clip(generator(30).normal(scale=s, size=400_000), -1, 1) ** 2
    slack = 5 * sample.std() / np.sqrt(len(sample))
    assert abs(sample.mean() - theory.expected_clipped_square(s)) < slack


@quick
@given(st.floats(0, 1e4), st.floats(0, 1e4), st.floats(-1, 1))
def test_tanh_bound_holds(s, t, rho):
    value = theory.expected_product("tanh", s, t, rho * s * t)
    assert abs(value) <= theory.tanh_bound(s, t) + 1e-11


def test_tanh_bound_needs_its_square_root():
    value = theory.expected_product("tanh", 0.5, 0.5, 0.25)
    squares = theory.expected_clipped_square(0.5)
    assert value == pytest.approx(0.1735, abs=1e-4)
    assert squares**2 == pytest.approx(0.0530, abs=1e-4)  # as printed, and below the value
    assert theory.tanh_bound(0.5, 0.5) == pytest.approx(0.2301, abs=1e-4)
    assert theory.tanh_bound(0.25, 0.25, slope=2) == theory.tanh_bound(0.5, 0.5)


@quick
@given(vectors, vectors, st.sampled_from(sorted(ACTIVATIONS)))
def test_inner_product_bound_holds(x, y, name):
    bound = theory.inner_product_bound(x, y, name, SETTING)
    value = theory.expected_inner_product(x, y, name, SETTING)
    assert abs(value) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_inner_product_bound_is_reached_by_a_record_with_itself(name):
    x = [0.3, -0.2, 0.9]
    bound = theory.inner_product_bound(x, x, name, SETTING)
    assert bound == pytest.approx(theory.expected_inner_product(x, x, name, SETTING), rel=1e-9)


def test_inner_product_bound_of_the_identity_is_a_product_of_norms():
    setting = Setting(n_hidden=1, n_components=1, sigma_a=0)
    assert theory.inner_product_bound([3, 4], [0, 2], "identity", setting) == pytest.approx(10)
    assert theory.expected_inner_product([3, 4], [0, 2], "identity", setting) == pytest.approx(8)


@pytest.mark.slow
def test_inner_product_bound_holds_in_simulation():
    rng = generator(31)
    x, y = np.array([2.0, 1.0]), np.array([1.5, 1.2])
    w, a = rng.normal(size=(100_000, 3, 2)), rng.normal(scale=0.5, size=(100_000, 3))
    q, b = rng.normal(size=(100_000, 2, 3)), rng.normal(scale=0.7, size=(100_000, 2))
    first, second = (b + np.einsum("npm,nm->np", q, np.tanh(a + w @ v)) for v in (x, y))
    sample = (first * second).sum(axis=1)
    bound = theory.inner_product_bound(x, y, "tanh", SETTING)
    assert sample.mean() + 5 * sample.std() / np.sqrt(len(sample)) < bound


def test_saturation_index_rises_with_the_range():
    curve = [theory.saturation_index(r, 29, 1.0, 0.0) for r in np.logspace(-3, 4, 60)]
    assert (np.diff(curve) > 0).all()
    assert curve[0] < 1e-4
    assert curve[-1] > 0.9999


def test_saturation_index_is_the_clipped_square_at_the_mean_squared_norm():
    index = theory.saturation_index(2.0, 3, 0.5, 0.7, 1.5)
    s = 1.5 * np.sqrt(0.5**2 * 3 * 4 / 3 + 0.49)
    assert index == pytest.approx(theory.expected_clipped_square(s), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.expected_clipped_square(-1), "s must be >= 0"),
        (lambda: theory.expected_clipped_square(np.nan), "s must be >= 0"),
        (lambda: theory.saturation_index(-1, 3, 1, 1), "range_ must be >= 0"),
        (lambda: theory.saturation_index(1, 0, 1, 1), "n_features must be >= 1"),
        (lambda: theory.saturation_index(1, 3, 1, -1), "sigma_a must be >= 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
