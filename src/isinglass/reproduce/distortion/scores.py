"""Scores of the strongest outliers before and after distortion (Figures 4, 7 to 9, 11, 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from isinglass.datasets import helical_coil
from isinglass.progress import Progress
from isinglass.reproduce.distortion import printed
from isinglass.reproduce.distortion.setting import Array, Part, Table, network, seeds, unit
from isinglass.reproduce.draw import Row, picture
from isinglass.reproduce.result import Claim, Figure, How, Number

_FIGURES = {"identity": "7", "tanh": "8", "square": "9"}
_CARRIER_FIGURES = {"identity": "11", "tanh": "12"}
_FIRST = 50  # "the highest scoring anomalies"


@dataclass(frozen=True, slots=True)
class Pair:
    """The strongest rows' scores before and after, each as a share of its table's largest.

    Those after are the first key's; what else is said is the mean over keys. `spread` is how far
    the scores after lie from a straight line through those before, as a share of their mean;
    `first_kept` the share of the first fifty rows that are among the strongest after.
    """

    before: Array = field(repr=False)
    after: Array = field(repr=False)
    correlation: float
    spread: float
    first_kept: float


def pair_of(table: Table, kind: str, keys: Sequence[int]) -> Pair:
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
    return Pair(before, shown[0], *(float(value) for value in np.mean(facts, axis=0)))


def scores(how: How, tell: Progress, tables: Sequence[Table], carrier: Table) -> Part:
    """Figures 7, 8, 9 on flights and engines, 11 and 12 on the carrier's columns."""
    part, found = Part(), {}
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
                    columns=2,
                ),
            )
        )
    part.claims += _claims(found, tables)
    return part


def _claims(found: dict[tuple[str, str], Pair], tables: Sequence[Table]) -> list[Claim]:
    def each(kind: str, what: str) -> str:
        values = ((table.named, getattr(found[table.name, kind], what)) for table in tables)
        return "; ".join(f"{named} {value:.2f}" for named, value in values)

    linear = [found[t.name, "identity"] for t in tables]
    tanh = [found[t.name, "tanh"] for t in tables]
    square = [found[t.name, "square"] for t in tables]
    more = sum(b.spread > a.spread for a, b in zip(linear, tanh, strict=True))
    less = sum(c.spread < b.spread for b, c in zip(tanh, square, strict=True))
    high = min(pair.correlation for pair in linear)
    kept = min(pair.first_kept for pair in tanh)
    n = len(tables)
    return [
        Claim(
            "Figure 7",
            "Under linear distortion the two scores are highly correlated.",
            "holds" if high > 0.7 else "holds conditionally",
            f"Rank correlation: {each('identity', 'correlation')}.",
        ),
        Claim(
            "Figure 8",
            "Scores deviate more under tanh than under linear distortion.",
            "holds" if more == n else "holds conditionally",
            f"True on {more} of {n} tables. Spread about a straight line, share of the mean: "
            f"linear {each('identity', 'spread')}; tanh {each('tanh', 'spread')}.",
        ),
        Claim(
            "Figure 8",
            "The highest scoring outliers are still discovered under tanh.",
            "holds" if kept > 0.9 else "holds conditionally",
            f"Share of the first {_FIRST} that are still among the strongest: "
            f"{each('tanh', 'first_kept')}.",
        ),
        Claim(
            "Figure 9",
            "The square's scores vary less than those of tanh.",
            "holds" if less == n else "holds conditionally" if less else "not reproduced",
            f"True on {less} of {n} tables. Spread as before: square {each('square', 'spread')}; "
            f"tanh {each('tanh', 'spread')}.",
        ),
    ]


def coil(how: How, tell: Progress) -> Part:
    """Figure 4: a helical coil and two outliers, which stay outliers."""
    tell("helical coil", 0, None)
    made = helical_coil(1000, random_state=how.seed)
    assert made.is_outlier is not None
    X, planted = unit(made.X), np.flatnonzero(made.is_outlier)
    table = Table("coil", "helical coil", X, None, len(planted), "")
    keys = seeds(how, 61, how.pick(10, printed.TRIALS))
    kept: dict[tuple[int, int], float] = {}
    shown: Array = X
    for m, p in ((3, 3), (64, 3), (64, 64)):
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
    claim = Claim(
        "Figure 4",
        "The coil's outliers are still outliers after the tanh distortion.",
        "holds" if min(kept.values()) > 0.95 else "holds conditionally",
        f"Share of {len(keys)} keys under which both are the two strongest rows of the release: "
        + ", ".join(f"{share:.2f} (m = {m}, p = {p})" for (m, p), share in kept.items())
        + ".",
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
    return Part(numbers, [claim], [figure])
