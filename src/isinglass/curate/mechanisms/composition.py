"""Composition rules: what a set of queries costs together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.ledger.budget import columns
from isinglass.curate.ledger.spend_index import Reach
from isinglass.curate.query import Query
from isinglass.detect.metric import Metric, declare
from isinglass.epsilon import text


@dataclass(frozen=True, slots=True)
class Sequential:
    """Answers about the same records: their prices add up, whoever asks and however they adapt.

    Along a pair of tables that every part covers, the chances of the answers multiply, and so do
    the factors by which they may differ. For sensitive privacy that is the pairs that the least k,
    the largest beta and the least r of the parts cover (`total_cost`).

    Examples
    --------
    >>> asked = ig.mechanisms.Query(np.array([1.0]), "sparse", 2, 1.0, 500_000, influence=1.0)
    >>> print(ig.mechanisms.Sequential((asked, asked)).explain())
    asked one after another, prices add up: 0.5 + 0.5 = 1
    """

    parts: tuple[Part, ...]

    @property
    def cost(self) -> int:
        """Millionths of epsilon."""
        return sum(_cost(part) for part in self.parts)

    def explain(self) -> str:
        """The sum, written out."""
        terms = " + ".join(text(_cost(part)) for part in self.parts) or "0"
        return f"asked one after another, prices add up: {terms} = {text(self.cost)}"


@dataclass(frozen=True, slots=True)
class Parallel:
    """Answers that no record can touch two of: together they cost what the dearest costs.

    Checked, not believed: parts with queries in each other's reach are refused. It is the queries'
    places and radii that keep them apart, and never a look at the table.

    Examples
    --------
    >>> near, far = (
    ...     ig.mechanisms.Query(np.array([x]), "sparse", 2, 1.0, 500_000, influence=1.0)
    ...     for x in (1.0, 9.0)
    ... )
    >>> ig.mechanisms.Parallel((near, far)).cost
    500000
    """

    parts: tuple[Part, ...]
    metric: str | Metric = field(default="euclidean", repr=False)

    def __post_init__(self) -> None:
        asked = [_queries(part) for part in self.parts]
        together = [query for part in asked for query in part]
        metric = _declared(self.metric, together)
        everyone = _index(together, metric)
        for part in asked:
            places, radii, _ = columns(part, metric)
            own = _index(part, metric).sums(places, radii)
            if (everyone.sums(places, radii) > own).any():
                raise ValueError(
                    "parts must be out of each other's reach, got two that one record can touch; "
                    "Sequential adds them up"
                )

    @property
    def cost(self) -> int:
        """Millionths of epsilon."""
        return max((_cost(part) for part in self.parts), default=0)

    def explain(self) -> str:
        """Which part counts, and why the others do not."""
        terms = ", ".join(text(_cost(part)) for part in self.parts) or "0"
        return (
            "asked so far apart that no record touches two of them, only the dearest counts: "
            f"the largest of {terms} is {text(self.cost)}"
        )


@dataclass(frozen=True, slots=True)
class PostProcessing:
    """Whatever is made of answers alone costs nothing more.

    Examples
    --------
    >>> asked = ig.mechanisms.Query(np.array([1.0]), "sparse", 2, 1.0, 500_000, influence=1.0)
    >>> ig.mechanisms.PostProcessing(asked, "a chart").cost == asked.micro
    True
    """

    part: Part
    made: str = "a result"

    @property
    def cost(self) -> int:
        """Millionths of epsilon."""
        return _cost(self.part)

    def explain(self) -> str:
        """What is free, and what it was made of."""
        return (
            f"{self.made} made of answers alone, with no second look at the table, costs no more "
            f"than they did: {text(self.cost)}"
        )


_BUILT_IN = {"sparse", "dp", "sensitive"}
Part = Query | Sequential | Parallel | PostProcessing


@dataclass(frozen=True, slots=True)
class Total:
    """What queries cost together, and the weakest of their guarantees; millionths of epsilon.

    `pairwise` is the most spent within reach of any query, `in_order` the most that one found and
    spent when its turn came, which is what a ledger holds to its cap; both bound what touches any
    one place, for any metric. `exact` is that itself, known in one dimension only. `others` are
    modes that are not built in: what they cover, their own questions must say.
    """

    n_queries: int
    pairwise: int
    in_order: int
    exact: int | None
    privacy: Literal["differential", "sensitive"]
    k: int | None = None
    beta: int | None = None
    r: float | None = None
    others: tuple[str, ...] = ()

    @property
    def cost(self) -> int:
        """The least that is proved."""
        return self.in_order if self.exact is None else self.exact

    def explain(self) -> str:
        """The price and the promise."""
        what = "differential privacy for every record"
        if self.privacy == "sensitive":
            what = (
                "sensitive privacy for every record that has, itself counted, at least "
                f"{self.beta} + 1 - {self.k} records within {self.r:g}"
            )
        if self.others:
            what += f", as far as the questions of {', '.join(self.others)} cover it"
        sure = "at most " if self.exact is None else ""
        return (
            f"{self.n_queries} quer{'y' if self.n_queries == 1 else 'ies'} together: {sure}epsilon "
            f"{text(self.cost)} of {what}; adding up all within reach of a query would give "
            f"{text(self.pairwise)}"
        )


def total_cost(queries: Sequence[Query], metric: str | Metric = "euclidean") -> Total:
    """What queries cost together: the most that touches one place, asked about or not.

    Queries of sensitive privacy protect together what the weakest of them would: least k, largest
    beta, least r. If a record is sensitive by these, it is by the terms of each. Queries of plain
    differential privacy weaken nothing.

    Examples
    --------
    >>> asked = [
    ...     ig.mechanisms.Query(np.array([x]), "sparse", 2, 1.0, 500_000, influence=1.0)
    ...     for x in (1.0, 3.0, 9.0)
    ... ]
    >>> ig.mechanisms.total_cost(asked).cost  # through the place 2, which is no query
    1000000
    """
    metric = _declared(metric, queries)
    places, radii, micro = columns(queries, metric)
    index = _index(queries, metric, micro)
    pairwise = index.sums(places, radii)
    in_order = Reach(metric).in_order(places, radii, micro) + micro
    exact = _sweep(places[:, 0], radii, micro, metric) if places.shape[1] == 1 else None
    weak = [query for query in queries if query.k is not None]
    return Total(
        len(queries),
        int(pairwise.max(initial=0)),
        int(in_order.max(initial=0)),
        exact,
        "sensitive" if weak else "differential",
        min((query.k for query in weak if query.k is not None), default=None),
        max((query.beta for query in weak), default=None),
        min((query.r for query in weak), default=None),
        tuple(sorted({query.mode for query in queries} - _BUILT_IN)),
    )


def _sweep(
    places: NDArray[np.float64],
    radii: NDArray[np.float64],
    micro: NDArray[np.int64],
    metric: Metric,
) -> int:
    """One dimension: walk along the line, and add a price where its interval begins.

    Ends are compared as fractions; each interval has half the room that `Reach` leaves for
    rounding, so it holds every place that the metric calls within the radius.
    """
    everywhere, steps = 0, []
    weight = float(metric.weights[0])
    unit = weight ** (1 / {"euclidean": 2.0, "minkowski": metric.power}.get(metric.name, 1.0))
    for place, r, price in zip(places.tolist(), radii.tolist(), micro.tolist(), strict=True):
        half = (r * (1 + 0.5e-9) + 0.25e-150 * max(1.0, unit)) / unit
        if metric.name == "hamming":  # a lone column is equal, or differs wholly
            half = 0.0 if r < 1 else math.inf
        if math.isinf(half):
            everywhere += price
            continue
        middle, width = Fraction(place), Fraction(half)
        # Closed intervals: those that begin where others end come first.
        steps += [(middle - width, 0, price), (middle + width, 1, -price)]
    here = most = 0
    for _, _, change in sorted(steps):
        here += change
        most = max(most, here)
    return everywhere + most


def _declared(metric: str | Metric, queries: Sequence[Query]) -> Metric:
    """A distance by its name, for as many columns as the queries have."""
    if isinstance(metric, Metric):
        return metric
    return declare(metric, None, None, max((len(query.place) for query in queries), default=1))


def _cost(part: Part) -> int:
    return part.micro if isinstance(part, Query) else part.cost


def _queries(part: Part) -> list[Query]:
    if isinstance(part, Query):
        return [part]
    if isinstance(part, PostProcessing):
        return _queries(part.part)
    return [query for each in part.parts for query in _queries(each)]


def _index(queries: Sequence[Query], metric: Metric, micro: NDArray[np.int64] | int = 1) -> Reach:
    places, radii, _ = columns(queries, metric)
    index = Reach(metric)
    index.extend(places, radii, micro)
    return index
