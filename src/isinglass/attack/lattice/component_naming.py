"""Assignment of unnamed components to the table's columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import marginal_distances, standardized
from isinglass.attack.knowledge import ColumnStatistics, Knowledge, PopulationSample
from isinglass.errors import AttackError

Array = NDArray[Any]

#: The cost of a column for which there is no component: no fit by three shares is worse.
UNNAMED = 3.0
#: Below this cost, the statistics are those of the component, up to rounding.
EXACT = 1e-6


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
