"""Detection rates: which share of the strongest outliers a release still shows (Figure 10b)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt

import numpy as np

from isinglass.perturb.distortion import Distortion
from isinglass.progress import Progress
from isinglass_papers.core.draw import Row, picture
from isinglass_papers.core.result import Claim, Figure, How, Number
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rules import Repeated, noted, verdict_by_count
from isinglass_papers.distortion.setting import (
    NO_SIZES,
    ExperimentPart,
    PreparedTable,
    network,
    seeds,
    strongest,
)

#: The lowest rate that the paper prints and still calls good, in per cent.
GOOD = min(rate for said in (printed.ENGINES, printed.CARRIER) for rate, _ in said.values())
#: A score this share of another is like it: one key moves distances by more than a tenth.
LIKE = 0.9

Rates = Mapping[tuple[str, str], Repeated]


def detection_rate(
    table: PreparedTable, keys: Sequence[int], build: Callable[[int], Distortion]
) -> Repeated:
    """The share of the table's strongest rows that are among the release's as well, per cent."""
    before = table.strongest().outliers_
    shares = []
    for key in keys:
        after = table.strongest(build(key).fit_transform(table.X)).outliers_
        shares.append(100 * len(np.intersect1d(before, after)) / len(before))
    return Repeated.of(shares)


def kinds(
    how: How, tell: Progress, tables: Sequence[PreparedTable], carrier: PreparedTable
) -> tuple[ExperimentPart, dict[tuple[str, str], Repeated]]:
    """Figure 10(b), and the carrier's two rates."""
    part, rates = ExperimentPart(), {}
    for number, table in enumerate((*tables, carrier)):
        said = printed.CARRIER if table is carrier else printed.ENGINES
        for kind, (theirs, spread) in said.items():
            tell(f"detection: {table.named}, {printed.KINDS[kind]}", number, len(tables) + 1)
            keys = seeds(how, 10 + number, how.pick(3, printed.TRIALS))
            rate = detection_rate(table, keys, lambda key, f=kind: network(f, seed=key))  # type: ignore[misc]
            rates[table.name, kind] = rate
            where = ("Figure 11" if kind == "identity" else "Figure 12") if table is carrier else (
                "Figure 10(b)"
            )  # fmt: skip
            called = f"{printed.KINDS[kind]}, {table.named}"
            part.numbers += [
                rate_number(where, called, rate, (theirs, spread), table.unlike),
                Number(
                    where,
                    f"its standard deviation over {rate.keys} keys, 95 % interval, {called}",
                    spread,
                    rate.deviation,
                    *deviation_interval(rate),
                    deviation_note(rate, spread, table.unlike, told=table is not carrier),
                ),
            ]
    levels = {table.named: _level(table) for table in (*tables, carrier)}
    part.figures.append(_kinds_figure(rates, tables, carrier, levels))
    part.claims.append(good_claim(rates, {t.name: t.named for t in (*tables, carrier)}))
    part.numbers += [
        Number(
            "Figure 10(b)",
            f"score of rank {2 * table.top} over that of rank {table.top}, {table.named}",
            None,
            levels[table.named],
            note="near 1, the list ends in a crowd of like scores, which any noise reorders",
        )
        for table in (*tables, carrier)
    ]
    return part, rates


def rate_number(
    where: str, called: str, rate: Repeated, said: tuple[float, float], unlike: str
) -> Number:
    """A rate beside the printed one, whose deviation is `said` too, and why they differ."""
    theirs, spread = said
    overlap = abs(rate.mean - theirs) <= spread + rate.deviation
    why = ("the two spreads overlap; " if overlap else "") + f"{unlike}; {NO_SIZES}"
    what = f"detection rate, %, {called}"
    return noted(Number(where, what, theirs, rate.mean, rate.low, rate.high), why)


def deviation_interval(rate: Repeated) -> tuple[float, float]:
    """Where the true deviation lies with a confidence of 19 in 20, for normal rates."""
    from scipy.stats import chi2

    free = rate.keys - 1
    low, high = (rate.deviation * sqrt(free / chi2.ppf(p, free)) for p in (0.975, 0.025))
    return float(low), float(high)


def deviation_note(rate: Repeated, spread: float, unlike: str, *, told: bool) -> str:
    """Whether chance explains that our standard deviation is not the printed one.

    Of two equal deviations the squares over n and m draws have a ratio of Fisher's law. `told`
    is whether the paper prints how many draws it took; else it is thought to be as many as where
    it does.
    """
    from scipy.stats import f

    ratio = rate.deviation / spread
    low, high = (sqrt(f.ppf(p, rate.keys - 1, printed.TRIALS - 1)) for p in (0.025, 0.975))
    law = (
        f"{ratio:.2f} times the printed one, where chance alone gives {low:.2f} to {high:.2f} in "
        f"19 of 20 pairs of deviations, over {rate.keys} keys and {printed.TRIALS}"
        + ("" if told else " (theirs not printed here)")
    )
    return f"within chance: {law}" if low <= ratio <= high else f"{law}; {unlike}; {NO_SIZES}"


def _kinds_figure(
    rates: Rates,
    tables: Sequence[PreparedTable],
    carrier: PreparedTable,
    levels: Mapping[str, float],
) -> Figure:
    rows: list[Row] = []
    for kind, called in printed.KINDS.items():
        said = [("printed, engines", printed.ENGINES.get(kind))]
        said.append(("printed, carrier", printed.CARRIER.get(kind)))
        named = {table.name: table.named for table in (*tables, carrier)}
        ours = [(named[t], (r.mean, r.deviation)) for (t, f), r in rates.items() if f == kind]
        for source, pair in (*said, *ours):
            if pair is not None:
                mean, spread = pair
                rows.append(
                    {
                        "table": source,
                        "f": called,
                        "rate": mean,
                        "low": mean - spread,
                        "high": mean + spread,
                    }
                )
    trials = max(rate.keys for rate in rates.values())
    crowded = [named for named, level in levels.items() if level >= LIKE]
    return Figure(
        "figure-10b",
        "Figure 10(b), 11, 12: detection rate by kind of distortion",
        "Share of the strongest outliers that the release still shows, mean and one standard "
        f"deviation over {trials} keys; the first two groups are the paper's."
        + (
            f" Scores are nearly level at the end of the list ({', '.join(crowded)}), so that a "
            "little noise puts them in another order."
            if crowded
            else ""
        ),
        tuple(rows),
        picture(
            "bar",
            "table:N",
            "rate",
            color="f",
            band=("low", "high"),
            titles={"table": "", "rate": "detection rate (%)", "f": "f"},
        ),
    )


def _level(table: PreparedTable) -> float:
    """How much lower scores are twice as far down the list: little, where noise reorders them."""
    scores = strongest(table.X, table.codes, 2 * table.top).outlier_scores_
    return float(scores[-1] / scores[table.top - 1])


def good_claim(rates: Rates, named: Mapping[str, str]) -> Claim:
    """Good: no lower than what the paper prints and calls good."""
    met = sum(rate.mean >= GOOD for rate in rates.values())
    least = {
        table: min(rate.mean for (of, _), rate in rates.items() if of == table) for table in named
    }
    return Claim(
        "Section IX",
        "The detection rate is good for every kind of distortion used.",
        verdict_by_count(met, len(rates)),
        f"{met} of {len(rates)} rates reach {GOOD:g} %, the lowest that the paper prints. The "
        "lowest of ours, in per cent: "
        + ", ".join(f"{named[table]} {rate:.1f}" for table, rate in least.items())
        + ".",
    )
