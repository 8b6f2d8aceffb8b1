"""Page for a data-protection officer: risks in plain words, with limits."""

from __future__ import annotations

from datetime import date
from typing import Any

from isinglass.attack.registry import story_of
from isinglass.auditing.attackers import ACQUAINTED, INSIDER, OUTSIDER
from isinglass.auditing.findings import AttackerResult, Findings
from isinglass.auditing.report import text as words
from isinglass.auditing.report.nist import answers
from isinglass.auditing.report.risks import (
    ACCEPTED_REIDENTIFICATION,
    Risk,
    all_risks,
    reidentification,
)

#: Who each attacker is, to a reader who has not read the rest.
WHO = {
    OUTSIDER: "Anybody who gets the file: has the release and what is public about it.",
    ACQUAINTED: "Somebody acquainted: also has records of similar people or machines, and "
    "recognizes a few records in the file.",
    INSIDER: "An insider: also has the original records from another source, without knowing "
    "which row is whose, and recognizes more of them.",
}
#: Who receives a release, and the strongest attacker to expect among them.
RECIPIENTS = (
    ("a contracted miner or analyst", ACQUAINTED, "the release, and often records of the field"),
    ("another participant of a study", INSIDER, "the release and own records, some of them shared"),
    ("an end user of a model", OUTSIDER, "scores and the published model, not the release itself"),
    ("the public", INSIDER, "the release for good; somebody will hold other tables"),
)
MEASURES = {
    "singling out": "Share of records that can be told apart from all others in the file.",
    "linkability": "Probability that a row of the file is assigned to its right record in another "
    "table, or that two parts of a record are joined through the file.",
    "inference": "How far an attacker gets from guessing blindly (0 %) to the exact value (100 %), "
    "in the column that comes off worst.",
    "membership": "How surely somebody can tell whether a given record is in the table: 50 % is a "
    "coin, 100 % is certainty.",
}


def officer_page(findings: Findings, *, public: bool) -> dict[str, Any]:
    """Risks, recipients, assumptions, what was not measured, a date, and NIST's questions.

    What the template `officer.html.j2` is filled with.
    """
    people = _people(findings)
    worst = reidentification(findings, ACQUAINTED) or reidentification(findings, INSIDER)
    return {
        "people": [_short(a.name).lower() for a in people],
        "verdicts": [(_short(a.name), _meaning(a)) for a in people],
        "risks": _risks(findings, people),
        "reidentification": _reidentification(findings, people),
        "accepted": words.share(ACCEPTED_REIDENTIFICATION),
        "above": worst is None or worst.reidentification_high > ACCEPTED_REIDENTIFICATION,
        "recipients": _recipients(findings),
        "unique": None if findings.unique is None else words.share(findings.unique),
        "assumed": _assumed(findings, people),
        "not_measured": _not_measured(findings, people),
        "again": _again(findings),
        "nist": answers(findings, public=public),
    }


def _short(attacker: str) -> str:
    """An attacker by the first words of who it is."""
    return WHO[attacker].partition(":")[0]


def _meaning(found: AttackerResult) -> str:
    return {
        "recovered": "Recovered: most of the data, or the people behind it, came back.",
        "partly recovered": "Partly recovered: some of the data, or some people, came back.",
        "resisted the attacks listed": "Resisted the attempts that were made; others may succeed.",
    }.get(found.verdict, "Not measured: that is not a good sign.")


def _risks(findings: Findings, people: list[AttackerResult]) -> list[tuple[str, ...]]:
    measured = {a.name: all_risks(findings, a.name) for a in people}
    return [
        (name, *(_value(measured[a.name][i]) for a in people), meaning)
        for i, (name, meaning) in enumerate(MEASURES.items())
    ]


def _value(risk: Risk) -> str:
    if risk.value is None:
        return "not measured"
    return f"{words.share(risk.value)} ({words.interval(risk.low, risk.high)})"


def _reidentification(findings: Findings, people: list[AttackerResult]) -> list[tuple[str, str]]:
    shown = []
    for attacker in people:
        link = reidentification(findings, attacker.name)
        if link is not None:
            who = _short(attacker.name).lower()
            shown.append((words.share(link.reidentification), f"on average, by {who}"))
            shown.append(
                (words.share(link.reidentification_max), f"for the record at most risk, by {who}")
            )
    return shown


def _recipients(findings: Findings) -> list[tuple[str, ...]]:
    verdicts = {a.name: _meaning(a) for a in findings.attackers}
    return [
        (who, holds, _short(expect), verdicts.get(expect, "not measured"))
        for who, expect, holds in RECIPIENTS
    ]


def _assumed(findings: Findings, people: list[AttackerResult]) -> list[str]:
    said = [WHO[a.name] for a in people]
    few = findings.settings.get("most_pairs")
    if isinstance(few, int):
        said.append(
            f"This audit was told that nobody recognizes more than {few:,} records in the "
            "file. If that is wrong, the figures are too low."
        )
    return said


def _not_measured(findings: Findings, people: list[AttackerResult]) -> list[str]:
    missing = [
        f"{risk.name} by {_short(attacker.name).lower()}"
        for attacker in people
        for risk in all_risks(findings, attacker.name)
        if risk.value is None
    ]
    stopped = [a.name for a in findings.attacks if a.failed is not None]
    stopped += [s.name for s in findings.skipped if s.applicable]
    items = [f"Not measured: {', '.join(missing)}."] if missing else []
    if stopped:
        names = ", ".join(dict.fromkeys(_plain(n) for n in stopped))
        items.append(f"Attempts that could not be made or finished: {names}.")
    items.append(
        "People who know more than assumed, other files about the same people, how the file is "
        "handed over and stored, and whether the recipients keep their contracts."
    )
    return items


def _plain(attack: str) -> str:
    """An attack by what it does, for readers who do not know its name."""
    return story_of(attack, attack.replace("_", " "))


def _again(findings: Findings) -> str:
    """When to look at the release again."""
    try:
        day = date.fromisoformat(str(findings.settings.get("date")))
    except ValueError:
        return "one year after the release"
    return f"on {day.replace(year=day.year + 1, day=min(day.day, 28)).isoformat()} at the latest"


def _people(findings: Findings) -> list[AttackerResult]:
    return [a for a in findings.attackers if a.name in WHO]
