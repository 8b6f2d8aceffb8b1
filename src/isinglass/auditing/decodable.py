"""Scenarios of the decoding attack, for tables whose columns have few values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import MOST_LEVELS, few_combinations
from isinglass.attack.decoding import DecodingAttack
from isinglass.attack.knowledge import Knowledge
from isinglass.auditing.attackers import few_pairs
from isinglass.auditing.scene import Scene, Step
from isinglass.errors import AttackError

Array = NDArray[Any]

#: Rows that show first whether a column has many values; most columns need no further look.
_FIRST_ROWS = 1_000


def why_not_decodable(scene: Scene, given: Knowledge | None = None) -> str | None:
    """Why decoding cannot apply to a release, by the pairs `given` or dealt; None where it can."""
    if not _few_values(scene.table):
        return "it tries all combinations of values, and the columns have too many"
    if scene.secret_order or (given is None and not scene.split.levels):
        return None  # whether a map could be learned was not to be seen
    if given is not None:
        applies = _learns(scene.seen(), given)
    else:
        applies = any(True for _ in decoding_steps(scene, 0))
    return None if applies else "no map explains pairs left out, or combinations are too many"


def decoding_steps(scene: Scene, seed: int) -> Iterator[Step]:
    """With a few known pairs, and with the most, where these teach a map."""
    d, most = scene.table.shape[1], scene.split.most_pairs
    seen = scene.seen()[: scene.split.n_few]
    known = scene.common(few=True) | scene.statistics | scene.sample()
    for n in sorted({min(few_pairs(d), most), most} - {0}):
        with_pairs = known | scene.split.pairs(scene.table, n)
        if _learns(seen, with_pairs):
            yield Step(DecodingAttack(), with_pairs, d, n, n, uses_rows=True, few=True)


def _learns(seen: Array, known: Knowledge) -> bool:
    try:
        DecodingAttack().learn(seen, known)
    except AttackError:
        return False
    return True


def _few_values(table: Array) -> bool:
    levels = []
    for column in table.T:
        if len(np.unique(column[:_FIRST_ROWS])) > MOST_LEVELS:
            return False
        levels.append(np.unique(column))
        if not few_combinations(levels):
            return False
    return True
