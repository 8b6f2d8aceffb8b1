"""Salted digests of the records a space was planned on, so that `ask` can refuse them."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Words = NDArray[np.uint64]

#: digests that are kept: those of all records, or the smallest of more
_KEPT = 4096
# Two tables have records in common where this share of either is in the other.
_SHARED = 0.1
# Rows may agree by chance where few are possible: the columns must allow for many times as many
# as there are, and most of the rows must be different.
_POSSIBLE = 16
_DIFFERENT = 0.5
_DIGEST = "<u8"


@dataclass(frozen=True, slots=True)
class PlannedOn:
    """What a space file says of the records it was planned on: a salt and digests, no value.

    `whole` is a digest of all rows in any order, `rows` are digests of single rows, the smallest
    of all in an order that the salt decides. They are kept only where rows tell tables apart.
    Whoever has the file and knows a whole record can see whether it is among those sampled; so
    the file is as public as the records, and no more.
    """

    salt: bytes = field(repr=False)
    whole: str = field(repr=False)
    rows: Words = field(repr=False)
    complete: bool = True

    @classmethod
    def of(cls, records: Array) -> PlannedOn:
        """The digests of a table's records, under a new salt."""
        salt = secrets.token_bytes(16)
        digests = _digests(salt, records)
        different = np.unique(digests)
        kept = different[:_KEPT] if _telling(records, different) else different[:0]
        return cls(salt, _whole(salt, digests), kept, len(kept) == len(different))

    def shares_rows_with(self, records: Array) -> bool:
        """Whether a table is the one planned on, a part of it, or has a part of it."""
        digests = _digests(self.salt, records)
        if _whole(self.salt, digests) == self.whole:
            return True
        different = np.unique(digests)
        if not len(self.rows) or not _telling(records, different):
            return False
        if not self.complete:  # of more rows only the smallest digests can be compared
            different = different[different <= self.rows[-1]]
        common = len(np.intersect1d(self.rows, different, assume_unique=True))
        return common > 0 and common >= _SHARED * min(len(self.rows), len(different))

    def to_json(self) -> dict[str, Any]:
        """As the space's file holds it."""
        return {
            "salt": self.salt.hex(),
            "whole": self.whole,
            "complete": self.complete,
            "rows": base64.b64encode(self.rows.astype(_DIGEST).tobytes()).decode(),
        }

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> PlannedOn:
        """As it was written; ValueError where it was not."""
        salt, rows = bytes.fromhex(facts["salt"]), base64.b64decode(facts["rows"], validate=True)
        if len(salt) != 16 or len(rows) > 8 * _KEPT or type(facts["complete"]) is not bool:
            raise ValueError("digests must be as they were written")
        read = np.unique(np.frombuffer(rows, dtype=_DIGEST).astype(np.uint64))
        return cls(salt, str(facts["whole"]), read, facts["complete"])


def _digests(salt: bytes, records: Array) -> Words:
    """A digest of each row. Single precision makes a table and its copy as text look the same."""
    with np.errstate(over="ignore"):
        # Adding zero turns -0.0 into 0.0.
        rows = np.ascontiguousarray(records + 0.0, dtype="<f4")
    salted = np.empty((len(rows), len(salt) + rows.shape[1] * 4), dtype=np.uint8)
    salted[:, : len(salt)] = np.frombuffer(salt, dtype=np.uint8)
    salted[:, len(salt) :] = rows.view(np.uint8)
    data, width = salted.tobytes(), salted.shape[1]
    found = [sha256(data[at : at + width]).digest() for at in range(0, len(data), width)]
    first = np.frombuffer(b"".join(found), dtype=_DIGEST).reshape(-1, 4)[:, 0]
    return first.astype(np.uint64)


def _whole(salt: bytes, digests: Words) -> str:
    """One digest of all rows, whatever their order."""
    total = sum(digests.tolist())
    facts = b"%d:%d" % (len(digests), total)
    return sha256(salt + facts).hexdigest()


def _telling(records: Array, different: Words) -> bool:
    """Whether equal rows are the same record, rather than a coincidence."""
    if len(different) < _DIFFERENT * len(records):
        return False
    possible = sum(np.log(len(np.unique(column))) for column in records.T)
    return bool(possible >= np.log(_POSSIBLE * max(len(records), 1)))
