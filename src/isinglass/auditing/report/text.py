"""Sentences of a report."""

from __future__ import annotations

import math
from dataclasses import replace

from isinglass.auditing.findings import (
    NOT_MEASURED,
    PARTLY,
    PARTLY_RECOVERED_GAIN,
    RECOVERED,
    RECOVERED_GAIN,
    RESISTED,
    AttackResult,
    ColumnResult,
    Detection,
    Findings,
    Linkage,
)
from isinglass.auditing.notes import Kind
from isinglass.auditing.scoring import over_baseline
from isinglass.formats import finite as finite  # pages take these from here, too
from isinglass.formats import interval as interval
from isinglass.formats import number as number
from isinglass.formats import printable
from isinglass.formats import share as share

NO_BETTER = "no better than its baseline"
NOT_RUN = "An attack that was not run, or not finished, proves nothing in the release's favor."
NOT_ENOUGH = (
    "Not enough was measured to say what an insider would recover: attacks that need to know which "
    "released row is whose record were not run, and the others got nothing; give the key."
)
NONE_FINISHED = "No attack could be finished, so nothing is said about what could be got back."


def listed(items: str) -> str:
    """“a, b, c” as “a, b and c”."""
    *others, last = items.split(", ")
    return f"{', '.join(others)} and {last}" if others else last


def name_of(attack: str) -> str:
    """An attack's name as words."""
    return {"ica": "ICA", "map": "MAP"}.get(attack, attack.replace("_", " "))


def column_name(name: str, limit: int = 60) -> str:
    """A column's name on one line, cut where a file has put a novel there."""
    name = printable(name[: limit + 1])  # a name of many megabytes is not worth reading whole
    return name if len(name) <= limit else name[: limit - 1] + "…"


def briefly(findings: Findings) -> Findings:
    """The same, with the public parameters that every attacker knows left to the assumptions."""
    said = any(note.kind is Kind.PARAMETERS_KNOWN for note in findings.assumptions)
    beyond = [a.knowledge_beyond for a in findings.attacks]
    if not said or None in beyond:
        return findings
    attacks = zip(findings.attacks, beyond, strict=True)
    return replace(findings, attacks=tuple(replace(a, knowledge=k or "") for a, k in attacks))


def found(findings: Findings) -> int:
    """How many of the strongest anomalies are found again; ask only where it was measured."""
    rate = findings.detection.rate
    if rate is None:
        raise ValueError("detection was not measured, so there is no count of what was found")
    return round(rate * findings.detection.n_outliers)


def found_again(d: Detection) -> str:
    """The share of the strongest anomalies that are found again, or that nobody measured it."""
    return share(d.rate) if finite(d.rate) else NOT_MEASURED


def detection_sentence(findings: Findings) -> str:
    """The first sentence of the verdict: are the anomalies still found?"""
    d = findings.detection
    if d.rate is None:
        return (
            "Whether the strongest anomalies are still found was not measured, because the rows "
            "of the release do not correspond to those of the table."
        )
    if not finite(d.rate) or not d.n_outliers:
        return "Whether anomalies are still found in the release was not measured."
    n = found(findings)
    subject = (
        f"{n:,} of the {d.n_outliers:,} strongest anomalies are still found"
        if d.n_outliers > 1
        else f"The strongest anomaly is {'still' if n else 'not'} found"
    )
    return f"{subject} in the release, where a blind choice would find {share(d.chance)} of them."


def attack_sentence(findings: Findings) -> str:
    """The second sentence: what did the strongest attacker get, and what was he given?"""
    attack = findings.strongest()
    opening = {
        RECOVERED: "The table was recovered",
        PARTLY: "The table was partly recovered",
        RESISTED: "The release resisted the attacks listed",
    }.get(findings.verdict)
    if attack is not None and findings.verdict == NOT_MEASURED:
        return NOT_ENOUGH
    if opening is None or (attack is None and findings.verdict == RESISTED):
        return NONE_FINISHED
    enough = {RECOVERED: RECOVERED_GAIN, PARTLY: PARTLY_RECOVERED_GAIN}.get(findings.verdict, 0.0)
    if attack is not None and not attack.gain < enough:
        return f"{opening}: the strongest {_who(attack)}, {_got(attack)}{_worst(attack)}."
    return f"{opening}: {_part(findings)}."


def decisive_sentence(findings: Findings) -> str:
    """Which assumption decided the verdict: the weakest attacker who already gets that far."""
    named = [a for a in findings.attackers if a.name != "key_holder"]
    worst = next((a for a in reversed(named) if a.name == "insider"), None)
    if worst is None or worst.verdict not in (RECOVERED, PARTLY):
        return ""
    first = next(a for a in named if a.verdict == worst.verdict)
    people = {
        "outsider": "anybody who has the file",
        "acquainted": "somebody who has a sample of similar records or recognizes a few of these",
        "insider": "somebody who has the original records from elsewhere or recognizes many",
    }
    others = [a for a in named if a.verdict != worst.verdict]
    weaker = f" For {people[others[-1].name]} it is: {others[-1].verdict}." if others else ""
    return f"What decided: it takes {people[first.name]}.{weaker}"


def limited_sentence(findings: Findings) -> str:
    """What was assumed for this audit alone, beside the verdict it made possible."""
    most = findings.settings.get("most_pairs")
    if not isinstance(most, int):
        return ""
    if most == 0:
        return (
            "This verdict assumes that nobody recognizes a single record in the release; no "
            "attack with recognized records was run."
        )
    return f"This verdict assumes that nobody recognizes more than {most:,} records in the release."


def _who(attack: AttackResult) -> str:
    known = listed(attack.knowledge or "nothing but the release")
    return f"attacker ({name_of(attack.name)}), who was given {known}"


def _part(findings: Findings) -> str:
    """Where the table as a whole held: one column, the outliers, or rows that left unchanged."""
    done = [a for a in order(findings.attacks) if not a.with_key]
    worst = max(done, key=lambda a: a.worst_gain, default=None)
    if findings.verdict == PARTLY and worst is not None and worst.worst_gain >= RECOVERED_GAIN:
        return (
            f"column “{column_name(worst.worst_column)}” fell to an {_who(worst)}, by "
            f"{share(worst.worst_gain)} of what a blind guess leaves"
        )
    few = [a for a in done if a.outliers is not None and a.outliers_baseline is not None]
    keen = max(few, key=lambda a: a.outliers_gain, default=None)
    if findings.verdict == PARTLY and keen is not None and keen.outliers_gain >= RECOVERED_GAIN:
        return (
            f"of the outliers' values an {_who(keen)}, guessed {share(keen.outliers)} to within "
            f"a tenth of their column's range, where a blind guess gets "
            f"{share(keen.outliers_baseline)}"
        )
    if any(n.kind in (Kind.UNCHANGED_ROWS, Kind.UNCHANGED_CELLS) for n in findings.notes):
        return "records of it stand in the release unchanged, and nobody had to know anything"
    return "a part of it fell, and the numbers below say which"


def _readings(attack: AttackResult) -> dict[str, float]:
    """Each reading of success as the share of what a blind guess leaves, as the verdict has it."""

    def over(value: float, blind: float) -> float:
        return float(over_baseline(value, blind)) if finite(value) and finite(blind) else 0.0

    return {
        "range": over(attack.success, attack.baseline),
        "r2": over(attack.r2, attack.r2_baseline),
        "near": over(attack.near, attack.near_baseline),
    }


def _telling(attack: AttackResult) -> str:
    """The reading that shows most, by which the verdict goes."""
    readings = _readings(attack)
    return max(readings, key=lambda name: readings[name])


def _got(attack: AttackResult) -> str:
    """What an attack got, by the reading that shows most."""
    best = _telling(attack)
    if attack.gain > max(0.0, *_readings(attack).values()) + 0.05:
        return f"named the record behind {share(attack.gain)} of the rows, beyond chance"
    if best == "r2":
        blind = share(attack.r2_baseline) if attack.r2_baseline > 0 else "none"
        return (
            f"explained {share(attack.r2)} of the variance of the values, where a blind guess "
            f"explains {blind}"
        )
    if best == "near":
        return (
            f"guessed {share(attack.near)} of the values to within a tenth of their column's "
            f"standard deviation, where a blind guess gets {share(attack.near_baseline)}"
        )
    text = f"guessed {share(attack.success)} of the values to within a tenth of their column's "
    if attack.no_better_than_baseline:
        return text + f"range, no better than a blind guess ({share(attack.baseline)})"
    return text + f"range, where a blind guess gets {share(attack.baseline)}"


def _worst(attack: AttackResult) -> str:
    """A clause for a column that came off much worse than the table."""
    column = next((c for c in attack.columns if c.name == attack.worst_column), None)
    if column is None or not attack.worst_gain > attack.gain + 0.1:
        return ""
    return f"; of column “{column_name(column.name)}” {_of_column(attack, column)}"


def _of_column(attack: AttackResult, column: ColumnResult) -> str:
    """A column by the reading of the whole where that shows it; else it is said which."""
    best = _telling(attack)
    if best == "range" and column.success > attack.success:
        return f"{share(column.success)} (blind: {share(column.baseline)})"
    if best == "r2" and column.r2 > attack.r2:
        return f"{share(column.r2)}"
    return (
        f"{share(attack.worst_gain)} of what a blind guess leaves, by the reading that shows most "
        "of it"
    )


def remark(attack: AttackResult) -> str:
    """What must be said beside an attack's numbers, or nothing."""
    if not attack.no_better_than_baseline:
        return ""
    readings = _readings(attack)
    if max(readings["r2"], readings["near"]) > 0.1:
        return f"by this measure {NO_BETTER}, but by others: see all readings"
    return NO_BETTER


def order(attacks: tuple[AttackResult, ...]) -> list[AttackResult]:
    """The strongest first, those with the key last; failed ones left out."""
    done = [a for a in attacks if a.failed is None]
    return sorted(done, key=lambda a: (a.with_key, -a.gain if finite(a.gain) else 0.0))


def linkage_sentence(linkage: Linkage) -> str:
    """What a public table gives away."""
    expected = (
        f" (over all draws of the noise {number(linkage.expected)})"
        if linkage.expected is not None and finite(linkage.expected)
        else ""
    )
    return (
        f"A snoop with a public table of {linkage.n_public:,} records that holds the released ones "
        f"picks the right record for {share(linkage.linked)} of them. On average "
        f"{number(linkage.average)} public records fit a released one at least as well as the true "
        f"one{expected}; for the worst 1 % it is {number(linkage.worst_1pct)}. A level of 1 means "
        "that the true record fits best of all." + _quantiles(linkage)
    )


def _quantiles(linkage: Linkage) -> str:
    further = [
        f"{number(level)} for the worst {share(q)}"
        for q, level in linkage.levels
        if not math.isclose(q, 0.01)  # that one has been said
    ]
    return f" Further: {', '.join(further)}." if further else ""
