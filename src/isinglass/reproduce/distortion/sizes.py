"""Detection rates for other networks: the sizes that are not printed, and our own defaults."""

from __future__ import annotations

from collections.abc import Sequence

from isinglass.perturb.distortion import Distortion
from isinglass.progress import Progress
from isinglass.reproduce.distortion import printed
from isinglass.reproduce.distortion.rates import Rate, detection_rate
from isinglass.reproduce.distortion.setting import SIZE, Part, Table, network, seeds
from isinglass.reproduce.draw import Row, picture
from isinglass.reproduce.result import Claim, Figure, How, Number

#: Network sizes tried beside the main one.
SIZES = (29, 200)


def sizes(
    how: How, tell: Progress, tables: Sequence[Table], known: dict[tuple[str, str], Rate]
) -> Part:
    """What the sizes that the paper leaves out would do to its rates."""
    table = tables[0]
    part, found = Part(), {(f, SIZE): known[table.name, f] for f in printed.KINDS}
    trials = how.pick(2, 10)
    for size in SIZES:
        for kind in printed.KINDS:
            tell("detection by size of the network", size, None)
            keys = seeds(how, 20, trials)
            build = lambda key, f=kind, m=size: network(f, seed=key, size=m)  # noqa: E731
            found[kind, size] = detection_rate(table, keys, build)
    rows: list[Row] = [
        {"size": size, "f": printed.KINDS[kind], "rate": r.mean, "low": r.low, "high": r.high}
        for (kind, size), r in sorted(found.items(), key=lambda item: item[0][1])
    ]
    part.figures.append(
        Figure(
            "sizes",
            "Detection rate by hidden units and released columns",
            f"The paper does not print m and p, and they decide its numbers: {table.named}, m = p "
            f"as on the axis ({trials} keys; {SIZE} has the keys of Figure 10b).",
            tuple(rows),
            picture(
                "line",
                "size",
                "rate",
                color="f",
                band=("low", "high"),
                titles={"size": "m = p", "rate": "detection rate (%)"},
            ),
        )
    )
    for (kind, size), rate in found.items():
        if size != SIZE:
            theirs, spread = printed.ENGINES[kind]
            part.numbers.append(
                Number(
                    "Figure 10(b)",
                    f"detection rate, %, {printed.KINDS[kind]}, {table.named}, m = p = {size}",
                    theirs,
                    rate.mean,
                    rate.low,
                    rate.high,
                    ""
                    if abs(rate.mean - theirs) <= spread + rate.deviation
                    else f"{table.unlike}; m and p are a guess",
                )
            )
    part.claims.append(_order(known, tables, found))
    return part


def _order(
    rates: dict[tuple[str, str], Rate],
    tables: Sequence[Table],
    by_size: dict[tuple[str, int], Rate],
) -> Claim:
    ordered = [
        t.named
        for t in tables
        if sorted(printed.KINDS, key=lambda f, n=t.name: -rates[n, f].mean) == [*printed.KINDS]  # type: ignore[misc]
    ]
    linear = sum(
        rates[t.name, "identity"].mean
        > max(rates[t.name, "square"].mean, rates[t.name, "tanh"].mean)
        for t in tables
    )
    square, tanh = (by_size[f, SIZES[-1]].mean for f in ("square", "tanh"))
    return Claim(
        "Figure 10(b)",
        "Linear distortion keeps most outliers, the square fewer, tanh the fewest.",
        "holds" if len(ordered) == len(tables) and square > tanh else "holds conditionally",
        f"Linear is best on {linear} of {len(tables)} tables, and the whole order is the paper's "
        f"on {len(ordered)}: "
        + "; ".join(
            f"{t.named} " + " / ".join(f"{rates[t.name, f].mean:.1f}" for f in printed.KINDS)
            for t in tables
        )
        + f". It hangs on the sizes: with m = p = {SIZES[-1]} the square keeps {square:.1f} % of "
        f"{tables[0].named} and tanh {tanh:.1f} %.",
    )


def defaults(how: How, tell: Progress, tables: Sequence[Table]) -> Part:
    """The package's own defaults against the paper's network of the same size."""
    part = Part()
    rows: list[Row] = []
    trials = how.pick(2, 5)
    for number, table in enumerate(tables):
        for kind, called in printed.KINDS.items():
            tell("detection with orthogonal weights", number, len(tables))
            width, keys = table.X.shape[1], seeds(how, 30 + number, trials)
            normal = lambda key, f=kind, m=width: network(f, seed=key, size=m)  # noqa: E731
            own = lambda key, f=kind: Distortion(f, bounds="scaled", random_state=key)  # noqa: E731
            for weights, build in (("normal", normal), ("orthogonal, centred", own)):
                rate = detection_rate(table, keys, build)
                rows.append(
                    {
                        "table": table.named,
                        "f": called,
                        "weights": weights,
                        "rate": rate.mean,
                        "low": rate.low,
                        "high": rate.high,
                    }
                )
                part.numbers.append(
                    Number(
                        "beyond the paper",
                        f"detection rate, %, {called}, {table.named}, m = p = {width}, {weights}",
                        None,
                        rate.mean,
                        rate.low,
                        rate.high,
                        "not in the paper",
                    )
                )
    part.figures.append(
        Figure(
            "defaults",
            "Beyond the paper: orthogonal weights and a public centre",
            "The same size m = p = d. Normal weights as in the paper against the package's "
            "defaults, stacked random rotations about the middle of the cube; the identity then "
            f"keeps every distance. Mean and one standard deviation over {trials} keys.",
            tuple(rows),
            picture(
                "point",
                "f:N",
                "rate",
                color="weights",
                panel="table",
                band=("low", "high"),
                titles={"f": "", "rate": "detection rate (%)"},
            ),
        )
    )
    return part
