"""Activations f of a distortion: the function, its derivative, its inverse where one exists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[Any]

# argmin over b of the integral of (1 - exp(-b x^2) - x)^2 on [0, 1]; `theory.double_logistic`
# computes it and a test holds the two together.
BEST_CURVATURE = 2.8124290912664


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation as the rest of the package uses it; all functions work element by element.

    `derivative` is None where the function has none that says anything (sign). `inverse` is
    None where values are lost for good (square, sign, relu) or nobody said how to get them back.
    """

    name: str
    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array] | None = None
    inverse: Callable[[Array], Array] | None = None


def double_logistic(z: Array, curvature: float = BEST_CURVATURE) -> Array:
    """sgn(z) (1 - exp(-curvature z^2))."""
    return np.asarray(np.sign(z) * -np.expm1(-curvature * np.square(z)))


def double_logistic_inverse(y: Array, curvature: float = BEST_CURVATURE) -> Array:
    """The z with double_logistic(z) = y, for |y| < 1."""
    return np.asarray(np.sign(y) * np.sqrt(-np.log1p(-np.abs(y)) / curvature))


def _double_logistic_derivative(z: Array) -> Array:
    b = BEST_CURVATURE
    return np.asarray(2 * b * np.abs(z) * np.exp(-b * np.square(z)))


def _sech_squared(z: Array) -> Array:
    return np.asarray(1 - np.tanh(z) ** 2)


def _sigmoid_derivative(z: Array) -> Array:
    return np.asarray(special.expit(z) * special.expit(-z))


def _erf_derivative(z: Array) -> Array:
    return np.asarray(2 / np.sqrt(np.pi) * np.exp(-np.square(z)))


ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        Activation("identity", lambda z: z, np.ones_like, lambda y: y),
        Activation("tanh", np.tanh, _sech_squared, np.arctanh),
        Activation("sigmoid", special.expit, _sigmoid_derivative, special.logit),
        Activation("square", np.square, lambda z: 2 * z),
        Activation("sign", np.sign),
        Activation(
            "double_logistic",
            double_logistic,
            _double_logistic_derivative,
            double_logistic_inverse,
        ),
        Activation("erf", special.erf, _erf_derivative, special.erfinv),
        Activation("relu", lambda z: np.maximum(z, 0), lambda z: np.heaviside(z, 0.0)),
    )
}


def activation(choice: str | Activation | Callable[[Array], Array]) -> Activation:
    """Look an activation up by name, or wrap a user's own function.

    A function of one's own must take an array and return a finite one of the same shape, treat
    each entry alone, and give the same answer every time; it is tried on a few numbers here. Its
    key cannot be saved to a file: a file holds numbers, never code.
    """
    if isinstance(choice, str):
        if choice not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(ACTIVATIONS)} or a callable, got {choice!r}"
            )
        return ACTIVATIONS[choice]
    if isinstance(choice, Activation):
        return choice
    if not callable(choice):
        raise ValueError(f"activation must be a name or a callable, got {type(choice).__name__}")
    probe = np.linspace(-3.0, 3.0, 14)
    whole = np.asarray(choice(probe.reshape(2, 7)))
    if whole.shape != (2, 7) or not np.isfinite(whole).all():
        raise ValueError(
            "activation must return a finite array of its argument's shape; the one given did not"
        )
    alone = np.concatenate([np.asarray(choice(probe[i : i + 1])) for i in range(len(probe))])
    if not np.allclose(alone, whole.ravel(), rtol=1e-12, atol=1e-12):
        raise ValueError(
            "activation must treat each entry alone; the one given mixes entries or is random"
        )
    return Activation(getattr(choice, "__name__", "callable"), choice)
