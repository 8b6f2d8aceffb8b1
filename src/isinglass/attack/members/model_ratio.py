"""Membership in a model's training set, by likelihood ratio with shadow models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Flags = NDArray[np.bool_]

_TINY = 1e-30


def loss_score(errors: Array) -> Array:
    """Higher for records that a model repeats well; `errors` is one row of errors for a record."""
    return np.asarray(-np.log(np.square(errors, dtype=np.float64).mean(axis=-1) + _TINY))


def shadow_scores(target: Array, shadows: Array, trained_on: Flags) -> dict[str, Array]:
    """Scores that are higher for members, by several ways of using shadow models.

    `target` holds the model's errors (n records, d columns), `shadows` those of k shadow models
    (k, n, d), and `trained_on` which record each of them was trained on (k, n); every record must
    be among the training records of some shadow models and not of others.

    `difficulty`: the model's loss against that of shadow models that never saw the record.
    `likelihood_ratio`: Carlini et al. 2022, how likely the loss is with the record in training
    and without. `residual`: how far the error itself, not only its size, has shrunk along the
    error of models that never saw the record, in units of its spread over models.
    """
    own, losses = loss_score(target), loss_score(shadows)
    inside, outside = _mean(losses, trained_on), _mean(losses, ~trained_on)
    found = {"difficulty": own - outside}
    spread = np.where(trained_on, losses - inside, losses - outside)
    # Each mean has used up a degree of freedom.
    free = max(spread.size - 2 * spread.shape[1], 1)
    variance = float(np.square(spread).sum()) / free + _TINY
    found["likelihood_ratio"] = _ratio(own, inside, outside, variance, trained_on)
    found["residual"] = _residual_score(target, shadows, trained_on)
    return found


def _ratio(own: Array, inside: Array, outside: Array, variance: float, trained_on: Flags) -> Array:
    """Log-likelihood ratio of two normal laws of one variance, up to its factor.

    What training does to the loss of a record is known from a few models only, so it is drawn
    toward the mean over all records as far as its spread is mere chance (James and Stein).
    """
    effect = inside - outside
    k = len(trained_on)
    n_inside = trained_on.sum(axis=0)
    chance = variance * float((1 / n_inside + 1 / (k - n_inside)).mean())
    kept = max(0.0, 1 - chance / (float(effect.var()) + _TINY))
    effect = effect.mean() + kept * (effect - effect.mean())
    # A model trained longer than its shadows has lower losses throughout; that tells nothing.
    middle = (inside + outside) / 2
    off = own - middle
    return np.asarray(effect * (off - np.median(off)) / variance)


def _residual_score(target: Array, shadows: Array, trained_on: Flags) -> Array:
    """A matched filter: the fall of the error along what it is without training on the record."""
    outside = _mean(shadows, ~trained_on[..., np.newaxis])
    inside = _mean(shadows, trained_on[..., np.newaxis])
    d = target.shape[1]
    second = np.zeros((d, d))
    for errors, held in zip(shadows, trained_on, strict=True):
        off = errors - np.where(held[:, np.newaxis], inside, outside)
        second += off.T @ off
    second /= len(shadows) * len(target)
    # Directions in which models hardly differ must not be divided by next to nothing.
    second += (1e-3 * np.trace(second) / d + _TINY) * np.eye(d)
    weighted = np.linalg.solve(second, outside.T).T
    size = np.sqrt(np.maximum(np.einsum("nd,nd->n", weighted, outside), _TINY))
    return np.asarray(-np.einsum("nd,nd->n", weighted, target - outside) / size)


def _mean(values: Array, chosen: Flags) -> Array:
    """Mean over the models chosen for each record."""
    total = np.where(chosen, values, 0.0).sum(axis=0)
    return np.asarray(total / chosen.sum(axis=0))
