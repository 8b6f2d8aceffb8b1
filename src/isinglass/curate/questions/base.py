"""Base class of questions a curator can answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class Look(Protocol):
    """What a question may see of a table."""

    def within(self, places: Array, r: float, cap: int | None = None) -> Counts:
        """Records at distance `r` or less of each place; counting may stop at `cap`."""
        ...

    def copies(self, places: Array) -> Counts:
        """Records that equal each place in every column."""
        ...


class Question(ABC):
    """A definition of anomaly that a curator can answer: subclass it for one of your own.

    You supply `look`, `anomalous` and `distance`, the settings below, and three proofs, over all
    tables and not just likely ones. Call tables neighbors when one is the other and one record
    more. Then `bounded_mechanism` is (`lipschitz` * epsilon)-differentially private if

    1. `distance` is at least 1;
    2. between neighbors `distance` changes by `lipschitz` at most;
    3. where `anomalous` differs between neighbors, `distance` is 1 at both, which holds if it
       never exceeds the number of changes that turn `anomalous` over.

    For `privacy` "sensitive" it is enough that 2 and 3 hold between neighbors that `covers`
    accepts. A fourth claim is `influence`: that no record farther from the place asked about
    changes what `look` returns. It decides where a query is charged; leave it infinite, and the
    query is charged everywhere, unless you can prove less.

    `falsify` tries all of this on every small table of a universe you name; run it before you
    write the proof.

    Attributes
    ----------
    name : str
        The `mode` of queries. Two questions whose settings differ in anything but `beta`, `r`,
        `k` and `count_query` need different names, or one would get the other's stored answers.
    beta, r, count_query : int, float, bool
        Settings as `Sparse` has them, for the guarantee and the ledger.
    k : int or None, default=None
        Set it only if `covers` and `distance` are those of `Sensitive`: the guarantee's worst
        case is reckoned from it.
    influence : float, default=inf
        The distance beyond which no record matters.
    privacy : {"differential", "sensitive"}, default="differential"
        Whether all neighbors are covered, or those that `covers` accepts.
    lipschitz : int, default=1
        The factor of claim 2, and of the price.

    Examples
    --------
    >>> mechanism = ig.mechanisms.sparse(5, 1.0, "0.5")
    >>> isinstance(mechanism.question, ig.Question)
    True
    """

    name: str
    beta: int
    r: float
    k: int | None = None
    count_query: bool = True
    influence: float = math.inf
    privacy: Literal["differential", "sensitive"] = "differential"
    lipschitz: int = 1

    @abstractmethod
    def look(self, table: Look, places: Array, cap: int) -> Counts:
        """The counts the answer depends on, a row for each place.

        Distances above `cap` are never told apart, so counting may stop where they begin.
        """

    @abstractmethod
    def anomalous(self, *counts: int) -> bool:
        """The true answer, from one row of `look`."""

    @abstractmethod
    def distance(self, *counts: int) -> int:
        """At most so many records must come or go before the answer is another, at least 1."""

    def covers(self, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
        """Whether the promise covers a record that is added or removed.

        Given are the rows of `look` at that very record, in the table without it and with it, in
        either order.
        """
        return True
