"""Scores of the strongest outliers before and after distortion (Figures 7 to 9, 11, 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from isinglass.progress import Progress
from isinglass_papers.core.draw import Row, picture
from isinglass_papers.core.result import Claim, Figure, How, Number
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rules import Repeated, verdict_by_count
from isinglass_papers.distortion.setting import Array, ExperimentPart, PreparedTable, network, seeds

_FIGURES = {"identity": "7", "tanh": "8", "square": "9"}
_CARRIER_FIGURES = {"identity": "11", "tanh": "12"}
_FIRST = 50  # "the highest scoring anomalies"
#: From here on a rank correlation is called high: half of one order's variance is the other's.
HIGH = 0.7
#: The highest are still discovered if at most one in ten of them is not.
DISCOVERED = 0.9


@dataclass(frozen=True, slots=True)
class ScorePair:
    """The strongest rows' scores before and after, each as a share of its table's largest.

    Those after are the first key's; what else is said is the mean over keys. `spread` is how far
    the scores after lie from a straight line through those before, as a share of their mean;
    `first_kept` the share of the first fifty rows that are among the strongest after.
    """

    before: Array = field(repr=False)
    after: Array = field(repr=False)
    correlation: float
    spread: Repeated
    first_kept: float


def pair_of(table: PreparedTable, kind: str, keys: Sequence[int]) -> ScorePair:
    """Some releases' scores beside the table's, for the table's strongest rows."""
    from scipy.stats import spearmanr

    found = table.strongest()
    rows, before = found.outliers_, found.outlier_scores_ / found.outlier_scores_[0]
    shown, facts = [], []
    for key in keys:
        released = table.strongest(network(kind, seed=key).fit_transform(table.X))
        after = released.row_scores(rows) / released.outlier_scores_[0]
        line = np.polyval(np.polyfit(before, after, 1), before)
        kept = np.isin(rows[:_FIRST], released.outliers_).mean()
        shown.append(after)
        facts.append(
            (spearmanr(before, after).statistic, np.std(after - line) / np.mean(after), kept)
        )
    correlation, spread, first_kept = np.transpose(facts).tolist()
    return ScorePair(before, shown[0], fmean(correlation), Repeated.of(spread), fmean(first_kept))


def scores(
    how: How, tell: Progress, tables: Sequence[PreparedTable], carrier: PreparedTable
) -> ExperimentPart:
    """Figures 7, 8, 9 on flights and engines, 11 and 12 on the carrier's columns."""
    part, found = ExperimentPart(), {}
    jobs = [(kind, number, tables) for kind, number in _FIGURES.items()]
    jobs += [(kind, number, [carrier]) for kind, number in _CARRIER_FIGURES.items()]
    keys = seeds(how, 60, how.pick(2, 10))
    for at, (kind, number, shown) in enumerate(jobs):
        tell("scores of the strongest outliers", at, len(jobs))
        rows: list[Row] = []
        for table in shown:
            pair = found[table.name, kind] = pair_of(table, kind, keys)
            for which, values in (("original", pair.before), ("distorted", pair.after)):
                rows += [
                    {"rank": i, "score": round(float(v), 4), "rows": which, "table": table.named}
                    for i, v in enumerate(values, start=1)
                ]
            part.numbers.append(
                Number(
                    f"Figure {number}",
                    f"rank correlation of the two scores, {printed.KINDS[kind]}, {table.named}",
                    None,
                    pair.correlation,
                    note=f"mean of {len(keys)} keys; the paper shows a picture without a number",
                )
            )
        part.figures.append(
            Figure(
                f"figure-{number.zfill(2)}",
                f"Figure {number}: scores before and after, {printed.KINDS[kind]}",
                "The strongest outliers of the table by rank: their scores in the table and in "
                "one release of it, each as a share of the largest score there.",
                tuple(rows),
                picture(
                    "point",
                    "rank",
                    "score",
                    color="rows",
                    panel="table" if len(shown) > 1 else None,
                    titles={"rank": "rank in the original", "score": "score", "rows": ""},
                    columns=3,
                ),
            )
        )
    part.claims += score_claims(found, {t.name: t.named for t in tables})
    return part


def score_claims(
    found: Mapping[tuple[str, str], ScorePair], named: Mapping[str, str]
) -> list[Claim]:
    """What the pictures are said to show, counted over the tables."""

    def each(kind: str, what: str) -> str:
        values = ((called, getattr(found[t, kind], what)) for t, called in named.items())
        return "; ".join(
            f"{called} {getattr(value, 'mean', value):.2f}" for called, value in values
        )

    n = len(named)
    high = sum(found[t, "identity"].correlation >= HIGH for t in named)
    more = sum(found[t, "tanh"].spread.above(found[t, "identity"].spread) for t in named)
    kept = sum(found[t, "tanh"].first_kept >= DISCOVERED for t in named)
    less = sum(found[t, "tanh"].spread.above(found[t, "square"].spread) for t in named)
    return [
        Claim(
            "Figure 7",
            "Under linear distortion the two scores are highly correlated.",
            verdict_by_count(high, n),
            f"Above {HIGH:g} on {high} of {n} tables. Rank correlation: "
            f"{each('identity', 'correlation')}.",
        ),
        Claim(
            "Figure 8",
            "Scores deviate more under tanh than under linear distortion.",
            verdict_by_count(more, n),
            f"Beyond chance on {more} of {n} tables. Spread about a straight line, share of the "
            f"mean: linear {each('identity', 'spread')}; tanh {each('tanh', 'spread')}.",
        ),
        Claim(
            "Figure 8",
            "The highest scoring outliers are still discovered under tanh.",
            verdict_by_count(kept, n),
            f"At least {100 * DISCOVERED:g} % of the first {_FIRST} on {kept} of {n} tables. Share "
            f"of them that are still among the strongest: {each('tanh', 'first_kept')}.",
        ),
        Claim(
            "Figure 9",
            "The square's scores vary less than those of tanh.",
            verdict_by_count(less, n),
            f"Beyond chance on {less} of {n} tables. Spread as before: "
            f"square {each('square', 'spread')}; tanh {each('tanh', 'spread')}.",
        ),
    ]
