"""Stolen-key attack: invert the release with its key, exactly or by least squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, ReleaseFacts, rows_of
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    KnownPairs,
    PopulationSample,
    PublicParameters,
    StolenKey,
)
from isinglass.attack.known_input import KnownInputAttack
from isinglass.errors import AttackError

Array = NDArray[Any]
Rows = NDArray[np.intp]
Bounds = tuple[Array, Array]
Way = Callable[[bool, bool], Array]

#: A guess explains a released row if its own release is nearer than this share of the spread, or
#: the second for a release in single precision. Saturated units tell records apart by their last
#: digits, so that less is no explanation.
_EXPLAINED, _EXPLAINED_SINGLE = 1e-9, 1e-5
#: A way back is exact if it leaves no more than this share of a column's variance.
_EXACT = 1e-8
#: Records kept apart to try ways back on: a third of a sample, and no more than this.
_MOST_UNSEEN = 400


class StolenKeyAttack(Attack):
    """Undo a release with its key.

    A rotation, a shift and noise that is drawn by row number come out to the last digits. Of any
    other method the key makes as many known pairs as wanted: records are drawn, perturbed with
    the key, and every way back is tried on them: the key's own `inverse_transform`, regression,
    and the former started from the regression's guess. Column by column the best mixture of two
    is taken, and the mean where none is better. So tanh comes back exactly as long as no
    dimension is lost, square and relu with enough hidden units, and where values are lost the
    guess is the best estimate of them.

    Parameters
    ----------
    n_simulated : int, default=2000
        Records drawn to try ways back on and to learn from.
    random_state : int, Generator or None
        Draws them.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> veil = ig.Rotation(optimize=None, bounds="scaled").fit(X)
    >>> guess = ig.attacks.StolenKeyAttack().guess(veil.transform(X), ig.attacks.StolenKey(veil))
    >>> bool(np.allclose(guess, X))
    True
    """

    name = "stolen_key"
    story = "inverts the release with the owner's key"
    needs = (StolenKey,)
    needs_rows = True

    def __init__(self, n_simulated: int = 2000, random_state: chance.RandomState = None) -> None:
        if n_simulated < 2:
            raise ValueError(f"n_simulated must be >= 2, got {n_simulated}")
        self.n_simulated = n_simulated
        self.random_state = random_state

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        why = super().why_not(release)
        return why if why or release.has_key else "the key was not given to the audit"

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The table by the way back that does best on records the attacker released himself."""
        Z, known = rows_of(released), Knowledge.of(knowledge)
        stolen = known.need(StolenKey)
        veil, sample = stolen.perturbation, known.find(PopulationSample)
        if getattr(veil, "draws_noise", False) and hasattr(veil, "inverse_transform"):
            found = _undone(Z, stolen, None if sample is None else sample.records)
            if found is not None:
                return _finite(found)
        rng = chance.generator(self.random_state)
        try:
            trial = simulate(known, veil, self.n_simulated, rng)
        except AttackError:
            found = _undone(Z, stolen, None)
            if found is None:
                raise
            return _finite(found)
        if trial.shown.shape[1] != Z.shape[1]:
            raise AttackError(
                f"the key is for releases of {trial.shown.shape[1]} columns, "
                f"this one has {Z.shape[1]}"
            )
        return _Ways(Z, stolen, known, trial, int(rng.integers(2**31))).best()


class _Ways:
    """Ways back from a release, tried on simulated records that none of them has seen."""

    def __init__(
        self, Z: Array, stolen: StolenKey, known: Knowledge, trial: Simulation, seed: int
    ) -> None:
        self.Z, self.stolen, self.known, self.trial, self.seed = Z, stolen, known, trial, seed
        self._made: dict[tuple[str, bool], Array | None] = {}

    def best(self) -> Array:
        """Column by column the mixture of two ways that does best on the simulated records."""
        ways: list[tuple[Way, bool]] = [(self._mean, False), (self._learned, False)]
        inverse = self._inverse(rehearsal=True, start=False)
        if inverse is not None:
            if self._is_exact(inverse):
                return self._explained_or_learned(rehearsal=False, start=False)
            searches = getattr(self.stolen.perturbation, "searches_inverse", False)
            for start in (False, True) if searches else (False,):
                ways += [(self._inverse_or_learned, start), (self._explained_or_learned, start)]
        tried = [way(True, start) for way, start in ways]
        first, second, share = _mixtures(tried, self.trial.unseen)
        guess = np.empty((len(self.Z), len(share)))
        for j, (a, b) in enumerate(zip(first, second, strict=True)):
            one, other = (ways[i][0](False, ways[i][1])[:, j] for i in (a, b))
            guess[:, j] = share[j] * one + (1 - share[j]) * other
        return guess

    def _is_exact(self, inverse: Array) -> bool:
        """Whether a way back gives every simulated record, to rounding."""
        truth = self.trial.unseen
        error = np.square(inverse - truth).mean(axis=0)
        return bool((error <= _EXACT * truth.var(axis=0) + 1e-20).all())

    def _rows(self, rehearsal: bool) -> Array:
        return self.trial.unseen_shown if rehearsal else self.Z

    def _mean(self, rehearsal: bool, start: bool) -> Array:
        statistics = self.known.find(ColumnStatistics)
        mean = self.trial.records.mean(axis=0) if statistics is None else statistics.mean
        return np.tile(mean, (len(self._rows(rehearsal)), 1))

    def _learned(self, rehearsal: bool, start: bool = False) -> Array:
        """Regression on simulated pairs."""
        made = self._made.get(("learned", rehearsal))
        if made is None:
            records, shown = self.trial.records, self.trial.shown
            if not rehearsal:  # what was kept apart has served, and now teaches too
                records = np.vstack([records, self.trial.unseen])
                shown = np.vstack([shown, self.trial.unseen_shown])
            facts: Knowledge = Knowledge(KnownPairs(np.arange(len(records)), records))
            statistics = self.known.find(ColumnStatistics)
            if statistics is not None:
                facts |= statistics
            seen = np.vstack([shown, self._rows(rehearsal)])
            attack = KnownInputAttack(random_state=self.seed)
            made = self._made["learned", rehearsal] = attack.guess(seen, facts)[len(records) :]
        return made

    def _inverse(self, rehearsal: bool, start: bool) -> Array | None:
        name = "inverse from learned" if start else "inverse"
        if (name, rehearsal) not in self._made:
            # A rehearsal may not know the records it is tried on; the real one knows all.
            sample = self.trial.sample if rehearsal else self.trial.whole_sample
            stolen = StolenKey(self.stolen.perturbation) if rehearsal else self.stolen
            begin = self._learned(rehearsal) if start else None
            found = _undone(self._rows(rehearsal), stolen, sample, begin)
            self._made[name, rehearsal] = None if found is None else _finite(found)
        return self._made[name, rehearsal]

    def _inverse_or_learned(self, rehearsal: bool, start: bool) -> Array:
        found = self._inverse(rehearsal, start)
        return self._learned(rehearsal) if found is None else found

    def _explained_or_learned(self, rehearsal: bool, start: bool) -> Array:
        """The inverse where it explains the release, and regression in the other rows."""
        found, rows = self._inverse_or_learned(rehearsal, start), self._rows(rehearsal)
        bounds = key_bounds(self.known, self.stolen.perturbation)
        inside = found if bounds is None else np.clip(found, *bounds)
        off = np.square(self.trial.release(inside) - rows).sum(axis=1)
        spread = np.square(rows - rows.mean(axis=0)).sum(axis=1).mean()
        single = bool((self.Z == self.Z.astype(np.float32)).all())
        limit = _EXPLAINED_SINGLE if single else _EXPLAINED
        explained = off <= limit**2 * spread
        if explained.all():
            return found
        return np.where(explained[:, np.newaxis], found, self._learned(rehearsal))


def _mixtures(tried: list[Array], truth: Array) -> tuple[Rows, Rows, Array]:
    """For every column the two guesses, and the share of the first, that come nearest to it.

    The first guess is the mean. Any other must be better by more than two standard errors of
    its lead, and two better than one by a twentieth: the records that they are tried on are few.
    """
    squares = np.stack([np.square(guess - truth) for guess in tried])  # ways x records x columns
    error = squares.sum(axis=1)
    lead = squares[0] - squares
    doubtful = lead.sum(axis=1) < 2 * np.sqrt(len(truth)) * lead.std(axis=1)
    doubtful[0] = False
    first = np.where(doubtful, np.inf, error).argmin(axis=0)
    columns = np.arange(truth.shape[1])
    best, least = np.stack(tried)[first, :, columns].T, error[first, columns]
    second, share, limit = first.copy(), np.ones(len(columns)), 0.95 * least
    for i, other in enumerate(tried):
        off = best - other
        size = np.square(off).sum(axis=0)
        part = (off * (truth - other)).sum(axis=0) / np.where(size > 0, size, 1.0)
        part = np.clip(np.where(size > 0, part, 1.0), 0.0, 1.0)
        new = np.square(other + part * off - truth).sum(axis=0)
        better = new < limit
        second[better], share[better], limit[better] = i, part[better], new[better]
    return first, second, share


def _undone(
    Z: Array, stolen: StolenKey, sample: Array | None, start: Array | None = None
) -> Array | None:
    """The perturbation's own inverse; None where it has none."""
    veil = stolen.perturbation
    invert = getattr(veil, "inverse_transform", None)
    if invert is None:
        return None
    options = {"sample": sample, "start": start}
    try:
        draws_noise = getattr(veil, "draws_noise", False)
        if stolen.rows is None or not draws_noise:
            first = stolen.first_row if draws_noise else 0
            return np.asarray(invert(Z, first_row=first, **options), dtype=np.float64)
        return _by_runs(Z, np.asarray(stolen.rows, dtype=np.intp), invert, options)
    except ValueError:  # values are lost for good, so that there is no way back
        return None


def _by_runs(Z: Array, rows: Rows, invert: Any, options: dict[str, Any]) -> Array:
    """Undo rows of any numbers, run by run of consecutive ones."""
    if rows.shape != (len(Z),):
        raise AttackError(f"the key's rows must be {len(Z)} numbers, one for each released row")
    order = np.argsort(rows, kind="stable")
    starts = np.flatnonzero(np.diff(rows[order], prepend=rows[order[0]] - 2) != 1)
    out: Array | None = None
    for run in np.split(order, starts[1:]):
        part = np.asarray(invert(Z[run], first_row=int(rows[run[0]]), **options), dtype=np.float64)
        if out is None:
            out = np.empty((len(Z), part.shape[1]))
        out[run] = part
    assert out is not None
    return out


def _finite(guess: Array) -> Array:
    """A guess is finite, whatever a saturated unit came back as."""
    bad = ~np.isfinite(guess)
    if not bad.any():
        return guess
    good = np.where(bad, 0.0, guess)
    mean = good.sum(axis=0) / np.maximum((~bad).sum(axis=0), 1)
    return np.where(bad, mean, guess)


@dataclass(frozen=True, slots=True)
class Simulation:
    """Records to learn from and others to try the result on, each with its release."""

    records: Array = field(repr=False)
    shown: Array = field(repr=False)
    unseen: Array = field(repr=False)
    unseen_shown: Array = field(repr=False)
    sample: Array = field(repr=False)  # records of the population, without those kept apart
    whole_sample: Array = field(repr=False)
    release: Callable[[Array], Array] = field(repr=False)


def simulate(known: Knowledge, perturbation: Any, n: int, rng: np.random.Generator) -> Simulation:
    """Draw `n` records like those of the table, and as many as can be spared beside them.

    From a sample where there is one, else by column statistics, else anywhere within bounds.
    """
    sample, bounds = known.find(PopulationSample), key_bounds(known, perturbation)
    if sample is not None and len(sample.records) >= 4:
        whole = _within(sample.records[rng.permutation(len(sample.records))], bounds)
        kept = min(max(1, len(whole) // 3), _MOST_UNSEEN)
        unseen, rest = whole[:kept], whole[kept:]
        records = _more_like(rest, n, rng)
    elif bounds is not None:
        kept = min(max(2, n // 4), _MOST_UNSEEN)
        whole = _within(_draw(known, bounds, n + kept, rng), bounds)
        unseen, rest = whole[:kept], whole[kept:]
        records = rest
    else:
        raise AttackError(
            "this perturbation has no inverse, and nothing is known of the table's range: the "
            "attack needs PopulationSample, ColumnStatistics or declared bounds"
        )

    def release(rows: Array) -> Array:
        if hasattr(perturbation, "transform_rows"):  # where noise is drawn, a row may be any
            return np.asarray(perturbation.transform_rows(rows, 0), dtype=np.float64)
        return np.asarray(perturbation.transform(rows), dtype=np.float64)

    records = _within(records, bounds)
    return Simulation(records, release(records), unseen, release(unseen), rest, whole, release)


def key_bounds(known: Knowledge, perturbation: Any) -> Bounds | None:
    """The columns' range; what the key itself says of it comes first."""
    if hasattr(perturbation, "key_bounds"):
        low, high = perturbation.key_bounds()
        return np.asarray(low), np.asarray(high)
    public, statistics = known.find(PublicParameters), known.find(ColumnStatistics)
    if public is not None and public.low is not None and public.high is not None:
        return np.asarray(public.low), np.asarray(public.high)
    return None if statistics is None else (statistics.low, statistics.high)


def _more_like(records: Array, n: int, rng: np.random.Generator) -> Array:
    """At most n of the records, or all of them and points between two: like them, and new."""
    records = records[:n]
    missing = n - len(records)
    if missing <= 0:
        return records
    share = rng.random((missing, 1))
    one, other = (records[rng.integers(len(records), size=missing)] for _ in range(2))
    return np.vstack([records, share * one + (1 - share) * other])


def _draw(known: Knowledge, bounds: Bounds, n: int, rng: np.random.Generator) -> Array:
    """Independent columns: beta laws with the known means and deviations, else even ones."""
    statistics = known.find(ColumnStatistics)
    if statistics is None:
        low, high = bounds
        return np.asarray(low + rng.random((n, len(low))) * (high - low))
    low, span = statistics.low, statistics.high - statistics.low
    unit = np.where(span > 0, span, 1.0)
    mean = np.clip((statistics.mean - low) / unit, 1e-6, 1 - 1e-6)
    most = mean * (1 - mean)
    size = most / np.clip((statistics.deviation / unit) ** 2, 1e-9, 0.99 * most) - 1
    return np.asarray(low + span * rng.beta(mean * size, (1 - mean) * size, (n, len(mean))))


def _within(records: Array, bounds: Bounds | None) -> Array:
    return records if bounds is None else np.asarray(np.clip(records, *bounds))
