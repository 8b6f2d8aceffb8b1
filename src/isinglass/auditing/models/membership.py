"""Membership test for models: training records against records never seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.members.model_ratio import loss_score, shadow_scores
from isinglass.auditing.attackers import ACQUAINTED, OUTSIDER
from isinglass.auditing.findings import MembershipResult
from isinglass.auditing.membership import area_under_curve
from isinglass.auditing.models.shadows import Shadows
from isinglass.auditing.scoring import wilson

Array = NDArray[Any]
Flags = NDArray[np.bool_]

LOSS_THRESHOLD = "loss_threshold"
KNOWLEDGE = {
    OUTSIDER: "the model, and the record in question",
    ACQUAINTED: "the model, the record in question, and similar records to train models on",
}
#: Standard errors of an interval: several ways of telling are tried, and the best is shown.
_ERRORS = 2.6
#: The share of records, farthest from all others, that is looked at apart.
_FAR = 0.1
_NEIGHBORS = 5
_MOST_NEIGHBORHOOD = 4_000
#: A difference of kinds that moves the area by no more than this is let pass.
_SMALL_SHIFT = 0.02
#: Fewer records than this on either side have no area worth showing.
FEWEST = 10


@dataclass(frozen=True, slots=True)
class Trial:
    """One attack on one model: a score for each record, and which of them were members."""

    scores: Array = field(repr=False)
    is_member: Flags = field(repr=False)


def own_trials(
    errors: Array, is_member: Flags, shadows: Shadows | None
) -> dict[str, tuple[Trial, ...]]:
    """Attacks on the model itself: one trial by each way of telling."""
    found = {LOSS_THRESHOLD: loss_score(errors)}
    if shadows is not None:
        found |= shadow_scores(errors, shadows.errors, shadows.trained_on)
    return {name: (Trial(scores, is_member),) for name, scores in found.items()}


def alike_trials(shadows: Shadows) -> dict[str, tuple[Trial, ...]]:
    """Attacks on models made alike: each shadow model in turn is attacked with the others.

    Its twin, trained on just the records that it was not, is left out: it would tell too much.
    """
    found: dict[str, list[Trial]] = {}
    for target, rest in _turns(len(shadows.errors)):
        errors, members = shadows.errors[target], shadows.trained_on[target]
        scores = {LOSS_THRESHOLD: loss_score(errors)}
        scores |= shadow_scores(errors, shadows.errors[rest], shadows.trained_on[rest])
        for name, values in scores.items():
            found.setdefault(name, []).append(Trial(values, members))
    return {name: tuple(trials) for name, trials in found.items()}


def _turns(n_models: int) -> Iterator[tuple[int, list[int]]]:
    for target in range(n_models):
        yield target, [i for i in range(n_models) if i // 2 != target // 2]


def membership_results(
    trials: dict[str, tuple[Trial, ...]], far: Flags
) -> tuple[MembershipResult, ...]:
    """A result for each way of telling, the outliers `far` apart."""
    return tuple(_result(name, done, far) for name, done in trials.items())


def _result(name: str, trials: Sequence[Trial], far: Flags) -> MembershipResult:
    area, error = _mean_area(trials)
    outliers = [Trial(t.scores[far], t.is_member[far]) for t in trials]
    enough = all(min(t.is_member.sum(), (~t.is_member).sum()) >= FEWEST for t in outliers)
    far_area, far_error = _mean_area(outliers) if enough else (None, 0.0)
    # Records stand in several trials, and count once for the intervals.
    n_members = round(float(np.mean([t.is_member.sum() for t in trials])))
    n_others = len(trials[0].scores) - n_members
    members = np.concatenate([t.scores[t.is_member] for t in trials])
    others = np.concatenate([t.scores[~t.is_member] for t in trials])
    at_1pct = recognized(members, others, 0.01, n_members, n_others)
    at_01pct = recognized(members, others, 0.001, n_members, n_others)
    attacker = OUTSIDER if name == LOSS_THRESHOLD else ACQUAINTED
    return MembershipResult(
        name=name,
        knowledge=KNOWLEDGE[attacker],
        attacker=attacker,
        area=area,
        low=max(0.0, area - _ERRORS * error),
        high=min(1.0, area + _ERRORS * error),
        outliers_area=far_area,
        outliers_range=None if far_area is None else _around(far_area, far_error),
        recognized_1pct=None if at_1pct is None else at_1pct[0],
        recognized_1pct_range=None if at_1pct is None else at_1pct[1:],
        recognized_01pct=None if at_01pct is None else at_01pct[0],
        recognized_01pct_range=None if at_01pct is None else at_01pct[1:],
        n_members=n_members,
        n_others=n_others,
    )


def _mean_area(trials: Sequence[Trial]) -> tuple[float, float]:
    """The mean over trials; its error is that of one, for the records are the same in all."""
    found = [area_under_curve(t.scores[t.is_member], t.scores[~t.is_member]) for t in trials]
    areas, errors = zip(*found, strict=True)
    return float(np.mean(areas)), float(np.mean(errors))


def _around(area: float, error: float) -> tuple[float, float]:
    return max(0.0, area - _ERRORS * error), min(1.0, area + _ERRORS * error)


def recognized(
    members: Array, others: Array, rate: float, n_members: int, n_others: int
) -> tuple[float, float, float] | None:
    """Share of members above all but `rate` of the others, with its interval; None for too few.

    The threshold is itself uncertain: of `n_others` records, a binomial number lies above the
    true one. The limits take it at either end, and there Wilson's limit of the share.
    """
    from scipy.stats import binom

    if int(rate * len(others)) < 1:
        return None
    ordered = np.sort(others)

    def above(allowed: float) -> float:
        place = len(ordered) - 1 - int(allowed * len(ordered) + 1e-9)
        return float((members > ordered[max(place, 0)]).mean())

    few, many = (float(q) / n_others for q in binom.ppf((0.025, 0.975), n_others, rate))
    value = above(rate)
    low, _ = wilson(min(above(few), value), n_members)
    _, high = wilson(max(above(many), value), n_members)
    return value, low, high


def far_records(shown: Array, rng: np.random.Generator) -> Flags:
    """The records farthest from their neighbors, told without any model."""
    from sklearn.neighbors import NearestNeighbors

    some = shown[rng.permutation(len(shown))[:_MOST_NEIGHBORHOOD]]
    k = min(_NEIGHBORS + 1, len(some))  # a record may be its own nearest neighbor
    distances = NearestNeighbors(n_neighbors=k).fit(some).kneighbors(shown)[0][:, -1]
    far = np.zeros(len(shown), dtype=bool)
    far[np.argsort(-distances, kind="stable")[: max(1, round(_FAR * len(shown)))]] = True
    return far


def are_alike(control: Shadows, shadows: Shadows, of_table: Flags) -> bool:
    """Whether records of the table are like the others for models that saw neither.

    The models of `control` were trained on half of the table each. If they tell its other half
    from the others, by whatever way, the two are not alike, and so would any model trained on the
    table: that shows what kind of records it was trained on, not which.
    """
    found: dict[str, list[Trial]] = {}
    for errors, trained_on in zip(control.errors, control.trained_on, strict=True):
        unseen = ~trained_on
        for name, (trial,) in own_trials(errors, of_table, shadows).items():
            part = Trial(trial.scores[unseen], trial.is_member[unseen])
            found.setdefault(name, []).append(part)
    areas = [_mean_area(trials) for trials in found.values()]
    return all(abs(a - 0.5) <= max(_ERRORS * error, _SMALL_SHIFT) for a, error in areas)
