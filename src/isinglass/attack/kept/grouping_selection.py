"""Selection of groupings of kept values that predict records, by F tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import divisors

Array = NDArray[Any]
Codes = NDArray[np.intp]

#: Groupings selected stepwise, and groupings rated again in each step.
_MOST_ROUNDS, _MOST_AGAIN = 8, 40
#: Rows on which an attack compares groupings.
MOST_RATED = 20_000
#: Group means must differ by so many deviations of what chance gives: in one column, in all.
_LEAST_ONE, _LEAST_ALL = 4.5, 3.5
#: Values so many deviations away count as if they were no farther: one of them is not a group.
_FAR = 6.0
#: A further grouping must explain this share of the variance, and of what those before it do.
_LEAST_SHARE, _LEAST_MORE = 1e-3, 0.03


@dataclass(frozen=True, slots=True)
class Exposure:
    """How many rows an attacker has, and how noisy, relative to the rows compared here."""

    rows: float = 1.0  # as a multiple of the rows compared
    noise: float = 0.0  # variance of the noise on them, of columns of variance 1


@dataclass(frozen=True, slots=True)
class Rating:
    """How far the means of groups differ."""

    found: float  # share of the variance that means with shrinkage would explain
    share: float  # share that true means would explain
    beyond_chance: bool
    effect: float = 0.0  # variance of what a group adds


_NOTHING = Rating(0.0, 0.0, beyond_chance=False)
_SAME_ROWS = Exposure()


def rate(groups: Codes, values: Array, weights: Array, seen: Exposure = _SAME_ROWS) -> Rating:
    r"""Compare the variance between groups with that within them, column by column.

    The ratio has an F distribution where groups mean nothing; its cube root is nearly normal
    (Paulson 1942). Means of groups of weight $W_g$, with the variance $\sigma^2 / W_g$ about true
    means of variance $\tau^2$, explain $\tau^2 W_g / (W_g + \sigma^2 / \tau^2)$.
    """
    n, n_groups = len(groups), int(groups.max(initial=-1)) + 1
    sums, sizes = _sums(groups, n_groups, values, weights)
    there = int((sizes > 0).sum())
    if there < 2 or there > n / 2:
        return _NOTHING
    weight = float(sizes.sum())
    between = (np.square(sums) / np.maximum(sizes, 1e-300)[:, np.newaxis]).sum(axis=0)
    total = weights @ np.square(values)
    varies = total > 1e-9 * weight
    if not varies.any():
        return _NOTHING
    within = np.maximum(total - between, 1e-12 * total) / (n - there)
    between = np.maximum(between - np.square(sums.sum(axis=0)) / weight, 0.0)
    within, between = within[varies], between[varies]
    first, second = 2 / (9 * (there - 1)), 2 / (9 * (n - there))
    ratio = np.cbrt(between / (there - 1) / within)
    normal = ((1 - second) * ratio - (1 - first)) / np.sqrt(second * ratio**2 + first)
    beyond = float(normal.max()) > _LEAST_ONE or float(normal.mean()) > _LEAST_ALL
    apart = np.maximum(between - (there - 1) * within, 0.0)
    # Of groups drawn from many, those here differ less from their mean: two by half as much.
    spread = max(1.0 - float(np.square(sizes / weight).sum()), 1e-300)
    apart /= weight * spread
    told = seen.rows * sizes[:, np.newaxis] * apart
    told /= np.maximum(told + within + seen.noise, 1e-300)
    found = (sizes / weight) @ told * apart
    effect = float(apart.sum() / len(total))
    return Rating(spread * float(found.sum() / len(total)), spread * effect, beyond, effect)


def rate_words(indicators: Array, values: Array, seen: Exposure) -> Rating:
    """`rate` for indicator columns of words, whose effects add up: ridge regression on all."""
    centered = indicators - indicators.mean(axis=0)
    sizes, axes = np.linalg.eigh(centered.T @ centered)
    sizes, axes = sizes[sizes > 1e-6 * sizes[-1]], axes[:, sizes > 1e-6 * sizes[-1]]
    n, n_free = len(values), len(sizes)
    if n_free < 2 or n_free > n / 2:
        return _NOTHING
    inner = (centered @ axes).T @ (values - values.mean(axis=0))
    explained = np.square(inner) / sizes[:, np.newaxis]
    within = np.maximum(n * values.var(axis=0) - explained.sum(axis=0), 1e-12) / (n - n_free - 1)
    first, second = 2 / (9 * n_free), 2 / (9 * (n - n_free - 1))
    ratio = np.cbrt(explained.mean(axis=0) / within)
    normal = ((1 - second) * ratio - (1 - first)) / np.sqrt(second * ratio**2 + first)
    beyond = float(normal.max()) > _LEAST_ONE or float(normal.mean()) > _LEAST_ALL
    true = np.maximum(explained - within, 0.0) / n
    effect = true.sum(axis=0) / sizes.sum() * n
    told = seen.rows * sizes[:, np.newaxis] * effect
    told /= np.maximum(told + within + seen.noise, 1e-300)
    return Rating(
        float((told * true).sum() / values.shape[1]), float(true.sum() / values.shape[1]), beyond
    )


def _sums(groups: Codes, n_groups: int, values: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted sums of the values of each group, and their weights."""
    from scipy.sparse import csr_array

    marks = csr_array((weights, groups, np.arange(len(groups) + 1)), shape=(len(groups), n_groups))
    return np.asarray(marks.T @ values), np.bincount(groups, weights, minlength=n_groups)


def explained_by(groups: Codes, values: Array, weights: Array) -> Array:
    """The mean of each row's group, without the row itself and with shrinkage."""
    n_groups = int(groups.max()) + 1
    sums, sizes = _sums(groups, n_groups, values, weights)
    there = int((sizes > 0).sum())
    between = (np.square(sums) / np.maximum(sizes, 1e-300)[:, np.newaxis]).sum(axis=0)
    within = np.maximum(weights @ np.square(values) - between, 0.0) / max(len(values) - there, 1)
    apart = np.maximum(between - there * within, 0.0) / max(float(sizes.sum()), 1e-300)
    ratio = np.divide(within, apart, out=np.full(len(within), 1e300), where=apart > 0)
    others = sums[groups] - weights[:, np.newaxis] * values
    left = np.maximum(sizes[groups] - weights, 0.0)[:, np.newaxis]
    return np.asarray(others / np.maximum(left + ratio, 1e-300))


def choose(
    candidates: Sequence[Codes], values: Array, weights: Array, most: int
) -> tuple[list[int], int]:
    """Indices of the groupings that predict beyond chance, best first; and how many were stepwise.

    The first of them are selected one after the other, by what those before leave unexplained;
    after them come all others that predict beyond chance, in the order of how much they explain.
    """
    values = scaled_and_clipped(values, weights)
    rated = [rate(groups, values, weights) for groups in candidates]
    rated_well = [i for i, rating in enumerate(rated) if rating.beyond_chance]
    rated_well.sort(key=lambda i: -rated[i].found)
    chosen: list[int] = []
    again = rated_well[:_MOST_AGAIN]
    ratings = {i: rated[i] for i in again}
    while again and len(chosen) < min(most, _MOST_ROUNDS):
        best = max(again, key=lambda i: ratings[i].found)
        chosen.append(best)
        values = values - explained_by(candidates[best], values, weights)
        ratings = {i: rate(candidates[i], values, weights) for i in again if i != best}
        again = [i for i, rating in ratings.items() if rating.beyond_chance]
    rest = [i for i in rated_well if i not in chosen]
    return (chosen + rest)[:most], len(chosen)


def scaled_and_clipped(values: Array, weights: Array) -> Array:
    """Values in units of their columns' sizes; a few that are far away count as nearer."""
    squares = weights @ np.square(values) / max(float(weights.sum()), 1e-300)
    return np.clip(values / divisors(np.sqrt(squares)), -_FAR, _FAR)


@dataclass(frozen=True, slots=True)
class Model:
    """Blocks of groupings whose effects add up: their numbers, shares, and effects' variances."""

    blocks: tuple[int, ...]
    shares: tuple[float, ...]
    effects: tuple[float, ...]
    found: float  # share of the variance that all of them explain
    left: Array = field(repr=False)  # values without what they explain


def best_model(blocks: Sequence[Sequence[Codes]], values: Array, seen: Exposure) -> Model:
    """Select, stepwise, the blocks that explain most to an attacker who has this much.

    A block is one grouping, or indicators of words. Values are clean, of mean 0 and variance 1.
    """
    weights, words = np.ones(len(values)), {}
    for i, block in enumerate(blocks):
        if len(block) > 1:
            words[i] = np.column_stack(block).astype(np.float64)

    def rated(i: int) -> Rating:
        if i in words:
            return rate_words(words[i], values, seen)
        return rate(blocks[i][0], values, weights, seen)

    ratings = {i: rated(i) for i in range(len(blocks))}
    again = sorted(
        (i for i, rating in ratings.items() if rating.beyond_chance),
        key=lambda i: -ratings[i].found,
    )[:_MOST_AGAIN]
    chosen, total = list[tuple[int, float, float]](), 0.0
    while again and len(chosen) < _MOST_ROUNDS:
        best = max(again, key=lambda i: ratings[i].found)
        rating = ratings[best]
        if rating.found < max(_LEAST_SHARE, _LEAST_MORE * total):
            break
        total += rating.found
        effect = rating.effect
        if best in words:
            # Two groups of a word differ by twice the variance of each.
            effect = rating.share / (2 * float(words[best].var(axis=0).sum()))
            values = values - _by_ridge(words[best], values)
        else:
            values = values - explained_by(blocks[best][0], values, weights)
        chosen.append((best, rating.share, effect))
        ratings = {i: rated(i) for i in again if i != best}
        again = [i for i, rating in ratings.items() if rating.beyond_chance]
    numbers, shares, effects = zip(*chosen, strict=True) if chosen else ((), (), ())
    return Model(tuple(numbers), tuple(shares), tuple(effects), total, values)


def _by_ridge(marks: Array, values: Array) -> Array:
    centered = marks - marks.mean(axis=0)
    products = centered.T @ centered + np.eye(marks.shape[1])
    return np.asarray(centered @ np.linalg.solve(products, centered.T @ values))
