"""Search for functions of two kept columns that predict more than single columns do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations, divisors
from isinglass.attack.kept.column_readings import Readings, read_column
from isinglass.attack.kept.grouping_selection import Exposure, Model, Rating, rate, rate_words
from isinglass.attack.kept.groups import intersect_groupings
from isinglass.attack.kept.joint_parts import CandidateFunction, numbered, phase_bins
from isinglass.attack.kept.paired_columns import (
    banded,
    boards,
    combined_numbers,
    equalities,
    remainders,
)
from isinglass.attack.kept.waves import periods, waves
from isinglass.attack.knowledge import KeptColumns

Array = NDArray[Any]
Codes = NDArray[np.intp]
Function = Any

#: Columns and pairs that are looked at; with more pairs than `_FEW_PAIRS`, fewer ways of each.
_MOST_COLUMNS, _FEW_PAIRS = 6, 3
#: Parts of two columns that are crossed in all, and numbers that are cut by what records say.
_MOST_CROSSED, _MOST_CUT = 150, 6
#: Quantile bins, and steps of whole numbers that make a band.
_BINS, _BANDS = (8, 20, 50), (2, 5, 10, 20)
#: Candidates that are kept, and the share of the variance each must explain of what is left.
_MOST_FOUND, _LEAST_SHARE = 12, 0.01
#: Fewer rows say nothing of two columns; and cells of the records that are looked at.
_LEAST_ROWS, _MOST_CELLS = 100, 150_000
_HOUR = 3600.0


def joint_candidates(
    own: Array,
    kept: KeptColumns,
    everything: Mapping[int, Array],
    values: Array,
    alone: Sequence[Model],
    sides: Sequence[Exposure],
    parts: Sequence[tuple[int, str, Any, Codes]],
) -> list[CandidateFunction]:
    """Functions that tell more of the rows' `values` than parts of single columns `alone`.

    `own` are the rows' kept values, `everything` the values that each column has; `parts` of
    single columns have a column, a name, the groups of all its values and those of the rows.
    """
    columns = [j for j in range(own.shape[1]) if j in everything][:_MOST_COLUMNS]
    if len(values) < _LEAST_ROWS or not columns:
        return []
    meanings = kept.meanings or (None,) * own.shape[1]
    readings = {
        j: read_column(everything[j], meanings[j], is_category=bool(kept.is_category[j]))
        for j in columns
    }
    places = {j: np.searchsorted(everything[j], own[:, j]) for j in columns}
    numbers = own[:, [j for j in columns if not kept.is_category[j]]]
    rough, left = (v - smooth(numbers, v, 1.0 + sides[0].noise) for v in (values, alone[-1].left))
    told = [model.found for model in alone]
    return _JointSearch(places, readings, values, rough, left, sides, told).best(parts)


class _JointSearch:
    """Candidates on some rows: made by one half of them, rated by the other.

    What is the best of thousands by chance on one half is nothing in particular on the other.
    """

    def __init__(
        self,
        places: Mapping[int, Array],
        readings: Mapping[int, Readings],
        values: Array,
        rough: Array,
        left: Array,
        sides: Sequence[Exposure],
        told: Sequence[float],
    ) -> None:
        mixed = np.random.default_rng(0).permutation(len(values))
        mixed = mixed[: max(_LEAST_ROWS, _MOST_CELLS // values.shape[1])]
        self.places, self.readings = places, readings
        self.values, self.rough, self.left, self.told = values, rough, left, told
        self.made, self.rated = mixed[::2], mixed[1::2]
        more = len(values) / len(self.rated)
        self.sides = [Exposure(seen.rows * more, seen.noise) for seen in sides]
        self.pairs = list(combinations(readings, 2))
        self.few = len(self.pairs) > _FEW_PAIRS
        self.found: list[tuple[list[float], CandidateFunction]] = []

    def best(self, parts: Sequence[tuple[int, str, Any, Codes]]) -> list[CandidateFunction]:
        """The candidates that tell most to attackers who have as much as any of the sides."""
        numbers = list[tuple[float, tuple[int, int], str, Function]]()
        for pair in self.pairs:
            a, b = (self.readings[j] for j in pair)
            for name, function in (*equalities(a, b), *boards(a, b, few=self.few)):
                self._try(pair, name, function)
            for name, function in combined_numbers(a, b):
                best = max(self._try(pair, name, read) for read in self._binned(pair, function))
                numbers.append((best, pair, name, function))
        for _, pair, name, function in sorted(numbers, key=lambda x: -x[0])[:_MOST_CUT]:
            edges = cuts(self._of(pair, function)[self.made], self.values[self.made])
            if len(edges):
                self._try(pair, name, banded(function, edges))
        for candidate in (*self._crossed(parts), *self._waves()):
            self._rate(candidate)
        found: dict[bytes, CandidateFunction] = {}
        for side in range(len(self.sides)):
            self.found.sort(key=lambda x: -x[0][side])
            for _, candidate in self.found[:_MOST_FOUND]:
                found.setdefault(
                    b"".join(column.tobytes() for column in candidate.block), candidate
                )
        return list(found.values())

    def _of(self, columns: tuple[int, ...], function: Function) -> Array:
        return np.asarray(function(*(self.places[j] for j in columns)))

    def _binned(self, pair: tuple[int, int], function: Function) -> Iterator[Function]:
        numbers = self._of(pair, function)
        yield function
        whole = bool((numbers == np.rint(numbers)).all())
        for bins in _BINS:
            edges = np.unique(np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1]))
            yield banded(function, edges)
        if whole:
            low, high = float(numbers.min()), float(numbers.max())
            for size in _BANDS:
                if 2 * size < high - low < 500 * size:
                    edges = np.arange(np.floor(low / size) + 1, high // size + 1) * size
                    yield banded(function, edges)
            if not self.few:
                yield from (read for size, read in remainders(function) if size < high - low)

    def _try(self, columns: tuple[int, ...], name: str, read: Function) -> float:
        return self._rate(CandidateFunction(columns, name, read, numbered(self._of(columns, read))))

    def _rate(self, candidate: CandidateFunction) -> float:
        """Note a candidate that tells something, and say how much in itself."""
        left = self._ratings(candidate, self.left)
        best = left
        # What single columns nearly say may be said by fewer groups of two.
        whole = self._ratings(candidate, self.rough)
        more = [r.found - told for r, told in zip(whole, self.told, strict=True)]
        if max(more) > max(_LEAST_SHARE, *(rating.found for rating in left)):
            best = [replace(r, found=m) for r, m in zip(whole, more, strict=True)]
        if best[0].beyond_chance and best[0].share >= _LEAST_SHARE:
            self.found.append(([rating.found for rating in best], candidate))
        return max(left[0].share, *more)

    def _ratings(self, candidate: CandidateFunction, values: Array) -> list[Rating]:
        rows = self.rated
        if candidate.waves is not None:
            return [rate_words(candidate.waves[rows], values[rows], seen) for seen in self.sides]
        ones = np.ones(len(rows))
        return [rate(candidate.codes[rows], values[rows], ones, seen) for seen in self.sides]

    def _crossed(self, parts: Sequence[tuple[int, str, Any, Codes]]) -> Iterator[CandidateFunction]:
        """Two parts at once, of those of each column that tell most, or that have few groups."""
        if not self.pairs:
            return
        each = max(2, int(np.sqrt(_MOST_CROSSED / len(self.pairs))))
        by_column: dict[int, list[Any]] = {}
        ones = np.ones(len(self.made))
        for part in parts:
            by_column.setdefault(part[0], []).append(part)
        for j, own in by_column.items():
            own = [part for part in own if part[3].max() < len(self.left) / 10]
            told = [rate(part[3][self.made], self.values[self.made], ones).found for part in own]
            # Two that tell nothing alone may tell something together: few groups first.
            order = sorted(
                range(len(own)), key=lambda i: (-round(told[i], 2), int(own[i][3].max()))
            )
            by_column[j] = [own[i] for i in order[:each]]
        for a, b in self.pairs:
            for _, one, first, here in by_column.get(a, ()):
                for _, other, second, there in by_column.get(b, ()):
                    codes = intersect_groupings([here, there])
                    if codes.max() < len(codes) / 4:
                        name = f"{one} of {{0}} with {other} of {{1}}"
                        yield CandidateFunction((a, b), name, _both(first, second), codes)

    def _waves(self) -> Iterator[CandidateFunction]:
        for j, column in self.readings.items():
            places = column.numbers if column.seconds is None else column.seconds
            if places is None:
                continue
            at = places[self.places[j]]
            for period in periods(at[self.made], self.left[self.made]):
                size = f"{period:.4g}" if column.seconds is None else f"{period / _HOUR:.4g} hours"
                for harmonics, multiple in ((1, 1), (3, 1), (4, 2)):
                    read = _wave(places, period * multiple, harmonics)
                    marks = read(self.places[j])
                    name = f"phase of {{0}} in a period of {size}"
                    yield CandidateFunction((j,), name, read, phase_bins(marks), marks)


def _both(first: Any, second: Any) -> Function:
    """Keys of two parts at once; each is read from all values of its column."""

    def read(i: Array, j: Array) -> Array:
        one, other = first(), second()
        return np.asarray(one[i] * (int(other.max()) + 1) + other[j])

    return read


def _wave(places: Array, period: float, harmonics: int) -> Function:
    return lambda i: waves(places[i], period, harmonics)


def smooth(numbers: Array, values: Array, strength: float) -> Array:
    """What a ridge regression on numbers, their squares and products tells of the values."""
    if not numbers.shape[1]:
        return np.zeros_like(values)
    line = (numbers - numbers.mean(axis=0)) / divisors(deviations(numbers))
    line = np.clip(line, -4.0, 4.0)
    products = [line[:, i] * line[:, j] for i in range(line.shape[1]) for j in range(i + 1)]
    features = np.column_stack([line, *products])
    features -= features.mean(axis=0)
    inner = features.T @ features + strength * np.eye(features.shape[1])
    return np.asarray(features @ np.linalg.solve(inner, features.T @ values))


#: Pieces in all, rows in each, and directions of the records that are looked at.
_MOST_PIECES, _LEAST_CUT_OFF, _MOST_DIRECTIONS = 40, 5, 12
#: Deviations of chance by which a cut must do better than none; it is the best of many.
_CLEAR = 6.0


def cuts(numbers: Array, values: Array) -> Array:
    """Where to cut the numbers, by binary segmentation (Scott and Knott 1974)."""
    order = np.argsort(numbers, kind="stable")
    x, rows = numbers[order], _white(values)[order]
    sums = np.vstack([np.zeros(rows.shape[1]), np.cumsum(rows, axis=0)])
    squares = np.append(0.0, np.cumsum(np.square(rows).sum(axis=1)))
    d = rows.shape[1]
    limit = d + _CLEAR * np.sqrt(2.0 * d) + _CLEAR
    found, pieces = list[float](), [(0, len(x))]
    while pieces and len(found) < _MOST_PIECES - 1:
        start, end = pieces.pop(0)
        at = np.arange(start + _LEAST_CUT_OFF, end - _LEAST_CUT_OFF + 1)
        at = at[x[at - 1] < x[np.minimum(at, len(x) - 1)]] if len(at) else at
        if not len(at):
            continue
        left, right = sums[at] - sums[start], sums[end] - sums[at]
        between = np.square(left).sum(axis=1) / (at - start)
        between += np.square(right).sum(axis=1) / (end - at)
        whole = float(np.square(sums[end] - sums[start]).sum()) / (end - start)
        best = int(between.argmax())
        within = squares[end] - squares[start] - between[best]
        usual = max(within / (d * max(end - start - 2, 1)), 1e-12)
        if between[best] - whole > limit * usual:
            middle = int(at[best])
            found.append(float(x[middle - 1] + x[middle]) / 2)
            pieces += [(start, middle), (middle, end)]
    return np.sort(found)


def _white(values: Array) -> Array:
    """The main directions of the records, each of variance 1."""
    centered = values - values.mean(axis=0)
    size, axes = np.linalg.eigh(centered.T @ centered / max(len(values), 1))
    main = np.flatnonzero(size > 1e-3 * max(float(size[-1]), 1e-300))[-_MOST_DIRECTIONS:]
    return np.asarray(centered @ (axes[:, main] / np.sqrt(size[main])))
