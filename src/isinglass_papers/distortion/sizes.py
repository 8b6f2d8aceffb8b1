"""Detection rates for other networks: the sizes that are not printed, and our own defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from isinglass.perturb.distortion import Distortion
from isinglass.progress import Progress
from isinglass_papers.core.draw import Row, picture
from isinglass_papers.core.result import Claim, Figure, How, Number
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rates import Rates, detection_rate, rate_number
from isinglass_papers.distortion.rules import Repeated, verdict_by_count
from isinglass_papers.distortion.setting import SIZE, ExperimentPart, PreparedTable, network, seeds

#: Network sizes tried beside the main one.
SIZES = (29, 200)


#: Rates by kind and size of the network.
BySize = Mapping[tuple[str, int], Repeated]


def sizes(
    how: How, tell: Progress, tables: Sequence[PreparedTable], known: Rates
) -> tuple[ExperimentPart, dict[tuple[str, int], Repeated]]:
    """What the sizes that the paper leaves out would do to its rates."""
    table = tables[0]
    part, found = ExperimentPart(), {(f, SIZE): known[table.name, f] for f in printed.KINDS}
    trials = how.pick(2, printed.TRIALS)
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
            called = f"{printed.KINDS[kind]}, {table.named}, m = p = {size}"
            said = printed.ENGINES[kind]
            part.numbers.append(rate_number("Figure 10(b)", called, rate, said, table.unlike))
    part.claims.append(order_claim(known, {t.name: t.named for t in tables}, found))
    return part, found


def order_claim(rates: Rates, named: Mapping[str, str], by_size: BySize) -> Claim:
    """The order of the three means, on every table and, on the first, at every size."""
    trios = {t: [rates[t, f] for f in printed.KINDS] for t in named}
    sized = {m: [by_size[f, m] for f in printed.KINDS] for m in SIZES}
    first = next(iter(named.values()))
    ordered = sum(map(_falling, trios.values()))
    sure = sum(all(a.above(b) for a, b in pairwise(trio)) for trio in trios.values())
    best = sum(trio[0].mean > max(r.mean for r in trio[1:]) for trio in trios.values())
    at = sum(map(_falling, sized.values()))
    return Claim(
        "Figure 10(b)",
        "Linear distortion keeps most outliers, the square fewer, tanh the fewest.",
        verdict_by_count(ordered + at, len(trios) + len(sized)),
        f"Linear is best on {best} of {len(named)} tables, and the whole order is the paper's on "
        f"{ordered} (each step beyond chance on {sure}): "
        + "; ".join(f"{called} {_means(trios[t])}" for t, called in named.items())
        + f". Other sizes on {first}, where the order is the paper's at {at} of {len(sized)}: "
        + "; ".join(f"m = p = {m} {_means(trio)}" for m, trio in sized.items())
        + ".",
    )


def _falling(trio: Sequence[Repeated]) -> bool:
    return all(a.mean > b.mean for a, b in pairwise(trio))


def _means(trio: Sequence[Repeated]) -> str:
    return " / ".join(f"{rate.mean:.1f}" for rate in trio)


def defaults(how: How, tell: Progress, tables: Sequence[PreparedTable]) -> ExperimentPart:
    """The package's own defaults against the paper's network of the same size."""
    part = ExperimentPart()
    rows: list[Row] = []
    trials = how.pick(2, 5)
    for number, table in enumerate(tables):
        for kind, called in printed.KINDS.items():
            tell("detection with orthogonal weights", number, len(tables))
            width, keys = table.X.shape[1], seeds(how, 30 + number, trials)
            normal = lambda key, f=kind, m=width: network(f, seed=key, size=m)  # noqa: E731
            own = lambda key, f=kind: Distortion(f, bounds="scaled", random_state=key)  # noqa: E731
            for weights, build in (("normal", normal), ("orthogonal, centered", own)):
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
            "Beyond the paper: orthogonal weights and a public center",
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
