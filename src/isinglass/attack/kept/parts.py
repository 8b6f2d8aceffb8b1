"""Kept columns with the parts of their values that matter for a given table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import deviations
from isinglass.attack.kept.derived_columns import Part, Recipe, recipes
from isinglass.attack.kept.grouping_selection import (
    Codes,
    Exposure,
    Model,
    best_model,
    choose,
    scaled_and_clipped,
)
from isinglass.attack.kept.joint_parts import JointPart, joint_part
from isinglass.attack.kept.joint_search import joint_candidates
from isinglass.attack.knowledge import KeptColumns

Array = NDArray[Any]

#: Parts that are kept in all, and rows of the table on which they are compared.
_MOST_PARTS, _MOST_COMPARED = 40, 5_000
#: The share of a table's records that somebody may have beside the release.
_SAMPLED = 0.1
#: Each block of a model must explain so much of the variance for the model to be the better one.
_LEAST_MORE = 0.005
#: Effects and shares that are not known, for an attacker of either kind.
_UNKNOWN = np.zeros(2)


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
    values = scaled_and_clipped(values - values.mean(axis=0), weights)
    chosen, _ = choose(candidates, values, weights, _MOST_PARTS)
    everything = {j: own for j, _, own in found}
    if noise is None:
        return replace(kept, parts=tuple(_part(found[i]) for i in chosen))
    words: dict[int, list[int]] = {}
    for i, (j, recipe, _) in enumerate(found):
        if recipe.word:
            words.setdefault(j, []).append(i)
    numbers = [[i] for i in chosen] + [block for block in words.values() if len(block) > 1]
    blocks = [[candidates[i] for i in block] for block in numbers]
    size = len(records) / len(rows)
    sides = Exposure(size, noise), Exposure(size * _SAMPLED)
    alone = [best_model(blocks, values, seen) for seen in sides]
    joint = joint_candidates(
        own[rows], kept, everything, values, alone, sides,
        [(j, recipe.name, partial(recipe.groups, np.arange(len(e))), codes)
         for (j, recipe, e), codes in zip(found, candidates, strict=True) if not recipe.word],
    )  # fmt: skip
    further = [candidate.block for candidate in joint]
    effects, shares = np.zeros((2, len(found), 2))
    joint_effects, joint_shares = np.zeros((2, len(joint), 2))
    needed: list[int] = []
    for side, (seen, first) in enumerate(zip(sides, alone, strict=True)):
        model = _with_further(blocks, further, values, seen, first) if further else first
        for number, share, effect in zip(model.blocks, model.shares, model.effects, strict=True):
            if number < len(numbers):
                block = numbers[number]
                needed += block
                effects[block, side] += effect
                shares[block, side] += share / len(block)
            else:
                # Waves have no two groups of each.
                effect *= 1 if joint[number - len(numbers)].waves is None else 2
                joint_effects[number - len(numbers), side] += effect
                joint_shares[number - len(numbers), side] += share
    chosen = list(dict.fromkeys([*needed, *chosen]))[: max(_MOST_PARTS, len(set(needed)))]
    parts: list[Part | JointPart] = [_part(found[i], effects[i], shares[i]) for i in chosen]
    for candidate, effect_of, share_of in zip(joint, joint_effects, joint_shares, strict=True):
        if effect_of.any():
            told = _two(effect_of), _two(share_of)
            parts.append(joint_part(candidate, (known, own), everything, *told))
    return replace(kept, parts=tuple(parts))


def _with_further(
    blocks: Sequence[Sequence[Codes]],
    further: Sequence[Sequence[Array]],
    values: Array,
    seen: Exposure,
    alone: Model,
) -> Model:
    """The better of parts of single columns `alone`, further blocks after them, or all at once.

    Two parts that add up are better read one by one than crossed, which the best of all blocks
    at each step does not see.
    """
    after = best_model(further, alone.left, seen)
    n = len(blocks)
    models = [
        alone,
        Model(
            (*alone.blocks, *(n + i for i in after.blocks)),
            (*alone.shares, *after.shares),
            (*alone.effects, *after.effects),
            alone.found + after.found,
            after.left,
        ),
        best_model([*blocks, *further], values, seen),
    ]
    return max(models, key=lambda model: model.found - _LEAST_MORE * len(model.blocks))


def _part(
    found: tuple[int, Recipe, Array], effect: Array = _UNKNOWN, share: Array = _UNKNOWN
) -> Part:
    j, recipe, everything = found
    groups = recipe.groups(np.arange(len(everything)))
    return Part(j, recipe.name, everything, groups, _two(effect), _two(share))


def _two(sides: Array) -> tuple[float, float]:
    return float(sides[0]), float(sides[1])


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
    found = noise_of_columns(records, released)
    return float(np.median(found)) if len(found) else 0.0


def noise_of_columns(records: Array, released: Array) -> Array:
    """The same of each column that varies; none where columns do not correspond."""
    if released.shape[1] != records.shape[1]:
        return np.empty(0)
    before, after = deviations(records), deviations(released)
    varies = before > 0
    return np.maximum(np.square(after[varies] / before[varies]) - 1.0, 0.0)
