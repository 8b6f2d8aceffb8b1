"""How many records can be asked about before the budget around them is gone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.ledger.budget import fits
from isinglass.detect.metric import Metric

#: records that are tried at most, in so many orders
TRIED = 4000
_ORDERS = 5


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a budget holds of records like those of a plan, ever: it is never filled again.

    `tried` records were priced one after the other, each paying where it lies; `before_refusal`
    were accepted before the first was refused, and `fitting` of all, as the median of some orders.
    """

    tried: int
    before_refusal: int
    fitting: int

    @property
    def sentence(self) -> str:
        """The capacity in plain words."""
        if self.fitting == self.tried:
            return (
                f"In total, for ever and not per day: all {self.tried:,} records like these that "
                "were tried fit under the budget, so it lasts for at least as many."
            )
        if not self.fitting:
            return "In total: not one record like these can be asked about."
        return (
            f"In total, for ever and not per day: about {self.before_refusal:,} records like these "
            f"until the first refusal, and about {self.fitting:,} of {self.tried:,} if the refused "
            "ones are left out; the budget is then used up around the others."
        )


def capacity(
    places: NDArray[np.float64], influence: float, epsilon: Fraction, cap: Fraction, metric: Metric
) -> Capacity:
    """Price records in random order, as a ledger would; nothing is asked."""
    # Only the order is drawn, and a plan is of public records: the same plan each time.
    rng = np.random.default_rng(0)
    tried = min(len(places), TRIED)
    accepted, before = [], []
    for _ in range(_ORDERS):
        some = places[rng.permutation(len(places))[:tried]]
        which = fits(some, influence, epsilon, cap, metric)
        accepted.append(int(which.sum()))
        before.append(tried if which.all() else int(np.argmin(which)))
    return Capacity(tried, sorted(before)[_ORDERS // 2], sorted(accepted)[_ORDERS // 2])
