"""Results per attacker and verdict on a model."""

from __future__ import annotations

from collections.abc import Sequence

from isinglass.auditing.attackers import ACQUAINTED, INSIDER, OUTSIDER
from isinglass.auditing.findings import (
    NOT_MEASURED,
    PARTLY,
    PARTLY_RECOVERED_GAIN,
    RECOVERED,
    RECOVERED_GAIN,
    RESISTED,
    AttackerResult,
    MembershipResult,
    SkippedAttack,
    holds,
)

ASSUMES = {
    OUTSIDER: "the model, and the record in question",
    ACQUAINTED: "what an outsider has, and similar records to train models of the same shape on",
    INSIDER: "what the acquainted has; nothing more was tried",
}


def model_attackers(
    results: Sequence[MembershipResult], skipped: Sequence[SkippedAttack]
) -> tuple[AttackerResult, ...]:
    """What each attacker got, by the best of all ways that need no more than is held."""
    return tuple(_result(name, results, skipped) for name in ASSUMES)


def _result(
    name: str, results: Sequence[MembershipResult], skipped: Sequence[SkippedAttack]
) -> AttackerResult:
    lacking = any(s.applicable and holds(name, s.attacker) for s in skipped)
    told = [m for m in results if holds(name, m.attacker)]
    best = max(told, key=lambda m: (m.gain, m.area), default=None)
    high = max((2 * m.high - 1 for m in told), default=1.0)
    return AttackerResult(
        name=name,
        assumes=ASSUMES[name],
        verdict=_verdict(told, lacking),
        gain=0.0 if best is None else best.gain,
        low=0.0 if best is None else max(0.0, 2 * best.low - 1),
        high=min(1.0, max(0.0, high)),
        membership=max((m.area for m in told), default=None),
        strongest=None if best is None else best.name,
        knowledge=None if best is None else best.knowledge,
    )


def _verdict(told: Sequence[MembershipResult], lacking: bool) -> str:
    """The best way decides; outliers, and records recognized beyond doubt, count apart."""
    gain = max((m.gain for m in told), default=0.0)
    if gain >= RECOVERED_GAIN:
        return RECOVERED
    apart = [
        2 * m.outliers_area - 1
        for m in told
        if m.outliers_area is not None and m.outliers_range and m.outliers_range[0] > 0.5
    ]
    sure = [m.recognized_1pct_range[0] for m in told if m.recognized_1pct_range]
    if (
        gain >= PARTLY_RECOVERED_GAIN
        or max(apart, default=0.0) >= RECOVERED_GAIN
        or max(sure, default=0.0) >= PARTLY_RECOVERED_GAIN
    ):
        return PARTLY
    # Too few records to see even a strong attack succeed are no comfort.
    unclear = max((2 * m.high - 1 for m in told), default=1.0) >= RECOVERED_GAIN
    return NOT_MEASURED if lacking or unclear else RESISTED
