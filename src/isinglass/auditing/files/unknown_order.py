"""Findings on a file in whose order nobody can tell records: attacks by pairs count as not run."""

from __future__ import annotations

from dataclasses import replace

from isinglass.attack.registry import ATTACKS, NEED_ROWS
from isinglass.auditing.attackers import attacker_for
from isinglass.auditing.findings import SOME, Findings, SkippedAttack
from isinglass.auditing.policy import Policy

_WHY = "it needs to know which released row is whose record, and nobody can tell"


def without_pairs(found: Findings, policy: Policy | None) -> Findings:
    """The same findings, in which attacks that were given pairs and got nothing are no comfort.

    They were run on rows as they stand, in case these are the table's after all. Where one of
    them got something they are.
    """
    with_rows = [a for a in found.attacks if a.name in NEED_ROWS and a.failed is None]
    if any(a.gain >= SOME for a in with_rows):
        return found
    listed = {s.name for s in found.skipped}
    names = [n for n in dict.fromkeys(a.name for a in with_rows) if n not in listed]
    missing = tuple(
        SkippedAttack(n, _WHY, applicable=True, attacker=attacker_for(ATTACKS[n])) for n in names
    )
    found = replace(found, skipped=(*found.skipped, *missing))
    return found if policy is None else replace(found, policy=policy.check(found))
