"""Scores of public records against released rows, by stated or learned maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.attack.columns.marginals import deviations
from isinglass.attack.kept.join import Groups, joined
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KeptColumns,
    Knowledge,
    KnownPairs,
    OtherReleases,
    PublicParameters,
    PublicTable,
)
from isinglass.attack.learning.inverse_map import (
    InverseGuess,
    covariance_of,
    fit_inverse_map,
    whitening,
)
from isinglass.attack.learning.regression import fit_ridge
from isinglass.attack.linking.bounded_fit import NoiseFit
from isinglass.attack.linking.ranking import compared, log_error, mean_log_rank, places_of, settled
from isinglass.attack.linking.record_fit import GaussianFit, PairFit
from isinglass.attack.noise.fit import (
    averaged,
    first_columns,
    fit_by_distance,
    fit_by_parameters,
    in_own_units,
    others_alike,
)
from isinglass.attack.order.row_pairs import distinct_pairs
from isinglass.errors import AttackError

if TYPE_CHECKING:
    from isinglass.attack.learning.forward import Forward

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: A simpler way is preferred to one that is better by no more than this in the mean log rank.
_MARGIN = 0.02


@dataclass(frozen=True)
class LinkFits:
    """Fits by the public parameters, or by distance where they tell none."""

    released: Array = field(repr=False)
    public: Array = field(repr=False)
    parameters: PublicParameters | None = field(default=None, repr=False)

    def fit(self, rows: Any = slice(None), n_columns: int | None = None) -> NoiseFit:
        """The fits of some released rows to the public table's first columns, or to all."""
        Z, P = self.released[rows, :n_columns], self.public[:, :n_columns]
        found = None
        if self.parameters is not None:
            found = fit_by_parameters(Z, P, first_columns(self.parameters, n_columns))
        return fit_by_distance(Z, P) if found is None else found


@dataclass(frozen=True)
class Learned:
    """Fits learned from known pairs: forward, backward, or their mean, which is a product."""

    backward: InverseGuess = field(repr=False)
    forward: Forward | None = field(repr=False)  # None where it was not needed
    way: str
    groups: Groups | None = field(repr=False)

    def fit(self, rows: Any = slice(None), n_columns: int | None = None) -> NoiseFit:
        """The fits of some released rows to the public table's first columns, or to all.

        For a narrower public table the way forward is learned again, quickly.
        """
        backward, forward, way = self.backward, self.forward, self.way
        d = backward.public.shape[1]
        if forward is not None and n_columns is not None and n_columns < d:
            from isinglass.attack.learning.forward import learn_forward
            from isinglass.attack.learning.forward_map import Pairs

            rng = np.random.default_rng(0)
            seen, pair_rows = forward.seen, forward.pair_rows
            records, public = (t[:, :n_columns] for t in (backward.records, backward.public))
            pairs = Pairs.of(records, seen[pair_rows], public, Knowledge())
            forward = learn_forward(pairs, seen, pair_rows, self.groups, rng, quick=True)
            some = compared(len(pair_rows), rng)
            way, _ = _best_way(backward, forward, some, self.groups, n_columns)
        if forward is None:
            return backward.fit(rows, n_columns)
        return _by_way(way, backward.fit(rows, n_columns), forward.fit(rows))


@dataclass(frozen=True)
class Linker:
    """How well public records fit released rows; what it took to learn it is done once.

    `inner` is None where only kept columns tell records apart.
    """

    public: Array = field(repr=False)
    inner: LinkFits | Learned | None = field(default=None, repr=False)
    groups: Groups | None = field(default=None, repr=False)

    def fit(self, rows: Any = slice(None), n_columns: int | None = None) -> PairFit:
        """The fits of some released rows, to the public table's first columns or to all."""
        fit = None if self.inner is None else self.inner.fit(rows, n_columns)
        return joined(fit, self.groups, rows)


def make_linker(Z: Array, known: Knowledge, random_state: chance.RandomState) -> Linker:
    """Settle, or learn, how well a record fits a row."""
    P = known.need(PublicTable).records
    if not len(P) or not np.isfinite(P).all():
        raise AttackError("the public table must hold records, and finite numbers only")
    groups = Groups.of(known, len(Z))
    if groups is not None and groups.unique():
        return Linker(P, None, groups)
    told, pairs = _told(Z, P, known), known.find(KnownPairs)
    enough = pairs is not None and (len(pairs.rows) > 1 or (told is None and groups is None))
    if enough:
        return Linker(P, _learned(Z, P, known, told, groups, random_state), groups)
    if told is None and groups is None:
        raise AttackError(
            "linking needs the public parameters of a method that adds noise, known pairs to "
            "learn from how the release differs from the table, or columns that left as they "
            "were; none is known"
        )
    return Linker(P, told, groups)


def _told(Z: Array, P: Array, known: Knowledge) -> LinkFits | None:
    """Fits that need no pairs, where the release has the table's columns."""
    public = known.find(PublicParameters)
    if public is None or Z.shape[1] != P.shape[1]:
        return None
    statistics = known.find(ColumnStatistics)
    if statistics is not None and len(statistics.deviation) == P.shape[1]:
        public = in_own_units(public, statistics)  # a sample has other deviations
    if fit_by_parameters(Z[:1], P, public) is not None:
        return LinkFits(*averaged(Z, P, public, known.find(OtherReleases)))
    return LinkFits(Z, P) if public.method == "condensation" else None


def _learned(
    Z: Array,
    P: Array,
    known: Knowledge,
    told: LinkFits | None,
    groups: Groups | None,
    random_state: chance.RandomState,
) -> LinkFits | Learned:
    """The way of linking that names known pairs best, where they were left out."""
    rng = chance.generator(random_state)
    pairs = known.need(KnownPairs)
    if pairs.records.shape[1] != P.shape[1]:
        raise AttackError(
            f"known pairs must have the public table's {P.shape[1]} columns, "
            f"got {pairs.records.shape[1]}"
        )
    distinct = KnownPairs(*distinct_pairs(pairs, len(Z), required=True))
    others = known.find(OtherReleases)
    # What a release of another kind tells, the claim of this one does not.
    beside = others is not None and len(others_alike(Z, P, others)) < len(others.tables)
    if told is not None and not beside and _claim_holds(told, distinct):
        return told
    backward = fit_inverse_map(Z, P, known, rng)
    rows, records = backward.pair_rows, backward.records
    some = compared(len(rows), rng)
    back_rank = mean_log_rank(*backward.pairs_left_out(some), rows[some], groups)
    if settled(back_rank, len(some)):
        return Learned(backward, None, "backward", groups)
    # Only where pairs left out show that the map back does not name them all.
    from isinglass.attack.learning.forward import learn_forward
    from isinglass.attack.learning.forward_map import Pairs

    seen = _outputs(Z, known)
    forward = learn_forward(
        Pairs.of(records, seen[rows], P, known), seen, rows, groups, rng, quick=told is not None
    )
    way, rank = _best_way(backward, forward, some, groups)
    if told is not None:
        told_rank = _told_rank(told, records[some], rows[some], groups)
        # Where no known record is public nothing tells which is better; what uses more may be.
        if told_rank <= rank + _MARGIN if told_rank is not None else not beside:
            return told
    return Learned(backward, forward, way, groups)


def _outputs(Z: Array, known: Knowledge) -> Array:
    """All that is a function of the record: releases, and kept columns that no join uses."""
    others, kept = known.find(OtherReleases), known.find(KeptColumns)
    tables = [Z] if others is None else [Z, *others.tables]
    if kept is not None and known.need(PublicTable).kept is None:
        tables.append(kept.values[:, ~kept.is_category])
    return np.column_stack(tables) if len(tables) > 1 else Z


def _best_way(
    backward: InverseGuess,
    forward: Forward,
    some: Rows,
    groups: Groups | None,
    n_columns: int | None = None,
) -> tuple[str, float]:
    """Forward, backward or both: whichever ranks the true records of known pairs first."""
    back, own = backward.pairs_left_out(some, n_columns)
    ahead, own_ahead = forward.pairs_left_out(some)
    rows = forward.pair_rows[some]
    ways = {
        "backward": (back, own),
        "forward": (ahead, own_ahead),
        "both": (_by_way("both", back, ahead), (own + own_ahead) / 2),
    }
    ranks = {way: mean_log_rank(*found, rows, groups) for way, found in ways.items()}
    good = [way for way, rank in ranks.items() if rank <= min(ranks.values()) + _MARGIN]
    # Few pairs may all be named first by both; then the one that errs less is the surer.
    errors = {
        "backward": log_error(backward.left_out[:, :n_columns], backward.public[:, :n_columns]),
        "forward": log_error(forward.left_out, forward.seen),
    }
    errors["both"] = max(errors.values())
    way = min(good, key=errors.__getitem__)
    return way, ranks[way]


def _by_way(way: str, backward: GaussianFit, forward: GaussianFit) -> GaussianFit:
    if way != "both":
        return backward if way == "backward" else forward
    left = np.hstack([backward.left, forward.left])
    return GaussianFit(left, np.hstack([backward.right, forward.right]) / 2)


def _claim_holds(told: LinkFits, pairs: KnownPairs) -> bool:
    """Whether noise as it is claimed makes known pairs as likely as any affine map would.

    Both are densities of the released rows; the map's is that of pairs left out.
    """
    if told.parameters is None:
        return False
    own, found = _own_fits(told, pairs.records, pairs.rows)
    shown = told.released[pairs.rows]
    varies = deviations(shown) > 0
    if not found.any() or not varies.any():
        return False
    left_out = fit_ridge(pairs.records, shown[:, varies]).left_out
    white = whitening(covariance_of(left_out), deviations(shown[:, varies]))
    away = np.square(left_out @ white.T).sum(axis=1) / 2
    p = len(white)
    sizes = np.linalg.slogdet(white)[1] - p / 2 * np.log(2 * np.pi)
    # The covariance was fitted to these errors: so much too likely do its numbers make them.
    flattered = p * (p + 1) / (2 * len(away))
    return bool(own.mean() >= float((sizes - away)[found].mean()) - flattered)


def _told_rank(told: LinkFits, records: Array, rows: Rows, groups: Groups | None) -> float | None:
    """The rank of the true records by what is told; None where none of them is public."""
    own, public = _own_fits(told, records, rows)
    if not public.any():
        return None
    return mean_log_rank(told.fit(rows[public]), own, rows[public], groups)


def _own_fits(told: LinkFits, records: Array, rows: Rows) -> tuple[Array, NDArray[np.bool_]]:
    """How well true records fit their rows, and which records are public at all."""
    places = places_of(records, told.public)
    public = places >= 0
    fit = told.fit(rows[public])
    own = [
        fit.part(np.array([i]), places[public][i : i + 1]).block(slice(0, 1))[0, 0]
        for i in range(fit.n_released)
    ]
    return np.array(own), public
