"""Linkage levels: how many public records fit a released row as well as the true one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.kept.join import Groups, JoinedFit
from isinglass.attack.linking.linker import Linker
from isinglass.attack.linking.pattern_fits import PatternLinker
from isinglass.attack.linking.record_fit import blocks
from isinglass.attack.pattern_linkage import PatternLinkageAttack
from isinglass.attack.table_order import TableOrderAttack
from isinglass.auditing.attackers import INSIDER, KEY_HOLDER
from isinglass.auditing.cells import same_columns
from isinglass.auditing.findings import QUANTILES, Linkage
from isinglass.auditing.kept_linkage import KeepingLinkage
from isinglass.auditing.runner import Outcome
from isinglass.auditing.scene import Scene
from isinglass.auditing.split import SOUGHT
from isinglass.measure.randomization import (
    average_level,
    expected_randomization_level,
    levels_from_fits,
    worst_level,
)

if TYPE_CHECKING:
    from isinglass.attack.order.order_linker import OrderLinker

    AnyLinker: TypeAlias = Linker | PatternLinker | OrderLinker

Array = NDArray[Any]

#: Comparisons of a released row with a public record: about ten seconds' worth.
_MOST_PAIRS = 1_000_000_000
_MOST_CELLS = 1 << 28  # the same for single cells that must agree
_MOST_EXPECTED = 10_000
_LISTED = 20
#: Rows that are assigned to records as a whole; the time grows with their third power.
_MOST_ASSIGNED = 2_000


def linkage(scene: Scene, linker: AnyLinker, *, brief: bool = False) -> Linkage | None:
    """Levels of the records under attack that the attacker did not know before.

    `brief` leaves out what takes long and tells nothing about the average record. Patterns and
    orders are those of the whole file, and no public table of fewer columns is tried with them.
    """
    places = np.flatnonzero(scene.split.chosen | scene.split.outlier)
    narrow = isinstance(linker, Linker)
    cost = linker.cost if isinstance(linker, PatternLinker) else 1
    places = places[: max(200, _MOST_PAIRS // (cost * len(scene.table)))]
    chosen = scene.split.chosen[places]
    if not chosen.any():
        return None
    numbers = scene.split.attacked[places]
    if not narrow:
        places = numbers
    levels = _levels(linker, places, numbers)
    worst = np.lexsort((numbers, levels))[:_LISTED]
    random = levels[chosen]
    if brief:
        return _summed_up(random, n_public=len(scene.table))
    return _summed_up(
        random,
        n_public=len(scene.table),
        assigned=_assigned(linker, places[chosen], numbers[chosen]),
        expected=_expected(scene),
        worst_records=tuple((int(numbers[i]), int(levels[i])) for i in worst),
        by_dimension=_by_dimension(linker, places[chosen], numbers[chosen]) if narrow else (),
    )


def recognition(scene: Scene, linker: Linker | PatternLinker) -> Linkage | None:
    """Levels of the sample's records: how many released rows fit each as well as its own row.

    Where the release was not attacked whole, rows that were left out count in proportion.
    Patterns are those of the whole file.
    """
    places = np.full(len(scene.table), -1)
    places[scene.split.attacked] = np.arange(len(scene.split.attacked))
    records = np.flatnonzero(places[scene.split.sample] >= 0)[:SOUGHT]
    if not len(records):
        return None
    own, n_rows, joined = places[scene.split.sample[records]], len(scene.split.attacked), None
    if isinstance(linker, PatternLinker):
        n_rows = len(scene.released)
        records = records[: max(100, _MOST_PAIRS // (linker.cost * n_rows))]
        own, linker = scene.split.sample[records], linker.among(records)
        records = np.arange(len(records))
    else:
        joined = linker.groups
    best = np.empty(len(records))
    for block, fits in blocks(linker.fit(own)):
        best[block] = fits[np.arange(len(fits)), records[block]]
    slack = 1e-12 * np.abs(np.where(np.isfinite(best), best, 0.0))
    better = np.zeros(len(records))
    for block, fits in blocks(linker.fit(np.arange(n_rows))):
        alike = fits[:, records] >= best - slack
        if joined is not None:  # a row with other kept values is another record's
            alike &= joined.released[block, np.newaxis] == joined.public[records]
        better += alike.sum(axis=0)
    # A record that is impossible even for its own row is as good as lost among all.
    levels = np.where(np.isfinite(best), np.maximum(better, 1), n_rows)
    scaled = 1 + (levels - 1) * (len(scene.released) / n_rows)
    return _summed_up(np.rint(scaled).astype(np.int64), n_public=len(scene.released))


def linkage_by_cells(scene: Scene) -> Linkage | None:
    """Levels by the number of cells in which a released row and a public record agree exactly."""
    X, Z = (np.asarray(m, dtype=np.float32) for m in (scene.table, scene.released))
    pairs = same_columns(X, Z)
    rows = scene.split.attacked[scene.split.chosen]
    rows = rows[: max(200, _MOST_CELLS // max(X.size, 1))]
    if not pairs or not len(rows):
        return None
    mine, theirs = (list(side) for side in zip(*pairs, strict=True))
    X, Z = X[:, mine], Z[:, theirs]
    levels = [levels_from_fits((X == Z[i]).sum(axis=1)[np.newaxis], np.array([i])) for i in rows]
    return _summed_up(np.concatenate(levels), n_public=len(X))


def linkage_by_join(scene: Scene) -> Linkage | None:
    """Levels by what left as it was: a join needs no order.

    A row that is alone with its kept values, as a record is in the public table, is that record.
    """
    known = scene.common(others=False, whole=True) | scene.public_table()
    groups = Groups.of(known, len(scene.released))
    if groups is None:
        return None
    count = 1 + int(max(groups.released.max(), groups.public.max()))
    rows, records = (np.bincount(g, minlength=count) for g in (groups.released, groups.public))
    n = len(scene.table)
    levels = np.where(records > 0, np.maximum(rows, records), n)[groups.released]
    return _summed_up(levels, n_public=n)


def _summed_up(levels: Array, *, n_public: int, **about: Any) -> Linkage:
    chances = 1.0 / levels
    error = float(chances.std() / np.sqrt(len(chances)))
    mean = float(chances.mean())
    return Linkage(
        average=average_level(levels),
        worst_1pct=float(worst_level(levels)),
        expected=about.pop("expected", None),
        linked=max(float((levels == 1).mean()), about.pop("assigned", 0.0)),
        n_public=n_public,
        levels=tuple((q, float(worst_level(levels, q))) for q in QUANTILES),
        reidentification=mean,
        reidentification_high=min(1.0, mean + 1.96 * error + 1.0 / len(chances)),
        reidentification_max=float(chances.max()),
        n_records=len(levels),
        **about,
    )


def _levels(linker: AnyLinker, places: Array, truth: Array, n_columns: int | None = None) -> Array:
    """How many public records fit each of these rows as well as the true one, itself included.

    A level of one means that the best fit is the truth. Ties are no link: whoever sees two
    records that fit equally well can only guess.
    """
    levels = np.empty(len(places), dtype=np.int64)
    fit = linker.fit(places, n_columns)
    if isinstance(fit, JoinedFit):
        return _joined_levels(fit, truth)
    for block, fits in blocks(fit):
        levels[block] = levels_from_fits(fits, truth[block])
    return levels


def _joined_levels(fit: JoinedFit, truth: Array) -> Array:
    """The same where only records with the same kept values are possible, group by group."""
    levels = np.full(len(truth), fit.n_public, dtype=np.int64)
    for rows, candidates, fits in fit.parts():
        where = np.searchsorted(candidates, truth[rows])
        inside = candidates[np.minimum(where, len(candidates) - 1)] == truth[rows]
        levels[rows[inside]] = levels_from_fits(fits[inside], where[inside])
    return levels


def _assigned(linker: AnyLinker, places: Array, truth: Array) -> float:
    """Share of rows linked rightly where no record may be given to two rows.

    Whoever holds the whole table knows that each record left once.
    """
    from scipy.optimize import linear_sum_assignment

    places, truth = places[:_MOST_ASSIGNED], truth[:_MOST_ASSIGNED]
    if len(linker.public) > 2 * _MOST_ASSIGNED:
        return 0.0
    fits = np.vstack([fits for _, fits in blocks(linker.fit(places))])
    possible = np.isfinite(fits)
    if not possible.any():
        return 0.0
    worst = float(fits[possible].min())
    cost = np.where(possible, -fits, 1e3 * (1.0 + abs(worst)))
    _, found = linear_sum_assignment(cost)
    return float((found == truth).mean())


def _by_dimension(
    linker: AnyLinker, places: Array, truth: Array
) -> tuple[tuple[int, float, float], ...]:
    """Average and worst level for public tables of one column, two, four and so on."""
    some = max(100, _MOST_PAIRS // (20 * len(linker.public)))
    places, truth = places[:some], truth[:some]
    d = linker.public.shape[1]
    found = []
    for n in sorted({*(2**i for i in range(d.bit_length())), d}):
        levels = _levels(linker, places, truth, n)
        found.append((n, average_level(levels), float(worst_level(levels))))
    return tuple(found)


def _expected(scene: Scene) -> float | None:
    """The average level over all draws of the noise, where noise of one size was added."""
    parameters = scene.parameters
    if parameters is None or parameters.method != "additive_noise":
        return None
    if len(scene.table) > _MOST_EXPECTED:
        return None
    X = np.asarray(scene.table, dtype=np.float64)
    facts = parameters.parameters
    scale = np.broadcast_to(np.asarray(facts.get("scale", 1.0), dtype=np.float64), X.shape[1])
    if facts.get("relative", True):
        scale = scale * X.std(axis=0, ddof=1)
    law = str(facts.get("distribution", "gaussian"))
    return float(average_level(expected_randomization_level(X, scale=scale, distribution=law)))


def closest(found: Sequence[Linkage | None]) -> Linkage | None:
    """The way of linking that leaves the fewest records to choose from."""
    return min((f for f in found if f is not None), key=lambda f: f.average, default=None)


def linkages(scene: Scene, outcomes: Sequence[Outcome]) -> tuple[Linkage | None, Linkage | None]:
    """How well records of the public table, and of the sample, are linked to released rows."""
    linked: list[Linkage | None] = []
    recognized: list[Linkage | None] = []
    for outcome in outcomes:
        attack, attacker = outcome.step.attack, outcome.step.attacker
        if isinstance(attack, TableOrderAttack) and attack.kept is not None:
            linked.append(linkage(scene, attack.kept))
        patterns = isinstance(attack, PatternLinkageAttack)
        if not isinstance(attack, PatternLinkageAttack | KeepingLinkage) or attack.kept is None:
            continue
        if attacker == INSIDER and (outcome.step.few or patterns):
            linked.append(linkage(scene, attack.kept))
        elif attacker not in (INSIDER, KEY_HOLDER):
            recognized.append(recognition(scene, attack.kept))
    return closest(linked), closest(recognized)
