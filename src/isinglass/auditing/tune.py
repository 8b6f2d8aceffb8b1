"""The search for a setting: methods and strengths by successive halving."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack
from isinglass.auditing.book import Book
from isinglass.auditing.candidates import Candidate, between, candidates
from isinglass.auditing.frontier import Frontier, Point
from isinglass.auditing.measured import Measurement, measure
from isinglass.auditing.score import over_trials
from isinglass.auditing.subject import numbers
from isinglass.auditing.words import share
from isinglass.progress import Progress, quiet

Array = NDArray[Any]

#: Rows and draws of the three rounds; each keeps the better half of the settings.
ROUNDS = ((1_000, 1), (3_000, 1), (10_000, 3))


def tune(
    table: ArrayLike,
    methods: str | Iterable[str] = "all",
    *,
    min_detection: float = 0.8,
    max_attack_gain: float = 0.2,
    attacks: str | Iterable[str | Attack] = "auto",
    most_pairs: int | None = None,
    n_outliers: int | None = None,
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
        Wanted limit on what the strongest attacker without the key takes, as a share of what its
        blind baseline leaves: 0 nothing, 1 everything. The worst of three readings counts.
    attacks, most_pairs, n_outliers
        As in `audit`; `most_pairs=0` assumes that nobody recognises a record.
    resume : path, optional
        A file that keeps every measurement; a search that was stopped goes on from there.
    random_state : int, optional
        Of the search's draws; None draws one, or takes the one of the file to resume from.
    progress : callable, optional
    """
    for name, value in (("min_detection", min_detection), ("max_attack_gain", max_attack_gain)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must be >= 0 and <= 1, got {value}")
    X = numbers(table, "table")
    tried = candidates(methods, X.shape[1])
    wanted = attacks if isinstance(attacks, str) else tuple(attacks)
    asked = {"most_pairs": most_pairs, "n_outliers": n_outliers, "attacks": str(wanted)}
    book = Book.open(resume, X, asked, random_state)
    order = chance.generator(book.seed).permutation(len(X))
    rounds = _rounds(len(X))
    total = sum(t * math.ceil(len(tried) / 2**i) for i, (_, t) in enumerate(rounds)) + 6
    done = 0

    def look(candidate: Candidate, number: int) -> Point:
        nonlocal done
        n, draws = rounds[number]
        part = X[np.sort(order[:n])]
        found = []
        for draw in range(draws):
            found.append(
                book.known(
                    candidate, n, draw,
                    lambda seed: measure(
                        candidate, part, seed, attacks=wanted, most_pairs=most_pairs,
                        n_outliers=n_outliers,
                    ),
                )
            )  # fmt: skip
            done += 1
            progress("trying settings", min(done, total - 1), total)
        return _point(candidate, found, n, number + 1)

    def short_of(point: Point) -> float:
        """How far a point is from what is wanted; 0 where it has both, limits included."""
        return max(0.0, min_detection - point.detection_low) + max(
            0.0, point.gain_high - max_attack_gain
        )

    out: list[Point] = []
    for number in range(len(rounds)):
        points = [look(candidate, number) for candidate in tried]
        if number + 1 == len(rounds):
            break
        points = _ordered(points, short_of)
        half = max(1, math.ceil(len(points) / 2))
        out += points[half:]
        tried = [p.candidate for p in points[:half]]
    best = min(points, key=lambda p: (short_of(p), p.gain))
    # Strengths between the best one and its neighbours, among all that were ever tried.
    known = [p.candidate for p in (*points, *out)]
    points += [look(candidate, len(rounds) - 1) for candidate in between(best.candidate, known)]
    # What has both wishes is taken, of several one that no other beats, and then the quietest; if
    # none has both, the nearest of those that no other beats.
    unbeaten = [p for p in points if not any(q.dominates(p) for q in points)]
    having = [p for p in points if short_of(p) == 0]
    best = min(having or unbeaten, key=lambda p: (short_of(p), p not in unbeaten, p.gain))
    progress("trying settings", total, total)
    meets = short_of(best) == 0
    marked = [
        replace(
            p,
            on_frontier=not any(q.dominates(p) for q in points),
            recommended=meets and p == best,
        )
        for p in points
    ]
    ranked = sorted(marked, key=lambda p: (not p.on_frontier, p.gain)) + out
    return Frontier(
        points=tuple(ranked),
        recommended=next((p for p in marked if p.recommended), None),
        sentence=_sentence(best, meets, min_detection, max_attack_gain),
        min_detection=min_detection,
        max_attack_gain=max_attack_gain,
        settings={"random_state": book.seed, "rows": len(X), "rounds": rounds, **asked},
    )


def _rounds(n_rows: int) -> list[tuple[int, int]]:
    """The rounds a table is large enough for; the last one always has several draws."""
    sizes = [size for size, _ in ROUNDS[:-1] if 2 * size <= n_rows]
    return [*((size, 1) for size in sizes), (min(n_rows, ROUNDS[-1][0]), ROUNDS[-1][1])]


def _point(candidate: Candidate, found: list[Measurement], n_rows: int, number: int) -> Point:
    rates = [m.detection for m in found]
    low, high = over_trials([float(np.mean(rates)), *rates], found[0].n_outliers)
    worst = max(found, key=lambda m: m.gain)
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
    )


def _ordered(points: list[Point], short_of: Callable[[Point], float]) -> list[Point]:
    """By the number of settings that are better in both respects, then by what is wanted."""
    beaten = {id(p): sum(q.dominates(p) for q in points) for p in points}
    return sorted(points, key=lambda p: (beaten[id(p)] > 0, short_of(p), beaten[id(p)]))


def _sentence(best: Point, meets: bool, min_detection: float, max_gain: float) -> str:
    name = f"{best.method} {best.setting}".strip()
    got = (
        f"{share(best.detection)} of the strongest anomalies are still found and the strongest "
        f"attack ({best.strongest}) takes {share(best.gain)} of what a blind guess leaves"
    )
    if meets:
        return f"Use {name}: {got}."
    return (
        f"No setting that was tried keeps {share(min_detection)} of the anomalies and holds every "
        f"attack to {share(max_gain)}; the nearest is {name}: {got}."
    )
