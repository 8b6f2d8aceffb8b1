"""Bootstrap of known pairs: take nearly certain links as further pairs and learn again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.kept.join import Groups, joined
from isinglass.attack.learning.forward import Forward, described, described_exact
from isinglass.attack.learning.forward_map import Pairs, exact_map, learn_map
from isinglass.attack.linking.ranking import compared, log_error, mean_log_rank, settled

Array = NDArray[Any]
Rows = NDArray[np.intp]

#: Rounds of linking and learning, rows linked in each, and links learned from.
_ROUNDS = 6
_LINKED_ROWS = 800
_MOST_LINKS = 500
#: A link is taken for a pair where it is surer than this.
_SURE = 0.9


def learn_forward(
    pairs: Pairs,
    seen: Array,
    pair_rows: Rows,
    groups: Groups | None,
    rng: np.random.Generator,
    *,
    quick: bool = False,
) -> Forward:
    """The best map from records to the release, with links of its own as further pairs."""
    others = np.setdiff1d(np.arange(len(seen)), pair_rows)
    first = described(learn_map(pairs, rng, quick=quick), pairs, seen, pair_rows)
    some = compared(len(pair_rows), rng)

    def quality(forward: Forward) -> tuple[float, float]:
        """Smaller is better: ranks of the pairs left out, then how far off they are."""
        rank = mean_log_rank(*forward.pairs_left_out(some), pair_rows[some], groups)
        return rank, log_error(forward.left_out, seen)

    best, reached = first, quality(first)
    if settled(min(reached), len(some)) or not len(others):
        return best
    start = first
    exact = exact_map(pairs, seen[others], rng)
    if exact is not None:
        start = described_exact(*exact, pairs, seen, pair_rows)
    for _ in range(_ROUNDS):
        rows = rng.permutation(others)[:_LINKED_ROWS]
        named, share = joined(start.fit(rows), groups, rows).best()
        sure = np.flatnonzero(share > _SURE)[:_MOST_LINKS]
        if len(sure) < 3:
            break
        sure = _consistent(start, named, rows, sure)
        more = pairs.more(named[sure], seen[rows[sure]])
        start = described(learn_map(more, rng, quick=True), more, seen, pair_rows)
        found = quality(start)
        if found >= reached:
            break
        best, reached = start, found
    return best


def _consistent(start: Forward, named: Rows, rows: Rows, sure: Rows) -> Rows:
    """Links without those much farther off than most: a wrong one would bend the map."""
    unit = start.seen.std(axis=0)
    away = start.expected[named[sure]] - start.seen[rows[sure]]
    size = np.square(away / np.where(unit > 0, unit, 1.0)).sum(axis=1)
    return np.asarray(sure[size <= 16.0 * np.median(size)])
