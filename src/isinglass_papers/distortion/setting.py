"""The tables, the network and the detector that every experiment of this paper shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.datasets import flights
from isinglass.detect.distance import DistanceOutliers
from isinglass.perturb.distortion import Distortion
from isinglass_papers.core.data import MissingData, Sets
from isinglass_papers.core.result import Claim, Figure, How, Missing, Number
from isinglass_papers.distortion import printed

Array = NDArray[Any]

#: Hidden units and released columns; the paper does not say how many it used.
SIZE = 64

FLIGHTS, CARRIER = "flights", "carrier"
ENGINES = tuple(f"cmapss_fd00{number}_train" for number in (1, 2, 3, 4))
NO_SIZES = "the paper does not print its network's sizes and scales"


@dataclass(slots=True)
class ExperimentPart:
    """What one group of experiments adds to the reproduction."""

    numbers: list[Number] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PreparedTable:
    """Real columns brought to [0, 1], coded ones that stay as they are, and how many rows to find.

    `named` is how a page calls it; `unlike` says in what it differs from the paper's.
    """

    name: str
    named: str
    X: Array = field(repr=False)
    codes: Array | None = field(repr=False)
    top: int
    unlike: str

    def strongest(self, released: Array | None = None) -> DistanceOutliers:
        """The detector, fitted to the table or to its release beside the coded columns."""
        return strongest(self.X if released is None else released, self.codes, self.top)


def strongest(X: Array, codes: Array | None, top: int) -> DistanceOutliers:
    """Orca's outliers, exactly: the largest mean distances to five neighbors."""
    width, discrete = X.shape[1], None
    if codes is not None:
        X = np.hstack([X, codes])
        discrete = list(range(width, X.shape[1]))
    return DistanceOutliers(top, printed.NEIGHBORS, discrete=discrete, n_jobs=-1).fit(X)


def network(
    activation: str, *, seed: int, size: int = SIZE, reach: float | None = None, **options: Any
) -> Distortion:
    """The paper's distortion: normal weights, nothing subtracted from the unit cube.

    With `reach`, of records anywhere in [-reach, reach]^d, which keep their own units.
    """
    sigma_w = options.pop("sigma_w", 1.0)
    where: dict[str, Any] = {"bounds": "scaled", "center": 0.0, "sigma_w": sigma_w}
    if reach is not None:  # scaling to [0, 1] divides by 2 reach, and these weights undo it
        where = {"bounds": (-reach, reach), "center": 0.5, "sigma_w": 2 * reach * sigma_w}
    sizes = {"n_hidden": size, "n_components": size} | options
    return Distortion(activation, weights="gaussian", random_state=seed, **where, **sizes)


def seeds(how: How, experiment: int, count: int) -> Sequence[int]:
    """Seeds of the trials of one experiment; no two experiments share one."""
    first = (how.seed * 100 + experiment) * 10_000
    return range(first, first + count)


def unit(X: Array) -> Array:
    """Each column to [0, 1] by its own extremes, a constant one to 0, as the paper does."""
    X = np.asarray(X, dtype=np.float64)
    low = X.min(axis=0)
    span = X.max(axis=0) - low
    return np.asarray((X - low) / np.where(span > 0, span, 1.0))


def flight_table(how: How) -> PreparedTable:
    """Generated flights of 29 columns, in place of the simulated ones."""
    found = flights(
        how.pick(8_000, 60_000), n_features=printed.ARCHIVE_COLUMNS, random_state=how.seed
    )
    unlike = "generated flights stand in for the simulated ones"
    return PreparedTable(FLIGHTS, "flights (stand-in)", unit(found.X), None, _top(how), unlike)


def carrier_table(how: How) -> PreparedTable:
    """Generated flights of 39 real and 7 coded columns, in place of the carrier's."""
    real, coded = printed.CARRIER_REAL, printed.CARRIER_DISCRETE
    found = flights(
        how.pick(6_000, 30_000),
        n_features=real + coded,
        n_discrete=coded,
        carrier="X",
        random_state=how.seed,
    )
    unlike = "generated flights stand in for the carrier's, which nobody may see"
    X, codes = unit(found.X[:, :real]), found.X[:, real:].astype(np.float64)
    return PreparedTable(CARRIER, "carrier (stand-in)", X, codes, _top(how), unlike)


def engine_tables(how: How) -> tuple[list[PreparedTable], list[Missing]]:
    """The public C-MAPSS sets that are there, and those that are not."""
    sets, found, missing = Sets(how.folder), [], []
    for name in ENGINES:
        try:
            X = sets.load(name).X
        except MissingData as error:
            missing.append(Missing(f"Figures 7 to 10 on {name}", str(error)))
            continue
        there, width = X.shape
        if not how.full:
            X = X[:6_000]
        short = name.removeprefix("cmapss_").removesuffix("_train").upper()
        unlike = (
            "the same simulator, but one row for each flight of an engine, not each second: "
            + ("" if len(X) == there else f"the first {len(X):,} of ")
            + f"{there:,} rows of {width} columns"
        )
        found.append(PreparedTable(name, f"C-MAPSS {short}", unit(X), None, _top(how), unlike))
    return found, missing


def _top(how: How) -> int:
    return int(how.pick(200, printed.TOP))
