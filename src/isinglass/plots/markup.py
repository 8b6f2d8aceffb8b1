"""Pieces of a page: everything that comes from a file is made printable and escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isinglass.plots.chart import Chart, data_uri, width_of
from isinglass.plots.style import STYLE
from isinglass.printable import html_text

_ENLARGED = 1.15


def text(value: object) -> str:
    """Anything as HTML; a percentage keeps its sign on the same line."""
    return html_text(value).replace(" %", "&nbsp;%")


def code(lines: Sequence[str]) -> str:
    """Lines to be copied, so that nothing in them is made prettier."""
    return f"<pre><code>{chr(10).join(map(html_text, lines))}</code></pre>"


def facts(shown: Sequence[tuple[str, str]]) -> str:
    items = "".join(f"<li><b>{text(value)}</b>{text(what)}</li>" for value, what in shown)
    return f'<ul class="facts">{items}</ul>'


def figure(chart: Chart | None) -> str:
    if chart is None:
        return ""
    kind = "picture wide" if chart.wide else "picture"
    light = chart.svg()
    # One scale for all pictures, so that letters are of one size.
    size = f"{_ENLARGED * width_of(light) / 16:.1f}rem"
    return f"""<figure><figcaption>{text(chart.title)}</figcaption><div class="{kind}"><picture>
<source media="screen and (prefers-color-scheme: dark)" srcset="{data_uri(chart.svg(dark=True))}">
<img src="{data_uri(light)}" alt="{html_text(chart.alt)}" style="--own:{size}"></picture></div>
<p class="soft">{text(chart.alt)}</p>
{folded("The numbers behind the chart", chart.header, chart.rows)}</figure>"""


def stacked(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose rows become cards on a narrow screen; empty cells take no room there."""
    head = "".join(f'<th scope="col">{text(h)}</th>' for h in header)
    body = "".join(
        f'<tr><th scope="row">{text(row[0])}</th>'
        + "".join(
            f'<td data-label="{text(h)}"{"" if cell else " class=none"}>{text(cell)}</td>'
            for h, cell in zip(header[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def scrolled(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{text(h)}</th>' for h in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )


def folded(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, opened: bool = False
) -> str:
    state = " open" if opened else ""
    return f"<details{state}><summary>{text(title)}</summary>{scrolled(header, rows)}</details>"


# The page may show what it carries and nothing else; a name from a file cannot change that.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def document(title: str, body: str) -> str:
    """A whole page around what it says."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(title)}</title>
<style>{STYLE}</style></head><body><main>
{body}
</main></body></html>
"""
