"""Collusion attack: the server and some participants against another participant."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, ReleaseFacts, rows_of
from isinglass.attack.columns.marginals import clipped
from isinglass.attack.knowledge import (
    Colluders,
    Fact,
    Knowledge,
    KnownPairs,
    PopulationSample,
    PublicParameters,
    StolenKey,
)
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.map_estimate import MAPAttack
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.errors import AttackError

Array = NDArray[Any]


class CollusionAttack(Attack):
    """Read a participant's release with what other participants tell the server.

    Where all share one key, any holder undoes everybody's release as `StolenKeyAttack` does, with
    the colluders' records as a sample to try the key on. Where every participant has a key of its
    own, colluders' tables tell how records are distributed, and records that a colluder shares
    with the victim are known pairs: under random multiparty perturbation both go into
    `MAPAttack`, under any other method the pairs into `KnownInputAttack`.

    Parameters
    ----------
    random_state : int, Generator or None
        Passed on to those attacks.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> Z = X @ [[0, 1, 0], [0, 0, 1], [1, 0, 0]]  # a release by a rotation
    >>> shared = ig.attacks.KnownPairs(np.arange(20), X[:20])
    >>> known = ig.attacks.Colluders((X[:20],), shared=shared)
    >>> guess = ig.attacks.CollusionAttack(random_state=0).guess(Z, known)
    >>> bool(np.allclose(guess, X))
    True
    """

    name: ClassVar[str] = "collusion"
    story = "is the server together with some participants"
    needs: ClassVar[tuple[type[Fact], ...]] = (Colluders,)
    needs_rows = True

    def __init__(self, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state

    @classmethod
    def why_not(cls, release: ReleaseFacts) -> str | None:
        why = super().why_not(release)
        if why or release.has_public_matrix or release.has_shared_key:
            return why
        return "participants share neither a public matrix nor a key that the audit was given"

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        known = Knowledge.of(knowledge)
        colluders = known.need(Colluders)
        Z = rows_of(released)
        if colluders.key is not None:
            return self._with_key(Z, colluders, known)
        pooled = _pooled(colluders, known)
        pairs = pooled.find(KnownPairs)
        public = pooled.find(PublicParameters)
        method = None if public is None else public.method
        if method == "multiparty" and PopulationSample in pooled:
            attack = MAPAttack("sample", "joint", random_state=self.random_state)
            return attack.guess(Z, pooled)
        if pairs is None:
            raise AttackError(
                "this attack needs a shared key or shared records, except against method multiparty"
            )
        return KnownInputAttack(random_state=self.random_state).guess(Z, pooled)

    def _with_key(self, Z: Array, colluders: Colluders, known: Knowledge) -> Array:
        """Whoever shares the key is a key holder, with the colluders' tables as a sample."""
        holder = StolenKeyAttack(random_state=self.random_state)
        return clipped(holder.guess(Z, _pooled(colluders, known) | StolenKey(colluders.key)), known)


def _pooled(colluders: Colluders, known: Knowledge) -> Knowledge:
    """What is known, with colluders' tables as sample and shared records as pairs."""
    tables = [table for table in colluders.tables if len(table)]
    sample, pairs = known.find(PopulationSample), known.find(KnownPairs)
    if sample is not None and len(sample.records):
        tables.append(sample.records)
    pooled = known
    if tables:
        pooled = pooled | PopulationSample(np.vstack(tables))
    if colluders.shared is not None and len(colluders.shared.rows):
        found = [colluders.shared] + ([] if pairs is None else [pairs])
        rows = np.concatenate([p.rows for p in found])
        pooled = pooled | KnownPairs(rows, np.vstack([p.records for p in found]))
    return pooled
