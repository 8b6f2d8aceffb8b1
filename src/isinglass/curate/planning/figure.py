"""Figure of a plan: detection and number of queries against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isinglass.curate.planning.expected import SHARES
from isinglass.epsilon import text
from isinglass.plots import engine as vega
from isinglass.plots import pages
from isinglass.plots.chart import PERCENT
from isinglass.plots.palette import INK, LINE, PAPER, SERIES, SOFT

if TYPE_CHECKING:
    from altair import VConcatChart

    from isinglass.curate.planning.expected import PricePoint
    from isinglass.curate.planning.plan import Plan

_COLORS = dict(zip(SHARES, SERIES[:3], strict=True))
_WIDTH = 420


def draw(plan: Plan) -> VConcatChart:
    """Two panels over one axis of prices; the plan's own price is marked in both."""
    import altair as alt

    points = plan.frontier
    shares = [
        {"epsilon": p.epsilon, "share": value, "what": what}
        for p in points
        for what, value in p.shares.items()
        if value is not None
    ]
    bought = [{"epsilon": p.epsilon, "queries": p.queries_here} for p in points if p.queries_here]
    here = _data([{"epsilon": plan.epsilon, "label": f"epsilon {text(plan.chosen.micro)}"}])
    low, high = points[0].epsilon, points[-1].epsilon
    scale = alt.Scale(type="log", domain=[low / 1.05, high * 1.05], nice=False)
    ticks = sorted({p.epsilon for p in points if p != plan.chosen} or {low})
    x = alt.X("epsilon:Q", title="epsilon of an answer").scale(scale)
    x = x.axis(values=ticks, format="~g", labelOverlap=True)
    bare = x.axis(values=ticks, labels=False, title=None)
    left = plan.epsilon**2 < low * high  # the label goes where there is more room
    color = alt.Color("what:N", title=None).scale(
        domain=list(_COLORS), range=list(_COLORS.values())
    )
    y = alt.Y("share:Q", title="expected share").scale(domain=[0, 1]).axis(labelExpr=PERCENT)
    base = _data(shares).encode(x=bare, y=y, color=color)
    upper = alt.layer(
        base.mark_line(strokeWidth=2),
        base.mark_point(filled=True, size=45).encode(
            shape=alt.Shape("what:N", title=None).scale(domain=list(_COLORS))
        ),
        here.mark_rule(color=INK, strokeDash=[4, 3]).encode(x=bare),
        here.mark_text(align="left" if left else "right", dy=-6, color=INK, fontSize=13).encode(
            x=bare, y=alt.value(0), text="label:N"
        ),
    ).properties(width=_WIDTH, height=240)
    decades = [10**e for e in range(len(str(max((p.queries_here for p in points), default=1))))]
    count = alt.Y("queries:Q", title="queries at one place").scale(type="log")
    count = count.axis(values=decades, format=",d")
    line = _data(bought).encode(x=x, y=count)
    lower = alt.layer(
        line.mark_line(color=SOFT, strokeWidth=2),
        line.mark_point(filled=True, size=45, color=SOFT),
        here.mark_rule(color=INK, strokeDash=[4, 3]).encode(x=x),
    ).properties(width=_WIDTH, height=110)
    drawn = alt.vconcat(upper, lower, spacing=12, background=PAPER, padding=10)
    axis: dict[str, Any] = {
        "labelColor": INK, "titleColor": SOFT, "titleFontWeight": "normal", "gridColor": LINE,
        "labelFontSize": 13, "titleFontSize": 13,
    }  # fmt: skip
    finished: VConcatChart = (
        drawn.configure(font="sans-serif", aria=False)
        .configure_axis(**axis)
        .configure_legend(orient="top", labelFontSize=13, labelColor=INK)
        .configure_view(stroke=None)
    )
    return finished


def _data(values: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Chart(alt.Data(values=values))  # type: ignore[no-untyped-call]


def svg(plan: Plan) -> str:
    """The picture as SVG; drawn here, without a browser or a network."""
    return vega.svg(draw(plan).to_dict())


def png(plan: Plan) -> bytes:
    """The picture as PNG, twice its size in pixels."""
    return vega.png(draw(plan).to_dict(), scale=2)


def page(plan: Plan) -> str:
    """One HTML page that loads nothing: the sentence, the picture, the numbers."""
    return pages.render(
        "isinglass/curate/planning/figure.html.j2",
        plan=plan,
        picture=svg(plan),
        header=("epsilon", *_COLORS, "queries at one place"),
        rows=[(_cells(point), point == plan.chosen) for point in plan.frontier],
        r=f"{plan.r:g}",
        cap=text(plan.cap),
        ink=INK,
        soft=SOFT,
        line=LINE,
    )


def _cells(point: PricePoint) -> list[str]:
    shares = ["–" if v is None else f"{100 * v:.2f} %" for v in point.shares.values()]
    return [text(point.micro), *shares, f"{point.queries_here:,}"]
