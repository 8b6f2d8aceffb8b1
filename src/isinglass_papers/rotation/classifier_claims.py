"""Claims about classifiers, and whether they hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isinglass_papers.core.partial_claims import on_sets
from isinglass_papers.core.result import Claim, Verdict
from isinglass_papers.rotation.accuracy import (
    AT_RANDOM,
    FROM_ZERO,
    KERNELS,
    KNN,
    POLYNOMIAL,
    RADIAL,
    REGRESSION,
    TANH,
    AccuracyTrial,
)
from isinglass_papers.rotation.measurements import MeasuredSets
from isinglass_papers.rotation.printed import TABLE_1

#: Below this many points, accuracy is said to change almost not at all: the paper calls its own
#: KNN columns so, whose changes are mostly below it.
ALMOST = 1.0
#: So many percent of records may change class by rounding alone, where two scores happen to be
#: equal; a map that is no rotation moves far more.
FEW = 1.0
#: Decision values at a margin are one; a change of a hundredth of that is none.
STILL = 0.01
#: Sets of Table 1 that have a perceptron's accuracy.
TWO_CLASSES = sum(row.perceptron is not None for row in TABLE_1)


def accuracy_claims(found: MeasuredSets) -> tuple[Claim, ...]:
    """Lemma 1, theorems 1 to 3, and the left half of Table 1."""
    n, two = len(found.accuracy), _two_classes(found)
    return (
        *(
            on_sets(rule(found), n, len(TABLE_1))
            for rule in (_neighbors, _regression, _kernels, _center)
        ),
        on_sets(_perceptron(found), two, TWO_CLASSES),
        on_sets(_table(found), n, len(TABLE_1)),
    )


def _two_classes(found: MeasuredSets) -> int:
    """Sets there that a single perceptron can classify."""
    return sum(FROM_ZERO in mine.trials for mine in found.accuracy.values())


def largest(
    found: MeasuredSets, classifier: str, value: Callable[[AccuracyTrial], float]
) -> tuple[float, str]:
    """The largest of a number over the sets, and the set it belongs to."""
    every = [
        (value(mine.trials[classifier]), found.called(name))
        for name, mine in found.accuracy.items()
        if classifier in mine.trials
    ]
    return max(every) if every else (0.0, "none")


def _by_rounding(moved: float) -> Verdict:
    """What a theorem of invariance is worth where so many percent of records change class."""
    return "holds" if moved == 0 else "holds conditionally" if moved <= FEW else "does not hold"


def _neighbors(found: MeasuredSets) -> Claim:
    moved = {
        found.called(name): mine.trials[KNN].moved_origin
        for name, mine in found.accuracy.items()
        if mine.trials[KNN].moved_origin > 0
    }
    untied = max(mine.untied[KNN] for mine in found.accuracy.values())
    same = len(found.accuracy) - len(moved)
    text = f"On {same} of {len(found.accuracy)} sets no record's class changes"
    if moved:
        text += "; on others, " + ", ".join(
            f"{name} {share:.2g} %" for name, share in moved.items()
        )
    verdict: Verdict = "holds conditionally" if moved else "holds"
    if untied:
        verdict = "does not hold"
        text += f". Without equal distances up to {untied:.2g} % of a set still change"
    elif moved:
        text += ": where records lie at equal distances, rounding breaks ties anew. Once records "
        text += "are moved by a millionth none changes on any set"
    return Claim(
        "Lemma 1", "A classifier by nearest neighbors is invariant to rotation.", verdict,
        text + ".",
    )  # fmt: skip


def _regression(found: MeasuredSets) -> Claim:
    share, name = max(
        largest(found, REGRESSION, lambda t: t.moved_origin),
        largest(found, REGRESSION, lambda t: t.moved_center),
    )
    return Claim(
        "Theorem 1",
        "Kernel regression of the class is invariant to rotation.",
        _by_rounding(share),
        "About the origin or a random center, "
        + (
            f"up to {share:.2g} % of records change class ({name})."
            if share
            else "not one record of any set changes class."
        ),
    )


def _kernels(found: MeasuredSets) -> Claim:
    moved = max(largest(found, name, lambda t: t.moved_origin)[0] for name in KERNELS)
    shift = {k: max(mine.shifts[k][0] for mine in found.accuracy.values()) for k in KERNELS}
    several = (
        ": a tanh kernel is not positive definite, so its training may have several solutions, "
        "among which rounding chooses"
    )
    return Claim(
        "Theorem 2",
        "Support vector machines with polynomial, radial and tanh kernels are invariant to "
        "rotation (about the origin).",
        _by_rounding(moved),
        (f"Up to {moved:.2g} % of records change class. " if moved else "No class changes. ")
        + f"Decision values move by {shift[RADIAL]:.0e} (radial), {shift[POLYNOMIAL]:.0e} "
        f"(polynomial) and {shift[TANH]:.1g} (tanh) at most"
        + (several if shift[TANH] > max(STILL, shift[POLYNOMIAL]) else "")
        + ". The width must be a constant; scikit-learn's default is computed from the entries, "
        "which a rotation changes.",
    )


def _center(found: MeasuredSets) -> Claim:
    every = found.accuracy.values()
    shift = {k: max(mine.shifts[k][1] for mine in every) for k in KERNELS}
    points = {
        k: largest(found, k, lambda t: abs(float(np.mean(t.center)))) for k in (POLYNOMIAL, TANH)
    }
    still = [name.removeprefix("SVM ") for name in KERNELS if shift[name] < STILL]
    verdict: Verdict = "holds conditionally" if still else "does not hold"
    if len(still) == len(KERNELS):
        verdict = "holds"
    return Claim(
        "Section 4.5",
        "A random center changes nothing for classifiers that seek a geometric boundary, the three "
        "kernels among them.",
        verdict,
        f"Decision values move by {shift[RADIAL]:.1g} (radial), {shift[POLYNOMIAL]:.2g} "
        f"(polynomial) and {shift[TANH]:.2g} (tanh) at most; accuracy by "
        f"{points[POLYNOMIAL][0]:.1f} points (polynomial, {points[POLYNOMIAL][1]}) and "
        f"{points[TANH][0]:.1f} (tanh, {points[TANH][1]}). Indifferent to the center, by less than "
        f"{STILL:g}: {', '.join(still) or 'none'}.",
    )


def _perceptron(found: MeasuredSets) -> Claim:
    there = [mine for mine in found.accuracy.values() if FROM_ZERO in mine.trials]
    if not there:
        return Claim("Theorem 3", _PERCEPTRON, "not tested", "No set with two classes is there.")
    moved = [mine.trials[FROM_ZERO].moved_origin for mine in there]
    untied = max(mine.untied[FROM_ZERO] for mine in there)
    center = largest(found, FROM_ZERO, lambda t: abs(float(np.mean(t.center))))
    random = largest(found, AT_RANDOM, lambda t: abs(float(np.mean(t.origin))))
    verdict: Verdict = "holds conditionally"
    if untied > FEW:
        verdict = "does not hold"
    elif max(moved) == 0 and max(center[0], random[0]) < ALMOST:
        verdict = "holds"
    text = (
        "From weights of zero, in the same order, about the origin: no class changes on "
        f"{sum(share == 0 for share in moved)} of {len(there)} sets"
    )
    if max(moved) > 0:
        text += f", on the others up to {max(moved):.2g} % do"
        text += (
            " (scores of exactly 0 round either way: once records are moved by a millionth, none "
            "does)" if untied == 0 else f" (up to {untied:.2g} % without equal scores, too)"
        )  # fmt: skip
    return Claim(
        "Theorem 3",
        _PERCEPTRON,
        verdict,
        f"{text}. About a random center accuracy moves by up to {center[0]:.1f} points "
        f"({center[1]}), and from a random start and order, about the origin, by up to "
        f"{random[0]:.1f} ({random[1]}).",
    )


_PERCEPTRON = "A perceptron is invariant to rotation."


def _table(found: MeasuredSets) -> Claim:
    knn, radial, perceptron = (
        largest(found, name, lambda t: abs(float(np.mean(t.center))))
        for name in (KNN, RADIAL, AT_RANDOM)
    )
    theirs = max(abs(row.perceptron[1]) for row in TABLE_1 if row.perceptron is not None)
    two = _two_classes(found)
    verdict: Verdict = "holds" if perceptron[0] < ALMOST else "holds conditionally"
    if max(knn[0], radial[0]) >= ALMOST:
        verdict = "does not hold"
    elif 2 * two < TWO_CLASSES:
        verdict = "not tested"
    last = f"{perceptron[0]:.1f} ({perceptron[1]})" if two else "on no set with two classes"
    if 0 < two < TWO_CLASSES:
        last += f" on {two} of {TWO_CLASSES} sets with two classes"
    return Claim(
        "Table 1, section 5.1",
        "The accuracy of the three classifiers almost does not change when records are rotated.",
        verdict,
        f"Largest mean change in points: KNN {knn[0]:.2f}, radial SVM {radial[0]:.2f}, perceptron "
        f"{last}. Their own table has up to {theirs:.1f} for the perceptron.",
    )
