"""Assignment of lattice coordinates to the columns of a table of whole numbers."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import standardized
from isinglass.attack.knowledge import ColumnStatistics, KeptColumns, Knowledge
from isinglass.attack.lattice.component_naming import (
    EXACT,
    Naming,
    component_costs,
    name_components,
)
from isinglass.attack.lattice.lattice import lattice_maps

Array = NDArray[Any]

#: Numbers in the combinations of coordinates that are tried, and in those held at once.
MOST_VALUES, BLOCK_VALUES = 10_000_000, 200_000
#: Multiples of a coordinate that are tried beside another one.
MULTIPLES = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def name_coordinates(Z: Array, n_released: int, known: Knowledge) -> tuple[Naming | None, Array]:
    """Name the coordinates of the rows on a lattice; None where the release stands on none.

    The first `n_released` columns of `Z` are the release; other releases and kept columns follow.
    Also returned are the components that the naming speaks of.
    """
    statistics, kept = known.need(ColumnStatistics), known.find(KeptColumns)
    n_mixed = Z.shape[1] - (0 if kept is None else kept.values.shape[1])
    # The statistics are the table's own; a sample is of others, and only likely.
    certain = Knowledge.of(statistics)
    # Several releases stand on a lattice together where all of them are noiseless.
    for width in dict.fromkeys((n_mixed, n_released)):
        found = [Z[:, :width] @ unmixing for unmixing in lattice_maps(Z[:, :width])]
        if found:
            break
    else:
        return None, Z
    components = _with_new(Z[:, :0], np.column_stack([*found, Z[:, n_mixed:]]))
    naming = name_components(components, statistics, certain)
    for search, part in product((find_sums, find_multiples), found):
        if naming.exact:
            return naming, components
        components = _with_new(components, search(part, statistics))
        naming = name_components(components, statistics, certain)
    if not naming.exact:
        naming = name_components(components, statistics, known)
    return naming, components


def _with_new(components: Array, more: Array) -> Array:
    """Standardized components with those not among them yet: none may be named twice."""
    kept = components
    for part in standardized(more).T:
        if part.any() and not (np.abs(part @ kept) > (1.0 - 1e-9) * (part @ part)).any():
            kept = np.column_stack([kept, part])
    return kept


def find_sums(coordinates: Array, statistics: ColumnStatistics) -> Array:
    """Sums and differences of coordinates that have the statistics of a column exactly.

    Columns that are strongly correlated have shorter differences than they are themselves, and a
    reduced basis holds those. Two coordinates are tried together and, of up to ten, three.
    """
    n, d = coordinates.shape
    weights = []
    for size in (2, 3) if d <= 10 else (2,):
        for which in combinations(range(d), size):
            for signs in product((1.0, -1.0), repeat=size - 1):
                weight = np.zeros(d)
                weight[list(which)] = (1.0, *signs)
                weights.append(weight)
    tried = np.array(weights).reshape(-1, d).T[:, : MOST_VALUES // n]
    at_once = 1 + BLOCK_VALUES // n
    found = [np.zeros((n, 0))]
    for start in range(0, tried.shape[1], at_once):
        sums = coordinates @ tried[:, start : start + at_once]
        exact = (component_costs(sums, statistics) < EXACT).any(axis=0)
        found.append(sums[:, exact])
    return np.column_stack(found)


def find_multiples(coordinates: Array, statistics: ColumnStatistics) -> Array:
    """Coordinates with multiples of others that have the statistics of a column exactly.

    Many fine steps are as long as a coarse one. Where a fine and a coarse column are a little
    correlated, even by chance, a coordinate is therefore the fine one with a few times the coarse
    one. The best multiple is added, again and again, as long as the statistics fit better.
    """
    deviation = coordinates.std(axis=0)
    costs = component_costs(coordinates, statistics)
    left = MOST_VALUES
    found = [np.zeros((len(coordinates), 0))]
    for column in np.flatnonzero(costs.min(axis=1) >= EXACT):
        for start in np.argsort(costs[column])[:3]:
            part, cost = coordinates[:, start], costs[column, start]
            moves = _moves(deviation, int(start))
            while cost >= EXACT and left > 0 and moves.shape[1]:
                tried = part[:, np.newaxis] + coordinates @ moves
                left -= tried.size
                fits = component_costs(tried, statistics)[column]
                if fits.min() >= cost:
                    break
                part, cost = tried[:, fits.argmin()], fits.min()
            if cost < EXACT:
                found.append(part[:, np.newaxis])
                break
    return np.column_stack(found)


def _moves(deviation: Array, start: int) -> Array:
    """Multiples of single other coordinates, none of which outweighs the one at `start`."""
    moves = []
    for other in np.flatnonzero(np.arange(len(deviation)) != start):
        most = max(1.0, deviation[start] / deviation[other])
        for times in MULTIPLES[MULTIPLES <= most]:
            for sign in (1.0, -1.0):
                moves.append(sign * times * (np.arange(len(deviation)) == other))
    return np.array(moves).reshape(-1, len(deviation)).T
