"""How much oftener the halves of released records are linked than those of other records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.linking.halves import first_meeting
from isinglass.auditing.scene import Scene
from isinglass.auditing.scoring import over_baseline
from isinglass.errors import IsinglassError

Array = NDArray[Any]

#: Records on either side, and ways to share the columns out.
_COMPARED, _SPLITS = 1_000, 5
_LARGE = 20_000  # rows
#: Halves meet in the nearest row, or in one of the five nearest: then in a small group.
_NEIGHBORS = (1, 5)


def halves_linked(scene: Scene, held_out: Array, rng: np.random.Generator) -> float | None:
    """Share of records whose halves meet in one released row, beyond that of records held out.

    Over several ways to share the columns out, and for the number of neighbors that links most;
    None where columns do not correspond.
    """
    # Each row of a large release is compared with every record: fewer of these do.
    large = len(scene.released) > _LARGE
    compared, splits = (_COMPARED // 2, 2) if large else (_COMPARED, _SPLITS)
    sides = [
        np.asarray(side[rng.permutation(len(side))[:compared]], dtype=np.float64)
        for side in (scene.table, held_out)
    ]
    d, public = scene.table.shape[1], scene.common(whole=True, others=False) | scene.statistics
    if any(len(side) < 10 for side in sides):
        return None
    met = np.zeros((2, len(_NEIGHBORS)))
    for _ in range(splits):
        first = rng.permutation(d)[: d // 2]
        try:
            for i, side in enumerate(sides):
                most = max(_NEIGHBORS)
                at = first_meeting(scene.released, side, first, public, n_neighbors=most)
                met[i] += [((at > 0) & (at <= k)).mean() for k in _NEIGHBORS]
        except (IsinglassError, ArithmeticError, ValueError):
            return None
    return float(over_baseline(*(met / splits)).max())
