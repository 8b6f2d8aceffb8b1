"""Lines of a policy: every demand, and how the findings of an audit meet it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isinglass.auditing.attackers import ACQUAINTED, INSIDER, OUTSIDER, few_pairs
from isinglass.auditing.findings import (
    MODEL,
    AttackResult,
    Findings,
    Linkage,
    PolicyLine,
    SkippedAttack,
    holds,
)
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.split import pair_levels

if TYPE_CHECKING:
    from isinglass.auditing.policy import Policy


def policy_lines(policy: Policy, findings: Findings) -> Iterator[PolicyLine]:
    """Every demand that the policy makes, in the order of the report."""
    if policy.minimum_detection is not None:
        found = findings.detection
        told, met = "not measured", False
        if found.low is not None and found.rate is not None and math.isfinite(found.low):
            low = _beside(found.low, policy.minimum_detection)
            told = f"{low} at the lower limit ({found.rate:.3f} measured)"
            met = found.low >= policy.minimum_detection
            if found.chance >= policy.minimum_detection:  # so many are asked for that any do
                told, met = f"a blind choice finds {found.chance:.3f}: ask for fewer", False
        yield PolicyLine(f"detection at least {policy.minimum_detection:g}", told, met)
    if policy.minimum_auc is not None:
        found, told, met = findings.detection, "not measured: no known anomalies were named", False
        if found.auc_low is not None and found.auc_release is not None:
            low = _beside(found.auc_low, policy.minimum_auc)
            told = f"{low} at the lower limit ({found.auc_release:.3f} measured)"
            met = found.auc_low >= policy.minimum_auc
        wanted = f"area under the curve of known anomalies at least {policy.minimum_auc:g}"
        yield PolicyLine(wanted, told, met)
    yield from _knowledge_lines(policy, findings)
    yield from _attack_lines(policy, findings)
    yield from _part_lines(policy, findings)
    yield from _attacker_lines(policy, findings)
    yield from _risk_lines(policy, findings)
    if policy.minimum_level is not None:
        yield _linkage_line(policy, findings.linkage)
    if policy.allowed is not None:
        yield PolicyLine(
            f"promise among {', '.join(policy.allowed)}",
            findings.promise,
            findings.promise in policy.allowed,
        )


def _knowledge_lines(policy: Policy, findings: Findings) -> Iterator[PolicyLine]:
    """Whether attackers were given as many known pairs as it is said that they have."""
    given = [n.values["n"] for n in findings.notes if n.kind is Kind.PAIRS_LIMITED]
    asked = {*policy.attackers, *([policy.risk_attacker] if policy.limits_risks else ())}
    if policy.maximum_gain is not None or policy.maximum or policy.minimum_level is not None:
        asked.add(policy.attacker)
    most = max(pair_levels(findings.rows, findings.columns), default=0)
    few = min(few_pairs(findings.columns), most)
    for name, wanted in ((ACQUAINTED, few), (INSIDER, most)):
        if name in asked and given and min(given) < wanted:
            yield PolicyLine(
                f"{_article(name)} has the known pairs that are assumed",
                f"{min(given):,} instead of {wanted:,}",
                met=False,
            )


def _attack_lines(policy: Policy, findings: Findings) -> Iterator[PolicyLine]:
    named = {*policy.maximum, *(policy.required or ())}
    counted = [a for a in findings.attacks if _counts(policy, a.attacker) or a.name in named]
    planned = [
        *(a.name for a in counted),
        *(s.name for s in findings.skipped if s.applicable and _counts(policy, s.attacker)),
    ]
    if policy.required is not None:
        planned = list(policy.required)
    planned = list(dict.fromkeys([*planned, *policy.maximum]))
    # Of a model only membership is measured; a demand on attacks is then one that is not met.
    if not planned and (findings.kind != MODEL or policy.maximum_gain is not None):
        yield PolicyLine("at least one attack", "no attack was run", met=False)
    for name in planned:
        entries = [a for a in counted if a.name == name]
        if lacking := _not_run(name, entries, findings):
            told, why = lacking
            yield PolicyLine(f"{name} is run", told, met=False, why=why)
        elif policy.required is not None and name in policy.required:
            yield PolicyLine(f"{name} is run", "it was run", met=True)
    for name in dict.fromkeys(a.name for a in counted):
        limit = policy.maximum.get(name, policy.maximum_gain)
        done = [a for a in counted if a.name == name and a.failed is None]
        if limit is None or not done:
            continue
        # Not the largest alone: beside a number that is none, `max` may pick the other.
        worst = next((a for a in done if not math.isfinite(gain_of(a))), max(done, key=gain_of))
        yield PolicyLine(
            f"{name} gains at most {limit:g} over its baseline",
            f"{_beside(gain_of(worst), limit)} at the upper limit, knowing {worst.knowledge}",
            gain_of(worst) <= limit,
        )


def _counts(policy: Policy, attacker: str) -> bool:
    """Whether the demands on attacks are about somebody who holds this much."""
    return holds(policy.attacker, attacker)


def _attacker_lines(policy: Policy, findings: Findings) -> Iterator[PolicyLine]:
    """The most that a named attacker may get, by whatever attack.

    Links, members and copies count here too, so that a verdict and the gate never disagree.
    """
    limits = dict(policy.attackers)
    if policy.maximum_gain is not None and any(
        a.name == policy.attacker for a in findings.attackers
    ):
        limits.setdefault(policy.attacker, policy.maximum_gain)
    for name, limit in limits.items():
        found = next((a for a in findings.attackers if a.name == name), None)
        demand = f"{_article(name)} gains at most {limit:g} over a blind guess"
        missing = next((s for s in findings.skipped if _lacks(s, name)), None)
        if found is None or missing is not None:
            why = "not measured" if missing is None else f"{missing.name} was not run"
            yield PolicyLine(demand, why, met=False)
        else:
            high = found.high
            if name not in policy.attackers:
                high = _high_apart(policy, findings, high)
            told = f"{_beside(high, limit)} at the upper limit"
            if name == OUTSIDER and (shape := _shape_of_records(findings)) > max(high, limit):
                told = f"{_beside(shape, limit)} for one who knows what such records look like"
                high = shape
            told += "; too few rows to tell members from others" if found.unclear else ""
            yield PolicyLine(demand, told, high <= limit)


def _high_apart(policy: Policy, findings: Findings, high: float) -> float:
    """What the attacker got without the attacks that have a looser limit of their own.

    Such a limit is about that attack alone: links, members and copies stay under the other.
    """
    assert policy.maximum_gain is not None
    apart = {name for name, limit in policy.maximum.items() if limit > policy.maximum_gain}
    done = [a for a in findings.attacks if a.failed is None and _counts(policy, a.attacker)]
    if not apart & {a.name for a in done}:
        return high
    members = [m for m in findings.membership if _counts(policy, m.attacker)]
    links = findings.links_of(policy.attacker)
    others = [a.gain_high for a in done if a.name not in apart]
    shown = [*(link.gain for link in links), *(m.gain_high for m in members)]
    return max([findings.verbatim, *others, *shown])


def _risk_lines(policy: Policy, findings: Findings) -> Iterator[PolicyLine]:
    """Risks in the words of data protection, each at the limit that speaks against it."""
    who = _article(policy.risk_attacker)
    chances = [link.reidentification_high for link in findings.links_of(policy.risk_attacker)]
    told = [m for m in findings.membership if holds(policy.risk_attacker, m.attacker)]
    widest = max(told, key=lambda m: m.high, default=None)
    risks = findings.risks(policy.risk_attacker)
    for limit, demand, value in (
        (
            policy.maximum_reidentification,
            f"{who} picks the right record with a probability of at most",
            max(chances, default=None),
        ),
        (
            policy.maximum_singling_out,
            f"{who} singles out a share of at most",
            risks.singling_out,
        ),
        (policy.maximum_inference, f"{who} gains of any column at most", risks.inference),
        (
            policy.maximum_membership,
            f"{who} tells members from others with an area under the curve of at most",
            None if widest is None else widest.high,
        ),
    ):
        if limit is not None:
            said = "not measured" if value is None else _beside(value, limit)
            if limit is policy.maximum_membership and widest is not None and widest.unclear:
                said += " at the upper limit; too few rows to tell"
            yield PolicyLine(f"{demand} {limit:g}", said, value is not None and value <= limit)


def _part_lines(policy: Policy, findings: Findings) -> Iterator[PolicyLine]:
    """What may be lost in a mean over columns and records."""
    done = [a for a in findings.attacks if a.failed is None and _counts(policy, a.attacker)]
    for limit, what, gains in (
        (policy.maximum_column_gain, "a single column", [(a.worst_gain, a.name) for a in done]),
        (policy.maximum_outlier_gain, "the outliers", [(a.outliers_gain, a.name) for a in done]),
    ):
        if limit is not None:
            gain, name = max(gains, default=(math.inf, "no attack, since none was run"))
            yield PolicyLine(
                f"no attack gains more than {limit:g} of {what}",
                f"{_beside(gain, limit)}, by {name}",
                gain <= limit,
            )
    if findings.kind == MODEL:
        for limit, what in (
            (policy.maximum_verbatim, "unchanged"),
            (policy.maximum_unique, "unique"),
        ):
            if limit is not None:
                yield PolicyLine(
                    f"at most {limit:g} of the rows are {what}", "not measured", met=False
                )
        return
    if policy.maximum_verbatim is not None:
        yield PolicyLine(
            f"at most {policy.maximum_verbatim:g} of the released rows are records unchanged",
            _beside(findings.verbatim, policy.maximum_verbatim),
            findings.verbatim <= policy.maximum_verbatim,
        )
    if policy.maximum_unique is not None:
        unique = findings.unique or 0.0  # without kept columns nobody is alone in them
        yield PolicyLine(
            f"at most {policy.maximum_unique:g} of the rows are unique in the kept columns",
            _beside(unique, policy.maximum_unique),
            unique <= policy.maximum_unique,
        )


def _linkage_line(policy: Policy, linkage: Linkage | None) -> PolicyLine:
    demand = (
        f"randomization level at least {policy.minimum_level:g} for all but "
        f"{100 * policy.quantile:g} % of the records"
    )
    level = None if linkage is None else _level_at(linkage, policy.quantile)
    if level is None:
        return PolicyLine(demand, "not measured", met=False)
    assert policy.minimum_level is not None
    return PolicyLine(demand, f"{level:g}", level >= policy.minimum_level)


def gain_of(attack: AttackResult) -> float:
    """What an attack may have got over its baseline: the upper limit, counted against the release.

    A share of what the baseline leaves, in the worst of the three readings. Success less
    baseline would not do: where a few records far out set a column's range, the best constant is
    within 10 % of it nearly always, and the difference stays small even for the table itself.
    """
    limits = (attack.high - attack.baseline, attack.gain, attack.gain_high)
    return math.nan if any(map(math.isnan, limits)) else max(limits)


def _not_run(
    name: str, entries: list[AttackResult], findings: Findings
) -> tuple[str, AuditNote | None] | None:
    """Why an attack that should have been run counts as not run; None where it does not."""
    failed = next((a.failed for a in entries if a.failed is not None), None)
    if failed is not None:
        return "it failed", failed
    # Beside attackers that finished, one to whom the attack does not apply is none too few.
    skips = [s for s in findings.skipped if s.name == name and (s.applicable or not entries)]
    if skips:
        return "it was skipped", skips[0].reason
    return None if entries else ("it is missing", None)


def _beside(value: float, limit: float) -> str:
    """A measurement with so many digits that it is seen on its side of a limit."""
    for digits in range(3, 9):
        shown = float(f"{value:.{digits}f}")
        if (shown < limit, shown > limit) == (value < limit, value > limit):
            break
    return f"{value:.{digits}f}"


def _article(attacker: str) -> str:
    """An attacker as the subject of a sentence."""
    others = {"acquainted": "somebody acquainted", "key_holder": "a key holder"}
    return others.get(attacker, f"an {attacker}")


def _shape_of_records(findings: Findings) -> float:
    """The most that is gained by attacks with a sample and without a recognized record.

    Where records have a structure (curves, templates, codewords), an outsider may know it without
    having any record, or find it in the release by means that no list of attacks has. A sample
    shows the same structure.
    """
    return max(
        (
            a.gain_high
            for a in findings.attacks
            if a.failed is None and a.attacker == ACQUAINTED and a.n_pairs is None
        ),
        default=0.0,
    )


def _lacks(skipped: SkippedAttack, attacker: str) -> bool:
    """Whether an attack that this attacker could have run was not."""
    return skipped.applicable and holds(attacker, skipped.attacker)


def _level_at(linkage: Linkage, quantile: float) -> float | None:
    if math.isclose(quantile, 0.01):
        return linkage.worst_1pct
    found = (level for q, level in linkage.levels if math.isclose(q, quantile))
    return next(found, None)
