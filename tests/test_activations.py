"""Activations: derivative and inverse belong to the function; strange callables are refused."""

import numpy as np
import pytest

from isinglass.activations import ACTIVATIONS, activation

# Away from the kinks and the saturated ends.
POINTS = np.concatenate([np.linspace(-1.4, -0.05, 40), np.linspace(0.05, 1.4, 40)])


@pytest.mark.parametrize("name", [n for n, a in ACTIVATIONS.items() if a.derivative])
def test_derivative_is_the_slope(name):
    f = ACTIVATIONS[name]
    step = 1e-6
    slope = (f.function(POINTS + step) - f.function(POINTS - step)) / (2 * step)
    np.testing.assert_allclose(f.derivative(POINTS), slope, atol=1e-8)


@pytest.mark.parametrize("name", [n for n, a in ACTIVATIONS.items() if a.inverse])
def test_inverse_undoes(name):
    f = ACTIVATIONS[name]
    np.testing.assert_allclose(f.inverse(f.function(POINTS)), POINTS, atol=1e-10)


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_float32_stays_float32(name):
    assert ACTIVATIONS[name].function(POINTS.astype(np.float32)).dtype == np.float32


def test_what_loses_values_has_no_inverse():
    assert all(ACTIVATIONS[n].inverse is None for n in ("square", "sign", "relu"))


def test_a_callable_must_treat_each_entry_alone():
    assert activation(np.sin).name == "sin"
    with pytest.raises(ValueError, match="mixes entries"):
        activation(lambda z: z - z.mean())
    with pytest.raises(ValueError, match="shape"):
        activation(lambda z: z.sum())
    with pytest.raises(ValueError, match="finite"):
        activation(lambda z: z * np.nan)
    with pytest.raises(ValueError, match="one of identity"):
        activation("softmax")
    with pytest.raises(ValueError, match="got int"):
        activation(3)
