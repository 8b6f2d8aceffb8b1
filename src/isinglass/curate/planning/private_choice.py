"""Private choice of r on the table itself, charged everywhere."""

from __future__ import annotations

import bisect
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.chance import Coin
from isinglass.curate.planning.choose import (
    Neighborhoods,
    Places,
    anomalies_wanted,
    in_space,
)
from isinglass.curate.questions.builtin import checked_beta
from isinglass.curate.space import Space
from isinglass.detect.metric import Metric
from isinglass.epsilon import as_float, fraction, text
from isinglass.epsilon import micro as parsed

#: proposals drawn for every point of the grid: all are refused less than once in 2**64 choices
_TRIES = 45


class Charges(Protocol):
    """What a ledger is asked to do before the choice."""

    def charge_everywhere(self, micro: int, reason: str, *, user: str = "curator") -> None:
        """Spend so many millionths of epsilon at every place, or refuse."""


@dataclass(frozen=True, slots=True)
class PrivateChoice:
    """The radius, and what it cost at every place; nothing else of the table is told."""

    beta: int
    r: float
    micro: int
    charged: bool = True  # to a ledger; otherwise the caller keeps count

    @property
    def epsilon(self) -> float:
        """The price, at every place."""
        return as_float(self.micro)

    @property
    def sentence(self) -> str:
        """The choice as a sentence."""
        paid = "spent at every place" if self.charged else "not charged to any ledger"
        return (
            f"beta {self.beta}, r {self.r:g}: chosen with epsilon {text(self.micro)} of "
            f"differential privacy for every record, {paid}; timing not covered."
        )


def choose_r_privately(
    table: Any,
    beta: float,
    grid: Sequence[float],
    *,
    epsilon: Any,
    outlier_fraction: Any,
    blocks: int,
    ledger: Charges | None,
    space: Space | None = None,
    metric: str = "euclidean",
    p: float | None = None,
    weights: ArrayLike | None = None,
    user: str = "curator",
) -> PrivateChoice:
    r"""Choose r from a public grid so that about a share of the private table are anomalies.

    Every record goes to one of m `blocks`, drawn at random for each record alone. In a block of
    N_b records, r_b is the least radius at which at most $\lceil f N_b \rceil$ of them are
    anomalies with beta / m, rounded down, since a block has an m-th of a record's neighbors. With
    $c(r) = \#\{r_b \le r\}$, a point of the grid is proposed uniformly and accepted with
    probability $e^{-\epsilon |c(r) - m/2| / 2}$, until one is accepted: about a median of the r_b.

    Guarantee: epsilon of differential privacy for every record, added or removed; replacing one
    costs twice. Derivation: which block a record goes to depends on no other record, so two tables
    that differ by one record can be split alike but for that record. Then one block differs, so one
    r_b, so each $|c(r) - m/2|$ by at most 1: each point's weight changes by at most
    $e^{\epsilon/2}$ either way and so does their sum, hence each point's probability by at most
    $e^\epsilon$. This holds for every split of the other records, so for their mixture. One
    record can change r for all later answers, so the price is charged everywhere, and `ledger` is
    charged before a block is looked at: what fails afterwards was paid for.

    `beta` must come from elsewhere, such as a public guess at the size of the table: reckoned from
    the private number of records, it would tell that number. The same goes for the grid.

    Utility: with probability 1 - t the point chosen has $|c(r) - m/2|$ within
    $(2/\epsilon) \log(G/t)$ of the best of the G points, so m should be well above that. Take a
    fine grid: many points cost little, as G counts by its logarithm.

    Weakness: on a grid coarser than the spread of the r_b none of its points may have half of them
    below it, and where all r_b lie between two points, or outside, all points are equally likely;
    nothing warns of that. Blocks see their own neighbors only, and r_b of small blocks is coarse.
    Counting in blocks takes a time that depends on the table; only the draw has a fixed length.
    Every call pays again and draws again.

    Parameters
    ----------
    table : the private table; an array, a frame, or the path of a file where `space` is given.
    beta : at least 1, rounded down; public.
    grid : radii to choose from, in rising order: 0, or between 1e-150 and 1e150; public.
    epsilon : the price, in whole millionths.
    outlier_fraction : share of records that should be anomalies, >= 0 and < 1; public.
    blocks : how many blocks, from 1 to beta; with 1 the choice is blind.
    ledger : what is charged, by its `charge_everywhere`. Its contract must be signed, which any
        curator of this table does, with any r of the grid. None: the caller keeps count.
    space : the declared space; without it `metric`, `p` and `weights` say the distance.
    user : in whose name the ledger is charged.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> chosen = ig.choose_r_privately(
    ...     X, beta=5, grid=[0.1, 0.2, 0.4], epsilon="1", outlier_fraction=0.05, blocks=5,
    ...     ledger=None,
    ... )
    >>> chosen.r in (0.1, 0.2, 0.4)
    True
    """
    whole = checked_beta(beta)
    if isinstance(blocks, bool) or not isinstance(blocks, int) or not 1 <= blocks <= whole:
        raise ValueError(f"blocks must be a whole number from 1 to beta, {whole}, got {blocks!r}")
    price = parsed(epsilon)
    anomalies_wanted(outlier_fraction, 0)  # a bad share is refused before anything is paid
    if space is not None:
        table = space.read(table).rows
        space.refuse_planned_on(table)
    places, declared = in_space(table, space, metric, p, weights)
    radii = _checked_grid(grid, declared)
    if ledger is not None:
        reason = f"r chosen among {len(radii)} radii, with beta {whole} in {blocks} blocks"
        ledger.charge_everywhere(price, reason, user=user)
    split = _assigned(len(places), blocks)
    first = [
        first_radius(places[split == b], declared, whole // blocks, radii, outlier_fraction)
        for b in range(blocks)
    ]
    chosen = draw_point(misses(first, len(radii)), fraction(price), most=blocks)
    return PrivateChoice(whole, radii[chosen], price, charged=ledger is not None)


def _checked_grid(grid: Sequence[float], metric: Metric) -> list[float]:
    radii = [float(r) for r in grid]
    if not radii or any(not a < b for a, b in pairwise(radii)):
        raise ValueError(f"grid must be radii in rising order, at least one, got {list(grid)!r}")
    for r in radii:
        metric.limits(r)  # which refuses what is no radius
    return radii


def _assigned(n_records: int, blocks: int) -> NDArray[np.int64]:
    """A block for each record.

    The remainder favors some blocks by less than blocks / 2**64. The guarantee does not mind: it
    asks that records are assigned independently of each other and of what they hold.
    """
    words = np.frombuffer(secrets.token_bytes(8 * n_records), dtype=np.uint64)
    return (words % np.uint64(blocks)).astype(np.int64)


def first_radius(
    block: Places, metric: Metric, beta: int, radii: Sequence[float], outlier_fraction: Any
) -> int:
    """Where in the grid r_b lies: number of the first radius that is at least r_b.

    As many as there are radii where none is. A block without records has r_b = 0.
    """
    if not len(block):
        return 0
    most = anomalies_wanted(outlier_fraction, len(block))
    near = Neighborhoods(block, metric, beta)

    def few(r: float) -> bool:  # turns from False to True once: fewer anomalies as r grows
        return int(near.beyond(near.rows, r).sum()) <= most

    return bisect.bisect_left(radii, True, key=few)


def misses(first: Sequence[int], n_radii: int) -> list[int]:
    """Twice |c(r) - m/2| for every point of the grid: whole numbers, also where m is odd."""
    m = len(first)
    return [abs(2 * sum(f <= point for f in first) - m) for point in range(n_radii)]


def draw_point(
    misses: Sequence[int],
    epsilon: Fraction,
    *,
    most: int,
    below: Callable[[int], int] = secrets.randbelow,
    flip: Callable[[Coin, int], bool] = Coin.flip,
) -> int:
    """A point of the grid, with probability proportional to exp(-epsilon * miss / 4), exactly.

    Proposals are uniform, and the first accepted is taken. All misses are first lowered by the
    least of them: that changes no proportion, and some point is then accepted for certain, where
    otherwise a grid far off would need exp(epsilon * m / 4) proposals. As many proposals are drawn
    and tossed for whichever is accepted, and `most`, which no miss exceeds, fixes the coin's work,
    so the time of the draw does not tell.
    """
    least = min(misses)
    coin = Coin(epsilon / 4, most=most)
    chosen = None
    while chosen is None:
        for _ in range(_TRIES * len(misses)):
            point = below(len(misses))
            accepted = flip(coin, misses[point] - least)
            if accepted and chosen is None:
                chosen = point
    return chosen
