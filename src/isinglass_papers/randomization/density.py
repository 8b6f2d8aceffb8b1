"""Figures 2 and 3: what clusters of unlike size, and outliers among them, do to levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from isinglass.measure.randomization import average_level, worst_level
from isinglass.progress import Progress
from isinglass_papers.core.result import Figure, How, Number
from isinglass_papers.randomization import printed
from isinglass_papers.randomization.density_claims import density_claims, outliers_alone
from isinglass_papers.randomization.levels import (
    LAWS,
    Array,
    Measured,
    PaperPart,
    base_set,
    ends,
    expected,
    measured,
    seed_of,
)
from isinglass_papers.randomization.two_panels import AVERAGE, level_figure, level_rows

Curves = dict[tuple[str, float], Measured]
WIDTH = printed.SKEW_COLUMNS


def density(how: How, tell: Progress) -> PaperPart:
    """Run figures 2 and 3, both noises, and read their claims off them."""
    thetas: Sequence[float] = how.pick((0.0, 1.0, 2.0), (0.0, 0.5, 1.0, 1.5, 2.0))
    shares: Sequence[float] = how.pick(
        (0.0, 0.1, 0.2, 1.0), (0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
    )
    times = how.pick(1, 8)
    skew: Curves = {}
    outliers: Curves = {}
    for i, theta in enumerate(thetas):
        tell("figure 2", i, len(thetas))
        tables = _tables("VGauDis", times, how, theta=theta)
        for j, law in enumerate(LAWS):
            skew[law, theta] = measured(tables, law, seed_of(how.seed, 12, i, j))
    for i, share in enumerate(shares):
        tell("figure 3", i, len(shares))
        if share == 0:  # the same set as without skew
            outliers.update({(law, 0.0): skew[law, 0.0] for law in LAWS})
            continue
        tables = _tables("OGauDis", times, how, f=share)
        for j, law in enumerate(LAWS):
            outliers[law, share] = measured(tables, law, seed_of(how.seed, 13, i, j))
    exact = _exact(how)
    claims = (*density_claims(skew, outliers, exact, _gains(how)), outliers_alone(how))
    return PaperPart(
        tuple(_numbers(skew)), claims, (_figure_2(skew, thetas), _figure_3(outliers, shares, exact))
    )


def _tables(name: str, times: int, how: How, **setting: float) -> list[Array]:
    """Projections of base sets that have the same centers and radii at every setting."""
    return [
        base_set(name, printed.RECORDS, seed_of(how.seed, 11, i), **setting).X[:, :WIDTH]
        for i in range(times)
    ]


def _exact(how: How) -> dict[str, tuple[float, float, float]]:
    """Share of the records that is the average, the worst and the outliers' expected level.

    Without the chance of one draw: what the density alone does, gaussian noise.
    """
    n = how.pick(2000, printed.RECORDS)
    found = {}
    asked: list[tuple[str, str, dict[str, float]]] = [("UniDis", "UniDis", {})]
    asked += [(f"VGauDis({t:g})", "VGauDis", {"theta": t}) for t in (0.0, 1.0, 2.0)]
    asked += [
        (f"OGauDis({f:g})", "OGauDis", {"f": f})
        for f in how.pick((0.1, 0.2, 1.0), (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0))
    ]
    for label, name, setting in asked:
        made = base_set(name, n, seed_of(how.seed, 11, 0), **setting)
        levels = expected(made.X[:, :WIDTH], "gaussian", printed.RATIO) / n
        strange = made.is_outlier
        lone = levels[strange] if strange is not None and strange.any() else levels
        found[label] = (average_level(levels), worst_level(levels), average_level(lone))
    return found


def _gains(how: How) -> dict[int, float]:
    """By how much clusters raise the expected level, by columns, gaussian noise."""
    even, clustered = (
        base_set(name, 1000, seed_of(how.seed, 14)).X for name in ("UniDis", "EGauDis")
    )
    return {
        d: average_level(expected(clustered[:, :d], "gaussian", printed.RATIO))
        / average_level(expected(even[:, :d], "gaussian", printed.RATIO))
        - 1
        for d in (1, 10, 100)
    }


def _numbers(skew: Curves) -> list[Number]:
    numbers = []
    for theta, average, worst in zip(
        (0.0, 2.0), printed.SKEW_AVERAGE, printed.SKEW_WORST, strict=True
    ):
        ours, one = skew["gaussian", theta], skew["gaussian", 1.0]
        end = (
            "the paper does not say where its axis ends; theta = 1 gives AR "
            f"{one.average:.0f} and WR {one.worst:.3g}"
        )
        off = (average - ours.average) / ours.spread
        for what, said, value, draws, told in (
            ("AR", average, ours.average, ours.averages, f"{off:+.1f} deviations of ours"),
            ("WR (1 %)", worst, ours.worst, ours.worsts, "outside of our draws"),
        ):
            number = Number(
                "figure 2, gaussian", f"{what} of VGauDis({theta:g}), 75 columns", said, value,
                *ends(draws),
            )  # fmt: skip
            notes = [] if number.agrees else [f"unexplained: {told}"]
            notes += [end] if theta else []
            numbers.append(replace(number, note="; ".join(notes)))
    return numbers


def _figure_2(skew: Curves, thetas: Sequence[float]) -> Figure:
    rows = level_rows(skew, "theta", thetas)
    for row in rows:
        if row["noise"] == "gaussian" and row["theta"] in (0.0, 2.0):
            said = printed.SKEW_AVERAGE if row["measure"] == AVERAGE else printed.SKEW_WORST
            row["printed"] = said[0 if row["theta"] == 0 else 1]
    return level_figure(
        "figure-2",
        "Figure 2: clusters of unlike size (VGauDis, 75 columns, noise of 8 deviations)",
        "Average and worst level by the skew of the clusters' sizes. Bars span our repetitions; "
        "diamonds are printed, the second pair drawn at theta = 2, as the paper does not say where "
        "its axis ends.",
        rows,
        "theta",
        "skew of the clusters' sizes",
    )


def _figure_3(
    outliers: Curves, shares: Sequence[float], exact: dict[str, tuple[float, float, float]]
) -> Figure:
    rows = level_rows(outliers, "share", shares)
    for row in rows:
        found = exact.get(f"OGauDis({row['share']:g})")
        if found is not None and row["noise"] == "gaussian":
            row["expected_of_outliers"] = found[2] * printed.RECORDS
    return level_figure(
        "figure-3",
        "Figure 3: outliers among clusters (OGauDis, 75 columns, noise of 8 deviations)",
        "Average and worst level by the share of outliers; bars span our repetitions. The paper "
        "sees the worst level rise again beyond a fifth of outliers.",
        rows,
        "share",
        "share of outliers",
    )
