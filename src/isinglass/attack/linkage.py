"""Linkage attack: which record of a public table is behind each released row (Aggarwal)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, rows_of
from isinglass.attack.knowledge import Fact, Knowledge, PublicTable
from isinglass.attack.linking.linker import Linker, make_linker
from isinglass.attack.linking.record_fit import blocks, gaussian

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Links:
    """The public record that fits each released row best, and how sure that is."""

    best: NDArray[np.intp] = field(repr=False)  # row numbers of the public table
    posterior_best: Array = field(repr=False)  # all public records being equally likely before
    #: False where no public record can be behind the row at all; `best` is then the nearest.
    defined: NDArray[np.bool_] = field(repr=False)

    @property
    def ambiguous(self) -> NDArray[np.bool_]:
        """Where the best record is no likelier than all others together: a twin, or much noise."""
        return np.asarray(self.posterior_best <= 0.5 + 1e-6)


class LinkageAttack(Attack):
    """Name, for each released row, the record of a public table that most likely is behind it.

    How well a record fits a row is the log-likelihood of what the perturbation must have done to
    turn the one into the other. For additive and multiplicative noise, and for noise by a rule,
    it follows from the public parameters. For any method it is learned from known pairs, both
    ways: what every public record would look like in the release, and a guess of the record
    behind every row, each with how far it is off; whichever names the known pairs best counts.
    Columns that left as they were leave only the records with the same values; they need no
    pair. Without pairs a release that keeps its units is matched by distance.

    The guess is the record named. `link` says how sure it is; `fits` gives all fits, block by
    block, to whoever holds the truth and wants to count how many records fit as well as it does.

    References
    ----------
    C. C. Aggarwal: On randomization, public information and the curse of dimensionality.
    ICDE 2007.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> pairs = ig.attacks.KnownPairs(np.arange(9), X[:9])
    >>> known = pairs | ig.attacks.PublicTable(X)
    >>> guess = ig.attacks.LinkageAttack(random_state=0).guess(X + 1e-3, known)
    >>> bool(np.allclose(guess, X))
    True
    """

    name = "linkage"
    story = "takes the record of a public table that fits best"
    needs = (PublicTable,)
    needs_rows = True
    views = "learned"

    def __init__(self, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The public record that fits each released row best."""
        known = Knowledge.of(knowledge)
        return known.need(PublicTable).records[self.link(released, known).best]

    def link(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Links:
        """The number of the best public record for each row, with its posterior."""
        Z, known = rows_of(released), Knowledge.of(knowledge)
        fit = self.linker(Z, known).fit()
        best, share = fit.best()
        defined = share > 0
        if not defined.all():
            P = known.need(PublicTable).records
            deviation = P.std(axis=0)
            scale = np.where(deviation > 0, deviation, 1.0)
            best[~defined] = gaussian(Z[~defined], P, scale).best()[0]
        return Links(best, share, defined)

    def fits(
        self, released: ArrayLike, knowledge: Fact | Knowledge
    ) -> Iterator[tuple[slice, Array]]:
        """Blocks of released rows with their log fits to all public records, (n, M) each.

        A block takes at most 64 MiB, unless a single row takes more.
        """
        return blocks(self.linker(released, knowledge).fit())

    def linker(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Linker:
        """Settle, or learn, how well a record fits a row."""
        return make_linker(rows_of(released), Knowledge.of(knowledge), self.random_state)
