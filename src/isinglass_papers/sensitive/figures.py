"""Figures 6 to 10: errors on the anomalies and on the other records of the tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from isinglass.curate.mechanisms.mechanism import dp_mechanism, sensitive_mechanism
from isinglass_papers.core.draw import picture
from isinglass_papers.core.result import Figure
from isinglass_papers.sensitive.draw import boxes
from isinglass_papers.sensitive.records import CAP, Array, Counts, MeasuredTable, error, mechanisms

EPSILONS = ("0.01", "0.1", "1")
SHARES = (0.1, 0.2, 0.3)  # of beta, for k
LETTERS = {
    "Thyroid": "a", "Mammography": "b", "Credit Fraud": "c", "APS Trucks": "d", "Synthetic": "e",
}  # fmt: skip
_ERROR = "chance of a wrong answer"
# The card-fraud table had 19 repeats of frauds among 492, and 1,062 of genuine records.
REPEATED = (19 / 473, 1062 / 283_253)
_POINTS = 36

Row = dict[str, float | int | str]


def _box(values: Array, **more: str) -> Row:
    names = ("least", "lower", "middle", "upper", "most")
    cut = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0])
    return {**more, **dict(zip(names, map(float, cut), strict=True))}


def anomaly_errors(found: MeasuredTable, epsilon: str, k: int = 1) -> dict[str, Array]:
    """Chances of a wrong answer about each anomaly of a table."""
    counts = found.counts[found.anomalous]
    made = mechanisms(found.case.beta, found.case.r, epsilon, k)
    return {name: error(made[name], counts) for name in ("sensitive", "dp")}


def figures(found: Sequence[MeasuredTable], seed: int) -> list[Figure]:
    """Figures 6 to 10, of the tables that are there."""
    made = [_figure_6(found), _figure_7(found), _figure_8(found), _figure_9(found)]
    fraud = [each for each in found if each.case.name == "credit_fraud"]
    return made + [figure for each in fraud for figure in figure_10(each, seed)]


def _figure_6(found: Sequence[MeasuredTable]) -> Figure:
    rows = [
        _box(
            anomaly_errors(each, epsilon)["sensitive"],
            table=each.short,
            panel=f"epsilon {epsilon}",
        )
        for epsilon in EPSILONS
        for each in found
    ]
    return Figure(
        "figure-6", "Figure 6: sensitive privacy on anomalies", "Least, quartiles and most of the "
        "errors about the anomalies of each table, k = 1. At epsilon .01 a beta below 100 leaves "
        "little but a coin.", tuple(rows),
        boxes("table", panel="panel", y_title=_ERROR),
    )  # fmt: skip


def _figure_7(found: Sequence[MeasuredTable]) -> Figure:
    called = {"sensitive": "SP", "dp": "DP"}
    rows = [
        _box(values, table=each.short, mechanism=called[name])
        for each in found
        for name, values in anomaly_errors(each, "0.1").items()
    ]
    return Figure(
        "figure-7", "Figure 7: sensitive against differential privacy, on anomalies",
        "Epsilon .1, k = 1. Differential privacy errs 1/(1 + e^epsilon) about every anomaly that "
        "has no copy.", tuple(rows), boxes("table", color="mechanism", y_title=_ERROR),
    )  # fmt: skip


def _figure_8(found: Sequence[MeasuredTable]) -> Figure:
    rows: list[Row] = [
        {"table": each.short, "mechanism": name, "error": value}
        for each in found
        for name, value in (("SP", each.errors.normal_sensitive), ("DP", each.errors.normal_dp))
    ]
    spec = picture(
        "bar", "table:N", "error", color="mechanism",
        titles={"table": "", "error": f"mean {_ERROR}", "mechanism": ""},
    )  # fmt: skip
    return Figure(
        "figure-8", "Figure 8: errors on normal records", "Epsilon .1, k = 1. Errors come "
        "from records near the threshold.", tuple(rows), spec,
    )  # fmt: skip


def _ranked(curves: Mapping[str, Array]) -> list[Row]:
    """Errors by rank, the largest first, at so many ranks as a picture can show."""
    rows: list[Row] = []
    for name, values in curves.items():
        ranks = np.unique(np.linspace(0, len(values) - 1, _POINTS).round().astype(int))
        rows += [{"rank": int(at) + 1, "error": float(values[at]), "curve": name} for at in ranks]
    return rows


def levels(beta: int) -> list[int]:
    """The paper's three k."""
    return [max(1, math.floor(share * beta)) for share in SHARES]


def _figure_9(found: Sequence[MeasuredTable]) -> Figure:
    rows: list[Row] = []
    for each in found:
        curves = {}
        for share, k in zip(SHARES, levels(each.case.beta), strict=True):
            errors = anomaly_errors(each, "1", k)
            curves[f"SP, k = {share:.0%} of beta"] = np.sort(errors["sensitive"])[::-1]
            curves["DP"] = errors["dp"][np.argsort(-errors["sensitive"], kind="stable")]
        curves["DP"] = curves.pop("DP")  # last in the legend
        panel = f"({LETTERS[each.case.printed]}) {each.short}"
        rows += [{**row, "panel": panel} for row in _ranked(curves)]
    titles = {"rank": "rank of the anomaly", "error": _ERROR, "curve": ""}
    spec = picture(
        "line", "rank", "error", color="curve", panel="panel", log="y", titles=titles, columns=3
    )
    spec["spec"]["layer"][0]["mark"] = {"type": "line", "strokeWidth": 1.8}
    spec["spec"]["layer"][0]["encoding"]["y"]["axis"] = {"format": ".0e", "tickCount": 5}
    spec["spec"] |= {"width": 165, "height": 120}
    return Figure(
        "figure-9", "Figure 9: growing k, on anomalies", "Epsilon 1; anomalies by falling error of "
        "sensitive privacy.", tuple(rows), spec,
    )  # fmt: skip


def repeated(counts: Counts, labels: Sequence[bool], seed: int) -> Counts:
    """Counts with repeats put back at random, at the shares of the original table: a stand-in."""
    rng = np.random.default_rng(seed)
    share = np.where(labels, *REPEATED)
    again = (rng.random(len(counts)) < share).astype(np.int64)
    return counts + again[:, None]


def figure_10(found: MeasuredTable, seed: int) -> tuple[Figure, Figure]:
    """Copies and errors of differential privacy, by rank, on the card-fraud table."""
    counts = found.counts[found.anomalous]
    tables = {"as stored": counts}
    caption = f"Card fraud, epsilon 1. Of {len(counts)} anomalies {found.copied} have a copy"
    if not found.copied:
        tables["repeats put back"] = repeated(counts, found.labels[found.anomalous].tolist(), seed)
        caption += (
            ". The second panel is a stand-in: repeats put back at random, as many as the original "
            "has (19 of 492 frauds, 1,062 genuine)"
        )
    beta, r = found.case.beta, found.case.r
    rows: list[Row] = []
    copies: list[Row] = []
    for panel, some in tables.items():
        sp = error(sensitive_mechanism(beta, r, "1", k=levels(beta)[0], cap=CAP), some)
        dp = error(dp_mechanism(beta, r, "1", cap=CAP), some)
        order = np.argsort(-sp, kind="stable")
        rows += [
            {"rank": at + 1, "error": float(dp[row]), "copies": str(some[row, 0]), "panel": panel}
            for at, row in enumerate(order.tolist())
        ]
        kinds, often = np.unique(some[:, 0], return_counts=True)
        copies += [
            {"copies": str(c), "anomalies": int(n), "panel": panel}
            for c, n in zip(kinds.tolist(), often.tolist(), strict=True)
        ]
    titles = {"rank": "rank of the anomaly", "error": "error of DP", "copies": "copies of it"}
    points = picture(
        "point", "rank", "error", color="copies", panel="panel", columns=2, titles=titles
    )
    points["spec"]["layer"][0]["encoding"]["y"]["scale"] = {"domain": [0, 0.3]}
    bars = picture("bar", "copies:N", "anomalies", color="panel", titles=titles | {"panel": ""})
    bars["layer"][0]["encoding"]["x"]["axis"] = {"labelAngle": 0}
    name = "Figure 10a, b: errors of differential privacy, and copies"
    return (
        Figure("figure-10ab", name, f"{caption}.", tuple(rows), points),
        Figure("figure-10c", "Figure 10c: copies of anomalies", f"{caption}.", tuple(copies), bars),
    )
