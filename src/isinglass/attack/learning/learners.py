"""Nonlinear regressions on pairs: products, hinges, nearest neighbors, trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.learning.regression import Fit, fit_linear, fit_mean, fit_ridge
from isinglass.threads import all_in_one_thread

Array = NDArray[Any]
Expand = Callable[[Array], Array]

#: A simpler map is preferred to one whose error is smaller by less than this.
TIE = 1.05
#: One that bends more must be better by so many standard errors, or have so small an error.
SURE = 2.0
MUCH_SMALLER = 0.25
#: Products of columns beyond this many cost more than they tell.
MOST_PRODUCTS = 1_300
#: Hinges a column, at quantiles of the pairs.
HINGES = 4
NEIGHBORS = (1, 2, 4, 8, 16)
LEAST_NEIGHBORED = 40
#: Trees need so many pairs, are tried on so many columns first, and on no more than so many.
LEAST_TREE_PAIRS = 100
TREE_TRIALS = 2
MOST_TREE_COLUMNS = 12
_BLOCK = 1 << 22  # numbers of an expanded table, or of distances, held at once


def choose(fits: list[Fit], n_plain: int | None = None) -> NDArray[np.intp]:
    """For each column the number of the fit to take; the simplest come first.

    Of the first `n_plain`, or all, it is the first whose error none beats by much. Each further
    one, which bends more, replaces it only where that is no accident of a few pairs.
    """
    errors = np.array([fit.errors for fit in fits[:n_plain]])
    # What is exact up to rounding is exact.
    good = errors <= TIE * errors.min(axis=0) + 1e-12 * errors[0]
    choice = np.asarray(good.argmax(axis=0), dtype=np.intp)
    left_out = _chosen(fits, choice)
    for number in range(len(errors), len(fits)):
        better = clearly_better(fits[number].left_out, left_out)
        choice[better] = number
        left_out[:, better] = fits[number].left_out[:, better]
    return choice


def clearly_better(errors: Array, others: Array) -> NDArray[np.bool_]:
    """For each column, whether errors are smaller than others beyond doubt.

    That is, four times smaller in the mean square, and not in a few far pairs only; or smaller by
    a few percent and by two standard errors of the difference, which far pairs make large.
    """
    ours, theirs = np.square(errors), np.square(others)
    # A column that was not tried has infinite errors.
    tried = np.isfinite(ours).all(axis=0)
    gain = np.where(tried, theirs - np.where(tried, ours, 0.0), -1.0)
    doubt = gain.std(axis=0, ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    mean, rival = np.where(tried, ours, np.inf).mean(axis=0), theirs.mean(axis=0)
    small = (TIE * mean < rival) & (gain.mean(axis=0) > SURE * doubt)
    much = (mean < MUCH_SMALLER * rival) & (
        np.median(ours, axis=0) < 2 * MUCH_SMALLER * np.median(theirs, axis=0)
    )
    return np.asarray(much | small)


def best_columns(fits: list[Fit], n_plain: int | None = None) -> Fit:
    """One map of the fits that `choose` takes, column by column."""
    choice = choose(fits, n_plain)
    used = [(fits[i], choice == i) for i in np.unique(choice)]

    def predict(rows: Array) -> Array:
        found = np.empty((len(rows), len(choice)))
        for fit, columns in used:
            found[:, columns] = fit.predict(rows)[:, columns]
        return found

    return Fit(predict, _chosen(fits, choice))


def _chosen(fits: list[Fit], choice: NDArray[np.intp]) -> Array:
    return np.column_stack([fits[i].left_out[:, j] for j, i in enumerate(choice)])


def fit_expanded(expand: Expand, A: Array, B: Array, *, held_back: bool = True) -> Fit:
    """Least squares on columns made from those given, held back where that helps."""
    inputs = expand(A)
    inner = fit_linear(inputs, B)
    if held_back:
        inner = best_columns([inner, fit_ridge(inputs, B)])

    def predict(rows: Array) -> Array:
        step = max(1, _BLOCK // max(1, inputs.shape[1]))
        parts = [
            inner.predict(expand(rows[start : start + step])) for start in range(0, len(rows), step)
        ]
        return np.vstack(parts) if parts else np.empty((0, B.shape[1]))

    return Fit(predict, inner.left_out)


def n_products(n_columns: int) -> int:
    """How many columns `products` makes."""
    return n_columns * (n_columns + 3) // 2


def products(A: Array) -> Expand:
    """Columns, their squares and their products two by two, in deviations of the pairs."""
    center, unit = A.mean(axis=0), divisors(deviations(A))
    left, right = np.triu_indices(A.shape[1])

    def expand(rows: Array) -> Array:
        scaled = (rows - center) / unit
        return np.hstack([scaled, scaled[:, left] * scaled[:, right]])

    return expand


def hinges(A: Array) -> Expand:
    """Columns, and each beyond a few of its quantiles: sums of any functions of single columns."""
    center, unit = A.mean(axis=0), divisors(deviations(A))
    knots = np.quantile((A - center) / unit, np.arange(1, HINGES + 1) / (HINGES + 1), axis=0)

    def expand(rows: Array) -> Array:
        scaled = (rows - center) / unit
        return np.hstack([scaled, *(np.maximum(scaled - knot, 0.0) for knot in knots)])

    return expand


def fit_neighbors(A: Array, B: Array) -> Fit:
    """The mean of the nearest pairs, each column with the number that does best on pairs left out.

    It needs no form of the map, only that rows alike have records alike.
    """
    if not deviations(A).any():
        return fit_mean(B)
    center, unit = A.mean(axis=0), divisors(deviations(A))
    inputs = (A - center) / unit
    half_squares = np.square(inputs).sum(axis=1) / 2.0

    def nearest(rows: Array, most: int, *, but_itself: bool) -> NDArray[np.intp]:
        found = np.empty((len(rows), most), dtype=np.intp)
        step = max(1, _BLOCK // len(A))
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            away = half_squares - block @ inputs.T
            number = np.arange(len(block))
            if but_itself:
                away[number, start + number] = np.inf
            near = np.argpartition(away, most - 1, axis=1)[:, :most]
            order = np.take_along_axis(away, near, axis=1).argsort(axis=1)
            found[start : start + len(block)] = np.take_along_axis(near, order, axis=1)
        return found

    counts = [k for k in NEIGHBORS if k < len(A)]
    near = nearest(inputs, counts[-1], but_itself=True)
    sums = B[near].cumsum(axis=1)
    tried = np.stack([sums[:, k - 1] / k - B for k in counts])
    choice = np.square(tried).mean(axis=1).argmin(axis=0)
    best = np.asarray(counts)[choice]
    left_out = tried[choice, :, np.arange(B.shape[1])].T

    def predict(rows: Array) -> Array:
        near = nearest((rows - center) / unit, int(best.max()), but_itself=False)
        found = np.zeros((len(rows), B.shape[1]))
        for rank in range(int(best.max())):
            used = best > rank
            found[:, used] += B[near[:, rank]][:, used] / best[used]
        return found

    return Fit(predict, left_out)


def fit_trees(A: Array, B: Array, rival: Fit, seed: int) -> Fit | None:
    """Histogram gradient boosting, for the columns where it beats another map by much.

    Trees take long, so they are tried on a few columns first, with one third of the pairs left
    out, and on further ones only if they did clearly better than the rival there. None where no
    column did.
    """
    m = len(A)
    if m < LEAST_TREE_PAIRS:
        return None
    rng = np.random.default_rng(seed)
    part = rng.permutation(m) % 3
    # Where the rival leaves next to nothing, nothing is to be gained.
    lacking = rng.permutation(np.flatnonzero(rival.errors > 0.01 * deviations(B) ** 2))
    left_out = np.full(B.shape, np.inf)
    models: dict[int, Any] = {}
    for number, column in enumerate(lacking[:MOST_TREE_COLUMNS].tolist()):
        if number >= TREE_TRIALS and not models:
            break
        for third in range(3):
            apart = part == third
            model = _trees(A[~apart], B[~apart, column], seed)
            left_out[apart, column] = model.predict(A[apart]) - B[apart, column]
            columns = (left_out[apart][:, [column]], rival.left_out[apart][:, [column]])
            error, other = (np.square(part).mean() for part in columns)
            if TIE * error > other:
                left_out[:, column] = np.inf
                break
        else:
            models[column] = _trees(A, B[:, column], seed)
    if not models:
        return None

    def predict(rows: Array) -> Array:
        found = np.zeros((len(rows), B.shape[1]))
        for column, model in models.items():
            found[:, column] = model.predict(rows)
        return found

    return Fit(predict, left_out)


def _trees(A: Array, b: Array, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(
        max_iter=30, learning_rate=0.25, max_leaf_nodes=15, min_samples_leaf=8, max_bins=63,
        early_stopping=False, random_state=seed,
    )  # fmt: skip
    with all_in_one_thread():  # a few hundred pairs are too few to share
        return model.fit(A, b)
