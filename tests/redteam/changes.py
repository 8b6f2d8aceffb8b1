"""What tools do to cells and rows that leaves a pattern: steps, digits, swaps, one noise a row."""

from __future__ import annotations

import numpy as np
import pandas as pd


def noise_in_steps(step: float):
    """Strong noise, but in whole steps."""

    def change(records, rng):
        noise = 6 * records.std().to_numpy() * rng.normal(size=records.shape)
        return (records + step * np.round(noise / step)).round(6).add_prefix("z")

    return change


def wrapped(records, rng):
    """Each column, scaled to one, times a large number; only what is behind the point is left."""
    unit = (records - records.min()) / (records.max() - records.min())
    return ((7919 * unit) % 1).add_prefix("z")


def in_further_digits(records, rng):
    """Noise of two decimals, and the value in the digits behind them."""
    unit = (records - records.min()) / (records.max() - records.min())
    return (np.round(6 * rng.normal(size=records.shape), 2) + 0.009 * unit).add_prefix("z")


def columns_permuted_by_row(records, rng):
    X = ((records - records.mean()) / records.std()).to_numpy()
    return pd.DataFrame(rng.permuted(X, axis=1)).add_prefix("z")


def cells_swapped(records, rng):
    """A quarter of the cells as they were, but for jitter; the others swapped in their column."""
    X = records.to_numpy()
    other = np.column_stack([rng.permutation(column) for column in X.T])
    jitter = 1e-5 * X.std(0) * rng.normal(size=X.shape)
    return pd.DataFrame(np.where(rng.random(X.shape) < 0.25, X, other) + jitter).add_prefix("z")


def cells_suppressed(records, rng):
    """Two cells in three replaced by their column's mean."""
    return records.where(rng.random(records.shape) < 1 / 3, records.mean(), axis=1)


def heavy_tails(records, rng):
    noise = 0.05 * records.std().to_numpy() * rng.standard_cauchy(records.shape) ** 3
    return (records + noise).add_prefix("z")


def one_noise_a_row(records, rng):
    """One strong noise value for each row, in deviations of each column."""
    return records + 20 * rng.normal(size=(len(records), 1)) * records.std().to_numpy()


def bent_by_row(records, rng):
    """Each row multiplied by a number of its own, and another one added."""
    X = (records / records.std()).to_numpy()
    X = X * np.exp(rng.normal(size=(len(X), 1))) + 9 * rng.normal(size=(len(X), 1))
    return pd.DataFrame(X).add_prefix("z")


def strong_noise_rounded(records, rng):
    """Noise of scale 6, rounded as the table is: nothing is left."""
    noise = 6 * records.std().to_numpy() * rng.normal(size=records.shape)
    return (records + noise).round(3).add_prefix("z")


def strong_noise_of_whole_numbers(records, rng):
    noise = 6 * records.std().to_numpy() * rng.normal(size=records.shape)
    return (records + noise).round().add_prefix("z")
