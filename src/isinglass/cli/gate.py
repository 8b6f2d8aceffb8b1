"""Policy gate of `isinglass release`: an audit before the file gets its name."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer

from isinglass.cli import show

if TYPE_CHECKING:
    from isinglass.auditing.policy import Policy
    from isinglass.auditing.report.report import Report
    from isinglass.progress import Progress
    from isinglass.publish import Draft
    from isinglass.table.number_format import NumberFormat


#: What a report says of a release that its policy refused.
REFUSED = "this release was refused, and nothing of it was written."


class RefusedError(Exception):
    """The policy says no; unwinds the writing, so that nothing of the release is left."""


class Gate:
    """Audits the very file that is about to be named; as a context, tells what came of it.

    The report is drafted before the release gets its name, and gets its own after that, or once
    the release is refused; where anything else fails, there is none.
    """

    def __init__(
        self,
        policy: str | None,
        report: Path | None,
        also: Sequence[Path],
        person: str | None = None,
    ) -> None:
        from isinglass.errors import ReleaseError

        if also and policy is None and report is None:
            raise ReleaseError("--also is for the audit; give --policy or --report with it")
        if person is not None and policy is None and report is None:
            raise ReleaseError("--person is for the audit; give --policy or --report with it")
        self.wanted = policy is not None or report is not None
        self.policy = None if policy is None else policy_for(policy)
        self.target = report
        self.also = also
        self.person = person
        self.report: Report | None = None
        self._draft = contextlib.ExitStack()  # the report, until it gets its name
        if report is not None:
            check_ending("--report", report)

    def audit(
        self,
        draft: Draft,
        table: Path,
        out: Path,
        *,
        missing: str,
        encoding: str,
        delimiter: str | None,
        decimal: str | NumberFormat | None,
        progress: Progress,
    ) -> None:
        """Attack the draft; raise `RefusedError` where the policy is not met."""
        from isinglass.auditing.files.audit_files import audit_files
        from isinglass.auditing.files.key_match import KeyFacts

        key = KeyFacts(draft.columns, draft.one_hot, draft.categories, draft.shuffle_key)
        self.report = audit_files(
            table,
            draft.path,
            missing=missing,
            person=self.person,
            perturbation=draft.perturbation,
            key=key,
            other_releases=self.also,
            earlier=draft.earlier,
            n_trials=2,  # this very file, and a release under another key for the control
            policy=self.policy,
            settings={"command": show.command_line(), "release": out.name},
            encoding=encoding,
            delimiter=delimiter,
            decimal=decimal,
            progress=progress,
        )
        if not self.report.passed:
            raise RefusedError
        if self.target is not None:  # before the release has its name: a page may fail
            self._draft.enter_context(self.report.draft(self.target))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        refused = isinstance(error, RefusedError)
        self._draft.__exit__(kind, error, trace)
        if self.report is None or not (refused or error is None):
            return
        if refused:
            found = self.report.findings
            settings = {**found.settings, "outcome": REFUSED}
            self.report = replace(self.report, findings=replace(found, settings=settings))
            if self.target is not None:
                self.report.save(self.target)
            tell_unmet(self.report)
            show.print_message(
                "isinglass: the policy refuses this release; nothing of it was written"
            )
            if self.target is not None:
                show.print_message(f"isinglass: the report was written and says why: {self.target}")
            raise typer.Exit(1)

    def tell(self) -> None:
        """What the audit of a release that left said."""
        if self.report is None:
            return
        from isinglass.auditing.report import text as words

        found = self.report.findings
        show.echo(f"audit    {words.detection_sentence(found)}")
        show.echo(f"         {words.attack_sentence(found)}")
        if self.policy is not None:
            n = len(found.policy)
            said = "the one demand is met" if n == 1 else f"all {n} demands are met"
            show.echo(f"policy   {said}")
        if self.target is not None:
            show.echo(f"report   {self.target}  (stays with you: it names single records)")


def policy_for(given: str) -> Policy:
    """A policy file, or the strict policy that ships under that word."""
    from isinglass.auditing.policy import Policy

    return Policy.strict() if given == "strict" else Policy.load(given)


def policy_file(given: str | None) -> Path | None:
    """The file a policy is read from, if any."""
    return None if given in (None, "strict") else Path(str(given))


def check_ending(option: str, target: Path) -> None:
    """A report is written as its file's ending says."""
    if target.suffix.lower() not in (".html", ".json"):
        raise ValueError(f"{option} must be a .html or .json file, got {target}")


def tell_unmet(report: Report) -> None:
    """The demands that were not met, each in a line."""
    from isinglass.auditing.report.sentences import measured

    for line in report.findings.policy:
        if not line.met:
            show.print_message(f"policy: {line.demand}: not met: {measured(line)}")
