"""Kept-columns attack: predict the released columns from those that left unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, ReleaseFacts, rows_of
from isinglass.attack.columns.marginals import clipped
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    KeptColumns,
    Knowledge,
    KnownPairs,
    PopulationSample,
    RowOrder,
)
from isinglass.attack.noise.row_filter import filtered
from isinglass.attack.noise.size import noise_variance, releases_averaged
from isinglass.attack.order.row_pairs import RowPairGuesser, distinct_pairs, learn_and_interpolate
from isinglass.errors import AttackError

if TYPE_CHECKING:
    from isinglass.attack.kept.effects import Effects

Array = NDArray[Any]
Rows = NDArray[np.intp]


class KeptColumnsAttack(Attack):
    """Learn what a kept column tells of the others, and filter the rest of the noise.

    Records of one city, age or date have something in common. It is learned from a sample with
    its kept values, or from known pairs; and from the release itself where its columns are the
    table's own with noise, since noise is small in the mean of a group. A part of a kept value
    may be what counts: the weekday of a date, the first letters of a code. What the kept columns do
    not tell is read from the released row, as far as it is more than noise, along the rows where
    their order is known.

    With `regress`, a line or a kind of curve, what left by another method counts as kept: noise
    in one release has nothing to do with a rotation or a distortion of the same records, so that
    a release with noise is a table of targets, and others tell what there is in it but noise.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> kept = ig.attacks.KeptColumns(X.sum(axis=1, keepdims=True))
    >>> known = kept | ig.attacks.KnownPairs(np.arange(50), X[:50])
    >>> ig.attacks.KeptColumnsAttack(random_state=0).guess(X[:, ::-1] ** 2, known).shape
    (200, 3)
    """

    name = "kept_columns"
    story = "predicts values from columns that left unchanged, or from other releases"
    needs = (KeptColumns,)

    def __init__(
        self, *, regress: str | None = None, random_state: chance.RandomState = None
    ) -> None:
        if regress is not None:
            from isinglass.attack.learning.noisy_targets import WAYS  # where releases are several

            if regress not in WAYS:
                ways = ", ".join(WAYS)
                raise ValueError(f"regress must be None or one of {ways}, got {regress!r}")
        self.regress = regress
        self.random_state = random_state

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        return None if release.has_kept_columns else "no column left as it was"

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        known = Knowledge.of(knowledge)
        Z = rows_of(released)
        if self.regress is not None:
            from isinglass.attack.learning.noisy_targets import explained

            return explained(Z, known, chance.generator(self.random_state), self.regress)
        kept = known.need(KeptColumns)
        if len(kept.values) != len(Z) or not kept.values.shape[1]:
            raise AttackError(f"kept columns must have the release's {len(Z)} rows")
        rng = chance.generator(self.random_state)
        pairs = known.find(KnownPairs)
        rows, records = (
            distinct_pairs(pairs, len(Z))
            if pairs is not None and len(pairs.rows)
            else (np.zeros(0, dtype=np.intp), np.zeros((0, 0)))
        )
        shown, shown_kept, taught = _shown(known, rows, records)
        d = _n_columns(Z, known, shown)
        rows_seen = releases_averaged(Z, known)
        noise = noise_variance(rows_seen, known, d)
        if noise is None and not len(shown):
            raise AttackError("this attack needs a sample with its kept columns, or known pairs")
        mean = _mean(rows_seen, known, shown)
        predicted, left_out = _predicted(
            rows_seen - mean if noise is not None else None,
            noise, shown - mean if len(shown) else shown, shown_kept, kept, rng,
        )  # fmt: skip
        order = _order(known, len(Z))
        found = mean + predicted
        if noise is not None:
            rest = filtered(
                (rows_seen - found)[order], noise, known, ordered=known.find(RowOrder) is not None
            )
            found[order] += rest
        if len(rows):
            place = np.argsort(order, kind="stable")
            at_pairs = found[rows] if left_out is None or not taught else mean + left_out
            first = RowPairGuesser(at_pairs, lambda: found[order])
            found = found.copy()
            found[order] = learn_and_interpolate(
                rows_seen[order], first, place[rows], records, known, rng
            )
            found[rows] = records
        return clipped(found, known)


def _shown(known: Knowledge, rows: Rows, records: Array) -> tuple[Array, Array, bool]:
    """Records with their kept values: of a sample, else of known pairs, and whether of these."""
    sample, kept = known.find(PopulationSample), known.need(KeptColumns).values
    if (
        sample is not None
        and sample.kept is not None
        and len(sample.records)
        and sample.kept.shape[1] == kept.shape[1]
        and np.isfinite(sample.records).all()
    ):
        return sample.records, sample.kept, False
    return records, kept[rows], bool(len(rows))


def _n_columns(Z: Array, known: Knowledge, shown: Array) -> int:
    statistics = known.find(ColumnStatistics)
    if len(shown):
        return int(shown.shape[1])
    return Z.shape[1] if statistics is None else len(statistics.mean)


def _mean(rows: Array, known: Knowledge, shown: Array) -> Array:
    statistics = known.find(ColumnStatistics)
    if statistics is not None:
        return statistics.mean
    return np.asarray(shown.mean(axis=0) if len(shown) else rows.mean(axis=0))


def _order(known: Knowledge, n_rows: int) -> Rows:
    order = known.find(RowOrder)
    if order is None:
        return np.arange(n_rows)
    if order.positions.shape != (n_rows,):
        raise AttackError(f"row order must be one position for each of the {n_rows} rows")
    return np.asarray(np.argsort(order.positions, kind="stable"), dtype=np.intp)


def _predicted(
    rows: Array | None,
    noise: Array | None,
    shown: Array,
    shown_kept: Array,
    kept: KeptColumns,
    rng: np.random.Generator,
) -> tuple[Array, Array | None]:
    """What is kept of every released row, and of every record shown, tells of it.

    Records shown weigh one; released rows as much less as their noise is larger than what kept
    columns leave open, which is taken to be half of the columns' variance.
    """
    from isinglass.attack.kept.parts import with_parts  # no attack but this one needs either
    from isinglass.attack.kept.predict import predict_from_kept

    n = len(kept.values)
    stacked = np.concatenate([shown_kept, kept.values]) if len(shown) else kept.values
    stacked = np.where(np.isfinite(stacked), stacked, -1.0)
    m = len(shown)
    if rows is None or noise is None:
        trained, values, weights = np.arange(m), shown, np.ones(m)
    else:
        spread = np.square(rows).mean(axis=0)
        own = np.maximum(spread - noise, 1e-12 * spread) / 2
        varies = spread > 0
        weight = (
            float(np.mean((own / np.maximum(own + noise, 1e-300))[varies])) if varies.any() else 1.0
        )
        trained = np.arange(m + n)
        values = np.concatenate([shown, rows]) if m else rows
        weights = np.concatenate([np.ones(m), np.full(n, max(weight, 1e-9))])
    if kept.parts is None:
        kept = with_parts(kept, shown_kept if m else stacked, shown if m else values)
    parts = [part.of(stacked) for part in kept.parts or ()]
    trusted = _trusted(kept, stacked, parts, trained, values, m, rows, noise)
    found = predict_from_kept(
        stacked, kept.is_category, trained, values, weights, rng, parts, trusted
    )
    return found[m:], found[:m] if m else None


def _trusted(
    kept: KeptColumns,
    stacked: Array,
    parts: list[Rows],
    trained: Rows,
    values: Array,
    m: int,
    rows: Array | None,
    noise: Array | None,
) -> Effects | None:
    """Effects of the parts of which it is known how much they matter; None where there are none.

    The first `m` training rows are records, others are released `rows` with `noise` on them.
    """
    side = int(m > 0)
    use = [i for i, part in enumerate(kept.parts or ()) if part.effect[side] > 0]
    if not use or not len(trained):
        return None
    from isinglass.attack.kept.effects import Effects  # only where some parts are known

    known = [(kept.parts or ())[i] for i in use]
    on_rows = np.zeros(values.shape)
    variance = np.square(values).mean(axis=0)
    if rows is not None and noise is not None:
        on_rows[m:] = noise
        variance = np.maximum(np.square(rows).mean(axis=0) - noise, 0.0)
    return Effects.of(
        [parts[i] for i in use], [part.effect[side] for part in known],
        1.0 - sum(part.share[side] for part in known), trained, values, variance, on_rows,
        [part.marks(stacked) for part in known],
    )  # fmt: skip
