"""Choice of the feature that identifies records best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.linking.cells import CellFamily, Cells, stands_out
from isinglass.attack.linking.families import FeatureFamily, Seen, SettledFeatures
from isinglass.attack.linking.record_fit import PairFit, blocks

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Pairs, or rows where none is known, that say which pattern tells records apart best.
JUDGES = 200
#: The same in a table of so many records.
_FEW_JUDGES, _LARGE = 25, 20_000
#: Records among which the truth of a known pair is ranked.
CANDIDATES = 3000
#: One pattern is better than another if it is by so many standard errors.
_BEYOND_DOUBT = 3.0
#: Known pairs from which on half of them teach and half judge.
_MANY = 40


@dataclass(frozen=True, slots=True)
class Judges:
    """Known pairs and the records among which theirs are to be found."""

    seen: Seen = field(repr=False)
    strangers: Array = field(repr=False)

    def levels(self, families: Sequence[FeatureFamily | CellFamily]) -> Array:
        """Logarithms of the rank of each pair's record, the pair being left out of the teaching.

        Of several families all features together.
        """
        n = len(self.seen.rows)
        found = np.empty(n)
        needs_many_pairs = any(
            isinstance(f, FeatureFamily) and f.needs_many_pairs for f in families
        )
        for part in self.parts(needs_many_pairs=needs_many_pairs):
            records = np.vstack([self.seen.records[part], self.strangers])
            fit = taught(families, self.seen.only(~part)).fit(self.seen.rows[part], records)
            found[part] = log_ranks(fit, np.arange(part.sum()))
        return found

    def parts(self, *, needs_many_pairs: bool) -> list[NDArray[np.bool_]]:
        """Halves of many pairs, fifths of few, or where much is to be learned."""
        n = len(self.seen.rows)
        n_parts = 2 if n >= _MANY and not needs_many_pairs else min(n, 5)
        return [np.arange(n) % n_parts == k for k in range(n_parts)]


def taught(families: Sequence[FeatureFamily | CellFamily], seen: Seen) -> SettledFeatures | Cells:
    """What known pairs teach of families of features, all of them together; or of cells."""
    learned = [family.learned(seen) for family in families]
    joined = learned[0]
    for other in learned[1:]:
        if isinstance(joined, SettledFeatures) and isinstance(other, SettledFeatures):
            joined = joined.beside(other)
    return joined


def log_ranks(fit: PairFit, truth: Rows, among: Rows | None = None) -> Array:
    """Logarithms of how many records fit each row as well as the true one, among some of them."""
    found: list[Array] = []
    for rows, fits in blocks(fit):
        own = np.take_along_axis(fits, truth[rows][:, np.newaxis], axis=1)
        slack = 1e-9 * np.abs(np.where(np.isfinite(own), own, 0.0))
        others = fits if among is None else fits[:, among]
        found.append(np.log(np.maximum(1, (others >= own - slack).sum(axis=1))))
    return np.concatenate(found)


def better(levels: Array, than: Array) -> bool:
    """Whether ranks are lower beyond doubt, row by row."""
    gain = than - levels
    error = gain.std() / np.sqrt(len(gain))
    return bool(gain.mean() > _BEYOND_DOUBT * error and gain.mean() > 0)


def n_judges(n_records: int) -> int:
    return JUDGES if n_records <= _LARGE else _FEW_JUDGES


def clear(
    settled: SettledFeatures | Cells, rows: Array, records: Array, rng: np.random.Generator
) -> float:
    """The share of rows that one record fits far better than any other does, beyond chance.

    Chance is what rows show whose values come from as many rows, and which are nobody's.
    """
    if isinstance(settled, Cells):
        return float(stands_out(settled, rows, records, rng).mean())
    mixed = np.column_stack([rng.permutation(column) for column in rows.T])
    nearer, _ = far_nearer(settled, np.vstack([rows, mixed]), records)
    ours, chance = nearer[: len(rows)].mean(), nearer[len(rows) :].mean()
    return float(ours if rows.shape[1] < 2 else ours - chance)


def far_nearer(
    settled: SettledFeatures, rows: Array, records: Array
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Whether the nearest record is at a tenth of the distance of the second, and which it is."""
    constant = len(settled.weight) / 2 * np.log(2 * np.pi)
    found, named = [], []
    for _, fits in blocks(settled.fit(rows, records)):
        best, each = fits.argmax(axis=1), np.arange(len(fits))
        first = fits[each, best]
        fits[each, best] = -np.inf  # the second is the largest of the others
        second = fits.max(axis=1)
        near, far = -(first + constant), -(second + constant)  # half the squared distances
        found.append((near < 0.01 * far) & (far > 1e-9))
        named.append(best)
    return np.concatenate(found), np.concatenate(named)
