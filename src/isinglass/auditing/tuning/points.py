"""Points of a frontier, their order, and the advice drawn from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isinglass.auditing.attackers import ACQUAINTED, INSIDER, OUTSIDER
from isinglass.auditing.report.text import share
from isinglass.auditing.scoring import over_trials
from isinglass.auditing.tuning.evaluation import NAMED, AttackerGain, Measurement
from isinglass.auditing.tuning.search_space import Candidate
from isinglass.formats import share_beside
from isinglass.measure.area import area_limits

WHOSE = {
    OUTSIDER: "of an outsider",
    ACQUAINTED: "of somebody acquainted",
    INSIDER: "of an insider",
}


@dataclass(frozen=True, slots=True)
class Point:
    """One setting as measured: what is still found, and what the strongest attacker gets."""

    method: str
    setting: str
    value: float | None
    detection: float
    detection_low: float
    detection_high: float
    gain: float
    gain_low: float
    gain_high: float
    strongest: str  # the attack behind `gain`
    rows: int
    trials: int
    round: int  # how far it came; settings of different rounds saw different numbers of rows
    on_frontier: bool = False
    recommended: bool = False
    #: What each named attacker got; empty for settings that were left before the last round.
    attackers: tuple[AttackerGain, ...] = ()
    #: Area under the curve of the known anomalies, in the table and in the release.
    auc_table: float | None = None
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.method, self.value)

    def dominates(self, other: Point) -> bool:
        """At least as good in every respect, and better in one."""
        mine, theirs = self._respects(), other._respects()
        return mine != theirs and all(a >= b for a, b in zip(mine, theirs, strict=True))

    def _respects(self) -> tuple[float, float, float]:
        """What more of is better."""
        return self.detection, -self.gain, 0.0 if self.auc is None else self.auc

    def gain_of(self, attacker: str) -> AttackerGain | None:
        """What a named attacker got, where it was measured."""
        return next((a for a in self.attackers if a.name == attacker), None)


def point_of(candidate: Candidate, found: list[Measurement], n_rows: int, number: int) -> Point:
    """One setting, from all its draws."""
    rates = [m.detection for m in found]
    low, high = over_trials([float(np.mean(rates)), *rates], found[0].n_outliers)
    worst = max(found, key=lambda m: m.gain)
    auc_table, auc, auc_low, auc_high = _areas(found)
    return Point(
        method=candidate.method,
        setting=candidate.setting,
        value=candidate.value,
        detection=float(np.mean(rates)),
        detection_low=low,
        detection_high=high,
        # A setting is as good as its worst draw: the owner gets one, and does not know which.
        gain=worst.gain,
        gain_low=min(m.gain_low for m in found),
        gain_high=max(m.gain_high for m in found),
        strongest=worst.strongest,
        rows=n_rows,
        trials=len(found),
        round=number,
        attackers=_attackers(found),
        auc_table=auc_table,
        auc=auc,
        auc_low=auc_low,
        auc_high=auc_high,
    )


def _attackers(found: list[Measurement]) -> tuple[AttackerGain, ...]:
    """What each named attacker got under the worst key."""
    gains = []
    for name in NAMED:
        of = [a for m in found for a in m.attackers if a.name == name]
        if of:
            worst = max(of, key=lambda a: a.gain)
            low, high = min(a.gain_low for a in of), max(a.gain_high for a in of)
            gains.append(AttackerGain(name, worst.gain, low, high, worst.strongest))
    return tuple(gains)


def _areas(
    found: list[Measurement],
) -> tuple[float | None, float | None, float | None, float | None]:
    """Areas under the curve of table and release, means over the draws, and the latter's limits."""
    both = [
        (m.auc_table, m.auc_release)
        for m in found
        if m.auc_table is not None and m.auc_release is not None
    ]
    if not both:
        return None, None, None, None
    table, release = (float(np.mean(areas)) for areas in zip(*both, strict=True))
    known = max(1, found[0].n_labeled)
    limits = area_limits([r for _, r in both], known, max(1, found[0].n_scored - known))
    return table, release, *limits


def ordered(points: list[Point], short_of: Callable[[Point], float]) -> list[Point]:
    """By the number of settings that are better in every respect, then by what is wanted."""
    beaten = {id(p): sum(q.dominates(p) for q in points) for p in points}
    return sorted(points, key=lambda p: (beaten[id(p)] > 0, short_of(p), beaten[id(p)]))


def sentence(
    best: Point,
    meets: bool,
    *,
    min_detection: float,
    max_gain: float,
    min_auc: float | None,
    attacker: str,
) -> str:
    """The advice."""
    name = f"{best.method} {best.setting}".strip()
    got = ""
    if best.auc is not None and best.auc_table is not None:
        got = (
            f"known anomalies are told from the others with an area of {best.auc:.2f} "
            f"({best.auc_table:.2f} before), "
        )
    got += (
        f"{share_beside(best.detection, min_detection)} of the strongest anomalies are still found "
        f"and the strongest attack {WHOSE[attacker]} ({best.strongest}) takes "
        f"{share_beside(best.gain, max_gain)} of what a blind guess leaves"
    )
    if meets:
        return f"Use {name}: {got}."
    wish = "" if min_auc is None else f", has an area of {min_auc:.2f} under the curve"
    return (
        f"No setting that was tried keeps {share(min_detection)} of the anomalies{wish} and holds "
        f"every attack {WHOSE[attacker]} to {share(max_gain)}; the nearest is {name}: {got}."
    )


def gains(point: Point) -> tuple[str, ...]:
    """What the outsider, the acquainted and the insider got; a dash where it was not measured."""
    got = {a.name: share(a.gain) for a in point.attackers}
    return tuple(got.get(name, "–") for name in NAMED)


class _WithAreas(Protocol):
    """What has areas under the curve: a release's setting, or a guaranteed model."""

    @property
    def auc_table(self) -> float | None: ...
    @property
    def auc(self) -> float | None: ...


def areas(point: _WithAreas) -> str:
    """Areas under the curve of the known anomalies, in the table and in the release."""
    if point.auc is None or point.auc_table is None:
        return "–"
    return f"{point.auc_table:.2f} → {point.auc:.2f}"
