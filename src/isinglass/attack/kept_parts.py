"""Kept columns read by those parts of their values that matter for the records of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.derived_columns import Part, Recipe, recipes
from isinglass.attack.knowledge import KeptColumns
from isinglass.attack.marginals import deviations
from isinglass.attack.part_choice import Codes, Exposure, best_model, choose, in_units

Array = NDArray[Any]

#: Parts that are kept in all, and rows of the table on which they are compared.
_MOST_PARTS, _MOST_COMPARED = 40, 5_000
#: The share of a table's records that somebody may have beside the release.
_SAMPLED = 0.1


def with_parts(
    kept: KeptColumns, own: Array, records: Array, noise: float | None = None
) -> KeptColumns:
    """Kept columns with those parts of their values that tell something of the records.

    `own` are the kept values of the records. With `noise`, the variance of the noise on released
    columns of variance 1, the records are those of the table: whoever knows what the columns mean
    tries the right part first, and the audit asks the table which one that is.
    """
    # As attacks do with values that are not known.
    own, known = (np.where(np.isfinite(v), v, -1.0) for v in (own, kept.values))
    rows = np.unique(np.linspace(0, len(records) - 1, _MOST_COMPARED).astype(np.intp))
    found, candidates = _candidates(kept, known, own, rows)
    if not found:
        return replace(kept, parts=())
    values = np.asarray(records[rows], dtype=np.float64)
    weights = np.ones(len(rows))
    values = in_units(values - values.mean(axis=0), weights)
    effects, shares = np.zeros((2, len(found), 2))
    chosen, _ = choose(candidates, values, weights, _MOST_PARTS)
    if noise is not None and chosen:
        words: dict[int, list[int]] = {}
        for i, (j, recipe, _) in enumerate(found):
            if recipe.word:
                words.setdefault(j, []).append(i)
        blocks = [[i] for i in chosen] + [block for block in words.values() if len(block) > 1]
        block_groups = [[candidates[i] for i in block] for block in blocks]
        size = len(records) / len(rows)
        sides = Exposure(size, noise), Exposure(size * _SAMPLED)
        needed: list[int] = []
        for side, seen in enumerate(sides):
            model = best_model(block_groups, values, seen)
            for number, share, effect in zip(
                model.blocks, model.shares, model.effects, strict=True
            ):
                block = blocks[number]
                needed += block
                effects[block, side] += effect
                shares[block, side] += share / len(block)
        chosen = list(dict.fromkeys([*needed, *chosen]))[: max(_MOST_PARTS, len(set(needed)))]
    parts = []
    for i in chosen:
        j, recipe, everything = found[i]
        groups = recipe.groups(np.arange(len(everything)))
        (alone, known), (of_alone, of_known) = effects[i].tolist(), shares[i].tolist()
        parts.append(Part(j, recipe.name, everything, groups, (alone, known), (of_alone, of_known)))
    return replace(kept, parts=tuple(parts))


def _candidates(
    kept: KeptColumns, values: Array, own: Array, rows: Array
) -> tuple[list[tuple[int, Recipe, Array]], list[Codes]]:
    """All parts of all columns, with the columns' values, and the groups of some rows."""
    found: list[tuple[int, Recipe, Array]] = []
    candidates: list[Codes] = []
    for j, is_category in enumerate(kept.is_category):
        everything = np.unique(np.concatenate([values[:, j], own[:, j]]))
        here, inverse = np.unique(own[rows, j], return_inverse=True)
        some = np.searchsorted(everything, here)
        seen = set[bytes]()
        meaning = kept.meanings[j] if kept.meanings else None
        for recipe in recipes(everything, meaning, is_category=bool(is_category)):
            groups = recipe.groups(some)
            if groups.max() == 0 or groups.tobytes() in seen:
                continue
            seen.add(groups.tobytes())
            found.append((j, recipe, everything))
            candidates.append(groups[inverse.ravel()])
    return found, candidates


def noise_on(records: Array, released: Array) -> float:
    """The variance of noise on released columns of variance 1, as far as their widths show it."""
    if released.shape[1] != records.shape[1]:
        return 0.0
    before, after = deviations(records), deviations(released)
    varies = before > 0
    if not varies.any():
        return 0.0
    return float(np.median(np.maximum(np.square(after[varies] / before[varies]) - 1.0, 0.0)))
