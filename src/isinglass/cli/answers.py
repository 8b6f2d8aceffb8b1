"""Output of `isinglass ask`: answers, prices and refusals."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isinglass.cli import show
from isinglass.formats import counted

if TYPE_CHECKING:
    from isinglass.curate.guarantee import Guarantee
    from isinglass.curate.query import Answer, Price
    from isinglass.errors import BudgetError

SHOWN = 20


def document(answers: list[Answer]) -> dict[str, Any]:
    """Answers, as `--json` prints them."""
    return {
        "answers": [
            {"row": row, "anomalous": a.anomalous, "epsilon": a.epsilon}
            for row, a in enumerate(answers)
        ],
        "spent": _total(answers),
        "left": min(a.left for a in answers),
        "guarantee": answers[0].guarantee.to_json(),
    }


def price_document(prices: Sequence[Price], promise: Guarantee) -> dict[str, Any]:
    """Prices, as `--dry-run --json` prints them."""
    return {
        "prices": [
            {"row": row, "epsilon": price.epsilon, "spent": price.spent, "left": price.left}
            for row, price in enumerate(prices)
        ],
        "spent": _total(prices),
        "left": min(price.left for price in prices),
        "guarantee": promise.to_json(),
    }


def refusal_document(refused: BudgetError, *, dry_run: bool) -> dict[str, Any]:
    """A refusal: the same keys with nothing in them, and why."""
    from isinglass.epsilon import as_float

    facts = {name: as_float(getattr(refused, name)) for name in ("asked", "spent", "left")}
    return {
        "prices" if dry_run else "answers": [],
        "spent": 0.0,
        "left": facts["left"],
        "guarantee": None,
        "refused": {"row": refused.row, **facts},
    }


def write(out: Path, answers: list[Answer]) -> None:
    """Row, anomalous and epsilon of every answer, whole or not at all."""
    from isinglass.files import whole_file

    with whole_file(out) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "anomalous", "epsilon"])
        writer.writerows((row, int(a.anomalous), a.epsilon) for row, a in enumerate(answers))


def tell(answers: list[Answer], out: Path | None) -> None:
    """Answers to a person: the first few of many."""
    lines = [("row", "answer", "spent", "left", "queries left here")]
    for row, a in enumerate(answers[:SHOWN]):
        said = "sparse" if a.anomalous else "not sparse"
        if a.guarantee.mode != "sparse":
            said = "anomaly" if a.anomalous else "no anomaly"
        lines.append((str(row), said, f"{a.spent:g}", f"{a.left:g}", str(a.queries_left)))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        show.echo("  ".join(word.rjust(w) for word, w in zip(line, widths, strict=True)))
    if out is not None:
        show.echo(f"all {len(answers):,} are in {out}")
    elif len(answers) > SHOWN:
        more = len(answers) - SHOWN
        show.echo(f"and {more:,} more; -o FILE or --json gives all {len(answers):,}")
    show.echo("")
    show.echo(f"spent {_total(answers):g} in all; guarantee: {answers[0].guarantee.sentence()}")


def tell_prices(prices: Sequence[Price], promise: Guarantee) -> None:
    """Prices to a person."""
    left = min(price.left for price in prices)
    show.echo(
        f"{counted(len(prices), 'record')} would cost {_total(prices):g} in all, and leave "
        f"{left:g} or more at each place; nothing was asked"
    )
    show.echo(f"guarantee: {promise.sentence()}")


def _total(answers: Sequence[Answer | Price]) -> float:
    from isinglass.epsilon import MICRO

    return sum(round(a.spent * MICRO) for a in answers) / MICRO
