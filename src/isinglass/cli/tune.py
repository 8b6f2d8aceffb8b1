"""`isinglass tune`: trade-offs of privacy and detection, and the setting to use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from isinglass.cli import options, show
from isinglass.method_names import METHODS

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier


def tune(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="CSV, Parquet or Arrow file with a header.")
    ],
    min_detection: float = typer.Option(
        0.8, "--min-detection", help="Wanted share of the strongest anomalies found again, 0 to 1."
    ),
    max_attack_gain: float = typer.Option(
        0.2, "--max-attack-gain", help="Wanted limit on the gain of the strongest attack, 0 to 1."
    ),
    attacker: Annotated[
        Literal["outsider", "acquainted", "insider"],
        typer.Option(help="Whose gain counts; that of all three is shown."),
    ] = "insider",
    label: options.Label = None,
    min_auc: float | None = typer.Option(
        None,
        "--min-auc",
        help="Wanted area under the curve of the known anomalies, 0 to 1; needs --label.",
    ),
    methods: list[str] = typer.Option(
        [],
        "--methods",
        metavar="NAME[,NAME]",
        callback=options.each_of(METHODS),
        help=f"Methods to try: {', '.join(METHODS)}; default: all that keep rows.",
    ),
    max_pairs: options.MaxPairs = None,
    n_outliers: int | None = typer.Option(
        None, "-n", "--n-outliers", help="How many anomalies count; default: 500, or a tenth."
    ),
    drop: options.Drop = [],
    columns: options.Columns = None,
    one_hot: options.OneHot = [],
    missing: options.Missing = None,
    quick: bool = typer.Option(
        False, "--quick", help="A first impression in a minute: fewer settings and rows, one key."
    ),
    thorough: bool = typer.Option(
        False, "--thorough", help="Every attack in every round: some three times the work."
    ),
    jobs: int = typer.Option(
        -1, "--jobs", help="Processes; -1: as many as cores. Results do not depend on it."
    ),
    resume: Path | None = typer.Option(
        None, "--resume", help="File that keeps every measurement, to go on from after a stop."
    ),
    out: Annotated[Path | None, options.out("Write the frontier: .html, .json or .png.")] = None,
    force: options.Force = False,
    seed: options.Seed[int | None] = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    as_json: options.AsJson = False,
) -> None:
    """Try methods and strengths on TABLE: what each keeps findable, and what it gives away.

    Keys are drawn for the search and thrown away; nothing is released. Example:

    isinglass tune flights.csv --drop tail_number --min-detection 0.8 -o frontier.html
    """
    from isinglass.auditing.files.align import as_labels, load
    from isinglass.auditing.tuning.tune import tune as search
    from isinglass.cli.columns import choose
    from isinglass.errors import AuditError
    from isinglass.files import refuse_targets
    from isinglass.table.columns import choose_columns
    from isinglass.table.prepare import Source
    from isinglass.table.read import open_table

    for option, value, least in (
        ("--max-pairs", max_pairs, 0), ("-n", n_outliers, 1), ("--seed", seed, 0)
    ):  # fmt: skip
        if value is not None and value < least:
            raise ValueError(f"{option} must be >= {least}, got {value}")
    for option, share in (
        ("--min-detection", min_detection), ("--max-attack-gain", max_attack_gain),
        ("--min-auc", min_auc),
    ):  # fmt: skip
        if share is not None and not 0 <= share <= 1:
            raise ValueError(f"{option} must be >= 0 and <= 1, got {share:g}")
    if min_auc is not None and label is None and columns is None:
        raise ValueError("--min-auc needs --label, which names the column of known anomalies")
    if quick and thorough:
        raise ValueError("--quick and --thorough exclude each other; leave one out")
    if jobs < -1 or jobs == 0:
        raise ValueError(f"--jobs must be >= 1, or -1, got {jobs}")
    if resume is not None and os.path.realpath(resume) == os.path.realpath(table):
        raise AuditError(f"--resume writes to its file, and {resume} is the table; name another")
    if out is not None:
        if out.suffix not in (".html", ".json", ".png"):
            raise ValueError(f"--out must end in .html, .json or .png, got {out.name}")
        refuse_targets({"the frontier": out}, [table, resume, columns], force=force)
    chosen = choose(
        columns, table, drop=drop, one_hot=one_hot, label=label, encoding=encoding,
        delimiter=delimiter, decimal=decimal, missing=missing,
    )  # fmt: skip
    given = _options(columns, drop, label, one_hot, missing, encoding, delimiter, decimal)
    label = chosen.label
    if min_auc is not None and label is None:
        raise ValueError(f"--min-auc needs a label, and {columns} names none; see --label")
    opened = open_table(table, **chosen.reading.file)
    searched = choose_columns(
        opened,
        keep=[] if label is None else [label],
        drop=[*chosen.drop, *chosen.keep, *([chosen.person] if chosen.person else [])],
        one_hot=chosen.one_hot,
        advice="encode them with --one-hot, or leave them out with --drop",
    )
    with show.Bar() as bar:
        loaded = load(Source(opened, searched, missing=chosen.reading.missing), bar, "reading")
        found = search(
            loaded.X,
            methods or "all",
            min_detection=min_detection,
            max_attack_gain=max_attack_gain,
            attacker=attacker,
            labels=None if label is None else as_labels(loaded, label),
            min_auc=min_auc,
            most_pairs=max_pairs,
            n_outliers=n_outliers,
            quick=quick,
            thorough=thorough,
            n_jobs=jobs,
            resume=resume,
            random_state=seed,
            progress=bar,
        )
    found = replace(
        found,
        settings={**found.settings, "command": show.command_line()},
        table=table.name,
        options=given,
    )
    if out is not None:
        found.save(out)
    if as_json:
        show.print_json(found.to_json())
        return
    show.echo(*_told(found, str(table)).split("\n"))
    if out is not None:
        show.echo(f"The frontier: {out}")


def _options(
    columns: Path | None,
    drop: list[str],
    label: str | None,
    one_hot: list[str],
    missing: str | None,
    encoding: str | None,
    delimiter: str | None,
    decimal: str | None,
) -> tuple[str, ...]:
    """What a release of the same columns must be told, as it was typed.

    Labels were not among the columns that were searched, so they do not leave either.
    """
    given = [("--columns", str(columns))] if columns is not None else []
    given += [("--drop", d) for d in drop]
    given += [("--drop", label)] if label is not None else []
    given += [("--one-hot", o) for o in one_hot]
    for option, value, usual in (
        ("--missing", missing, "error"), ("--encoding", encoding, "utf8"),
        ("--delimiter", delimiter, None), ("--decimal", decimal, None),
    ):  # fmt: skip
        given += [(option, value)] if value not in (None, usual) else []
    return tuple(word for pair in given for word in pair)


def _told(found: Frontier, table: str) -> str:
    from isinglass.auditing.report import text as words
    from isinglass.auditing.tuning.page import models_table
    from isinglass.auditing.tuning.points import areas, gains

    shown = [p for p in found.points if p.on_frontier or p.recommended]
    labeled = any(p.auc is not None for p in shown)
    rows = [("", "method", "setting", "found", "interval", "outsider", "acquainted", "insider",
             "interval", "strongest attack", *(("area",) if labeled else ()))]  # fmt: skip
    rows += [
        ("→" if p.recommended else "", p.method, p.setting, words.share(p.detection),
         words.interval(p.detection_low, p.detection_high), *gains(p),
         words.interval(p.gain_low, p.gain_high), p.strongest,
         *((areas(p),) if labeled else ()))
        for p in shown
    ]  # fmt: skip
    lines = _aligned(rows)
    models = models_table(found.guaranteed)
    if models["rows"]:
        lines += ["", *_aligned([models["header"], *models["rows"]])]
    lines += [
        "",
        "found  share of the strongest anomalies found again",
        "outsider, acquainted, insider  how far the strongest attack of each gets from a blind",
        "       guess (0 %) to the exact values (100 %), by the worst of several measures;",
        f"       interval and attack are those of the {found.attacker}, whose gain is limited",
        *(["area   under the curve of the known anomalies, table → release"] if labeled else []),
        "only the best trade-offs are listed; settings left out: "
        f"{len(found.points) - len(shown)} of {len(found.points)}",
        "",
        found.sentence,
    ]
    if found.code is not None:
        lines.append(f"  {found.code}")
    lines += ["", "What to do:"]
    for step in found.next_steps(table):
        lines.append(f"- {step.sentence}")
        if step.command is not None:
            lines.append(f"  {step.command}")
    return "\n".join(lines)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines of a table whose columns stand below each other."""
    widths = [max(1, *map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(w.ljust(n) for w, n in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
