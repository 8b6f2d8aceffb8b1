"""The page a data-protection officer can sign from: risks in plain words, first in a report."""

from __future__ import annotations

from datetime import date

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
from isinglass.plots.markup import facts, stacked, text

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


def officer_page(findings: Findings, *, public: bool) -> str:
    """Risks, recipients, assumptions, what was not measured, a date, and NIST's questions."""
    return "".join(
        (
            "<h2>For the data-protection officer</h2>",
            _verdicts(findings),
            _risks(findings),
            _reidentification(findings),
            _recipients(findings),
            _unique(findings),
            _assumed(findings),
            _not_measured(findings),
            _again(findings),
            _nist(findings, public),
        )
    )


def _verdicts(findings: Findings) -> str:
    rows = [(WHO[a.name].partition(":")[0], _meaning(a)) for a in _people(findings)]
    if not rows:
        return "<p>No attack was finished, so nothing can be signed.</p>"
    return "<h3>Who could get the data back?</h3>" + stacked(("who", "what came out"), rows)


def _meaning(found: AttackerResult) -> str:
    return {
        "recovered": "Recovered: most of the data, or the people behind it, came back.",
        "partly recovered": "Partly recovered: some of the data, or some people, came back.",
        "resisted the attacks listed": "Resisted the attempts that were made; others may succeed.",
    }.get(found.verdict, "Not measured: that is not a good sign.")


def _risks(findings: Findings) -> str:
    people = _people(findings)
    if not people:
        return ""
    measured = {a.name: all_risks(findings, a.name) for a in people}
    rows = [
        (name, *(_value(measured[a.name][i]) for a in people), meaning)
        for i, (name, meaning) in enumerate(MEASURES.items())
    ]
    head = ("risk", *(WHO[a.name].partition(":")[0].lower() for a in people), "what it means")
    return (
        "<h3>Singling out, linkability, inference</h3><p>The three questions of the European "
        "opinion on anonymization (WP216), and whether a record can be told to be in the table at "
        "all; each with the interval in which the figure lies with 95&nbsp;% confidence.</p>"
        + stacked(head, rows)
    )


def _value(risk: Risk) -> str:
    if risk.value is None:
        return "not measured"
    return f"{words.share(risk.value)} ({words.interval(risk.low, risk.high)})"


def _reidentification(findings: Findings) -> str:
    shown = []
    for people in _people(findings):
        link = reidentification(findings, people.name)
        if link is not None:
            who = WHO[people.name].partition(":")[0].lower()
            shown.append((words.share(link.reidentification), f"on average, by {who}"))
            shown.append(
                (words.share(link.reidentification_max), f"for the record at most risk, by {who}")
            )
    heading = "<h3>Probability of re-identification</h3>"
    limit = words.share(ACCEPTED_REIDENTIFICATION)
    if not shown:
        return f"{heading}<p>Not measured. Many regulators accept up to {text(limit)}.</p>"
    worst = reidentification(findings, ACQUAINTED) or reidentification(findings, INSIDER)
    above = worst is None or worst.reidentification_high > ACCEPTED_REIDENTIFICATION
    said = "is above" if above else "is not above"
    return (
        f"{heading}<p>The probability of picking the right person or record behind a row. Many "
        f"regulators accept {text(limit)} on average; the figure for somebody acquainted, at its "
        f"upper limit, {said} it.</p>{facts(shown)}"
    )


def _recipients(findings: Findings) -> str:
    verdicts = {a.name: _meaning(a) for a in findings.attackers}
    rows = [
        (who, holds, WHO[expect].partition(":")[0], verdicts.get(expect, "not measured"))
        for who, expect, holds in RECIPIENTS
    ]
    return "<h3>Risk by recipient</h3>" + stacked(
        ("recipient", "could hold", "expect at least", "what came out"), rows
    )


def _unique(findings: Findings) -> str:
    if findings.unique is None:
        return ""
    return (
        f"<p>{text(words.share(findings.unique))} of the rows are the only ones with their values "
        "in the columns that leave unchanged. Whoever knows these values finds the person.</p>"
    )


def _assumed(findings: Findings) -> str:
    rows = "".join(f"<li>{text(WHO[a.name])}</li>" for a in _people(findings))
    few = findings.settings.get("most_pairs")
    limited = (
        f"<li>This audit was told that nobody recognizes more than {few:,} records in the "
        "file. If that is wrong, the figures are too low.</li>"
        if isinstance(few, int)
        else ""
    )
    return f"<h3>What was assumed</h3><ul>{rows}{limited}</ul>"


def _not_measured(findings: Findings) -> str:
    missing = [
        f"{risk.name} by {WHO[people.name].partition(':')[0].lower()}"
        for people in _people(findings)
        for risk in all_risks(findings, people.name)
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
    listed = "".join(f"<li>{text(item)}</li>" for item in items)
    return f"<h3>What was not measured</h3><ul>{listed}</ul>"


def _plain(attack: str) -> str:
    """An attack by what it does, for readers who do not know its name."""
    return story_of(attack, attack.replace("_", " "))


def _again(findings: Findings) -> str:
    made = findings.settings.get("date")
    try:
        day = date.fromisoformat(str(made))
    except ValueError:
        when = "one year after the release"
    else:
        when = (
            f"on {day.replace(year=day.year + 1, day=min(day.day, 28)).isoformat()} at the latest"
        )
    return (
        f"<h3>When to look again</h3><p>Look again {text(when)}, and before that when another "
        "release of the same records leaves, when a recipient changes, or when a new attack is "
        "published.</p>"
    )


def _nist(findings: Findings, public: bool) -> str:
    parts = "".join(
        f"<h4>{text(title)}</h4><p>{text(answer)}</p>"
        for title, answer in answers(findings, public=public)
    )
    return f"<details><summary>The questions of NIST SP 800-226</summary>{parts}</details>"


def _people(findings: Findings) -> list[AttackerResult]:
    return [a for a in findings.attackers if a.name in WHO]
