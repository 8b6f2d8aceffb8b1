"""The part of `isinglass audit` that audits models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isinglass.cli import show

if TYPE_CHECKING:
    from isinglass.auditing.findings import Findings
    from isinglass.auditing.policy import Policy


def refuse_release_options(given: Mapping[str, Any]) -> None:
    """Refuse options that would do nothing for a model."""
    from isinglass.errors import AuditError

    if named := [option for option, value in given.items() if value is not None]:
        raise AuditError(f"{', '.join(named)}: only for releases, and RELEASE is a model")


def audit_model(
    table: Path,
    model: Path,
    *,
    others: Path | None,
    drop: Sequence[str],
    one_hot: Sequence[str],
    missing: str,
    policy: Policy | None,
    out: Path | None,
    public: bool,
    reading: Mapping[str, Any],
    seed: int | None,
    as_json: bool,
) -> None:
    """Attack a model, show or write what was found, and exit 1 where the policy is not met."""
    from isinglass.auditing.models.model_files import audit_model_file
    from isinglass.auditing.report.sentences import sentences
    from isinglass.cli.gate import tell_unmet

    with show.Bar() as bar:
        report = audit_model_file(
            table,
            model,
            others=others,
            drop=drop,
            one_hot=one_hot,
            missing=missing,
            policy=policy,
            settings={"command": show.command_line()},
            **reading,
            random_state=seed,
            progress=bar,
        )
    if out is not None:
        report.save(out, public=public)
    if as_json:
        show.print_json(report.to_contract())
    else:
        _show(report.findings)
        if out is not None:
            show.echo(f"report     {out}  ({'public' if public else 'internal'})")
    for note in sentences(report.findings.notes):
        show.print_message(f"note: {note}")
    if not report.passed:
        tell_unmet(report)
        raise typer.Exit(1)


def _show(found: Findings) -> None:
    from isinglass.auditing.models import page as model_page
    from isinglass.auditing.report import text as words
    from isinglass.auditing.report.sentences import sentence

    for said in (model_page.verdict_sentence(found), model_page.alike_sentence(found)):
        if said:
            show.echo(said)
    show.echo("")
    for a in found.attackers:
        told = f"area {model_page.area(a.membership)}"
        show.echo(f"{words.name_of(a.name).ljust(11)}{a.verdict}, {told}: has {a.assumes}")
    show.echo("")
    lines = [model_page.HEADER, *model_page.lines(found.membership)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        show.echo("  ".join(w.ljust(n) for w, n in zip(line, widths, strict=True)).rstrip())
    show.echo(
        "area: the chance that a training record scores higher than another, 0.5 is a coin; at "
        "1 %: training records recognized where 1 % of the others are taken for some"
    )
    for s in found.skipped:
        show.echo(f"{words.name_of(s.name)} was not measured: {sentence(s.reason)}")
    show.echo("")
    show.echo(f"verdict    {found.verdict}")
    if found.policy:
        met = sum(line.met for line in found.policy)
        show.echo(f"policy     {met} of {len(found.policy)} demands met")
