"""Risks with intervals and limits: singling out, linkability, inference."""

from __future__ import annotations

from dataclasses import dataclass

from isinglass.auditing.findings import Findings, Linkage, holds
from isinglass.auditing.scoring import wilson

#: The mean probability of re-identification that many regulators accept at most.
ACCEPTED_REIDENTIFICATION = 0.09


@dataclass(frozen=True, slots=True)
class Risk:
    """One risk for one attacker: a share of one with its limits, or None if not measured."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


def singling_out(findings: Findings, attacker: str) -> Risk:
    """Share of records that somebody can isolate in the release."""
    value = findings.risks(attacker).singling_out
    if value is None:
        return Risk("singling out", None)
    low, high = wilson(value, max(_counted(findings, attacker), 1))
    return Risk("singling out", value, low, high)


def linkability(findings: Findings, attacker: str) -> Risk:
    """Mean probability that a released row is linked to its record in another table.

    Or the share of records that two tables with half of the columns each link through the release.
    """
    links, value = findings.links_of(attacker), findings.risks(attacker).linkability
    if value is None:
        return Risk("linkability", None)
    if not any(link.reidentification == value for link in links):
        return Risk("linkability", value, *wilson(value, max(findings.n_attacked, 1)))
    worst = max(links, key=lambda link: link.reidentification)
    half = worst.reidentification_high - worst.reidentification
    low = max(0.0, worst.reidentification - half)
    return Risk("linkability", worst.reidentification, low, worst.reidentification_high)


def inference(findings: Findings, attacker: str) -> Risk:
    """How far from a blind guess to the exact values the best attack gets in the worst column."""
    done = [a for a in findings.attacks if a.failed is None and holds(attacker, a.attacker)]
    if not done:
        return Risk("inference", None)
    best = max(done, key=lambda a: max(a.gain, a.worst_gain))
    value = min(1.0, max(best.gain, best.worst_gain))
    low, high = wilson(value, max(best.n_records, 1))
    return Risk("inference", value, low, max(high, *(a.gain_high for a in done)))


def membership(findings: Findings, attacker: str) -> Risk:
    """Area under the curve of telling records that are in the table from others; .5 is chance."""
    told = [m for m in findings.membership if holds(attacker, m.attacker)]
    if not told:
        return Risk("membership", None)
    best = max(told, key=lambda m: m.area)
    return Risk("membership", best.area, best.low, best.high)


def all_risks(findings: Findings, attacker: str) -> tuple[Risk, ...]:
    """Singling out, linkability, inference and membership, in this order."""
    return tuple(
        of(findings, attacker) for of in (singling_out, linkability, inference, membership)
    )


def reidentification(findings: Findings, attacker: str) -> Linkage | None:
    """The levels behind the highest mean probability of picking the right record."""
    return max(findings.links_of(attacker), key=lambda k: k.reidentification, default=None)


def _counted(findings: Findings, attacker: str) -> int:
    """Records on which the share singled out was counted."""
    counts = [link.n_records for link in findings.links_of(attacker) if link.n_records]
    return min(counts, default=findings.rows)
