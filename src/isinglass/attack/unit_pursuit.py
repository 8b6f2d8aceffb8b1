"""Unit-pursuit attack: find hidden units of a one-layer distortion from known pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.activations import ACTIVATIONS, Activation
from isinglass.attack.base import Attack, ReleaseFacts, rows_of
from isinglass.attack.columns.marginals import clipped, deviations, divisors, scaling_bounds, spans
from isinglass.attack.knowledge import (
    Fact,
    KeptColumns,
    Knowledge,
    KnownPairs,
    OtherReleases,
    PopulationSample,
    PublicParameters,
)
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.learning.hidden_units import Units, find_units
from isinglass.errors import AttackError
from isinglass.theory.inversion import Population, invert, layer_by_layer
from isinglass.theory.network import Network

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Functions to try beside the one that is claimed; a sigmoid's units are those of tanh.
_TRIED = ("tanh", "erf", "square", "relu", "double_logistic")
#: Share of the pairs that is left out, to see whether units guess better than other models.
_LEFT_OUT = 0.2
#: Pairs are parted so often, unless they are so many times more than needed.
_TRIALS, _PLENTY = 3, 4
#: Errors of regression, of regression on units and of solving units are compared times these:
#: the pairs left out are few, and units must be clearly better.
_HANDICAPS = np.array([[1.0], [1.15], [1.1]])
#: Units whose errors are below this share of the others' have won, whatever further trials say.
_CLEAR = 0.2
#: A guess is exact if it leaves no more than this share of the variance.
_EXACT = 1e-8
#: Rows beside the pairs that a model trained on fewer of them is shown.
_COMPANY = 300
#: How near the guess must come to what the release says of the units, as a share of its spread.
_EXPLAINED = 1e-4
#: A guess that is farther off, in deviations of the units, is no better than where it started.
_NEAR = 0.1


@dataclass(frozen=True, slots=True)
class _Scale:
    """Columns brought to [0, 1], where a distortion takes them."""

    low: Array = field(repr=False)
    span: Array = field(repr=False)

    def of(self, records: Array) -> Array:
        return np.asarray(np.clip((records - self.low) / self.span, 0, 1))

    def back(self, values: Array) -> Array:
        return np.asarray(self.low + self.span * values)


class UnitPursuitAttack(Attack):
    """Find the hidden units of a distortion from known pairs, then solve them for the records.

    Of a release z = B + Q f(A + W x) with no fewer columns than hidden units, every unit
    f(w x + a) is a linear function of z. So the attack looks for w and a such that f(w x + a) of
    the known records is one, exactly: then it is a unit, and its value is known in every row. As
    many units as columns give every record; with fewer the guess of `KnownInputAttack` is moved
    to agree with them. Where units do no better on pairs left out, as where there are none, the
    guess is that of `KnownInputAttack`. f is the one that is claimed, or another that finds more.

    Parameters
    ----------
    n_starts : int, default=150
        Random starts of each search.
    random_state : int, Generator or None
        Draws them.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.Distortion("relu", bounds="scaled", random_state=0).fit(X)
    >>> known = ig.attacks.KnownPairs(np.arange(50), X[:50])
    >>> attack = ig.attacks.UnitPursuitAttack(n_starts=10, random_state=0)
    >>> attack.guess(veil.transform(X), known).shape
    (200, 3)
    """

    name: ClassVar[str] = "unit_pursuit"
    story = "finds a distortion's hidden units from known pairs, and solves them"
    needs: ClassVar[tuple[type[Fact], ...]] = (KnownPairs,)
    needs_rows = True
    wants_mixtures = True

    def __init__(self, n_starts: int = 150, *, random_state: chance.RandomState = None) -> None:
        if n_starts < 1:
            raise ValueError(f"n_starts must be >= 1, got {n_starts}")
        self.n_starts = n_starts
        self.random_state = random_state

    @staticmethod
    def least_pairs(n_columns: int, n_released: int) -> int:
        """How many known pairs it takes to tell a unit from chance, some of them left out."""
        return round((n_columns + n_released + 5) / (1 - _LEFT_OUT))

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        least = cls.least_pairs(release.n_columns, release.n_released)
        if 0 < release.most_pairs < least:
            return "it needs more known pairs than table and release have columns, plus a quarter"
        return super().why_not(release)

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The table by the units found, column by column where they are the better guess."""
        Z, known = rows_of(released), Knowledge.of(knowledge)
        rng = chance.generator(self.random_state)
        plain = KnownInputAttack(random_state=int(rng.integers(2**31)))
        first = plain.guess(released, known)  # it checks the pairs, too
        given = known.need(KnownPairs)
        rows, order = np.unique(given.rows, return_index=True)
        records = given.records[order]
        n, d = records.shape
        least = self.least_pairs(d, Z.shape[1])
        if n < least:
            raise AttackError(f"this attack needs at least {least} known pairs, got {n}")
        scale, sample = _scale(known, records), known.find(PopulationSample)
        further = records[:0] if sample is None else sample.records
        found: list[Units] = []
        errors = np.zeros((3, d))
        for _ in range(_TRIALS if n < _PLENTY * least else 1):
            out, rest = np.split(rng.permutation(n), [round(_LEFT_OUT * n)])
            fewer, near = _with_fewer_pairs(known, rows, records, rest, len(Z), rng)
            before = plain.guess(Z[near], fewer)
            if _exact(before[out], records[out]):
                return first
            functions = [found[0].activation] if found else _functions(known)
            X, shown = scale.of(records), Z[rows]
            units = _most_units(functions, (X[rest], shown[rest]), (X[out], shown[out]), self, rng)
            tried = [before] * 3
            if units is not None:
                found.append(units)
                people = Population.of(np.vstack([X[rest], scale.of(further)]), d)
                tried[1:] = _by_units(plain, units, Z[near], fewer, scale, people, before)
            errors += [np.square(guess[out] - records[out]).sum(axis=0) for guess in tried]
            if not found or _decided(errors * _HANDICAPS):
                break
        # Errors below this are rounding.
        errors += _EXACT * n * records.var(axis=0)
        choice = (errors * _HANDICAPS).argmin(axis=0)
        if not found or not choice.any():
            return first
        people = Population.of(scale.of(np.vstack([records, further])), d)
        order = rng.permutation(n)
        X, shown, f = scale.of(records[order]), Z[rows[order]], found[0].activation
        units = find_units(f, X, shown, self.n_starts, rng, found) or found[0]
        ways = [first, *_by_units(plain, units, Z, known, scale, people, first)]
        guess = clipped(np.choose(choice, ways), known)
        guess[rows] = records
        return guess


def _decided(errors: Array) -> bool:
    """Whether one way is so much better than the others that more trials would not change it."""
    plain, units = errors[0].sum(), errors[1:].min(axis=0).sum()
    return bool(units < _CLEAR * plain)


def _exact(guess: Array, truth: Array) -> bool:
    """Whether nothing is left to find."""
    error = np.square(guess - truth).mean(axis=0)
    return bool((error <= _EXACT * truth.var(axis=0)).all())


def _scale(known: Knowledge, records: Array) -> _Scale:
    """By the bounds that are known; without any, records may lie a range beyond the pairs."""
    bounds = scaling_bounds(known, records.shape[1])
    if bounds is not None:
        return _Scale(bounds[0], spans(*bounds))
    low, high = records.min(axis=0), records.max(axis=0)
    return _Scale(2 * low - high, 3 * spans(low, high))


def _with_fewer_pairs(
    known: Knowledge, rows: Rows, records: Array, rest: Rows, n_rows: int, rng: np.random.Generator
) -> tuple[Knowledge, Rows]:
    """Knowledge of some of the pairs, about a release cut to the pairs and a few rows more."""
    others = np.setdiff1d(rng.permutation(n_rows)[:_COMPANY], rows)
    near = np.concatenate([rows, others])
    fewer = known | KnownPairs(rest, records[rest])
    releases, kept = known.find(OtherReleases), known.find(KeptColumns)
    if releases is not None:
        fewer |= OtherReleases(tuple(table[near] for table in releases.tables))
    if kept is not None:
        fewer |= kept.take(near)
    return fewer, near


def _functions(known: Knowledge) -> list[Activation]:
    """The function that the release claims, then others; those without a slope are left out."""
    public = known.find(PublicParameters)
    claimed = None if public is None else public.parameters.get("activation")
    names = [claimed] if isinstance(claimed, str) and claimed in ACTIVATIONS else []
    names += [name for name in _TRIED if name not in names]
    skipped = ("identity", "sign")
    return [ACTIVATIONS[name] for name in names if name not in skipped]


def _most_units(
    functions: list[Activation],
    pairs: tuple[Array, Array],
    others: tuple[Array, Array],
    attack: UnitPursuitAttack,
    rng: np.random.Generator,
) -> Units | None:
    """The units, confirmed by other pairs, of the function that has most; None if none has any."""
    best: Units | None = None
    for f in functions:
        found = find_units(f, *pairs, attack.n_starts, rng)
        found = None if found is None else found.confirmed(*others)
        if found is not None and (best is None or len(found.weights) > len(best.weights)):
            best = found
        if best is not None and len(best.weights) >= min(pairs[0].shape[1], best.most):
            break
    return best


def _by_units(
    plain: KnownInputAttack,
    units: Units,
    Z: Array,
    known: Knowledge,
    scale: _Scale,
    people: Population,
    first: Array,
) -> tuple[Array, Array]:
    """Two guesses: learned from the release and its units together, and solved from there."""
    inner = units.inner(Z)
    learned = first
    if inner is not None:
        # Every w x + a is a linear function of the record, which no released column is.
        rows = known.need(KnownPairs).rows
        low, high = inner[rows].min(axis=0), inner[rows].max(axis=0)
        inner = np.clip(inner, 2 * low - high, 2 * high - low)
        both = [table / divisors(deviations(table[rows])) for table in (Z, inner)]
        learned = plain.guess(np.column_stack(both), known)
    return learned, scale.back(_solved(units, Z, scale.of(learned), people))


def _solved(units: Units, Z: Array, start: Array, people: Population) -> Array:
    """Records in [0, 1] whose units have the values that the release says."""
    f, (K, d) = units.activation, units.weights.shape
    network = Network(
        ((units.weights, units.shifts),), np.eye(K), np.zeros(K), f.function, f.derivative
    )
    said = units.read(Z)
    starts = [start]
    if f.inverse is not None and d <= K:
        starts.insert(0, layer_by_layer(network, said, f.inverse))
    found = invert(network, said, starts, people, explained=_EXPLAINED)
    # A row that no record explains is beyond what the units tell.
    off = np.abs(network.values(found) - said).max(axis=1)
    return np.where((off <= _NEAR * units.deviation.max())[:, np.newaxis], found, start)
