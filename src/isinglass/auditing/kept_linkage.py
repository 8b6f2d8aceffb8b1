"""Linkage attack that keeps its scores, so that levels are counted without a second run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.knowledge import Fact, Knowledge, PublicTable
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.linking.linker import Linker
from isinglass.attack.linking.record_fit import blocks


class KeepingLinkage(LinkageAttack):
    """Keeps the last linker in `kept`."""

    kept: Linker | None = None

    def linker(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Linker:
        self.kept = super().linker(released, knowledge)
        return self.kept


class AveragingLinkage(LinkageAttack):
    """Guesses the mean of all public records, likelier ones more, by the fits of `learned`.

    Where several records fit a row nearly as well, none is named with certainty, and their mean is
    nearer to the true one than the one that fits best.
    """

    def __init__(self, learned: KeepingLinkage) -> None:
        super().__init__(learned.random_state)
        self.learned = learned

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> NDArray[Any]:
        known = Knowledge.of(knowledge)
        records = known.need(PublicTable).records
        linker = self.learned.kept or self.learned.linker(released, known)
        fit = linker.fit()
        found = np.empty((fit.n_released, records.shape[1]))
        for rows, fits in blocks(fit):
            best = fits.max(axis=1, keepdims=True)
            # A row that no public record can be behind is anybody's.
            weights = np.exp(fits - np.where(np.isfinite(best), best, 0.0))
            weights[~np.isfinite(best[:, 0])] = 1.0
            found[rows] = weights @ records / weights.sum(axis=1, keepdims=True)
        return found
