"""Classifiers trained on rotated records against the same ones trained on the originals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass_papers.rotation.sets import ScaledSet, turned

Array = NDArray[Any]
#: Training records and classes, records to classify, chance of its own: the classes found.
Classifier = Callable[[Array, Array, Array, np.random.Generator], Array]

#: The paper prints no setting; of a few tried these come nearest to its first columns.
NEIGHBORS, EPOCHS = 3, 1
KERNELS: dict[str, dict[str, Any]] = {
    "SVM radial": {"kernel": "rbf", "C": 1.0, "gamma": 0.2},
    "SVM polynomial": {"kernel": "poly", "C": 1.0, "gamma": 1.0, "coef0": 1.0, "degree": 2},
    "SVM tanh": {"kernel": "sigmoid", "C": 10.0, "gamma": 0.05, "coef0": 0.0},
}
RADIAL, POLYNOMIAL, TANH = KERNELS
KNN, REGRESSION, FROM_ZERO, AT_RANDOM = (
    "KNN",
    "kernel regression",
    "perceptron from zero",
    "perceptron at random",
)
#: So far records are moved to part those at equal distances: far more than rounding, which is near
#: 1e-15, and far less than any digit of a table.
JITTER = 1e-6


@dataclass(frozen=True, slots=True)
class AccuracyTrial:
    """One classifier on one set: accuracy in percent, and what rotations change in points.

    `runs` are accuracies on the originals, more than one only where a classifier starts at
    random. `moved` is the largest share of records, in percent, whose class differs after a
    rotation.
    """

    runs: tuple[float, ...]
    origin: tuple[float, ...]
    center: tuple[float, ...]
    moved_origin: float
    moved_center: float


@dataclass(frozen=True, slots=True)
class Accuracies:
    """All classifiers on one set.

    `folds` is the deviation of accuracy on the originals when only the folds are drawn anew, of
    KNN and of the radial SVM; `shifts` are the largest changes of an SVM's decision values,
    (origin, center). `untied` is the largest share of records, in percent, whose class differs
    after a rotation about the origin though every record was first moved by about `JITTER`, so
    that neither distances nor scores are equal by accident.
    """

    trials: dict[str, AccuracyTrial]
    folds: dict[str, float]
    shifts: dict[str, tuple[float, float]]
    untied: dict[str, float]


def accuracies(table: ScaledSet, n_rotations: int, n_folds: int, most_rows: int) -> Accuracies:
    """Cross-validate every classifier on the originals and on so many rotations, in one split."""
    rng = table.chance(1)
    rows = rng.permutation(len(table.X))[:most_rows]
    X, y = table.X[rows], table.y[rows]
    pairs = [turned(X, rng) for _ in range(n_rotations)]
    split = folds(len(X), n_folds, rng)
    classifiers = dict(_CLASSIFIERS)
    if table.printed.perceptron is None:  # a single perceptron tells two classes apart
        del classifiers[FROM_ZERO], classifiers[AT_RANDOM]
    trials = {}
    for name, classifier in classifiers.items():
        # Chance differs from run to run only for the one that is said to start at random.
        seeds = iter(range(1000)) if name == AT_RANDOM else None

        def run(Z: Array, classifier: Classifier = classifier, seeds: Any = seeds) -> Array:
            own = 0 if seeds is None else next(seeds)
            chance = np.random.default_rng([*table.seed, 2, own])
            return cross_validated(classifier, Z, y, split, chance)

        before = [run(X) for _ in range(n_rotations if seeds is not None else 1)]
        about = [tuple(run(Z) for Z in pair) for pair in pairs]
        runs = tuple(_percent(b == y) for b in before)
        origin, center = (
            tuple(_percent(p[side] == y) - float(np.mean(runs)) for p in about) for side in (0, 1)
        )
        moved = [max(_percent(p[side] != before[0]) for p in about) for side in (0, 1)]
        trials[name] = AccuracyTrial(runs, origin, center, *moved)
    anew = [folds(len(X), n_folds, rng) for _ in range(max(3, n_rotations))]
    again = {
        name: [_percent(cross_validated(_CLASSIFIERS[name], X, y, f, rng) == y) for f in anew]
        for name in (KNN, RADIAL)
    }
    shifts = {name: _shift(name, X, y, pairs[0]) for name in KERNELS}
    spread = {name: float(np.std(values, ddof=1)) for name, values in again.items()}
    untied = {
        name: _untied(table, X, y, split, classifiers[name], n_rotations)
        for name in (KNN, FROM_ZERO)
        if name in classifiers
    }
    return Accuracies(trials, spread, shifts, untied)


def _untied(
    table: ScaledSet, X: Array, y: Array, split: Array, classifier: Classifier, n_rotations: int
) -> float:
    rng = table.chance(7)
    moved = X + JITTER * (rng.random(X.shape) - X)  # stays in [0, 1]

    def run(Z: Array) -> Array:
        return cross_validated(classifier, Z, y, split, np.random.default_rng([*table.seed, 2, 0]))

    before = run(moved)
    return max(_percent(run(turned(moved, rng)[0]) != before) for _ in range(n_rotations))


def folds(n_rows: int, n_folds: int, rng: np.random.Generator) -> Array:
    """The number of each record's fold."""
    return np.asarray(rng.permutation(np.arange(n_rows) % n_folds))


def cross_validated(
    classifier: Classifier, X: Array, y: Array, split: Array, rng: np.random.Generator
) -> Array:
    """Every record's class, as found by the classifier trained on the other folds."""
    found = np.empty_like(y)
    for fold in np.unique(split):
        held = split == fold
        found[held] = classifier(X[~held], y[~held], X[held], rng)
    return found


def _percent(right: Array) -> float:
    return 100.0 * float(np.mean(right))


def _knn(X: Array, y: Array, new: Array, rng: np.random.Generator) -> Array:
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(NEIGHBORS, algorithm="kd_tree")
    return np.asarray(model.fit(X, y).predict(new))


def _regression(X: Array, y: Array, new: Array, rng: np.random.Generator) -> Array:
    """Equation 1 with the normal density: the class with the largest weighted share."""
    from sklearn.metrics.pairwise import rbf_kernel

    classes = np.unique(y)
    weights = rbf_kernel(new, X, gamma=10.0)
    return np.asarray(classes[(weights @ (y[:, np.newaxis] == classes)).argmax(axis=1)])


def _svm(name: str) -> Classifier:
    def classify(X: Array, y: Array, new: Array, rng: np.random.Generator) -> Array:
        return np.asarray(_machine(name).fit(X, y).predict(new))

    return classify


def _machine(name: str) -> Any:
    from sklearn.svm import SVC

    # One value for each pair of classes: those for a single class are made of votes, and jump.
    return SVC(**KERNELS[name], decision_function_shape="ovo")


def _perceptron(*, at_random: bool) -> Classifier:
    def classify(X: Array, y: Array, new: Array, rng: np.random.Generator) -> Array:
        from sklearn.linear_model import Perceptron

        order = int(rng.integers(2**31)) if at_random else 0
        model = Perceptron(max_iter=EPOCHS, tol=None, random_state=order)
        # A perceptron's updates are of the size of records, so a start of that size matters.
        start = rng.normal(size=X.shape[1] + 1) * (10.0 if at_random else 0.0)
        model.fit(X, y, coef_init=start[np.newaxis, 1:], intercept_init=start[:1])
        return np.asarray(model.predict(new))

    return classify


def _shift(name: str, X: Array, y: Array, pair: tuple[Array, Array]) -> tuple[float, float]:
    before = _machine(name).fit(X, y).decision_function(X)
    about = [np.abs(_machine(name).fit(Z, y).decision_function(Z) - before).max() for Z in pair]
    return float(about[0]), float(about[1])


_CLASSIFIERS: dict[str, Classifier] = {
    KNN: _knn,
    REGRESSION: _regression,
    **{name: _svm(name) for name in KERNELS},
    FROM_ZERO: _perceptron(at_random=False),
    AT_RANDOM: _perceptron(at_random=True),
}
