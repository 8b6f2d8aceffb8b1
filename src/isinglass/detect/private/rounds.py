"""Rounds of a private model: count, add noise, read; each round depends on noised counts alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from isinglass.bare_errors import without_frames
from isinglass.core_dumps import no_core_dumps
from isinglass.detect.private.counts import (
    NoisedCounts,
    RawCounts,
    count_columns,
    count_leaves_of,
    count_projections,
)
from isinglass.detect.private.estimates import (
    model_of,
    read_columns,
    read_projections,
    read_threshold,
)
from isinglass.detect.private.layout import Layout
from isinglass.detect.private.model import PrivateModel, scaled_table
from isinglass.detect.private.noise import ModelPrice, RoundNoise
from isinglass.detect.private.records import CodedRecords

#: Reads the table once more: as often as there are rounds.
Source = Callable[[], Iterable[CodedRecords]]

_CLEAR_TAIL = 4  # deviations of the noise that the records above a threshold must outnumber


@dataclass(frozen=True, slots=True)
class FittedRounds:
    """A model, its threshold if one was asked for and can be told, and the noise it was read with.

    `tail` is how many deviations of the noise the records above the threshold are, by estimate.
    """

    model: PrivateModel
    threshold: float | None
    tail: float


@without_frames
def fit_rounds(
    layout: Layout,
    price: ModelPrice,
    source: Source,
    *,
    share: float | None = None,
    n_jobs: int | None = 1,
) -> FittedRounds:
    """Count the table in all rounds, with noise drawn once for each.

    The price is that of all rounds, and of the threshold's even where it turns out to be drowned:
    what is done follows from settings and from noised counts.
    """
    noise = iter(price.rounds)

    def noised(count: Callable[[], RawCounts]) -> NoisedCounts:
        with no_core_dumps(), count() as raw:
            return raw.noised(next(noise), n_jobs=n_jobs)

    read = read_columns(layout, noised(lambda: count_columns(layout, source(), n_jobs=n_jobs)))
    densities = None
    if len(layout.moved) == 2:
        table = scaled_table(read.columns)
        second = noised(lambda: count_projections(layout, table, source(), n_jobs=n_jobs))
        densities = read_projections(layout, second, read)
    model = model_of(layout, read, densities)
    if share is None:
        return FittedRounds(model, None, math.inf)
    tail = share * model.n_estimated / price.rounds[-1].deviation
    if tail < _CLEAR_TAIL:
        return FittedRounds(model, None, tail)
    scores = noised(lambda: count_leaves_of(model.score_leaves, source(), n_jobs=n_jobs))
    threshold = read_threshold(scores, model.n_estimated, share)
    return FittedRounds(model, threshold, tail)


@without_frames
def one_round(
    layout: Layout, noise: RoundNoise, source: Source, *, n_jobs: int | None = 1
) -> NoisedCounts:
    """One owner's counts, to be added to those of others."""
    with no_core_dumps(), count_columns(layout, source(), n_jobs=n_jobs) as raw:
        return raw.noised(noise, n_jobs=n_jobs)


def one_round_model(layout: Layout, total: NoisedCounts) -> PrivateModel:
    """The model of several owners' counts; nobody else's table is needed to read it."""
    return model_of(layout, read_columns(layout, total), None)
