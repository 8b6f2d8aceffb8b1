"""Known-input attack: learn the inverse map from records whose released rows are known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, Scenario, rows_of
from isinglass.attack.columns.marginals import (
    clipped,
    deviations,
    divisors,
    keeps_units,
    scaling_bounds,
    spans,
    statistics_for,
)
from isinglass.attack.kept.beside import Beside, means_by_label
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    KeptColumns,
    Knowledge,
    KnownPairs,
    OtherReleases,
    PopulationSample,
    RowOrder,
)
from isinglass.attack.learning.learners import (
    LEAST_NEIGHBORED,
    MOST_PRODUCTS,
    best_columns,
    choose,
    fit_expanded,
    fit_neighbors,
    fit_trees,
    hinges,
    n_products,
    products,
)
from isinglass.attack.learning.regression import (
    Fit,
    fit_kernel,
    fit_linear,
    fit_mean,
    fit_ridge,
    fit_rigid,
)
from isinglass.attack.order.row_pairs import distinct_pairs
from isinglass.errors import AttackError

Array = NDArray[Any]

MODELS = ("auto", "linear", "ridge", "rigid", "kernel")
#: With more pairs than this the way back is learned from them directly, without simulated ones.
_FEW_PAIRS = 300


@dataclass(frozen=True, slots=True)
class LearnedGuess:
    """A guess of all rows, and how far off the known pairs were where they were left out."""

    guess: Array = field(repr=False)
    rows: NDArray[np.intp] = field(repr=False)  # of the pairs, each once
    records: Array = field(repr=False)
    left_out: Array = field(repr=False)  # guess less truth


class KnownInputAttack(Attack):
    """Learn the map from release to table on known pairs, and apply it to every row.

    Parameters
    ----------
    model : {"auto", "linear", "ridge", "rigid", "kernel"}, default="auto"
        `linear`: least squares of the record on (1, z), which inverts any affine release from as
        many pairs as it has dimensions, plus one. `ridge`: the same, held back. `rigid`: the
        nearest rotation and shift, for a release as wide as the table. `kernel`: kernel ridge
        regression, for distortions. `auto` leaves pairs out in turn and takes, column by column,
        the simplest map among the best, or the mean where none is better than it.
        Products of columns, bent columns, nearest neighbors and boosted trees are tried beside
        these, and taken where they are better beyond doubt. Kept categories, and released columns
        of few values, count by the mean record of each, the order of the rows by interpolation, and
        a `PopulationSample` by what its records would look like in the release, as far as the pairs
        tell.
    random_state : int, Generator or None
        Chooses the pairs a kernel is fitted on where there are very many, and those left out.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> Z = X @ [[0, 1, 0], [0, 0, 1], [1, 0, 0]]  # a release by a rotation
    >>> known = ig.attacks.KnownPairs(np.arange(4), X[:4])  # d + 1 of them
    >>> guess = ig.attacks.KnownInputAttack().guess(Z, known)
    >>> bool(np.allclose(guess, X))
    True
    """

    name = "known_input"
    story = "fits the way back on records recognized in the release"
    needs = (KnownPairs,)
    needs_rows = True
    scenarios = (
        Scenario(
            (KnownPairs, ColumnStatistics, PopulationSample), "each", others=True, few_rows=True
        ),
    )
    views = "learned"

    def __init__(self, model: str = "auto", *, random_state: chance.RandomState = None) -> None:
        if model not in MODELS:
            raise ValueError(f"model must be one of {', '.join(MODELS)}, got {model!r}")
        self.model = model
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        return self.learn(released, knowledge).guess

    def learn(self, released: ArrayLike, knowledge: Fact | Knowledge) -> LearnedGuess:
        """The guess of all rows, and the errors of the known pairs where they were left out."""
        known = Knowledge.of(knowledge)
        Z = _released_together(released, known)
        pairs = known.need(KnownPairs)
        rows, records = distinct_pairs(pairs, len(Z), required=True)
        statistics = statistics_for(known, records.shape[1])
        # Releases are made of columns brought to [0, 1], and only there is a rotation rigid.
        bounds = scaling_bounds(known, records.shape[1])
        low, unit = (bounds[0], spans(*bounds)) if bounds is not None else (0.0, 1.0)
        targets = (records - low) / unit
        mean = deviation = None
        if statistics is not None:
            mean, deviation = (statistics.mean - low) / unit, statistics.deviation / unit
        own = Z[:, : rows_of(released).shape[1]]
        columns: tuple[Array, ...] = ()
        guesses: tuple[Array, ...] = ()
        if KeptColumns in known or RowOrder in known:
            beside = Beside.of(known, rows, targets, len(Z), lambda X: (X - low) / unit)
            columns, guesses = beside.columns, beside.guesses
        seen = np.hstack([_balanced(Z, known, own.shape[1]), *columns])
        precision = 1e-5 if np.asarray(released).dtype == np.float32 else 1e-10
        view = _View(seen, own, rows, targets, mean, deviation, guesses, precision)
        sample = known.find(PopulationSample)
        if sample is not None and sample.records.shape == (len(sample.records), records.shape[1]):
            view = replace(view, sample=(sample.records - low) / unit)
        found, left_out = self._learn(view, known)
        guess = clipped(low + unit * found, known)
        guess[rows] = records
        return LearnedGuess(guess, rows, records, unit * left_out)

    def _learn(self, view: _View, known: Knowledge) -> tuple[Array, Array]:
        """All rows in units of [0, 1], and the errors of pairs left out."""
        Z, own, rows, X = view.seen, view.own, view.rows, view.targets
        m, d = X.shape
        blind = fit_mean(X, view.mean)
        if m == 1:
            return blind.predict(Z), blind.left_out
        precision, shown = view.precision, Z[rows]
        if self.model == "rigid":
            if own.shape[1] != d:
                raise AttackError(
                    f"a rigid map needs a release of {d} columns as the records have, "
                    f"got {own.shape[1]}"
                )
            return _applied(fit_rigid(own[rows], X), own)
        if self.model == "linear":
            return _applied(fit_linear(shown, X, precision=precision), Z)
        if self.model == "ridge":
            return _applied(fit_ridge(shown, X, precision=precision), Z)
        rng = chance.generator(self.random_state)
        if self.model == "kernel":
            return _applied(fit_kernel(shown, X, rng), Z)
        alone = own if Z.shape[1] > own.shape[1] else Z
        linear = fit_linear(alone[rows], X, precision=precision)
        for seen in (alone, Z)[: 1 if alone is Z else 2]:
            fit = linear if seen is alone else fit_linear(shown, X, precision=precision)
            if just_enough(seen[rows], seen, precision) and plausible(
                guess := fit.predict(seen), X, view.deviation
            ):
                return guess, fit_ridge(seen[rows], X, precision=precision).left_out
        if own.shape[1] == d and alone.shape[1] == d and same_distances(own[rows], X):
            # Rigid: what the pairs span is exact, and in the rest the mean is the best guess.
            return _applied(linear, alone)
        view = replace(view, labeled=means_by_label(own, rows, X))
        return _best(*self._candidates(view, blind, (linear, alone), known, rng))

    def _candidates(
        self,
        view: _View,
        blind: Fit,
        linear: tuple[Fit, Array],
        known: Knowledge,
        rng: np.random.Generator,
    ) -> tuple[list[tuple[Fit, Array]], int]:
        """Maps with what each of them sees, the simplest first, and how many are plain."""
        Z, own, rows, X = view.seen, view.own, view.rows, view.targets
        m, d = X.shape
        found = [(blind, Z)]
        found += [(_as_it_is(guess, rows, X), guess) for guess in (*view.guesses, *view.labeled)]
        if own.shape[1] == d:
            found.append((fit_rigid(own[rows], X), own))
        found.append(linear)
        if linear[1] is not Z:
            found.append((fit_linear(Z[rows], X, precision=view.precision), Z))
        found.append((fit_ridge(Z[rows], X, precision=view.precision), Z))
        if view.guesses or view.labeled:
            more = np.hstack([Z, *view.guesses, *view.labeled])
            found.append((fit_ridge(more[rows], X), more))
        if m >= 8:
            found.append((fit_kernel(Z[rows], X, rng), Z))
        n_plain = len(found)
        if view.sample is not None and m <= _FEW_PAIRS and len(view.sample) > max(m, 20):
            from isinglass.attack.learning.simulated_pairs import fit_simulated

            rival = best_columns([fit for fit, _ in found]).left_out
            simulated = fit_simulated(own[rows], X, view.sample, own, known, rng, rival)
            if simulated is not None:
                found.append((simulated[0], own))
                n_plain += simulated[1]
        width = Z.shape[1]
        if m >= max(20, 2 * width) and n_products(width) <= MOST_PRODUCTS:
            found.append((fit_expanded(products(Z[rows]), Z[rows], X), Z))
        if m >= max(20, 3 * width):
            found.append((fit_expanded(hinges(Z[rows]), Z[rows], X), Z))
        if m >= LEAST_NEIGHBORED:
            found.append((fit_neighbors(Z[rows], X), Z))
        best = best_columns([fit for fit, _ in found], n_plain)
        trees = fit_trees(Z[rows], X, best, int(rng.integers(2**31)))
        return (found if trees is None else [*found, (trees, Z)]), n_plain


@dataclass(frozen=True, slots=True)
class _View:
    """What the learners see; records are in units of [0, 1]."""

    seen: Array  # everything that left, and what is known beside it, in comparable units
    own: Array  # the release alone
    rows: NDArray[np.intp]
    targets: Array
    mean: Array | None
    deviation: Array | None
    guesses: tuple[Array, ...]
    precision: float
    sample: Array | None = None
    labeled: tuple[Array, ...] = ()  # further guesses: means by columns of few values


def _released_together(released: ArrayLike, known: Knowledge) -> Array:
    """All releases side by side."""
    Z = rows_of(released)
    others, kept = known.find(OtherReleases), known.find(KeptColumns)
    tables = [Z] if others is None else [Z, *others.tables]
    for table in [*tables[1:], *([] if kept is None else [kept.values])]:
        if len(table) != len(Z):
            raise AttackError(
                f"other releases and kept columns must have the release's {len(Z)} rows, "
                f"got {len(table)}"
            )
    return np.column_stack(tables) if len(tables) > 1 else Z


def _as_it_is(guess: Array, rows: NDArray[np.intp], X: Array) -> Fit:
    """A guess that needs no learning."""
    return Fit(lambda seen: seen, guess[rows] - X)


def _applied(fit: Fit, seen: Array) -> tuple[Array, Array]:
    return fit.predict(seen), fit.left_out


def _best(candidates: list[tuple[Fit, Array]], n_plain: int) -> tuple[Array, Array]:
    """Column by column the candidate that does best on pairs left out."""
    choice = choose([fit for fit, _ in candidates], n_plain)
    guess = np.empty((len(candidates[0][1]), len(choice)))
    left_out = np.empty_like(candidates[0][0].left_out)
    for i in np.unique(choice):
        fit, seen = candidates[i]
        columns = choice == i
        guess[:, columns] = fit.predict(seen)[:, columns]
        left_out[:, columns] = fit.left_out[:, columns]
    return guess, left_out


def _balanced(Z: Array, known: Knowledge, width: int) -> Array:
    """Releases in comparable units: a least norm and a distance depend on them.

    A method that mixes columns leaves them in common units, and dividing each by its own
    deviation would undo that; where deviations differ greatly, columns are in units of their own.
    """
    others = known.find(OtherReleases)
    widths = [width, *(t.shape[1] for t in others.tables)] if others is not None else [width]
    deviation = deviations(Z)
    unit = divisors(deviation)
    start = 0
    for size in widths:
        block = slice(start, start + size)
        start += size
        varies = deviation[block][deviation[block] > 0]
        if len(varies) and not keeps_units(known) and varies.max() < 10.0 * varies.min():
            unit[block] = np.sqrt((varies**2).mean())
    return np.asarray((Z - Z.mean(axis=0)) / unit)


def just_enough(shown: Array, Z: Array, precision: float) -> bool:
    """Whether the pairs span the whole release with none to spare.

    Then any affine release is undone exactly, which leaving a pair out can never show.
    """
    center = shown.mean(axis=0)
    _, sizes, right = np.linalg.svd(shown - center, full_matrices=False)
    rank = int((sizes > precision * sizes[0]).sum())
    if rank < len(shown) - 1 or rank == 0:
        return False
    right = right[: len(shown) - 1]
    off = (Z - center) - (Z - center) @ right.T @ right
    return bool(np.abs(off).max() <= 10.0 * precision * np.abs(Z).max() + 1e-12)


def same_distances(Z: Array, X: Array) -> bool:
    """Whether the pairs lie as far from their mean, and at the same angles, as their records."""
    before, after = X - X.mean(axis=0), Z - Z.mean(axis=0)
    inner = before @ before.T
    return bool(np.allclose(after @ after.T, inner, rtol=0, atol=1e-5 * inner.max()))


def plausible(guess: Array, X: Array, deviation: Array | None) -> bool:
    """Whether guesses look like records; those of a wrong map that fits all pairs run wild.

    `X` are the records of the pairs, `deviation` what is known of all. Where it is, records lie in
    [0, 1] and vary as is known; otherwise not far outside the pairs, and not much more than they
    do.
    """
    if deviation is not None:
        low, high = np.zeros(X.shape[1]), np.ones(X.shape[1])
        spread, most = deviation, 1.25
    else:
        low, high = 2.0 * X.min(axis=0) - X.max(axis=0), 2.0 * X.max(axis=0) - X.min(axis=0)
        spread, most = deviations(X), 2.5
    varies = spread > 0
    wider = guess.std(axis=0)[varies] / spread[varies]
    outside = np.maximum(guess - high, low - guess)
    # In the bulk, not in the tails, which a handful of pairs does not reach.
    inside = (outside <= 1e-4 * (high - low)).mean() >= 0.9
    return bool(inside and (not varies.any() or np.median(wider) <= most))
