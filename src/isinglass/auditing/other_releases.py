"""Attacks that combine several releases of one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.columns.marginals import unit_columns
from isinglass.attack.kept_columns import KeptColumnsAttack
from isinglass.attack.knowledge import Knowledge, OtherReleases, PublicParameters
from isinglass.attack.noise.size import noise_variance, others_sorted
from isinglass.auditing.attackers import few_pairs
from isinglass.auditing.scene import Scene, Step
from isinglass.auditing.split import SEEN_WHOLE

Array = NDArray[Any]

#: Attacks sent against every release alone; those against it where there are not many records, so
#: that columns of other releases may be more than known pairs can teach; and those against other
#: releases of another kind, which no attack on all of them averages with this one.
_ALONE = ("naive", "spectral")
_FEW_RECORDS = ("known_input", "linkage")
_OF_ANOTHER_KIND = ("posterior", "sample", "matched_columns")
#: With no more rows than this it is luck which curve does best where it was not learned from.
_FEW_ROWS = 3_000
_BY = {
    "line": "by a line",
    "curve": "by a curve",
    "products": "by products of columns",
    "hinges": "by bent columns",
    "waves": "by smooth functions",
}
_CURVES = ("products", "hinges", "waves")
#: Rows, and the correlation of neighbors in a column from which their order tells something.
_NEIGHBORS, _ORDERED = 20_000, 0.1


def each_alone(scene: Scene) -> Iterator[tuple[str, Scene, tuple[str, ...]]]:
    """Every release as if it were the only one: in words, as a scene, and the attacks on it.

    Whoever has several releases need not use them all: no figure is below that of one of them.
    Only attacks that take little time are sent, or those that no attack on all of them replaces.
    """
    if not _together(scene):
        return
    along = scene.order_shows and _rows_go_together(scene.table)
    names = _ALONE + (_FEW_RECORDS if len(scene.table) <= SEEN_WHOLE else ())
    further = _OF_ANOTHER_KIND + ("row_order",) * along
    further += ("kept_columns",) * (scene.kept is not None)
    yield "this release alone", _of_releases(scene, 0), names
    for number in range(1, 1 + len(scene.others)):
        which = "the other release" if len(scene.others) == 1 else f"other release {number}"
        # A posterior takes one release, this one.
        sent = names + (("posterior",) if _is_like(scene, number - 1) else further)
        yield f"{which} alone", _of_releases(scene, number), sent


def _is_like(scene: Scene, number: int) -> bool:
    """Whether another release is the same columns as this one with other noise."""
    known: Knowledge = scene.statistics | OtherReleases((scene.others[number],))
    known = known if scene.parameters is None else known | scene.parameters
    ((_, same),) = others_sorted(np.asarray(scene.released, dtype=np.float64), known)
    return same


def worth_it(scene: Scene, step: Step) -> bool:
    """Whether an attack on one release alone is sent: with few known pairs or with the most."""
    most = scene.split.most_pairs
    few = min(few_pairs(scene.table.shape[1]), most)
    return step.n_pairs in (None, few, most)


def _said(scene: Scene) -> list[PublicParameters | None]:
    """What is public about each other release."""
    said = list(scene.other_parameters)
    return [*said, *[None] * len(scene.others)][: len(scene.others)]


def _rows_go_together(table: Array) -> bool:
    """Whether neighboring records are alike in some column."""
    X = unit_columns(np.asarray(table[:_NEIGHBORS], dtype=np.float64))
    alike = np.abs((X[1:] * X[:-1]).mean(axis=0))
    return bool(alike.max() > _ORDERED + 4.0 / np.sqrt(len(X)))


def regressed(scene: Scene, seed: int) -> Iterator[Step]:
    """A release with noise, explained by those of another kind."""
    turned = _noisy_first(scene) if _together(scene) else None
    if turned is None:
        return
    d, most = scene.table.shape[1], scene.split.most_pairs
    known, in_order = (turned.common(order=o) | scene.statistics for o in (False, True))
    view = np.asarray(turned.released, dtype=np.float64)

    def step(way: str, known: Knowledge, n: int = 0) -> Step:
        attack = KeptColumnsAttack(regress=way, random_state=seed)
        how = f"one release explained by the others, {_BY[way]}"
        return Step(attack, known, d, n, n or None, uses_rows=n > 0, how=how, view=view)

    yield step("line", in_order)
    for way in _CURVES if len(scene.released_rows()) <= _FEW_ROWS else ("curve",):
        yield step(way, known)
    known |= scene.sample()
    yield step("line", known)
    for n in sorted({min(few_pairs(d), most), most} - {0}):
        yield step("line", known | scene.split.pairs(scene.table, n), n)


def mixtures(scene: Scene) -> Scene:
    """The scene with only those releases that mix columns, the widest first, where there are any.

    In the table's own columns with noise no unit or component is to be found, and beside others
    they would only be in the way.
    """
    if not _together(scene):
        return scene
    mixed = []
    for number, (table, said) in enumerate(_releases(scene)):
        known = Knowledge(scene.statistics) if said is None else scene.statistics | said
        if noise_variance(np.asarray(table, dtype=np.float64), known, scene.table.shape[1]) is None:
            mixed.append(number)
    if not mixed:
        return scene
    releases = _releases(scene)
    mixed.sort(key=lambda number: -releases[number][0].shape[1])
    return _of_releases(scene, *mixed)


def _releases(scene: Scene) -> list[tuple[Array, PublicParameters | None]]:
    """All releases with what is public about each, the one under audit first."""
    return [(scene.released, scene.parameters), *zip(scene.others, _said(scene), strict=True)]


def _of_releases(scene: Scene, first: int, *others: int) -> Scene:
    """The scene with these releases, one in the first place; only this release's key is there."""
    releases = _releases(scene)
    (table, said), rest = releases[first], [releases[number] for number in others]
    return replace(
        scene, released=table, parameters=said, others=tuple(t for t, _ in rest),
        other_parameters=tuple(p for _, p in rest), key=None if first else scene.key,
    )  # fmt: skip


def _together(scene: Scene) -> bool:
    """Whether there are other releases, and rows of all of them belong together."""
    return bool(scene.others) and scene.rows_correspond is not False


def _noisy_first(scene: Scene) -> Scene | None:
    """The scene with a release of the table's own columns, and noise, in the first place.

    None where there is no such release, or none of another kind to explain it by.
    """
    d, releases = scene.table.shape[1], _releases(scene)
    for number, (table, said) in enumerate(releases):
        Z = np.asarray(table, dtype=np.float64)
        others = tuple(t for i, (t, _) in enumerate(releases) if i != number)
        known: Knowledge = scene.statistics | OtherReleases(others)
        known = known if said is None else known | said
        if noise_variance(Z, known, d) is not None and not all(
            same for _, same in others_sorted(Z, known)
        ):
            return _of_releases(scene, number, *(i for i in range(len(releases)) if i != number))
    return None
