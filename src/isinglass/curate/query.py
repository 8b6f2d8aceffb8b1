"""Query: a place, the question asked there, and its price."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
