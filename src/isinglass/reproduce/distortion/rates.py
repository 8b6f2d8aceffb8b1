"""Detection rates: which share of the strongest outliers a release still shows (Figure 10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from isinglass.perturb.distortion import Distortion
from isinglass.progress import Progress
from isinglass.reproduce.distortion import printed
from isinglass.reproduce.distortion.setting import (
    NO_SIZES,
    Part,
    Table,
    network,
    seeds,
    strongest,
)
from isinglass.reproduce.draw import Row, picture
from isinglass.reproduce.result import Claim, Figure, How, Number


@dataclass(frozen=True, slots=True)
class Rate:
    """Detection rate in per cent over independent keys."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, found: Sequence[float]) -> Rate:
        return cls(float(np.mean(found)), float(np.std(found, ddof=1)) if len(found) > 1 else 0.0)

    @property
    def low(self) -> float:
        return self.mean - self.deviation

    @property
    def high(self) -> float:
        return self.mean + self.deviation

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.deviation:.1f}"


def detection_rate(table: Table, keys: Sequence[int], build: Callable[[int], Distortion]) -> Rate:
    """The share of the table's strongest rows that are among the release's as well."""
    before = table.strongest().outliers_
    shares = []
    for key in keys:
        after = table.strongest(build(key).fit_transform(table.X)).outliers_
        shares.append(100 * len(np.intersect1d(before, after)) / len(before))
    return Rate.of(shares)


def kinds(
    how: How, tell: Progress, tables: Sequence[Table], carrier: Table
) -> tuple[Part, dict[tuple[str, str], Rate]]:
    """Figure 10(b), and the carrier's two rates."""
    part, rates = Part(), {}
    trials = how.pick(3, printed.TRIALS)
    for number, table in enumerate((*tables, carrier)):
        said = printed.CARRIER if table is carrier else printed.ENGINES
        for kind, (theirs, spread) in said.items():
            tell(f"detection: {table.named}, {printed.KINDS[kind]}", number, len(tables) + 1)
            keys = seeds(how, 10 + number, trials)
            rate = detection_rate(table, keys, lambda key, f=kind: network(f, seed=key))  # type: ignore[misc]
            rates[table.name, kind] = rate
            where = ("Figure 11" if kind == "identity" else "Figure 12") if table is carrier else (
                "Figure 10(b)"
            )  # fmt: skip
            called = f"{printed.KINDS[kind]}, {table.named}"
            agree = abs(rate.mean - theirs) <= spread + rate.deviation
            why = "" if agree else f"{table.unlike}; {NO_SIZES}"
            part.numbers += [
                Number(
                    where,
                    f"detection rate, %, {called}",
                    theirs,
                    rate.mean,
                    rate.low,
                    rate.high,
                    why,
                ),
                Number(
                    where,
                    f"its standard deviation over {trials} keys, {called}",
                    spread,
                    rate.deviation,
                    note=_spread_note(rate.deviation / spread, trials, table.unlike),
                ),
            ]
    part.figures.append(_kinds_figure(rates, tables, carrier, trials))
    part.claims.append(_good(rates, tables, carrier))
    part.numbers += [_level(table) for table in (*tables, carrier)]
    return part, rates


def _spread_note(ratio: float, trials: int, unlike: str) -> str:
    """Why a standard deviation differs from the printed one, where it does."""
    if abs(ratio - 1) <= 0.25:
        return ""
    # The logarithm of a standard deviation over n draws is uncertain by about 1 / sqrt(2 (n - 1)).
    chance = np.sqrt(1 / (2 * (trials - 1)) + 1 / (2 * (printed.TRIALS - 1)))
    if abs(np.log(ratio)) <= 2 * chance:
        return f"within the chance of {trials} keys"
    return f"{unlike}; {NO_SIZES}"


def _kinds_figure(
    rates: dict[tuple[str, str], Rate], tables: Sequence[Table], carrier: Table, trials: int
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
    return Figure(
        "figure-10b",
        "Figure 10(b), 11, 12: detection rate by kind of distortion",
        f"Share of the strongest outliers that the release still shows, mean and one standard "
        f"deviation over {trials} keys; the first two groups are the paper's. The public engines' "
        "scores are nearly level (Figure 7), so that a little noise puts them in another order.",
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


def _level(table: Table) -> Number:
    """How much lower scores are twice as far down the list: little, where noise reorders them."""
    scores = strongest(table.X, table.codes, 2 * table.top).outlier_scores_
    return Number(
        "Figure 10(b)",
        f"score of rank {2 * table.top} over that of rank {table.top}, {table.named}",
        None,
        float(scores[-1] / scores[table.top - 1]),
        note="near 1, the list ends in a crowd of like scores, which any noise reorders",
    )


def _good(rates: dict[tuple[str, str], Rate], tables: Sequence[Table], carrier: Table) -> Claim:
    stands = (tables[0], carrier)
    least = min(rate.mean for (t, _), rate in rates.items() if t in {s.name for s in stands})
    worst_table, worst = min(((t, r.mean) for (t, _), r in rates.items()), key=lambda pair: pair[1])
    named = {t.name: t.named for t in (*tables, carrier)}
    chance = max(100 * t.top / len(t.X) for t in (*tables, carrier))
    return Claim(
        "Section IX",
        "The detection rate is good for every kind of distortion used.",
        "holds conditionally",
        f"On the two stand-ins at least {least:.1f} % of the outliers survive; on "
        f"{named[worst_table]} only {worst:.1f} %. Chance alone would give at most {chance:.1f} %.",
    )
