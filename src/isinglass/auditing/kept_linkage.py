"""Linkage attack that keeps its scores, so that levels are counted without a second run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.knowledge import Fact, Knowledge, PublicTable
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.linking.bounded_fit import likely_means
from isinglass.attack.linking.linker import Linker
from isinglass.auditing.scene import Scene

#: Fits of a record to a row that are averaged over: in a large table fewer rows are scored, until
#: those that are known, which stand first, are all that is left.
_MOST_FITS, _MOST_FITS_BY_FAR, _FEWEST_SCORED = 200_000_000, 1_000_000_000, 200


def rows_averaged(scene: Scene) -> int:
    """How many of the rows attacked are compared with the whole table; 0 where that is too much."""
    fewest, n = scene.split.n_known + _FEWEST_SCORED, max(1, len(scene.table))
    return max(_MOST_FITS // n, fewest) if fewest * n <= _MOST_FITS_BY_FAR else 0


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
        fit = linker.fit(slice(0, len(np.asarray(released))))
        return likely_means(fit, records)[0]
