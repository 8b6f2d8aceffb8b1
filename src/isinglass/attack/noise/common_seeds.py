"""Noise drawn again from well-known generators with seeds that people use."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import unit_columns
from isinglass.attack.knowledge import ColumnStatistics

Array = NDArray[Any]

#: Seeds that people write down: small numbers, years, and the ones everybody knows; the likeliest
#: first, for those who have little time.
COMMON_SEEDS = (
    *range(64), 99, 100, 101, 111, 123, 256, 321, 365, 404, 420, 512, 666, 777, 999, 1000, 1024,
    1111, 1234, 1337, *range(2015, 2031), 4242, 9999, 12345, 31337, 42424, 123456, 123456789,
)  # fmt: skip
SEEDS = tuple(dict.fromkeys((
    *COMMON_SEEDS, *range(513), *range(1990, 2040), 2718, 3141, 4321, 8888, 31415, 54321, 654321,
    1234567, 20242024,
)))  # fmt: skip
_LAWS = ("normal", "uniform")
#: Numbers that are compared, and how many deviations a likeness must be from chance.
_COMPARED, _CLEAR = 1024, 7.5
_SOURCES = tuple(product((np.random.default_rng, np.random.RandomState), _LAWS, SEEDS))
_SCALES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)


def without_public_noise(Z: Array, known: ColumnStatistics) -> Array:
    """The release less the noise that some generator of numpy draws from a well-known seed.

    Z itself where none is like it. Noise is drawn row by row or column by column; of noise by
    factors the logarithms are compared.
    """
    logs = np.log(np.maximum(np.abs(Z), 1e-300))
    noise = find_public_noise(Z)
    if noise is None:
        noise = find_public_noise(logs)
    if noise is None:
        return Z
    plain = _less(Z, noise)
    # Factors exp(s y), or 1 + s y.
    factors = [_less(logs, noise)]
    factors += [logs - np.log(np.abs(1 + s * noise) + 1e-12) for s in _SCALES]
    best = min(factors, key=lambda rest: _share(rest, logs))
    if _share(plain, Z) <= _share(best, logs):
        return plain
    return np.asarray(np.sign(Z) * np.exp(np.clip(best, -300.0, 300.0)))


def _share(rest: Array, whole: Array) -> float:
    """How much of the columns' variance is left."""
    spread = whole.var(axis=0)
    return float((rest.var(axis=0) / np.where(spread > 0, spread, 1.0)).mean())


def find_public_noise(Z: Array) -> Array | None:
    """Numbers in the release's shape that it was made with; None where none are like it."""
    n, d = Z.shape
    rows = min(n, max(1, _COMPARED // d))
    best, found = _CLEAR, None
    for part, transposed in ((Z[:rows], False), (Z[:_COMPARED, :1], True)):
        shown = unit_columns(part).ravel()[:_COMPARED]
        if len(shown) < 2 or not np.isfinite(shown).all():
            continue
        drawn = _first_numbers()[:, : len(shown)]
        spread = drawn.std(axis=1)
        likeness = np.abs((drawn - drawn.mean(axis=1, keepdims=True)) @ shown)
        likeness /= np.where(spread > 0, spread, 1.0) * np.sqrt(len(shown))
        if likeness.max() > best:
            best, found = float(likeness.max()), (int(likeness.argmax()), transposed)
    if found is None:
        return None
    make, law, seed = _SOURCES[found[0]]
    everything = np.asarray(getattr(make(seed), law)(size=n * d))
    return everything.reshape(d, n).T if found[1] else everything.reshape(n, d)


@cache
def _first_numbers() -> Array:
    """The first numbers of every source, a row each; drawn once."""
    return np.stack([
        getattr(make(seed), law)(size=_COMPARED).astype(np.float32) for make, law, seed in _SOURCES
    ])  # fmt: skip


def _less(Z: Array, noise: Array) -> Array:
    """What is left of each column when the noise, as much as is in it, is taken off."""
    centered = noise - noise.mean(axis=0)
    spread = np.square(centered).sum(axis=0)
    slope = (centered * (Z - Z.mean(axis=0))).sum(axis=0) / np.where(spread > 0, spread, 1.0)
    return np.asarray(Z - slope * noise)
