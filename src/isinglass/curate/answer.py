"""Answer of a curator: one bit about the table, and facts about the query."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from isinglass.curate.guarantee import Guarantee


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one query.

    `anomalous` is the only field that the table has a part in, through a draw of chance whose
    price is `epsilon`. All others follow from the queries asked so far and from settings:
    `spent` is what was paid just now (0 for a stored answer), `left` what may still be spent
    at this place, and `queries_left` how many more queries at this price that allows here.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> curator = ig.Curator(X, beta=5, r=0.3, budget=1, ledger="ledger.db", bounds="scaled")
    >>> answer = curator.ask([0.5, 0.5, 0.5], epsilon="0.25")
    >>> answer.spent, answer.left, answer.queries_left
    (0.25, 0.75, 3)
    """

    anomalous: bool
    epsilon: float
    spent: float
    left: float
    queries_left: int
    guarantee: Guarantee

    def to_json(self) -> dict[str, Any]:
        """A document for JSON."""
        facts = {name: getattr(self, name) for name in self.__slots__}
        return facts | {"guarantee": self.guarantee.to_json()}


@dataclass(frozen=True, slots=True)
class Price:
    """What a query would cost now, if it were asked; nothing was asked, nothing was spent.

    `spent` is 0 where the answer is stored; `left` and `queries_left` are what would remain here,
    after all queries of the same batch.
    """

    epsilon: float
    spent: float
    left: float
    queries_left: int

    def to_json(self) -> dict[str, Any]:
        """A document for JSON."""
        return asdict(self)
