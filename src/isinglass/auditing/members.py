"""Membership: records of the release against records held out, by area under the curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import KnownPairs
from isinglass.attack.membership import membership_scores
from isinglass.auditing.attackers import ACQUAINTED, OUTSIDER, few_pairs
from isinglass.auditing.result import MembershipResult
from isinglass.auditing.scene import Scene
from isinglass.errors import IsinglassError

Array = NDArray[Any]

#: Records on either side; the area is then known to about two hundredths.
_COMPARED = 1_000
#: Standard errors of an interval: several ways of telling are tried, and the best is shown.
_ERRORS = 2.6
#: The share of records, farthest from all others, that is looked at apart.
_FAR = 0.1
_FEWEST_FAR = 10


def membership(
    scene: Scene, held_out: Array, rng: np.random.Generator
) -> tuple[MembershipResult, ...]:
    """How well members are told from records that were never released, in several ways."""
    members = rng.permutation(len(scene.table))[:_COMPARED]
    known = np.zeros(len(scene.table), dtype=bool)
    n_pairs = min(few_pairs(scene.table.shape[1]), scene.cast.most_pairs)
    known[scene.cast.attacked[:n_pairs]] = True
    members = members[~known[members]]
    others = held_out[rng.permutation(len(held_out))[:_COMPARED]]
    if len(members) < 10 or len(others) < 10:
        return ()
    records = np.vstack([scene.table[members], others]).astype(np.float64)
    is_member = np.arange(len(records)) < len(members)
    public = scene.common(whole=True, others=False) | scene.statistics
    ways: list[tuple[str, str, dict[str, Array]]] = []
    released = np.asarray(scene.released, dtype=np.float64)
    for attacker, facts, linked in (
        (OUTSIDER, public, False),
        (ACQUAINTED, public | _pairs(scene, n_pairs), True),
    ):
        if linked and not (n_pairs and scene.rows_correspond is not False):
            continue
        try:
            scores = membership_scores(released, records, facts, near=not linked, linked=linked)
        except (IsinglassError, ArithmeticError, ValueError):
            continue
        ways.append((attacker, facts.describe(), scores))
    far = _far(records)
    return tuple(
        _result(name, attacker, knowledge, scores, is_member, far)
        for attacker, knowledge, found in ways
        for name, scores in found.items()
    )


def _pairs(scene: Scene, n: int) -> KnownPairs:
    return scene.cast.pairs(scene.table, n, whole=True)


def _result(
    name: str,
    attacker: str,
    knowledge: str,
    scores: Array,
    is_member: NDArray[np.bool_],
    far: NDArray[np.bool_],
) -> MembershipResult:
    area, error = area_under_curve(scores[is_member], scores[~is_member])
    others = np.sort(scores[~is_member])
    apart = None
    if min(int((far & is_member).sum()), int((far & ~is_member).sum())) >= _FEWEST_FAR:
        apart, _ = area_under_curve(scores[far & is_member], scores[far & ~is_member])
    return MembershipResult(
        name=name,
        knowledge=f"{knowledge}, and the record in question",
        attacker=attacker,
        area=area,
        low=max(0.0, area - _ERRORS * error),
        high=min(1.0, area + _ERRORS * error),
        outliers_area=apart,
        recognized_1pct=_recognized(scores[is_member], others, 0.01),
        recognized_01pct=_recognized(scores[is_member], others, 0.001),
        n_members=int(is_member.sum()),
        n_others=int((~is_member).sum()),
    )


def _far(records: Array) -> NDArray[np.bool_]:
    """The tenth of the records that lies farthest out, in deviations from the median."""
    spread = records.std(axis=0)
    away = np.abs(records - np.median(records, axis=0)) / np.where(spread > 0, spread, 1.0)
    distance = np.square(away).sum(axis=1)
    return np.asarray(distance > np.quantile(distance, 1 - _FAR))


def area_under_curve(members: Array, others: Array) -> tuple[float, float]:
    """The chance that a member scores higher than another, ties half, and its standard error.

    The error is DeLong's, from how often each one wins against all of the other side.
    """
    m, o = np.sort(members), np.sort(others)
    wins = (np.searchsorted(o, members, "left") + np.searchsorted(o, members, "right")) / 2
    lost = (np.searchsorted(m, others, "left") + np.searchsorted(m, others, "right")) / 2
    shares = wins / len(o), 1 - lost / len(m)
    variance = sum(float(s.var(ddof=1)) / len(s) for s in shares if len(s) > 1)
    # No win at all, or only wins, would have no error.
    least = 0.25 / min(len(m), len(o)) ** 2
    return float(shares[0].mean()), float(np.sqrt(variance + least))


def _recognized(members: Array, others: Array, rate: float) -> float | None:
    """Share of members above all but `rate` of the others; None where these are too few."""
    allowed = int(rate * len(others))
    if allowed < 1:
        return None
    return float((members > others[len(others) - 1 - allowed]).mean())
