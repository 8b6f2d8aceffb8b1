"""Linkage attack without row numbers: rows that a single public record fits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, ReleaseFacts, Scenario, rows_of
from isinglass.attack.knowledge import Fact, Knowledge, PublicTable
from isinglass.attack.linking.families import FeatureFamily, Seen, SettledFeatures
from isinglass.attack.linking.kept_by_maps import kept_by_maps
from isinglass.attack.linking.near import nearest_records
from isinglass.attack.linking.pattern_choice import far_nearer
from isinglass.attack.linking.pattern_kinds import SOME, features_of
from isinglass.errors import AttackError
from isinglass.measure.separation import sample_rows

Array = NDArray[Any]

#: Rows that are looked at, in a table of few records and in one of many.
_LOOKED_AT, _FEW_LOOKED_AT, _LARGE = 300, 25, 20_000
#: Standard errors by which what chance gives is raised, and the least that counts beyond it.
_BEYOND_CHANCE, _CLEARER = 3.0, 0.1


class RowlessLinkageAttack(Attack):
    """Name the record behind released rows whose order says nothing, and of whom none is known.

    Some features are the same before and after a whole class of maps: how far a row lies from
    the mean under any mixture, distances under any rotation, directions, totals or sizes where
    rows were multiplied or turned. Under the right ones each row has one record far nearer than
    the second, and no two rows have the same.

    `shown` is the share of rows of which that is so, and the share among rows that are nobody's:
    rows with columns mixed, and half of the table in place of a release of the other half.
    """

    name = "rowless_linkage"
    story = "names records without knowing any row, by what every mixture keeps"
    needs = (PublicTable,)
    scenarios = (Scenario((PublicTable,), whole=True),)

    def __init__(self, *, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state
        #: Share of rows with one clear record in the last guess, and what chance gives.
        self.shown = 0.0, 0.0

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        if release.rows_correspond:
            return "rows correspond to records, and linkage by patterns needs no less"
        return None

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The clear record of each released row, or the mean where features show none."""
        Z, P = rows_of(released), Knowledge.of(knowledge).need(PublicTable).records
        if len(P) < 2 or not np.isfinite(P).all():
            raise AttackError("the public table must hold records, and finite numbers only")
        rng = chance.generator(self.random_state)
        self.shown = 0.0, 0.0
        nobody = np.tile(P.mean(axis=0), (len(Z), 1))
        if min(len(Z), len(P)) < 8:
            return nobody
        rows, settled = _rows(Z, rng), _settled(Z, P, rng)
        mixed = np.column_stack([rng.permutation(column) for column in rows.T])
        shares = [_clear(one, [rows, mixed], P) for one in settled]
        if rows.shape[1] < 2:  # a single column cannot be mixed
            shares = [[share, 0.0] for share, _ in shares]
        if not shares:
            return nobody
        best = max(range(len(shares)), key=lambda i: shares[i][0] - shares[i][1])
        share, by_chance = shares[best]
        if share - by_chance <= _CLEARER:
            return nobody
        by_chance = max(by_chance, _among_strangers(settled[best].name, P, rng))
        self.shown = share, _at_most(by_chance, len(rows))
        return np.asarray(P[nearest_records(*settled[best].values(Z, P))])


def _at_most(share: float, n: int) -> float:
    """Wilson's upper limit of a share that was seen in n rows."""
    z2 = _BEYOND_CHANCE**2
    half = np.sqrt(share * (1 - share) * n * z2 + z2**2 / 4)
    return float((share * n + z2 / 2 + half) / (n + z2))


def _rows(Z: Array, rng: np.random.Generator) -> Array:
    most = _LOOKED_AT if len(Z) <= _LARGE else _FEW_LOOKED_AT
    return np.asarray(Z[sample_rows(len(Z), rng, most)])


def _settled(Z: Array, P: Array, rng: np.random.Generator) -> list[SettledFeatures]:
    """All features that no pair is needed for."""
    kinds: list[FeatureFamily] = list(kept_by_maps(Z, P))
    if Z.shape[1] == P.shape[1]:
        kinds += features_of(Z, P, None, rng, brief=len(P) > _LARGE)
    some = sample_rows(len(Z), rng, SOME), sample_rows(len(P), rng, SOME)
    seen = Seen(Z[:0], P[:0], Z[some[0]], P[some[1]])
    return [kind.learned(seen) for kind in kinds]


def _among_strangers(name: str, P: Array, rng: np.random.Generator) -> float:
    """The share of clear rows where half of the table stands for a release of the other half."""
    half = rng.permutation(len(P)) < len(P) // 2
    release, table = P[half], P[~half]
    for one in _settled(release, table, rng):
        if one.name == name:
            return _clear(one, [_rows(release, rng)], table)[0]
    return 0.0


def _clear(settled: SettledFeatures, tables: list[Array], records: Array) -> list[float]:
    """Of each table the share of rows with one record far nearer than the second, and no other
    row's."""
    rows = np.vstack(tables)
    nearer, named = far_nearer(settled, rows, records)
    shares, start = [], 0
    for table in tables:
        part = slice(start, start + len(table))
        alone = np.bincount(named[part][nearer[part]]) == 1
        shares.append(float(alone.sum() / len(table)))
        start += len(table)
    return shares
