"""Scores of guesses whose rows may belong to any record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.auditing.chance_tables import fresh_copy, share_of_copies, shuffled_columns
from isinglass.auditing.scoring import (
    Score,
    Yardstick,
    above_chance,
    nearest_indices,
    nearest_others,
    over_baseline,
    score_rows,
    wilson,
)

Array = NDArray[Any]
Marks = NDArray[np.bool_]

#: A guess shows a record where it is nearer to it than any other record is, by one of these
#: factors; the share that chance gives is taken off for each, and the largest difference counts.
NEARER = (0.1, 0.2, 0.3, 0.5)
#: Comparisons of a guess with a record in one search; as many guesses, or records, take part.
MOST_PAIRS = 200_000_000
MOST_GUESSES = 9604
_MANY_COPIES = 0.1
#: A baseline above this leaves so little that a single record would make a large gain.
NO_ROOM = 0.95
#: Where all columns together show less than this over chance, no single one counts.
SOME_GAIN = 0.05


def score_unaligned(
    guess: Array,
    table: Array,
    yard: Yardstick,
    blind: dict[str, Array],
    *,
    chosen: Marks,
    outlier: Marks,
    given: Marks,
    rng: np.random.Generator,
    held_out: Array | None = None,
    by_chance: Array | None = None,
) -> Score:
    """Compare guesses with records, neither of which tells whose the other is.

    Of as many guesses as records each record is held beside the guess that shows it best. Of
    fewer, as in a release of half of the rows, each guess is held beside the record that it shows
    best: the records that were left out are nobody's success or failure. Of more, values are
    compared guess by guess, and the share of records that are shown goes by record.

    Whatever looks like the population comes near to every record, and only what comes nearer
    tells something. So the baseline is the best of several: constants, the nearest record that is
    another one (as it is, and shrunk to fit), the nearest of records, and of guesses, whose
    columns were shuffled one by one, and the nearest of fresh draws whose columns hold the same
    values and go together alike.

    Parameters
    ----------
    guess, table : varying columns of all guesses and of all records
    chosen, outlier, given : marks of the records to score, of the true outliers, and of the
        records that the attacker was given, which do not count
    by_chance : the guess of the same attack from a release whose columns were shuffled, for
        attacks that fit a number to each row; then only what is shown counts
    """
    shuffled = shuffled_columns(table, rng)
    blinds = [shuffled_columns(guess, rng), fresh_copy(guess, rng)]
    if by_chance is not None:
        blinds.append(by_chance)
    sides = _Sides(guess, table, yard.span, rng)
    by_guess = by_record = None
    if len(guess) != len(table):
        by_guess = sides.by_guess(blinds, given)
    if len(guess) >= len(table):
        by_record = sides.by_record([shuffled, *blinds], chosen | outlier)
    # More guesses than records come nearer than any other record does, whatever they are.
    values, shown = by_guess or by_record, by_record or by_guess
    assert values is not None
    assert shown is not None
    counted = np.ones(len(values.behind), dtype=bool)
    if values is by_record:
        counted = chosen[values.behind]
    about: dict[str, Any] = {
        "outlier": outlier[values.behind], "chosen": counted, "others": None, "rng": rng,
        "scored_by": "nearest record",
    }  # fmt: skip
    score, *chance = (
        _of_whole_table(score_rows(g, r, yard, blind, **about), r[counted], yard)
        for g, r in [*values.pairs, _fitted(*values.pairs[1])]
    )
    for other in chance:
        score = above_chance(score, other)
    nearer = shown.ratios(counted if shown is values else chosen[shown.behind])
    fresh = _fresh(table, len(guess), yard.span, rng)
    found = _shown(nearer, fresh, table, fitted=by_chance is not None)
    if by_chance is None:
        found = max(found, _met(guess, table, yard.deviation, rng), key=_over)
    share, baseline = found
    score = replace(score, shown=share, shown_baseline=baseline, **_outliers(score))
    luckiest = max(chance, key=lambda s: float(s.r2.mean()))
    score = _above_luck(score, luckiest.r2_error)
    if by_chance is not None:
        score = above_chance(score, score)  # values were brought near by the fit
    if score.gain() < SOME_GAIN:
        # Of many columns one comes out well by chance: each guess, or record, chose the other.
        score = above_chance(score, score)
    if held_out is None or not len(held_out):
        return score
    beside = guess[nearest_indices(guess, held_out, yard.span)]
    control = np.abs(beside - held_out) <= yard.widths("within")
    return replace(score, control=float(control.mean()))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Guesses beside records: the attack's, the nearest other records, then blind ones."""

    behind: NDArray[np.intp]  # the number of each record of the first pair
    pairs: list[tuple[Array, Array]]
    table: Array
    span: Array

    def ratios(self, counted: Marks) -> list[Array]:
        """Squared distance of guess and record over that to the nearest record unlike it.

        For the attack, then for each blind guess.
        """
        first, (others, records), *blinds = self.pairs
        far, found = _squared(others, records, self.span), []
        for g, r in [first, *blinds]:
            if r is not records:
                far = _squared(nearest_others(self.table, r, self.span), r, self.span)
            found.append(_ratio(_squared(g, r, self.span), far)[counted])
        return found


@dataclass(frozen=True, slots=True)
class _Sides:
    """The two ways to hold guesses beside records."""

    guess: Array
    table: Array
    span: Array
    rng: np.random.Generator

    def by_guess(self, blinds: list[Array], given: Marks) -> _Pairs:
        """Each guess beside the record it shows best, but for records the attacker was given."""
        rows = self.rng.permutation(len(self.guess))[: _most(len(self.table))]
        behind = nearest_indices(self.table, self.guess[rows], self.span)
        counted = ~given[behind]
        if counted.any():
            rows, behind = rows[counted], behind[counted]
        records = self.table[behind]
        pairs = [(self.guess[rows], records)]
        pairs.append((nearest_others(self.table, records, self.span), records))
        for other in blinds:
            some = other[self.rng.integers(0, len(other), len(rows))]
            pairs.append((some, self.table[nearest_indices(self.table, some, self.span)]))
        return _Pairs(behind, pairs, self.table, self.span)

    def by_record(self, blinds: list[Array], asked: Marks) -> _Pairs:
        """Each record beside the guess that shows it best."""
        behind = np.flatnonzero(asked)
        if len(behind) > (most := _most(len(self.guess))):
            behind = np.sort(self.rng.choice(behind, most, replace=False))
        records = self.table[behind]
        pairs = [(self.guess[nearest_indices(self.guess, records, self.span)], records)]
        pairs.append((nearest_others(self.table, records, self.span), records))
        for other in blinds:
            pairs.append((other[nearest_indices(other, records, self.span)], records))
        return _Pairs(behind, pairs, self.table, self.span)


def _of_whole_table(score: Score, records: Array, yard: Yardstick) -> Score:
    """Variance explained as a share of the table's, not of the few records that were shown.

    Whether one record far from all others is among those would decide the latter.
    """
    share = records.var(axis=0) / np.square(yard.deviation)
    return replace(score, r2=np.where(share > 0, 1 - (1 - score.r2) * share, 0.0))


def _fitted(others: Array, records: Array) -> tuple[Array, Array]:
    """Other records on the line, column by column, that brings them nearest to these records.

    An attack that shrinks what it shows toward the middle is nearer to everybody.
    """
    x, z = records - records.mean(axis=0), others - others.mean(axis=0)
    square = np.square(z).sum(axis=0)
    slope = (x * z).sum(axis=0) / np.where(square > 0, square, np.inf)
    return records.mean(axis=0) + z * slope, records


def _above_luck(score: Score, error: float) -> Score:
    """Baselines raised by two standard errors: they were seen on as few records as the rest.

    A hundredth more of a value is much where the nearest other record comes as near as that.
    `error` is the standard error of the best blind guess's explained variance.
    """
    both = float(np.hypot(score.r2_error, error))

    def raised(share: Array) -> Array:
        error = np.sqrt(share * (1 - share) / score.n_records)
        return np.asarray(np.minimum(share + 2 * error, 1.0))

    return replace(
        score,
        baseline=raised(score.baseline),
        near_baseline=raised(score.near_baseline),
        r2_baseline=np.minimum(score.r2_baseline + 2 * both, 1.0),
    )


def _outliers(score: Score) -> dict[str, Any]:
    """No gain on outliers where a blind guess leaves no room for one: chance would decide it."""
    blind = score.outliers_baseline
    if blind is None or score.outliers is None or blind <= NO_ROOM:
        return {}
    return {"outliers_baseline": max(blind, score.outliers)}


def _shown(nearer: list[Array], fresh: Array, table: Array, *, fitted: bool) -> tuple[float, float]:
    """Share of records shown, and what chance gives, by the factor that tells them apart best.

    A number fitted to each row brings it nearer in one direction of all, so that only the
    smallest factor counts, and that direction does not.
    """
    found, n_columns, copies = [], table.shape[1], share_of_copies(table)
    for factor in NEARER[:1] if fitted else NEARER:
        shares = [float((ratio < factor**2).mean()) for ratio in nearer]
        # What a further record of the population would show is itself seen on a few.
        further = wilson(float((fresh < factor**2).mean()), len(fresh))[1]
        least = factor ** (n_columns - fitted)
        found.append((shares[0], max(least, further, copies, *shares[1:])))
    return max(found, key=_over)


def _over(pair: tuple[float, float]) -> float:
    return float(over_baseline(*pair))


def _met(guess: Array, table: Array, unit: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Share of guesses that have a nearest record to themselves; the same for fresh draws.

    Guesses that show a record each are nearest to different ones. Draws that show nobody often
    meet at one: about four in ten, where there are as many as records. What is over that is the
    share that is linked rightly by whoever names the nearest record. Records with copies meet
    several guesses by right, so that a table of many copies says nothing.
    """
    if share_of_copies(table) > _MANY_COPIES:
        return 0.0, 1.0
    guess, table = guess / unit, table / unit
    rows = rng.permutation(len(guess))[: min(len(table), _most(len(table)))]
    order = rng.permutation(len(table))
    # As many draws for each record as there are guesses for each.
    cut = max(round(len(rows) / (len(rows) + len(table)) * len(table)), 1)
    draws, rest = table[order[:cut]], table[order[cut:]]
    found, by_chance = _alone(guess[rows], table), _alone(draws, rest)
    error = np.sqrt(by_chance * (1 - by_chance) / len(draws))
    return found, min(by_chance + 3 * float(error), 1.0)


def _alone(rows: Array, table: Array) -> float:
    """Share of rows that have a record to themselves; of a record's copies each may meet one."""
    records, copies = np.unique(table, axis=0, return_counts=True)
    hits = np.bincount(
        nearest_indices(records, rows, np.ones(rows.shape[1])), minlength=len(records)
    )
    return float(np.minimum(hits, copies).sum() / len(rows))


def _most(n_others: int) -> int:
    return int(min(MOST_GUESSES, max(1000, MOST_PAIRS // n_others)))


def _fresh(table: Array, n_guesses: int, span: Array, rng: np.random.Generator) -> Array:
    """How near fresh draws from the population come: some records play them, for the others.

    Their numbers are as those of guesses and records, since more draws come nearer.
    """
    order = rng.permutation(len(table))
    share = min(max(n_guesses / (n_guesses + len(table)), 0.1), 0.9)
    cut = min(max(round(share * len(table)), 1), len(table) - 1)
    draws, rest = table[order[:cut]], table[order[cut:]]
    if n_guesses < len(table):
        draws = draws[: _most(len(rest))]
        records = rest[nearest_indices(rest, draws, span)]
    else:
        records = rest[: _most(len(draws))]
        draws = draws[nearest_indices(draws, records, span)]
    far = _squared(nearest_others(rest, records, span), records, span)
    return _ratio(_squared(draws, records, span), far)


def _squared(a: Array, b: Array, span: Array) -> Array:
    return np.asarray(np.square((a - b) / span).sum(axis=1))


def _ratio(near: Array, far: Array) -> Array:
    """Where all records are the same none is farther than another, and the ratio is infinite."""
    least = far > near * 1e-12
    return np.asarray(np.divide(near, far, out=np.full(len(near), np.inf), where=least))
