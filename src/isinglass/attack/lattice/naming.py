"""Assignment of unnamed components, and of lattice coordinates, to the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import marginal_distances, standardized
from isinglass.attack.knowledge import ColumnStatistics, KeptColumns, Knowledge, PopulationSample
from isinglass.attack.lattice.lattice import lattice_maps
from isinglass.errors import AttackError

Array = NDArray[Any]

#: The cost of a column for which there is no component: no fit by three shares is worse.
UNNAMED = 3.0
#: Below this cost, the statistics are those of the component, up to rounding.
EXACT = 1e-6
#: Numbers in the combinations of coordinates that are tried, and in those held at once.
MOST_VALUES, BLOCK_VALUES = 10_000_000, 200_000
#: Multiples of a coordinate that are tried beside another one.
MULTIPLES = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


@dataclass(frozen=True, slots=True)
class Naming:
    """Columns of the table, the component that is each, and its sign."""

    columns: NDArray[np.intp] = field(repr=False)
    parts: NDArray[np.intp] = field(repr=False)
    signs: Array = field(repr=False)
    #: The sum over all columns that vary of how badly they are fitted.
    cost: float
    #: Whether all these columns have a component with exactly their statistics.
    exact: bool


def name_components(components: Array, statistics: ColumnStatistics, known: Knowledge) -> Naming:
    """Find the columns that components fit best, each at most once, by one assignment problem.

    A component is compared by its lowest and highest value and skewness in deviations from the
    mean and, where a sample is known, by its whole marginal.
    """
    from scipy.optimize import linear_sum_assignment

    varies = np.flatnonzero(statistics.deviation > 0)
    parts = standardized(components)
    features = _feature_costs(parts, statistics, varies)
    plain, turned = _with_sample(features, parts, len(statistics.mean), known, varies)
    cost = np.minimum(plain, turned)
    columns, chosen = linear_sum_assignment(cost)
    signs = np.where(plain <= turned, 1.0, -1.0)[columns, chosen]
    unnamed = len(varies) - len(columns)
    total = float(cost[columns, chosen].sum()) + UNNAMED * unnamed
    exact = bool((np.minimum(*features)[columns, chosen] < EXACT).all()) and not unnamed
    return Naming(varies[columns], chosen, signs, total, exact)


def component_costs(components: Array, statistics: ColumnStatistics) -> Array:
    """C[i, k]: how badly component k, either way round, fits the i-th column that varies."""
    varies = np.flatnonzero(statistics.deviation > 0)
    return np.minimum(*_feature_costs(standardized(components), statistics, varies))


def _feature_costs(
    parts: Array, statistics: ColumnStatistics, varies: NDArray[np.intp]
) -> tuple[Array, Array]:
    """C[i, k]: how badly component k fits column i's statistics, as it is and turned round."""
    column = _features(statistics, varies)
    low, high = parts.min(axis=0), parts.max(axis=0)
    skewness = (parts * parts * parts).mean(axis=0)  # a power would take ten times as long
    seen, turned = np.stack([low, high, skewness]), np.stack([-high, -low, -skewness])
    return _unlike(column, seen), _unlike(column, turned)


def _with_sample(
    costs: tuple[Array, Array],
    parts: Array,
    n_columns: int,
    known: Knowledge,
    varies: NDArray[np.intp],
) -> tuple[Array, Array]:
    """The same costs with those of the whole marginal, where a sample is known."""
    plain, turned = costs
    sample = known.find(PopulationSample)
    if sample is not None and len(sample.records) > 1:
        if sample.records.shape[1] != n_columns:
            raise AttackError(
                f"the sample must have {n_columns} columns as the statistics do, "
                f"got {sample.records.shape[1]}"
            )
        # Quantiles settle what three numbers leave open, so they count for more.
        straight, flipped = marginal_distances(standardized(sample.records[:, varies]), parts)
        plain, turned = 0.1 * plain + straight, 0.1 * turned + flipped
    return plain, turned


def _features(statistics: ColumnStatistics, varies: NDArray[np.intp]) -> Array:
    mean, deviation = statistics.mean[varies], statistics.deviation[varies]
    low, high = statistics.low[varies], statistics.high[varies]
    return np.stack(
        [(low - mean) / deviation, (high - mean) / deviation, statistics.skewness[varies]]
    )


def _unlike(columns: Array, parts: Array) -> Array:
    """The sum of differences, each as a share: extremes of long tails differ by a lot or little."""
    a, b = columns[:, :, np.newaxis], parts[:, np.newaxis]
    return np.asarray((np.abs(a - b) / (1.0 + np.abs(a) + np.abs(b))).sum(axis=0))


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
