"""Figure 4: a helical coil and two outliers, which stay outliers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from isinglass.datasets import helical_coil
from isinglass.progress import Progress
from isinglass_papers.core.draw import Row, picture
from isinglass_papers.core.result import Claim, Figure, How, Number
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rules import verdict_by_count
from isinglass_papers.distortion.setting import (
    Array,
    ExperimentPart,
    PreparedTable,
    network,
    seeds,
    unit,
)

#: Hidden units and released columns; the paper does not say which it drew.
_SIZES = ((3, 3), (64, 3), (64, 64))
#: Outliers stay outliers if they do under this share of the keys: one in twenty may fail.
NEARLY_ALWAYS = 0.95


def coil(how: How, tell: Progress) -> ExperimentPart:
    """How often both outliers are the two strongest rows of the release."""
    tell("helical coil", 0, None)
    made = helical_coil(1000, random_state=how.seed)
    assert made.is_outlier is not None
    X, planted = unit(made.X), np.flatnonzero(made.is_outlier)
    table = PreparedTable("coil", "helical coil", X, None, len(planted), "")
    keys = seeds(how, 61, how.pick(10, printed.TRIALS))
    kept: dict[tuple[int, int], float] = {}
    shown: Array = X
    for m, p in _SIZES:
        both = []
        for key in keys:
            released = network("tanh", seed=key, n_hidden=m, n_components=p).fit_transform(X)
            both.append(np.isin(planted, table.strongest(released).outliers_).all())
            if (m, p, key) == (64, 3, keys[0]):
                shown = released
        kept[m, p] = float(np.mean(both))
    views = (
        ("original, x and y", X[:, :2]),
        ("original, y and z", X[:, 1:]),
        ("released, 1 and 2", shown[:, :2]),
        ("released, 2 and 3", shown[:, 1:]),
    )
    rows: list[Row] = [
        {
            "x": round(float(row[0]), 4),
            "y": round(float(row[1]), 4),
            "row": "outlier" if is_outlier else "coil",
            "panel": panel,
        }
        for panel, values in views
        # One row in five says as much, but for the outliers.
        for row, is_outlier in [*zip(values[:-2:5], made.is_outlier[:-2:5], strict=True)]
        + [*zip(values[-2:], made.is_outlier[-2:], strict=True)]
    ]
    spec = picture(
        "point",
        "x",
        "y",
        color="row",
        panel="panel",
        titles={"row": "", "x": "first of the two columns", "y": "second"},
        columns=2,
    )
    figure = Figure(
        "figure-04",
        "Figure 4: a helical coil with two outliers, before and after",
        "Three columns of the table, two at a time, and three released columns under one key with "
        "64 hidden units. Released columns mix all others: a pair of them may hide an outlier that "
        "all three show.",
        tuple(rows),
        spec,
    )
    numbers = [
        Number(
            "Figure 4",
            f"share of keys under which both outliers stay the two strongest, m = {m}, p = {p}",
            None,
            share,
            note="the paper shows one draw and does not say of which size",
        )
        for (m, p), share in kept.items()
    ]
    return ExperimentPart(numbers, [coil_claim(kept, len(keys))], [figure])


def coil_claim(kept: Mapping[tuple[int, int], float], keys: int) -> Claim:
    """By the share of keys that keep both, for every size of the network."""
    met = sum(share >= NEARLY_ALWAYS for share in kept.values())
    return Claim(
        "Figure 4",
        "The coil's outliers are still outliers after the tanh distortion.",
        verdict_by_count(met, len(kept)),
        f"Share of {keys} keys under which both are the two strongest rows of the release: "
        + ", ".join(f"{share:.2f} (m = {m}, p = {p})" for (m, p), share in kept.items())
        + ".",
    )
