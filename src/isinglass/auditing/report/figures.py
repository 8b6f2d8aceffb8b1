"""Figures of a report: scores, attacks, columns, linkage."""

from __future__ import annotations

import math

from isinglass.auditing.findings import AttackResult, Detection, Linkage
from isinglass.auditing.report import text as words
from isinglass.auditing.tuning.figure import frontier
from isinglass.plots.chart import PERCENT, Chart, drawing, finished, png, scale

__all__ = ["Chart", "frontier", "heat", "levels", "png", "scores", "success"]

WIDTH = 370  # of a plot; with its axis it fills a phone, and text stays readable
MOST_COLUMNS = 40  # of the heat map; the names of more could not be read


def scores(detection: Detection) -> Chart | None:
    """Anomaly scores of the table's strongest rows, beside those of the same rows released."""
    import altair as alt

    table, released = detection.table_scores, detection.release_scores
    n = min(len(table), len(released))
    if n < 2:
        return None
    both = [*table[:n], *released[:n]]
    log = min(both) > 0 and max(both) > 20 * min(both)
    data = [
        {"rank": i + 1, "score": value, "of": of}
        for of, values in (("table", table), ("release", released))
        for i, value in enumerate(values[:n])
        if words.finite(value)
    ]
    base = drawing(data).encode(
        x=alt.X(
            "rank:Q", title="rank in the table", scale=alt.Scale(domain=[1, n], nice=False)
        ).axis(tickCount=5),
        y=alt.Y(
            "score:Q",
            title="score, share of the largest",
            scale=alt.Scale(type="log" if log else "linear", nice=not log),
            axis=alt.Axis(format="~g", values=_ticks(min(both))) if log else alt.Axis(format="~g"),
        ),
        color=alt.Color("of:N", title=None, scale=scale(("table", "release"), ("$one", "$two"))),
    )
    drawn = alt.layer(
        base.transform_filter("datum.of == 'release'").mark_circle(size=22, opacity=0.65),
        base.transform_filter("datum.of == 'table'").mark_line(strokeWidth=2.5),
    ).properties(width=WIDTH, height=220)
    at = sorted({1, 2, 5, 10, 20, 50, 100, 200, 300, 400, n} & set(range(1, n + 1)))
    correlation = words.number(detection.rank_correlation)
    return Chart(
        name="scores",
        title=f"Anomaly scores of the table's {n:,} strongest rows",
        alt=f"{_again(detection)}; the rank correlation of scores is "
        f"{correlation}. At rank {n:,} the table scores {words.number(table[n - 1])} of its "
        f"largest, the release {words.number(released[n - 1])}.",
        header=("rank in the table", "score in the table", "score in the release"),
        rows=tuple(
            (f"{i:,}", words.number(table[i - 1]), words.number(released[i - 1])) for i in at
        ),
        spec=finished(drawn),
    )


def success(attacks: tuple[AttackResult, ...]) -> Chart | None:
    """What each attacker got, with its interval, its blind baseline and its control."""
    import altair as alt

    done = [a for a in words.order(attacks) if words.finite(a.success)]
    if not done:
        return None
    lines = [f"{i:04d}{_line(a)}" for i, a in enumerate(done)]  # the number keeps them apart
    kinds = ("attack", "blind baseline", "control")
    marks = [
        {"line": line, "kind": kind, "share": value}
        for line, a in zip(lines, done, strict=True)
        for kind, value in zip(kinds, (a.success, a.baseline, a.control), strict=True)
        if words.finite(value)
    ]
    ends = [
        {"line": line, "low": a.low, "high": a.high}
        for line, a in zip(lines, done, strict=True)
        if words.finite(a.low) and words.finite(a.high)
    ]
    y = alt.Y("line:N", sort=lines, title=None, axis=None)
    x = alt.X("share:Q", scale=alt.Scale(domain=[0, 1]), title="values within 10 % of the range")
    x = x.axis(labelExpr=PERCENT, tickCount=5)
    upright = "M0,-1.3L0,1.3"
    drawn = alt.layer(
        drawing([{"line": line, "text": line[4:]} for line in lines])
        .mark_text(align="left", dy=-15, limit=WIDTH + 50, color="$ink", fontSize=13)
        .encode(x=alt.value(0), y=y, text="text:N"),
        drawing(ends)
        .mark_rule(strokeWidth=6, opacity=0.4, color="$one")
        .encode(x=alt.X("low:Q"), x2="high:Q", y=y),
        drawing(marks)
        .mark_point(size=75, opacity=1, strokeWidth=2.2)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape(
                "kind:N", title=None, scale=scale(kinds, ("circle", upright, "diamond"))
            ),
            color=alt.Color("kind:N", title=None, scale=scale(kinds, ("$one", "$ink", "$two"))),
        ),
    ).properties(width=WIDTH + 50, height={"step": 44})
    first = done[0]
    return Chart(
        name="success",
        title="What each attacker got",
        alt=f"The strongest of {len(done)} attacks, {words.name_of(first.name)} with "
        f"{first.knowledge}, guessed {words.share(first.success)} of the values within 10 % of the "
        f"range (interval {words.interval(first.low, first.high)}); blind baseline "
        f"{words.share(first.baseline)}, control {words.share(first.control)}. "
        f"No better than their baselines, by this measure: "
        f"{sum(a.no_better_than_baseline for a in done)} of {len(done)}.",
        header=("attack", "knowledge", "success", "interval", "baseline", "control"),
        rows=tuple(
            (
                words.name_of(a.name),
                a.knowledge,
                words.share(a.success),
                words.interval(a.low, a.high),
                words.share(a.baseline),
                words.share(a.control),
            )
            for a in done
        ),
        spec=finished(drawn),
    )


def heat(attacks: tuple[AttackResult, ...]) -> Chart | None:
    """Which columns fall to which attack: the verdict's gain, the worst columns first.

    Cells are hatched where a stretched range leaves a blind guess no room to be wrong: there the
    gain rests on the other two measures.
    """
    import altair as alt

    best: dict[str, AttackResult] = {}
    for attack in words.order(attacks):
        if attack.columns and not attack.with_key:
            best.setdefault(attack.name, attack)
    over = {
        (c.name, name): c.gain
        for name, attack in best.items()
        for c in attack.columns
        if words.finite(c.gain)
    }
    stretched = {c.name for attack in best.values() for c in attack.columns if c.no_room}
    worst = {c: max(v for (name, _), v in over.items() if name == c) for c, _ in over}
    shown = sorted(worst, key=lambda c: -worst[c])[:MOST_COLUMNS]  # ties in the table's order
    if not shown:
        return None
    labels = {c: f"{i:04d}{words.column_name(c, 28)}" for i, c in enumerate(shown)}
    names = [words.name_of(n) for n in best]
    data = [
        {"column": labels[c], "attack": words.name_of(n), "over": over[c, n],
         "said": f"{100 * over[c, n]:.0f}", "hatched": c in stretched}
        for c in shown
        for n in best
        if (c, n) in over
    ]  # fmt: skip
    cell = drawing(data).encode(
        x=alt.X("attack:N", sort=names, title=None, axis=alt.Axis(orient="top", labelAngle=-40)),
        y=alt.Y("column:N", sort=[labels[c] for c in shown], title=None).axis(
            labelExpr="slice(datum.label, 4)", labelLimit=190, ticks=False, labelPadding=6
        ),
    )
    drawn = alt.layer(
        cell.mark_rect(stroke="$paper", strokeWidth=1).encode(
            color=alt.Color(
                "over:Q",
                title="% of the way from a blind guess to the exact values",
                scale=alt.Scale(domain=[0, 1], range=["$cold", "$warm", "$hot"], clamp=True),
                legend=alt.Legend(
                    labelExpr=PERCENT,
                    values=[0, 0.25, 0.5, 0.75, 1],
                    orient="bottom",
                    gradientLength=240,
                    titleLimit=400,
                ),
            )
        ),
        cell.transform_filter("datum.hatched").mark_text(
            fontSize=13, opacity=0.35, color="$ink", text="/ / / /"
        ),
        cell.mark_text(fontSize=11).encode(
            text="said:N",
            color=alt.condition("$flip", alt.value("$onhot"), alt.value("$ink")),
        ),
    ).properties(width={"step": 42}, height={"step": 22})
    top = shown[0]
    by = max((n for n in best if (top, n) in over), key=lambda n: over[top, n])
    part = (
        f" {len(worst):,} columns were attacked; the {len(shown)} that came off worst are shown."
        if len(worst) > len(shown)
        else ""
    )
    hatched = (
        " In hatched rows a few far values stretch the column's range, so that any guess comes "
        "close by that measure; the figure rests on the others."
        if stretched & set(shown)
        else ""
    )
    return Chart(
        name="heat",
        title="Which columns fall to which attack",
        alt=f"Column {words.column_name(top)} came off worst: {words.name_of(by)} got "
        f"{words.share(worst[top])} of the way from a blind guess to the exact values."
        f"{part}{hatched}",
        wide=True,
        header=("column", *names),
        rows=tuple(
            (words.column_name(c), *(words.share(over.get((c, n))) for n in best)) for c in shown
        ),
        spec=finished(drawn),
    )


def levels(linkage: Linkage) -> Chart | None:
    """How the randomization level falls as the snoop's table has more columns."""
    import altair as alt

    steps = [s for s in linkage.by_dimension if all(words.finite(v) for v in s)]
    if len(steps) < 2:
        return None
    kinds = ("average", "worst 1 %")
    data = [
        {"columns": s[0], "level": value, "of": kind}
        for s in steps
        for kind, value in zip(kinds, s[1:], strict=True)
    ]
    log = min(min(s[1:]) for s in steps) > 0
    decades = [10.0**e for e in range(13) if 10.0**e <= 10 * max(s[1] for s in steps)]
    legend = alt.Legend(symbolType="stroke", symbolSize=400, symbolStrokeWidth=2.5)
    drawn = (
        drawing(data)
        .mark_line(point=alt.OverlayMarkDef(size=60, opacity=1), strokeWidth=2.5)
        .encode(
            x=alt.X("columns:Q", title="columns of the public table")
            .scale(zero=False, nice=False, padding=12)
            .axis(tickMinStep=1, tickCount=6),
            y=alt.Y("level:Q", title="randomization level")
            .scale(type="log" if log else "symlog", nice=False, padding=8)
            .axis(format="~s", values=decades if log else [0, *decades]),
            color=alt.Color(
                "of:N", title=None, scale=scale(kinds, ("$one", "$two")), legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "of:N", title=None, scale=scale(kinds, ([1, 0], [6, 4])), legend=legend
            ),
        )
        .properties(width=WIDTH, height=220)
    )
    first, last = steps[0], steps[-1]
    return Chart(
        name="levels",
        title="Randomization level by number of columns",
        alt=f"With {first[0]} column{'s' * (first[0] != 1)} of a public table "
        f"{words.number(first[1])} records fit a released one as well as the true one on average, "
        f"{words.number(first[2])} for the worst 1 %; with {last[0]} columns "
        f"{words.number(last[1])} and {words.number(last[2])}.",
        header=("columns", "average level", "worst 1 %"),
        rows=tuple((f"{s[0]:,}", words.number(s[1]), words.number(s[2])) for s in steps),
        spec=finished(drawn),
    )


def _again(detection: Detection) -> str:
    rows = f"of the {detection.n_outliers:,} strongest rows of the table"
    if detection.rate is None:
        return f"How many {rows} are among the strongest of the release was not measured"
    return f"{words.share(detection.rate)} {rows} are among the strongest of the release"


def _ticks(least: float) -> list[float]:
    """1, 0.5, 0.2, 0.1 … down to the smallest score, or decades alone where there are many."""
    decades = range(min(30, math.ceil(-math.log10(least)) + 1))
    steps = (1, 2, 5) if len(decades) < 4 else (1,)
    return [m / 10**e for e in decades for m in steps if least <= m / 10**e <= 1]


def _line(attack: AttackResult) -> str:
    key = " (if the key leaks)" if attack.with_key else ""
    return f"{words.name_of(attack.name)}{key}: {attack.knowledge}"
