"""What the rotation paper's quick run measured, changed so that every rule must turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isinglass.measure.vod import PrivacyLevel
from isinglass_papers.rotation.accuracy import KERNELS
from isinglass_papers.rotation.attack_claims import attack_claims
from isinglass_papers.rotation.classifier_claims import accuracy_claims
from isinglass_papers.rotation.condensation_claims import condensation_claims
from isinglass_papers.rotation.difference_claims import measure_claims


def only(measured, *names):
    """The same run on these sets alone."""
    parts = ("tables", "accuracy", "levels", "nearest", "undone")
    return replace(
        measured, **{part: {n: getattr(measured, part)[n] for n in names} for part in parts}
    )


def every(part, **fields):
    """Change fields of one part of every set; functions get the old value."""

    def change(measured):
        changed = {
            name: replace(
                one, **{k: v(getattr(one, k)) if callable(v) else v for k, v in fields.items()}
            )
            for name, one in getattr(measured, part).items()
        }
        return replace(measured, **{part: changed})

    return change


def trial(classifier, **fields):
    """The same for one classifier on every set that has it."""

    def change(trials):
        if classifier not in trials:
            return trials
        return trials | {classifier: replace(trials[classifier], **fields)}

    return every("accuracy", trials=change)


def both(*changes):
    def change(measured):
        for one in changes:
            measured = one(measured)
        return measured

    return change


def but(change, part, *names):
    """Change all sets but these."""

    def partly(measured):
        kept = {name: getattr(measured, part)[name] for name in names}
        changed = change(measured)
        return replace(changed, **{part: getattr(changed, part) | kept})

    return partly


def iterated(**fields):
    return every("levels", iterations=lambda its: tuple(replace(it, **fields) for it in its))


def searched(**fields):
    return every("levels", search=lambda s: replace(s, **fields))


def condensed(minimum, average):
    level = PrivacyLevel(minimum, average)
    return every("nearest", condensed=lambda by: dict.fromkeys(by, level))


STILL = dict.fromkeys(KERNELS, (0.0, 0.0))
MOVED = dict.fromkeys(KERNELS, (1.0, 1.0))
ZERO = (0.0, 0.0)
DOCTORED = [
    ("A classifier by nearest", trial("KNN", moved_origin=0.0), "holds"),
    (
        "A classifier by nearest",
        every("accuracy", untied=lambda by: by | {"KNN": 3.0}),
        "does not hold",
    ),
    ("Kernel regression", trial("kernel regression", moved_center=0.5), "holds conditionally"),
    ("Kernel regression", trial("kernel regression", moved_origin=9.0), "does not hold"),
    ("Support vector", trial("SVM tanh", moved_origin=0.5), "holds conditionally"),
    ("Support vector", trial("SVM radial", moved_origin=9.0), "does not hold"),
    ("A random center", every("accuracy", shifts=STILL), "holds"),
    ("A random center", every("accuracy", shifts=MOVED), "does not hold"),
    (
        "A perceptron",
        both(
            trial("perceptron from zero", moved_origin=0.0, center=ZERO),
            trial("perceptron at random", origin=ZERO),
        ),
        "holds",
    ),
    (
        "A perceptron",
        every("accuracy", untied=lambda by: by | {"perceptron from zero": 30.0}),
        "does not hold",
    ),
    ("The accuracy of", trial("perceptron at random", center=ZERO), "holds"),
    ("The accuracy of", trial("KNN", center=(2.0, 2.0)), "does not hold"),
    ("With s = 1", every("tables", low=np.zeros(1), high=np.ones(1)), "holds"),
    ("The variance of difference", every("levels", flipped=PrivacyLevel(0, 0)), "not reproduced"),
    ("Columns of larger", every("levels", errors=(9.0, 0.0)), "not reproduced"),
    ("The variance of VoD", every("levels", errors=(0.0, 9.0)), "not reproduced"),
    ("The variance of VoD", every("levels", moments=(1.0, 1.0, 2.0)), "holds conditionally"),
    ("Swapping rows", searched(minimum=(0.1,), drawn_minimum=(0.1,)), "not reproduced"),
    (
        "Swapping rows",
        but(searched(minimum=(0.1,), drawn_minimum=(0.1,)), "levels", "iris"),
        "holds conditionally",
    ),
    ("The rotation's center", every("levels", moved=0.1), "does not hold"),
    ("Where attributes", iterated(n_components=1), "holds"),
    ("ICA does not converge", iterated(average=2.0), "holds"),
    ("ICA has no effect", iterated(raw_minimum=0.01), "not reproduced"),
    ("ICA has no effect", but(iterated(raw_minimum=0.01), "levels", "breast_w"), "not reproduced"),
    ("ICA is in general", iterated(learned=0), "holds"),
    # More than half of the columns of the two narrowest sets alone.
    ("ICA is in general", iterated(learned=4), "holds conditionally"),
    ("One can select", every("levels", starts=(0.9,)), "holds conditionally"),
    ("Rotation gives", every("undone", pairs=0.3), "holds conditionally"),
    (
        "Rotation gives",
        every("undone", pairs=0.3, all_records=PrivacyLevel(0.3, 0.3)),
        "not reproduced",
    ),
    ("The level of condensation", condensed(0.3, 0.5), "does not hold"),
    (
        "The level of condensation",
        but(condensed(0.3, 0.5), "nearest", "ecoli", "diabetes"),
        "holds conditionally",
    ),
    ("On Ionosphere", condensed(0.1, 0.2), "does not hold"),
    ("Rotation has", every("nearest", rotated=PrivacyLevel(9.0, 9.0)), "holds"),
    ("Rotation has", every("nearest", rotated=PrivacyLevel(0.0, 0.0)), "does not hold"),
    ("Rotation has", every("nearest", paired=PrivacyLevel(0.1, 0.1)), "not reproduced"),
]


def judged(measured):
    return (
        *accuracy_claims(measured),
        *measure_claims(measured),
        *attack_claims(measured),
        *condensation_claims(measured),
    )
