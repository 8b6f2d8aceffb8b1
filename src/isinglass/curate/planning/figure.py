"""Figure of a plan: detection and number of queries against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isinglass.curate.planning.expected import SHARES
from isinglass.epsilon import text
from isinglass.formats import share
from isinglass.plots import pages
from isinglass.plots.chart import PERCENT, Chart, finished, painted, png_bytes
from isinglass.plots.palette import SERIES

if TYPE_CHECKING:
    from altair import VConcatChart

    from isinglass.curate.planning.expected import PricePoint
    from isinglass.curate.planning.plan import Plan

_COLORS = dict(zip(SHARES, SERIES[:3], strict=True))
#: with its axes no wider than a phone shows it without making its letters smaller
_WIDTH = 285


def draw(plan: Plan) -> VConcatChart:
    """Two panels over one axis of prices; the plan's own price is marked in both."""
    import altair as alt

    spec = painted(finished(_panels(plan)))
    chart: VConcatChart = alt.VConcatChart.from_dict(spec)
    return chart


def _panels(plan: Plan) -> VConcatChart:
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
        here.mark_rule(color="$ink", strokeDash=[4, 3]).encode(x=bare),
        here.mark_text(align="left" if left else "right", dy=-6, color="$ink", fontSize=13).encode(
            x=bare, y=alt.value(0), text="label:N"
        ),
    ).properties(width=_WIDTH, height=240)
    decades = [10**e for e in range(len(str(max((p.queries_here for p in points), default=1))))]
    count = alt.Y("queries:Q", title="queries at one place").scale(type="log")
    count = count.axis(values=decades, format=",d")
    line = _data(bought).encode(x=x, y=count)
    lower = alt.layer(
        line.mark_line(color="$soft", strokeWidth=2),
        line.mark_point(filled=True, size=45, color="$soft"),
        here.mark_rule(color="$ink", strokeDash=[4, 3]).encode(x=x),
    ).properties(width=_WIDTH, height=135)
    return alt.vconcat(upper, lower, spacing=12)


def _data(values: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Chart(alt.Data(values=values))  # type: ignore[no-untyped-call]


def svg(plan: Plan) -> str:
    """The picture as SVG; drawn here, without a browser or a network."""
    return chart(plan).svg()


def png(plan: Plan) -> bytes:
    """The picture as PNG, twice its size in pixels."""
    return png_bytes(chart(plan))


def chart(plan: Plan) -> Chart:
    """The picture with its finding as a sentence and its numbers, for a page."""
    return Chart(
        name="plan",
        title="What an answer at each price finds, and how many of them the budget buys",
        alt=_finding(plan),
        header=("epsilon", *_COLORS, "queries at one place"),
        rows=tuple(_cells(plan, point) for point in plan.frontier),
        spec=finished(_panels(plan)),
    )


def page(plan: Plan) -> str:
    """One HTML page that loads nothing: the sentences, the picture, the numbers."""
    return pages.render(
        "isinglass/curate/planning/figure.html.j2",
        plan=plan,
        chart=chart(plan),
        price=text(plan.chosen.micro),
        facts=_facts(plan),
    )


def _finding(plan: Plan) -> str:
    first, last = plan.frontier[0], plan.frontier[-1]
    low, high = (share(point.recall) for point in (first, last))
    return (
        f"Expected recall is {low} at epsilon {text(first.micro)} and {high} at "
        f"{text(last.micro)}; the budget buys {first.queries_here:,} queries at one place at the "
        f"first, and {last.queries_here:,} at the last."
    )


def _cells(plan: Plan, point: PricePoint) -> tuple[str, ...]:
    shares = ["–" if v is None else f"{100 * v:.2f} %" for v in point.shares.values()]
    price = text(point.micro) + (" (planned)" if point == plan.chosen else "")
    return (price, *shares, f"{point.queries_here:,}")


def _facts(plan: Plan) -> list[tuple[str, str]]:
    found = [
        (f"{plan.chosen.queries_here:,}", "queries at one place"),
        (text(plan.cap), "budget, in epsilon a place"),
    ]
    if plan.capacity is not None:
        much = plan.capacity
        before = (f"{much.before_refusal:,}", "records until the first refusal, about")
        found = [
            before,
            (f"{much.fitting:,} of {much.tried:,}", "records fit in all, about"),
            *found,
        ]
    return found
