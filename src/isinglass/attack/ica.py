"""ICA attack: separate a linear mixture blindly, then name its components."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, Scenario, all_seen
from isinglass.attack.columns.marginals import clipped
from isinglass.attack.knowledge import ColumnStatistics, Fact, Knowledge, PopulationSample
from isinglass.attack.lattice.naming import name_components, name_coordinates
from isinglass.measure.separation import sample_rows, unmix

Array = NDArray[Any]

#: Rows on which components are looked for and compared with what is known.
MOST_ROWS = 6_000


class ICAAttack(Attack):
    """Undo a linear mixture of columns that are independent or whole numbers.

    Whitening takes any rotation out, and FastICA turns what is left until its components are as
    far from normal as they can be. Each component gets the name and sign of the column whose
    lowest and highest value and skewness, in deviations from the mean, it fits best, and where a
    sample is known too, the whole marginal; then that column's mean and deviation. Columns for
    which there is no component are guessed at their mean. Normal columns stay hidden from it, and
    columns that look alike may be taken for one another.

    Where all columns of the table stand on grids (answers, counts, one decimal) and at most 20
    were mixed without noise, rows differ by whole multiples of a few vectors. These lead to the
    columns exactly, however normal and correlated they are, so they are looked for first and
    taken where they fit the statistics better than independent components do.

    Parameters
    ----------
    n_starts : int, default=1
        Random starts; the one whose components fit best counts.
    lattice : bool, default=True
        Whether whole numbers are looked for; False leaves independent components alone, as papers
        have them.
    random_state : int, Generator or None
        Chooses starts and, in a long release, the rows used.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> Z = X @ [[0, 1, 0], [0, 0, 1], [1, 0, 0]]  # a release by a rotation
    >>> known = ig.attacks.ColumnStatistics.of(X)
    >>> ig.attacks.ICAAttack(random_state=0).guess(Z, known).shape
    (200, 3)
    """

    name = "ica"
    story = "unmixes the release into independent columns"
    needs = (ColumnStatistics,)
    scenarios = (
        Scenario(others=True),
        Scenario((ColumnStatistics, PopulationSample), others=True),
    )
    wants_mixtures = True
    unordered = True

    def __init__(
        self,
        n_starts: int = 1,
        *,
        lattice: bool = True,
        random_state: chance.RandomState = None,
    ) -> None:
        if n_starts < 1:
            raise ValueError(f"n_starts must be >= 1, got {n_starts}")
        self.n_starts = n_starts
        self.lattice = lattice
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        known = Knowledge.of(knowledge)
        statistics = known.need(ColumnStatistics)
        Z = all_seen(released, known)
        rng = chance.generator(self.random_state)
        rows = Z[sample_rows(len(Z), rng, MOST_ROWS)]
        guess = np.tile(statistics.mean, (len(Z), 1))
        if not (statistics.deviation > 0).any():
            return clipped(guess, known)
        naming, components = None, Z
        if self.lattice:
            naming, components = name_coordinates(Z, np.shape(released)[1], known)
        # Independent components cannot fit better than exactly.
        for _ in range(0 if naming is not None and naming.exact else self.n_starts):
            found = unmix(rows, rng)
            if not found.n_components:
                break
            other = name_components(found.components(rows), statistics, known)
            if naming is None or other.cost < naming.cost:
                naming, components = other, found.components(Z)
        if naming is not None:
            named = components[:, naming.parts] * naming.signs
            guess[:, naming.columns] += named * statistics.deviation[naming.columns]
        return clipped(guess, known)
