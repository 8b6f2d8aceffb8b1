"""Query of a curator: a place, the question asked there and its price; and the answer to it."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.guarantee import Guarantee

# Made once, for making one takes longer than hashing a query.
_SHA256 = hashlib.sha256()
_FACTS = struct.Struct("<qdqq?dqq")


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """What an end user asks the curator about one record, and what it costs.

    `place` is the record in the space the contract declares, float64; `mode` names the question;
    `micro` is the price in millionths of epsilon; `influence` is the distance beyond which no
    record of the table can change the answer's chances, infinite where none is proved; `privacy`
    says whether every record is promised something, or those that are sensitive.

    Examples
    --------
    >>> query = ig.mechanisms.Query(np.array([1.0]), "sparse", 2, 1.0, 500_000, influence=1.0)
    >>> query.sensitive
    False
    """

    place: NDArray[np.float64] = field(repr=False)
    mode: str
    beta: int
    r: float
    micro: int
    k: int | None = None
    count_query: bool = True
    influence: float = float("inf")
    privacy: Literal["differential", "sensitive"] = "differential"

    @property
    def sensitive(self) -> bool:
        """Whether only sensitive records are promised something."""
        return self.privacy == "sensitive" or self.k is not None

    def digest(self) -> bytes:
        """What makes two queries identical: the record and every setting, never who asks or why.

        Minus zero is the same place as zero.
        """
        mode = self.mode.encode()
        # "?" and the lengths keep different settings from running into the same bytes.
        facts = _FACTS.pack(
            self.beta,
            self.r,
            self.micro,
            -1 if self.k is None else self.k,
            self.count_query,
            self.influence,
            len(mode),
            len(self.place),
        )
        digest = _SHA256.copy()
        digest.update(facts + mode + (self.place + 0.0).tobytes())
        return digest.digest()


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
