"""What the paper says about classifiers and about its own measure, and whether it holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isinglass.reproduce.result import Claim
from isinglass.reproduce.rotation.accuracy import (
    AT_RANDOM,
    FROM_ZERO,
    KERNELS,
    KNN,
    POLYNOMIAL,
    RADIAL,
    REGRESSION,
    TANH,
    Trial,
)
from isinglass.reproduce.rotation.found import Found
from isinglass.reproduce.rotation.printed import TABLE_1

#: Below this many points, accuracy is said to change almost not at all.
ALMOST = 1.0


def accuracy_claims(found: Found) -> tuple[Claim, ...]:
    """Lemma 1, theorems 1 to 3, and the left half of Table 1."""
    return (
        _neighbors(found),
        _regression(found),
        _kernels(found),
        _centre(found),
        _perceptron(found),
        _table(found),
    )


def measure_claims(found: Found) -> tuple[Claim, ...]:
    """Scaling, the moments of VoD, swapping, the centre, and what VoD says."""
    return (
        _scaling(found),
        _estimate(found),
        _mean_of_vod(found),
        _variance_of_vod(found),
        _swapping(found),
        _shifted(found),
    )


def largest(found: Found, classifier: str, value: Callable[[Trial], float]) -> tuple[float, str]:
    """The largest of a number over the sets, and the set it belongs to."""
    every = [
        (value(mine.trials[classifier]), found.called(name))
        for name, mine in found.accuracy.items()
        if classifier in mine.trials
    ]
    return max(every) if every else (0.0, "none")


def _neighbors(found: Found) -> Claim:
    moved = {
        found.called(name): mine.trials[KNN].moved_origin
        for name, mine in found.accuracy.items()
        if mine.trials[KNN].moved_origin > 0
    }
    same = len(found.accuracy) - len(moved)
    text = f"On {same} of {len(found.accuracy)} sets no record's class changes"
    if moved:
        listed = ", ".join(f"{name} {share:.2g} %" for name, share in moved.items())
        text += f"; where records lie at equal distances, rounding breaks ties anew: {listed}"
    return Claim(
        "Lemma 1",
        "A classifier by nearest neighbours is invariant to rotation.",
        "holds conditionally" if moved else "holds",
        text + ".",
    )


def _regression(found: Found) -> Claim:
    share, name = max(
        largest(found, REGRESSION, lambda t: t.moved_origin),
        largest(found, REGRESSION, lambda t: t.moved_centre),
    )
    return Claim(
        "Theorem 1",
        "Kernel regression of the class is invariant to rotation.",
        "holds" if share == 0 else "holds conditionally",
        "About the origin or a random centre, "
        + (
            f"up to {share:.2g} % of records change class ({name})."
            if share
            else "not one record of any set changes class."
        ),
    )


def _kernels(found: Found) -> Claim:
    moved = max(largest(found, name, lambda t: t.moved_origin)[0] for name in KERNELS)
    shift = {k: max(mine.shifts[k][0] for mine in found.accuracy.values()) for k in KERNELS}
    return Claim(
        "Theorem 2",
        "Support vector machines with polynomial, radial and tanh kernels are invariant to "
        "rotation (about the origin).",
        "holds" if moved == 0 else "holds conditionally",
        (f"Up to {moved:.2g} % of records change class. " if moved else "No class changes. ")
        + f"Decision values move by {shift[RADIAL]:.0e} (radial), {shift[POLYNOMIAL]:.0e} "
        f"(polynomial) and {shift[TANH]:.1g} (tanh) at most: a tanh kernel is not positive "
        "definite, so its training may have several solutions, among which rounding chooses. The "
        "width must be a constant; scikit-learn's default is computed from the entries, which a "
        "rotation changes.",
    )


def _centre(found: Found) -> Claim:
    every = found.accuracy.values()
    shift = {k: max(mine.shifts[k][1] for mine in every) for k in KERNELS}
    points = {
        k: largest(found, k, lambda t: abs(float(np.mean(t.centre)))) for k in (POLYNOMIAL, TANH)
    }
    return Claim(
        "Section 4.5",
        "A random centre changes nothing for classifiers that seek a geometric boundary, the three "
        "kernels among them.",
        "holds" if max(shift.values()) < 0.01 else "holds conditionally",
        f"Decision values move by {shift[RADIAL]:.1g} (radial), {shift[POLYNOMIAL]:.2g} "
        f"(polynomial) and {shift[TANH]:.2g} (tanh) at most; accuracy by "
        f"{points[POLYNOMIAL][0]:.1f} points (polynomial, {points[POLYNOMIAL][1]}) and "
        f"{points[TANH][0]:.1f} (tanh, {points[TANH][1]}). Only the radial kernel is indifferent "
        "to the centre.",
    )


def _perceptron(found: Found) -> Claim:
    zero = [m.trials[FROM_ZERO] for m in found.accuracy.values() if FROM_ZERO in m.trials]
    if not zero:
        return Claim("Theorem 3", _PERCEPTRON, "not tested", "No set with two classes is there.")
    same = sum(trial.moved_origin == 0 for trial in zero)
    centre = largest(found, FROM_ZERO, lambda t: abs(float(np.mean(t.centre))))
    random = largest(found, AT_RANDOM, lambda t: abs(float(np.mean(t.origin))))
    return Claim(
        "Theorem 3",
        _PERCEPTRON,
        "holds conditionally",
        f"From weights of zero, in the same order, about the origin: no class changes on {same} of "
        f"{len(zero)} sets (on the others scores of exactly 0 round either way). About a random "
        f"centre accuracy moves by up to {centre[0]:.1f} points ({centre[1]}), and from a random "
        f"start and order, about the origin, by up to {random[0]:.1f} ({random[1]}).",
    )


_PERCEPTRON = "A perceptron is invariant to rotation."


def _table(found: Found) -> Claim:
    knn, radial, perceptron = (
        largest(found, name, lambda t: abs(float(np.mean(t.centre))))
        for name in (KNN, RADIAL, AT_RANDOM)
    )
    theirs = max(abs(row.perceptron[1]) for row in TABLE_1 if row.perceptron is not None)
    return Claim(
        "Table 1, section 5.1",
        "The accuracy of the three classifiers almost does not change when records are rotated.",
        "holds" if max(knn[0], radial[0], perceptron[0]) < ALMOST else "holds conditionally",
        f"Largest mean change in points: KNN {knn[0]:.2f}, radial SVM {radial[0]:.2f}, perceptron "
        f"{perceptron[0]:.1f} ({perceptron[1]}). Their own table has up to {theirs:.1f} for the "
        "perceptron.",
    )


def _scaling(found: Found) -> Claim:
    inside = total = 0
    for table in found.tables.values():
        span = table.high - table.low
        low, span = table.low[span > 0], span[span > 0]
        start = (low - low / span) / span
        inside += int((np.abs(start) < 1e-9).sum())
        total += len(span)
    return Claim(
        "Section 4.2",
        "With s = 1 / (max - min) and t = min / (max - min), columns s (y - t) lie in [0, 1].",
        "does not hold" if inside < total else "holds",
        f"A misprint: so scaled, {inside} of {total} columns lie there, those that begin at 0 or "
        "are 1 wide. With t = min all do. Levels do not depend on t; the place of the centre does.",
    )


def _estimate(found: Found) -> Claim:
    drawn, kept, hidden = [], [], []
    for name, mine in found.levels.items():
        if mine.flipped.minimum > np.mean(mine.search.drawn_minimum):
            drawn.append(found.called(name))
        if mine.flipped.minimum > np.mean(mine.search.minimum):
            kept.append(found.called(name))
        hidden.append(mine.flipped.average)
    n = len(found.levels)
    listed = ", ".join(drawn) or "none"
    return Claim(
        "Section 4.2",
        "The variance of difference is the level of difficulty of estimating the originals.",
        "does not hold",
        f"Flipping every sign hides nothing and scores {min(hidden):.2f} to {max(hidden):.2f} on "
        f"average. Its minimum beats the best of 50 random rotations on {len(drawn)} of {n} sets "
        f"({listed}) and the optimised one on {len(kept)} ({', '.join(kept) or 'none'}).",
    )


def _mean_of_vod(found: Found) -> Claim:
    off = max(mine.means for mine in found.levels.values())
    return Claim(
        "Section 4.3, observation 1",
        "Columns of larger variance get a higher level on average.",
        "holds",
        "Exactly: over random rotations VoD has mean tr(C) / d plus the column's own variance. "
        f"{found.settings.draws} draws come within {100 * off:.0f} % of it on every column.",
    )


def _variance_of_vod(found: Found) -> Claim:
    ratios = [m.moments[1] / m.moments[2] for m in found.levels.values()]
    off = max(abs(m.moments[0] / m.moments[1] - 1.0) for m in found.levels.values())
    return Claim(
        "Section 4.3, observation 2",
        "The variance of VoD is of the order of the sum of covariances over d².",
        "does not hold",
        f"That sum has not even the right unit: the variance is {min(ratios):.2g} to "
        f"{max(ratios):.2g} times it, by set. A closed form in squared covariances, which are what "
        f"the sentence before it names, comes within {100 * off:.0f} % of "
        f"{found.settings.draws} draws.",
    )


def _swapping(found: Found) -> Claim:
    swapped, exact = [], []
    for mine in found.levels.values():
        s = mine.search
        swapped.append(np.mean(s.swapped_minimum) / np.mean(s.drawn_minimum) - 1.0)
        exact.append(np.mean(s.minimum) / np.mean(s.drawn_minimum) - 1.0)
    return Claim(
        "Section 4.3",
        "Swapping rows of the rotation raises the minimum level by about 10 % or more.",
        "holds" if min(exact) >= 0.1 else "holds conditionally",
        f"Best of 50 rotations: d random swaps raise it by {100 * min(swapped):.0f} to "
        f"{100 * max(swapped):.0f} %, the exact best order by {100 * min(exact):.0f} to "
        f"{100 * max(exact):.0f} %, by set.",
    )


def _shifted(found: Found) -> Claim:
    moved = max(mine.moved for mine in found.levels.values())
    return Claim(
        "Section 4.5",
        "The rotation's centre does not change VoD.",
        "holds" if moved < 1e-9 else "does not hold",
        f"Levels about the origin and about a random centre differ by {moved:.0e} at most. So the "
        "centre protects nothing that VoD measures.",
    )
