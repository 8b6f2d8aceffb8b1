"""Draw the picture of the README: a table and its release, the same rows marked in both.

Writes docs/two-tables.png and prints the numbers that the README gives below it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isinglass as ig
from isinglass.plots.chart import Chart, drawing, finished, png, scale

DOCS = Path(__file__).parent.parent / "docs"
N_OUTLIERS, N_PAIRS = 20, 60
SHOWN = 3  # of the ordinary rows every third is drawn, so that the file stays small
ORDINARY, OUTLIER = "other rows", "the 20 strongest outliers"


def main() -> None:
    """Release the flights of the docs, look for the outliers in both, and draw them."""
    with open(DOCS / "flights.csv", encoding="utf-8") as file:
        X = np.loadtxt(file, delimiter=",", skiprows=1, usecols=range(2, 8))
    low, high = X.min(axis=0), X.max(axis=0)
    Z = ig.Distortion("tanh", bounds=(low, high), random_state=1).fit_transform(X)
    scaled = (X - low) / (high - low)
    before, after = (
        ig.DistanceOutliers(n_outliers=N_OUTLIERS).fit(rows).outliers_ for rows in (scaled, Z)
    )
    print(f"{len(np.intersect1d(before, after))} of {N_OUTLIERS} outliers are found again")
    pairs = np.random.default_rng(0).choice(len(X), size=N_PAIRS, replace=False)
    guess = ig.attacks.KnownInputAttack(random_state=0).guess(
        Z, ig.attacks.KnownPairs(pairs, X[pairs])
    )
    others = np.setdiff1d(np.arange(len(X)), pairs)
    for name, values in ((f"{N_PAIRS} known pairs", guess), ("a blind guess", X.mean(axis=0))):
        near = np.abs(values - X)[others] <= 0.1 * (high - low)
        print(f"{name}: {near.mean():.0%} of the other values within a tenth of the range")
    drawn = [
        _panel(scaled, (0, 5), before, ("altitude", "engine temperature"), "the table"),
        _panel(Z, (0, 1), before, ("z0", "z1"), "the release"),
    ]
    import altair as alt

    spec = finished(alt.hconcat(*drawn))
    png(Chart("two-tables", "", "", (), (), spec), DOCS / "two-tables.png")


def _panel(
    rows: NDArray[np.float64],
    columns: tuple[int, int],
    outliers: NDArray[np.int64],
    names: tuple[str, str],
    title: str,
) -> Any:
    import altair as alt

    marked = set(outliers.tolist())
    ordinary = [i for i in range(0, len(rows), SHOWN) if i not in marked]
    values = [
        {
            "x": round(float(rows[i, columns[0]]), 3),
            "y": round(float(rows[i, columns[1]]), 3),
            "kind": OUTLIER if i in marked else ORDINARY,
        }
        for i in [*ordinary, *outliers.tolist()]  # outliers last, so that they lie on top
    ]
    kinds = [ORDINARY, OUTLIER]
    around = alt.Scale(zero=False, nice=False, padding=8)
    x, y = (
        {"axis": alt.Axis(labels=False, ticks=False, title=name, grid=False), "scale": around}
        for name in names
    )
    return (
        drawing(values)
        .mark_point(filled=True)
        .encode(
            x=alt.X("x:Q", **x),
            y=alt.Y("y:Q", **y),
            color=alt.Color("kind:N", scale=scale(kinds, ["$one", "$two"]), title=None),
            size=alt.Size("kind:N", scale=scale(kinds, [12, 60]), title=None),
            opacity=alt.Opacity("kind:N", scale=scale(kinds, [0.4, 1.0]), title=None),
        )
        .properties(width=330, height=230, title=title)
    )


if __name__ == "__main__":
    main()
