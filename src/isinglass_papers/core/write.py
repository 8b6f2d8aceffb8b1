"""A reproduction as files: a page of Markdown, tables as CSV, pictures, and one page to explore."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from isinglass.plots import engine as vega
from isinglass.plots import pages
from isinglass_papers.core import draw
from isinglass_papers.core.result import Claim, Number, Reproduction

NUMBERS = ("where", "what", "printed", "ours", "low", "high", "note")
CLAIMS = ("where", "says", "verdict", "ours")
EXPLORE = "figures.html"


def write(found: Reproduction, folder: Path, *, together: bool = True) -> Path:
    """Write one paper's page, its CSV files and its pictures; give back the page.

    `together` says that `write_together` will be called, whose page of pictures this one names.
    """
    own = folder / found.paper
    own.mkdir(parents=True, exist_ok=True)
    _csv(own / "numbers.csv", NUMBERS, ([getattr(n, f) for f in NUMBERS] for n in found.numbers))
    _csv(own / "claims.csv", CLAIMS, ([getattr(c, f) for f in CLAIMS] for c in found.claims))
    for figure in found.figures:
        names = list(dict.fromkeys(name for row in figure.rows for name in row))
        _csv(own / f"{figure.name}.csv", names, ([r.get(n) for n in names] for r in figure.rows))
        (own / f"{figure.name}.png").write_bytes(draw.png(figure.spec, figure.rows))
    page = folder / f"{found.paper}.md"
    page.write_text(markdown(found, together=together), encoding="utf-8")
    return page


def write_together(every: Sequence[Reproduction], folder: Path) -> None:
    """Write what several papers share: all claims in one table, all pictures on one page."""
    folder.mkdir(parents=True, exist_ok=True)
    page = "# Claims of the papers, and whether they hold\n\n" + summary(every) + "\n"
    (folder / "summary.md").write_text(page, encoding="utf-8")
    (folder / EXPLORE).write_text(explore(every), encoding="utf-8")


def markdown(found: Reproduction, *, together: bool = True) -> str:
    """The page: what was run, numbers side by side, claims, pictures, what is missing."""
    pointer = (
        f"; [{EXPLORE}]({EXPLORE}) shows the pictures with their values under the pointer"
        if together
        else ""
    )
    parts = [
        f"# {found.title}",
        f"{found.reference}",
        f"Made by `{found.command}` in {found.seconds:.0f} s. All numbers are in the folder "
        f"`{found.paper}` beside this page, as CSV{pointer}.",
        *found.notes,
        "## Claims",
        _table(("where", "claim", "verdict", "ours"), map(_claim, found.claims)),
        "## Numbers",
        _table(("where", "what", "printed", "ours", "spread", "note"), map(_number, found.numbers)),
    ]
    if found.figures:
        parts.append("## Figures")
    for figure in found.figures:
        parts.append(f"### {figure.title}")
        parts.append(f"![{figure.title}]({found.paper}/{figure.name}.png)")
        parts.append(figure.caption)
    if found.missing:
        parts.append("## Not run")
        parts.append("\n".join(f"- **{m.what}**: {m.why}" for m in found.missing))
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(every: Sequence[Reproduction]) -> str:
    """Claims of all papers in one table."""
    rows = [
        (f"[{found.paper}]({found.paper}.md)", c.where, c.says, c.verdict, c.ours)
        for found in every
        for c in found.claims
    ]
    return _table(("paper", "where", "claim", "verdict", "ours"), rows)


def explore(every: Sequence[Reproduction]) -> str:
    """One page with every picture, values under the pointer; no network is needed."""
    specs = [
        draw.with_rows(_pointed(figure.spec), figure.rows)
        for found in every
        for figure in found.figures
    ]
    # "</" inside a script would end it.
    data = json.dumps(specs).replace("</", "<\\/")
    code = resources.files("isinglass_papers.core").joinpath("figures.js").read_text("utf-8")
    bundle = vega.bundle(f"const specs = {data};\nconst beside = {draw.BESIDE};\n{code}")
    return pages.render("isinglass_papers/core/figures.html.j2", every=every, script=bundle)


def _pointed(spec: dict[str, Any]) -> dict[str, Any]:
    """The same picture with values under the pointer."""

    def marked(part: Any) -> Any:
        if isinstance(part, dict):
            found = {name: marked(value) for name, value in part.items()}
            if isinstance(part.get("mark"), dict):
                found["mark"] = part["mark"] | {"tooltip": {"content": "data"}}
            return found
        return [marked(item) for item in part] if isinstance(part, list) else part

    return dict(marked(spec))


def _claim(claim: Claim) -> tuple[str, ...]:
    return claim.where, claim.says, f"**{claim.verdict}**", claim.ours


def _number(number: Number) -> tuple[str, ...]:
    spread = "" if number.low is None else f"{short(number.low)} to {short(number.high)}"
    return (
        number.where, number.what, short(number.printed), short(number.ours), spread, number.note,
    )  # fmt: skip


def short(value: float | None) -> str:
    """Four digits, as a person reads them."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = (str(cell).replace("|", "\\|").replace("\n", " ") for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
