"""Search for a setting by successive halving."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack
from isinglass.attack.registry import ATTACKS
from isinglass.auditing.attackers import INSIDER
from isinglass.auditing.context import numbers
from isinglass.auditing.tuning.checkpoint import Book
from isinglass.auditing.tuning.effort import Effort
from isinglass.auditing.tuning.evaluation import NAMED, Measurement, measure
from isinglass.auditing.tuning.frontier import Frontier
from isinglass.auditing.tuning.guaranteed import ModelPoint, guaranteed_points
from isinglass.auditing.tuning.points import (
    Point,
    ordered,
    point_of,
    sentence,
)
from isinglass.auditing.tuning.search_space import Candidate, candidates, refine
from isinglass.auditing.tuning.workers import Task, Workers
from isinglass.errors import AuditError
from isinglass.progress import Progress, quiet
from isinglass.threads import as_scikit_learn, available

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Round:
    """Rows and keys for every setting of one round, and the share of settings that goes on."""

    rows: int
    draws: int
    goes_on: float = 0.0
    screen: bool = False  # decisive attacks only
    stop: bool = False  # no further attack on a setting that is lost
    #: Under the second key and later ones, only attacks that came close under the first.
    again: bool = False


#: By default a setting is screened by a few attacks, then by all until it is lost, and what is
#: left is attacked in full once and by what came close under two more keys.
USUAL = (
    Round(1_000, 1, 1 / 2, screen=True, stop=True),
    Round(3_000, 1, 1 / 2, stop=True),
    Round(10_000, 3, again=True),
)
#: A first impression: an eighth of the settings goes on, and is attacked in full once, on few rows.
QUICK = (Round(1_000, 1, 1 / 8, screen=True, stop=True), Round(2_000, 1))
#: Every attack in every round.
THOROUGH = (Round(1_000, 1, 1 / 2), Round(3_000, 1, 1 / 2), Round(10_000, 3))
#: Consecutive rows of the table that enter a part of it together: what neighboring rows show in
#: the release they must show in the part.
_RUN = 20
#: A table of fewer rows is searched before further processes have begun.
_WORTH_PROCESSES = 6_000


def tune(
    table: ArrayLike,
    methods: str | Iterable[str] = "all",
    *,
    min_detection: float = 0.8,
    max_attack_gain: float = 0.2,
    attacker: str = INSIDER,
    labels: ArrayLike | None = None,
    min_auc: float | None = None,
    attacks: str | Iterable[str | Attack] = "auto",
    most_pairs: int | None = None,
    n_outliers: int | None = None,
    quick: bool = False,
    thorough: bool = False,
    guaranteed: bool = True,
    n_jobs: int | None = None,
    resume: str | Path | None = None,
    random_state: int | None = None,
    progress: Progress = quiet,
) -> Frontier:
    """Look for the setting that keeps the anomalies and gives the strongest attacker least.

    Every method is tried at several strengths on a part of the table; the better half, and so
    on, goes into a larger round; last, strengths next to the best are filled in. The best
    `alpha` for a study, or slope for a distortion, is `methods="multiparty"`, or `"tanh"`.

    Guarantee: none. It compares settings by the attacks that exist here; the release you then
    make has a key of its own and wants an audit of its own.

    Parameters
    ----------
    table : array, one record a row
    methods : "all", or command-line names of methods
    min_detection : float
        Wanted share of the true strongest outliers that are found again.
    max_attack_gain : float
        Wanted limit on what the attacker takes, as a share of what a blind baseline leaves: 0
        nothing, 1 everything. The worst reading counts.
    attacker : "outsider", "acquainted" or "insider"
        Whose gain counts; every one's is measured for the settings that are shown.
    labels : array, optional
        True or 1 for records known to be anomalies, one for each record; never a feature.
    min_auc : float, optional
        Wanted area under the curve of the known anomalies in the release; needs `labels`.
    attacks, most_pairs, n_outliers
        As in `audit`; `most_pairs=0` assumes that nobody recognizes a record.
    quick : bool
        Take a sixth of the time: fewer settings are attacked in full, on fewer rows, under one key.
    thorough : bool
        Run every attack in every round and under every key: some three times the work.
    guaranteed : bool
        Compare guaranteed models of three prices, too. They are fitted to the whole table, with
        bounds twice as wide as its columns; noise is drawn anew, whatever `random_state`.
    n_jobs : int or None
        Processes, as in scikit-learn: None for one, -1 for as many as there are cores. The
        results do not depend on it. A script that asks for more than one must run under
        `if __name__ == "__main__":`, as with all of Python's processes.
    resume : path, optional
        A file that keeps every measurement; a search that was stopped goes on from there.
    random_state : int, optional
        Of the search's draws; None draws one, or takes the one of the file to resume from.
    progress : callable, optional

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> frontier = ig.tune(X, ["gaussian"], n_outliers=10, random_state=0)  # doctest: +SKIP
    >>> frontier.save('frontier.html')  # doctest: +SKIP
    """
    wishes = {"min_detection": min_detection, "max_attack_gain": max_attack_gain}
    for name, value in (wishes | ({} if min_auc is None else {"min_auc": min_auc})).items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must be >= 0 and <= 1, got {value}")
    if attacker not in NAMED:
        raise ValueError(f"attacker must be among {', '.join(NAMED)}, got {attacker!r}")
    if quick and thorough:
        raise ValueError("quick must be False where thorough is True")
    if min_auc is not None and labels is None:
        raise ValueError("min_auc needs labels, which say what the known anomalies are")
    X = numbers(table, "table")
    marks = None if labels is None else _checked_labels(labels, len(X))
    wanted = attacks if isinstance(attacks, str) else tuple(attacks)
    asked = {
        "most_pairs": most_pairs, "n_outliers": n_outliers, "attacks": str(wanted),
        "attacker": attacker, "thorough": thorough, **({"quick": True} if quick else {}),
    }  # fmt: skip
    # What else a measurement depends on.
    same = {"known": list(ATTACKS), "labels": None if marks is None else _digest(marks)}
    book = Book.open(resume, X, asked | same, random_state)
    planned = THOROUGH if thorough else QUICK if quick else USUAL
    rounds = _rounds(planned, len(X), thorough)
    order = _order(len(X), chance.generator(book.seed))
    parts = {}
    for a_round in rounds:
        rows = np.sort(order[: a_round.rows])
        parts[a_round.rows] = X[rows], None if marks is None else marks[rows]
    settings = {"attacks": wanted, "most_pairs": most_pairs, "n_outliers": n_outliers}
    tried = candidates(methods, X.shape[1])
    total, done = _total(rounds, len(tried)), 0

    def short_of(point: Point) -> float:
        """How far a point is from what is wanted; 0 where it has everything, limits included."""
        short = max(0.0, min_detection - point.detection_low)
        short += max(0.0, point.gain_high - max_attack_gain)
        if min_auc is not None:
            short += max(0.0, min_auc - (point.auc_low or 0.0))
        return short

    def measured(tasks: list[Task]) -> list[Measurement]:
        nonlocal done
        new = [(task, book.seed_of(task)) for task in tasks if book.find(task) is None]
        done += len(tasks) - len(new)
        for task, found in workers.done(new):
            book.keep(task, found)
            done += 1
            progress("trying settings", min(done, total - 1), total)
        return [book.entries[task.name] for task in tasks]

    def look(tried: list[Candidate], number: int) -> list[Point]:
        a_round = rounds[number]
        name = "screen" if a_round.screen else "until lost" if a_round.stop else "all"
        effort = Effort(name, attacker, a_round.screen, a_round.stop)
        first = measured([Task(c, a_round.rows, 0, effort) for c in tried])
        later = [
            Task(
                c, a_round.rows, draw,
                Effort("again", attacker, only=one.contenders) if a_round.again else effort,
            )
            for c, one in zip(tried, first, strict=True)
            for draw in range(1, a_round.draws)
        ]  # fmt: skip
        more, n = measured(later), a_round.draws - 1
        return [
            point_of(c, [one, *more[i * n : (i + 1) * n]], a_round.rows, number + 1)
            for i, (c, one) in enumerate(zip(tried, first, strict=True))
        ]

    jobs = available(as_scikit_learn(n_jobs)) if len(X) >= _WORTH_PROCESSES else 1
    out: list[Point] = []
    with Workers(measure, parts, settings, jobs) as workers:
        for number, a_round in enumerate(rounds):
            points = look(tried, number)
            if number + 1 == len(rounds):
                break
            points = ordered(points, short_of)
            n = max(1, math.ceil(len(points) * a_round.goes_on))
            out += points[n:]
            tried = [p.candidate for p in points[:n]]
        best = min(points, key=lambda p: (short_of(p), p.gain))
        # Strengths between the best one and its neighbors, among all that were ever tried.
        known = [p.candidate for p in (*points, *out)]
        points += look(refine(best.candidate, known), len(rounds) - 1)
    models: tuple[ModelPoint, ...] = ()
    if guaranteed:
        progress("trying guaranteed models", 0, 1)
        some = np.sort(order[: rounds[-1].rows])
        models = guaranteed_points(np.asarray(X, dtype=np.float64), some, marks, n_outliers)
        progress("trying guaranteed models", 1, 1)
    progress("trying settings", total, total)
    # What has all wishes is taken, of several one that no other beats, and then the quietest; if
    # none has all, the nearest of those that no other beats.
    unbeaten = [p for p in points if not any(q.dominates(p) for q in points)]
    having = [p for p in points if short_of(p) == 0]
    best = min(having or unbeaten, key=lambda p: (short_of(p), p not in unbeaten, p.gain))
    meets = short_of(best) == 0
    marked = [
        replace(p, on_frontier=p in unbeaten, recommended=meets and p == best) for p in points
    ]
    ranked = sorted(marked, key=lambda p: (not p.on_frontier, p.gain)) + out
    return Frontier(
        points=tuple(ranked),
        recommended=next((p for p in marked if p.recommended), None),
        sentence=sentence(
            best, meets, min_detection=min_detection, max_gain=max_attack_gain, min_auc=min_auc,
            attacker=attacker,
        ),
        min_detection=min_detection,
        max_attack_gain=max_attack_gain,
        settings={
            "random_state": book.seed, "rows": len(X), "labels": marks is not None,
            "rounds": [(r.rows, r.draws) for r in rounds], **asked,
        },
        attacker=attacker,
        min_auc=min_auc,
        guaranteed=models,
    )  # fmt: skip


def _rounds(planned: tuple[Round, ...], n_rows: int, thorough: bool) -> list[Round]:
    """The rounds a table is large enough for; a quick search of a small one is screened whole."""
    first, *middle, last = planned
    found = [r for r in (first, *middle) if 2 * r.rows <= n_rows]
    if not found and not thorough:
        found = [replace(first, rows=min(first.rows, n_rows))]
    return [*found, replace(last, rows=min(n_rows, last.rows))]


def _total(rounds: list[Round], n: int) -> int:
    """Measurements in all, those of strengths filled in last included."""
    total = 0
    for a_round in rounds:
        total += a_round.draws * n
        n = max(1, math.ceil(n * a_round.goes_on))
    return total + 2 * rounds[-1].draws


def _order(n_rows: int, rng: np.random.Generator) -> Array:
    """All rows in a random order of runs; the first n of it are a part of the table."""
    starts = rng.permutation(np.arange(0, n_rows, _RUN))
    rows = (starts[:, np.newaxis] + np.arange(_RUN)).ravel()
    return rows[rows < n_rows]


def _checked_labels(labels: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    marks = np.asarray(labels)
    if marks.shape != (n_rows,) or not np.isin(marks, (0, 1)).all():
        raise AuditError(f"labels must be 0 or 1 for each of the {n_rows:,} records")
    return marks.astype(bool)


def _digest(marks: NDArray[np.bool_]) -> str:
    return hashlib.sha256(marks.tobytes()).hexdigest()
