"""Forward maps, from the record to its released row, learned from pairs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.activations import BEST_CURVATURE, double_logistic
from isinglass.attack.columns.marginals import deviations, divisors, scaling_bounds, spans
from isinglass.attack.knowledge import Knowledge, PublicParameters
from isinglass.attack.learning.learners import (
    LEAST_NEIGHBORED,
    MOST_PRODUCTS,
    Expand,
    best_columns,
    fit_expanded,
    fit_neighbors,
    fit_trees,
    hinges,
    n_products,
    products,
)
from isinglass.attack.learning.own_formula import Formula, fit_formula
from isinglass.attack.learning.regression import Fit, fit_kernel, fit_linear, fit_mean, fit_ridge
from isinglass.attack.linking.record_fit import gaussian

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Above so many public records nearest neighbors take too long, and tell few records apart.
_MOST_NEIGHBORED = 20_000
#: Rows on which a map that passes through all pairs is tried.
_TRIED_ROWS = 300
#: A map is taken for exact where rows lie so much nearer to a predicted one than chance has it.
_EXACT = 0.02


@dataclass(frozen=True)
class Pairs:
    """Known pairs as the learners want them: records in deviations of the public table."""

    records: Array = field(repr=False)
    shown: Array = field(repr=False)
    public: Array = field(repr=False)
    maps: tuple[Expand, ...] = field(repr=False)
    formula: Formula | None = field(default=None, repr=False)

    @classmethod
    def of(cls, records: Array, shown: Array, public: Array, known: Knowledge) -> Pairs:
        center, unit = public.mean(axis=0), divisors(deviations(public))
        low, high = _bounds(known, public)
        maps = tuple(
            _elementwise(curvature, (low - center) / unit, spans(low, high) / unit)
            for curvature in _curvatures(known)
        )
        formula = Formula.of(known, public.shape[1])
        return cls((records - center) / unit, shown, (public - center) / unit, maps, formula)

    def more(self, public_rows: Rows, shown: Array) -> Pairs:
        """The same with further pairs: public records and the rows they were linked to."""
        records = np.vstack([self.records, self.public[public_rows]])
        return replace(self, records=records, shown=np.vstack([self.shown, shown]))


def learn_map(pairs: Pairs, rng: np.random.Generator, *, quick: bool = False) -> Fit:
    """The map from records to released rows that does best on pairs left out, by columns.

    `quick` leaves out the maps that take longest.
    """
    A, B = pairs.records, pairs.shown
    m, d = A.shape
    fits = [fit_mean(B), fit_linear(A, B), fit_ridge(A, B)]
    fits += [fit_expanded(expand, A, B) for expand in pairs.maps]
    if m >= 8 and not quick:
        fits.append(fit_kernel(A, B, rng))
    n_plain = len(fits)
    if m >= 2 * d and n_products(d) <= MOST_PRODUCTS:
        fits.append(fit_expanded(products(A), A, B))
    if m >= 3 * d:
        fits.append(fit_expanded(hinges(A), A, B))
    if quick:
        return best_columns(fits, n_plain)
    own = None if pairs.formula is None else fit_formula(pairs.formula, A, B, rng)
    if own is not None:
        fits.append(own)
    if m >= LEAST_NEIGHBORED and len(pairs.public) <= _MOST_NEIGHBORED:
        fits.append(fit_neighbors(A, B))
    trees = fit_trees(A, B, best_columns(fits, n_plain), int(rng.integers(2**31)))
    return best_columns([*fits, trees] if trees is not None else fits, n_plain)


def exact_map(pairs: Pairs, seen: Array, rng: np.random.Generator) -> tuple[Fit, float] | None:
    """A map through all pairs that explains the other rows too, and how far off it is.

    With just as many pairs as the map has freedom leaving one out shows nothing. The public table
    does: under the right map nearly every row lies next to a predicted one, much nearer than
    where rows are moved a little.
    """
    varies = deviations(seen) > 0
    rows = seen[rng.permutation(len(seen))[:_TRIED_ROWS]]
    if len(rows) < 3 or not varies.any():
        return None
    unit = deviations(seen)[varies]
    # Moved along differences of rows, which stay in the flat that the release may lie in.
    moved = rows + 0.1 * (rng.permutation(rows) - rng.permutation(rows))
    found: tuple[Fit, float] | None = None
    maps: list[Expand] = [lambda rows: rows, *pairs.maps]
    if len(pairs.records) > n_products(pairs.records.shape[1]):
        maps.append(products(pairs.records))
    for expand in maps:
        fit = fit_expanded(expand, pairs.records, pairs.shown, held_back=False)
        expected = fit.predict(pairs.public)[:, varies] / unit
        near, far = (_nearest(table[:, varies] / unit, expected) for table in (rows, moved))
        share = float(np.median(near) / max(float(np.median(far)), 1e-300))
        if share < (_EXACT if found is None else found[1]):
            found = fit, share
            spread = 1.5 * float(np.median(near))
    return None if found is None else (found[0], spread)


def _nearest(rows: Array, expected: Array) -> Array:
    from scipy.spatial import cKDTree

    if rows.shape[1] <= 4:
        return np.asarray(cKDTree(expected).query(rows)[0])
    best, _ = gaussian(rows, expected, np.ones(rows.shape[1])).best()
    return np.asarray(np.sqrt(np.square(rows - expected[best]).sum(axis=1)))


def _elementwise(curvature: float, low: Array, span: Array) -> Expand:
    """f of columns brought to [0, 1], as a multiparty release makes them before it mixes them."""
    return lambda rows: double_logistic(np.clip((rows - low) / span, 0.0, 1.0), curvature)


def _curvatures(known: Knowledge) -> tuple[float, ...]:
    """The usual curvature, and the one that is claimed where it could be one."""
    public = known.find(PublicParameters)
    said = None if public is None else public.parameters.get("curvature")
    if isinstance(said, (int, float)) and 1e-3 <= said <= 1e3 and said != BEST_CURVATURE:
        return BEST_CURVATURE, float(said)
    return (BEST_CURVATURE,)


def _bounds(known: Knowledge, public: Array) -> tuple[Array, Array]:
    bounds = scaling_bounds(known, public.shape[1])
    usable = bounds is not None and all(np.isfinite(b).all() for b in bounds)
    return bounds if usable and bounds is not None else (public.min(axis=0), public.max(axis=0))
