"""Numbers and pictures of what the attacks recovered."""

from __future__ import annotations

from isinglass_papers.core import draw
from isinglass_papers.core.result import Figure, Number
from isinglass_papers.multiparty.attacks import (
    HALF,
    JOINT,
    KNOWN,
    PAIRS_ALPHA,
    PAPER,
    PUBLIC,
    Attacked,
)
from isinglass_papers.multiparty.measurements import drawn
from isinglass_papers.multiparty.shares import Share

#: Generated here: eight columns that have nothing to do with one another.
INDEPENDENT = "independent"
_NONE = "the paper argues, and measures no attack"
_ENDS = "Medians, lowest and highest over the draws"

Row = dict[str, float | int | str]


def numbers(found: dict[str, Attacked]) -> list[Number]:
    """Shares of the variance recovered; the paper has none to compare with but w / n."""
    made = []
    for one in found.values():
        for (rows, words, alpha), share in one.estimate.items():
            if alpha not in (0.01, 0.2, 0.6) or words == KNOWN:
                continue  # all of them are in the picture's rows
            what = f"{one.name}, MAP, {rows}, {words}, alpha = {alpha:g}: variance recovered"
            made.append(_number("Section 5.1", what, share, _NONE))
        for (rows, pairs), share in one.pairs.items():
            if rows == PAPER:
                continue
            what = (
                f"{one.name}, MAP, {rows}, {pairs} known pairs, alpha = {PAIRS_ALPHA:g}: variance "
                "recovered"
            )
            made.append(_number("Section 5.1", what, share, _NONE))
        for view, (mean, best, blind) in one.ica.items():
            for part, value in (
                ("mean of the columns", mean),
                ("best column", best),
                ("mean, components of other records", blind),
            ):
                what = f"{one.name}, ICA, {view}, alpha = {PAIRS_ALPHA:g}: {part}"
                made.append(_number("Section 5.2", what, value, _NONE))
    one = found[INDEPENDENT]
    for rows, w in ((PAPER, one.n - 1), (HALF, (one.n + 1) // 2)):
        ours = one.behind[rows, KNOWN, 0.01]
        what = f"independent columns, T + D known, w = {w} of {one.n}: variance of f(x) recovered"
        note = f"eq. 5 gives w / n = {w / one.n:g} exactly where all variances are equal"
        made.append(_number("eq. 5", what, ours, note))
    return made


def _number(where: str, what: str, share: Share, note: str) -> Number:
    """The median and the ends, and over how many draws they are."""
    n = len(share.draws)
    over = "; one draw" if n == 1 else f"; median of {n} draws"
    return Number(where, what, None, share.median, share.low, share.high, note + over)


def _shown(share: Share, name: str) -> Row:
    """In percent, for a picture."""
    return {name: 100 * share.median, "low": 100 * share.low, "high": 100 * share.high}


def figures(found: dict[str, Attacked]) -> list[Figure]:
    """MAP by alpha, known pairs, and ICA."""
    return [_estimates(found), _pairs(found), _components(found)]


def _estimates(found: dict[str, Attacked]) -> Figure:
    shown = {
        (PAPER, PUBLIC): "T, w = n - 1",
        (HALF, PUBLIC): "T, w = n / 2",
        (HALF, JOINT): "T fitted, w = n / 2",
        (HALF, KNOWN): "T + D, w = n / 2",
    }
    rows: list[Row] = [
        {"set": name, "alpha": alpha, "attacker": shown[w, words], **_shown(share, "recovered")}
        for name, one in found.items()
        for (w, words, alpha), share in one.estimate.items()
        if (w, words) in shown
    ]
    return Figure(
        "map",
        "Section 5.1: what MAP estimation recovers (eq. 5, then the inverse of f)",
        "Share of the variance of the records, after the double logistic and the private matrix. "
        f"{_ENDS}: {drawn(found.values())}. The attacker has as many records like those "
        "released as there are of them; fitted means that T was moved until the release's moments "
        "agree. n / 2 stands for (n + 1) // 2.",
        tuple(rows),
        draw.picture(
            "line", "alpha", "recovered", color="attacker", panel="set", columns=3,
            band=("low", "high"),
            titles={"alpha": "alpha", "recovered": "recovered (%)", "attacker": ""},
        ),
    )  # fmt: skip


def _pairs(found: dict[str, Attacked]) -> Figure:
    rows: list[Row] = [
        {"set": name, "known": 100 * pairs / one.n, "pairs": pairs, **_shown(share, "recovered")}
        for name, one in found.items()
        for (w, pairs), share in one.pairs.items()
        if w == HALF
    ]  # fmt: skip
    return Figure(
        "pairs",
        "Section 5: what known records add to MAP estimation",
        f"alpha = {PAIRS_ALPHA:g}, w = (n + 1) / 2; w n unknown entries of the private matrix are "
        "fixed by as many known pairs as columns. Known records are not counted. "
        f"{_ENDS}: {drawn(one for one in found.values() if one.pairs)}.",
        tuple(rows),
        draw.picture(
            "line", "known", "recovered", color="set", band=("low", "high"),
            titles={
                "known": "known pairs (% of n)", "recovered": "variance recovered (%)", "set": "",
            },
        ),
    )  # fmt: skip


def _components(found: dict[str, Attacked]) -> Figure:
    rows: list[Row] = [
        {
            "set": name, "view": view, **_shown(mean, "mean"),
            "best": 100 * best.median, "blind": 100 * blind.median,
        }
        for name, one in found.items()
        for view, (mean, best, blind) in one.ica.items()
    ]  # fmt: skip
    most = max(float(row["blind"]) for row in rows)
    return Figure(
        "ica",
        "Section 5.2: what independent components show",
        "Squared correlation of a column with the component that shows it best, mean of the "
        f"columns, at alpha = {PAIRS_ALPHA:g}. Components that belong to other records show "
        f"{most:.1f} % at most. {_ENDS}: {drawn(one for one in found.values() if one.ica)}.",
        tuple(rows),
        draw.picture(
            "bar", "set:N", "mean", color="view", band=("low", "high"),
            titles={"set": "", "mean": "squared correlation (%)", "view": ""},
        ),
    )  # fmt: skip
