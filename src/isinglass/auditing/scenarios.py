"""Scenarios of each attack: the knowledge it is given, and how often it is run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.base import Attack, Scenario
from isinglass.attack.collusion import CollusionAttack
from isinglass.attack.distance import DistanceAttack
from isinglass.attack.kept_columns import KeptColumnsAttack
from isinglass.attack.knowledge import (
    Colluders,
    ColumnStatistics,
    Fact,
    KeptColumns,
    Knowledge,
    KnownPairs,
    KnownRecords,
    PopulationSample,
    PublicParameters,
    PublicTable,
    RowOrder,
    StolenKey,
)
from isinglass.attack.map_estimate import MAPAttack
from isinglass.attack.naive import NaiveAttack
from isinglass.attack.noise.size import noise_variance
from isinglass.attack.order.periods import by_phase, period_of
from isinglass.attack.order.table_walk import is_walk
from isinglass.attack.pattern_linkage import PatternLinkageAttack
from isinglass.attack.posterior import PosteriorAttack, alone_is_worth_it
from isinglass.attack.row_factor import RowFactorAttack
from isinglass.attack.row_order import RowOrderAttack
from isinglass.attack.spectral import LEAST_PROFILE, SpectralAttack
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.attack.table_order import MOST_WALKED, TableOrderAttack
from isinglass.attack.unit_pursuit import UnitPursuitAttack
from isinglass.attack.views.row_shift import without_shift
from isinglass.auditing.attackers import few_pairs
from isinglass.auditing.decodable import decoding_steps
from isinglass.auditing.kept_linkage import AveragingLinkage, KeepingLinkage, rows_averaged
from isinglass.auditing.scene import Scene, Step
from isinglass.auditing.split import LOCATED, SEEN_WHOLE
from isinglass.method_names import UNIT_KEEPING

Array = NDArray[Any]

#: Draws of a few known pairs, where it is luck which of them tell something.
_DRAWS = 3
#: A sample that grows by less than this tells no more.
_MORE_RECORDS = 0.25


def steps_of(kind: type[Attack], scene: Scene, seed: int) -> Iterator[Step]:
    """Every attacker to send with one attack: those it describes, or those made for the scene."""
    if kind.name in _SPECIAL:
        yield from _SPECIAL[kind.name](scene, seed)
        return
    for scenario in kind.scenarios:
        if scene.others or not scenario.needs_others:
            yield from _described(kind, scenario, scene, seed)


def _described(kind: type[Attack], scenario: Scenario, scene: Scene, seed: int) -> Iterator[Step]:
    settings = dict(scenario.settings)
    if "random_state" in inspect.signature(kind).parameters:
        settings["random_state"] = seed
    common = scene.common(
        others=scenario.others, few=scenario.few_rows, whole=scenario.whole,
        order=RowOrder in scenario.given,
    )  # fmt: skip
    with_pairs = KnownPairs in scenario.given
    for n in _numbers_of_pairs(scenario, scene) if with_pairs else [0]:
        known = common
        for fact in scenario.given:
            known |= _dealt(fact, scenario, scene, n)
        yield Step(
            kind(**settings), known, scene.table.shape[1], n, n or None, uses_rows=with_pairs,
            few=scenario.few_rows, whole=scenario.whole, how=scenario.how,
        )  # fmt: skip


def _numbers_of_pairs(scenario: Scenario, scene: Scene) -> list[int]:
    """How many pairs each attacker of a scenario knows; none where there is nothing to pair."""
    if scene.rows_correspond is False:
        return []
    most = scene.split.most_pairs
    few = min(few_pairs(scene.table.shape[1]), most)
    tried = {"few": {few}, "most": {most}, "each": {*scene.split.levels, few}}
    return sorted(tried[scenario.pairs] - {0})


def _dealt(fact: type[Fact], scenario: Scenario, scene: Scene, n_pairs: int) -> Fact | Knowledge:
    """One of the facts a scenario gives, as the scene has it."""
    if fact is ColumnStatistics:
        return scene.statistics
    if fact is PopulationSample:
        return scene.sample()
    if fact is PublicTable:
        return scene.public_table()
    if fact is KnownPairs:
        return scene.split.pairs(scene.table, n_pairs, whole=scenario.whole)
    if fact is RowOrder:
        return Knowledge()  # common knowledge has it, where rows are in order
    raise TypeError(f"a scenario cannot give {fact.__name__}; it takes a generator of its own")


def _naive(scene: Scene, seed: int) -> Iterator[Step]:
    d = scene.table.shape[1]
    yield Step(NaiveAttack(), scene.common() | scene.statistics, d)
    if scene.released.shape[1] == d and _narrowed(scene):
        known = scene.common(others=False) | scene.statistics
        attack, how = NaiveAttack(as_it_stands=True), "taking the values as they stand"
        yield Step(attack, known, d, how=how)
    if scene.parameters is None or scene.parameters.method not in UNIT_KEEPING:
        known = scene.common(others=False) | scene.statistics
        for up, how in ((1, "of one quantity"), (-1, "of one quantity, the other end up")):
            yield Step(NaiveAttack(one_quantity=up), known, d, how=how)


def _narrowed(scene: Scene) -> bool:
    """Whether released columns have the table's means and less than its deviations."""
    Z, statistics = np.asarray(scene.released, dtype=np.float64), scene.statistics
    deviation = Z.std(axis=0)
    near = 4.0 * statistics.deviation / np.sqrt(len(Z))
    centered = np.abs(Z.mean(axis=0) - statistics.mean) <= near
    return bool((centered & (deviation < 0.95 * statistics.deviation)).mean() >= 0.5)


def _pursued(scene: Scene) -> list[int]:
    """Numbers of known pairs that unit pursuit can begin with: a few, and the most."""
    d, most = scene.table.shape[1], scene.split.most_pairs
    least = UnitPursuitAttack.least_pairs(d, scene.released.shape[1])
    return sorted(n for n in {min(few_pairs(d), most), most} if n >= least)


def _unit_pursuit(scene: Scene, seed: int) -> Iterator[Step]:
    d, attack = scene.table.shape[1], UnitPursuitAttack(random_state=seed)
    known = scene.common(few=True) | scene.statistics | scene.sample()
    for n in _pursued(scene):
        yield Step(
            attack, known | scene.split.pairs(scene.table, n), d, n, n, uses_rows=True, few=True
        )
        # With few pairs it is luck which of them show a unit; no report may rest on bad luck.
        for draw in range(1, _DRAWS) if n <= few_pairs(d) else ():
            rows = np.arange(draw * n, (draw + 1) * n)
            if rows[-1] < scene.split.n_few // 2:
                pairs = KnownPairs(rows, scene.table[scene.split.attacked[rows]])
                yield Step(
                    attack, known | pairs, d, 0, n, uses_rows=True, few=True,
                    how=f"draw {draw + 1} of the known pairs",
                )  # fmt: skip


def _map(scene: Scene, seed: int) -> Iterator[Step]:
    d = scene.table.shape[1]
    known, as_it_is = scene.study() | scene.statistics, "taking the public matrix as it is"
    yield Step(MAPAttack(random_state=seed), known, d, how=as_it_is)
    known |= scene.sample()
    yield Step(MAPAttack(random_state=seed), known, d, how=as_it_is)
    strong, how = MAPAttack("sample", "joint", random_state=seed), "estimating the secret shift"
    yield Step(strong, known, d, how=how)
    if scene.split.levels:
        n = scene.split.most_pairs
        with_pairs = known | scene.split.pairs(scene.table, n)
        yield Step(strong, with_pairs, d, n, n, uses_rows=True, how=how)


def _spectral(scene: Scene, seed: int) -> Iterator[Step]:
    known = _noise_only(scene, scene.common() | scene.statistics)
    yield Step(SpectralAttack(random_state=seed), known, scene.table.shape[1])
    if scene.parameters is None or scene.parameters.method in UNIT_KEEPING:
        of_kinds = SpectralAttack("kinds", random_state=seed)
        yield Step(of_kinds, known, scene.table.shape[1], how="supposing records of a few kinds")
        of_sizes = SpectralAttack("row_scales", random_state=seed)
        for told in (known, known | scene.sample()):
            yield Step(of_sizes, told, scene.table.shape[1], how="supposing rows of unequal size")
        if scene.table.shape[1] >= LEAST_PROFILE:
            profile = SpectralAttack("profile", random_state=seed)
            yield Step(profile, known, scene.table.shape[1], how="supposing a curve in each row")


def _posterior(scene: Scene, seed: int) -> Iterator[Step]:
    """By column statistics where the noise's law tells more than its size; by records."""
    d, attack = scene.table.shape[1], PosteriorAttack(random_state=seed)
    known = _noise_only(scene, scene.common(others=False) | scene.statistics)
    seen = scene.seen()
    if _law_tells(scene, seen, known):
        yield Step(attack, known, d)
        if scene.others:
            together = _noise_only(scene, scene.common() | scene.statistics)
            yield Step(attack, together, d, how="cells of all releases together")
    sample, n = scene.sample(), min(few_pairs(d), scene.split.most_pairs)
    yield Step(attack, known | sample, d)
    if scene.rows_correspond is False:
        return
    # Recognized records are as good as further ones of the sample.
    if n > _MORE_RECORDS * len(sample.records):
        pairs = scene.split.pairs(scene.table, n)
        yield Step(attack, known | sample | pairs, d, n, n, uses_rows=True)
    # The guess consists of records and comes near to all of them: only its rows can be scored.
    if _own_columns(scene, seen, known) and (most := rows_averaged(scene)):
        known |= scene.public_table()
        yield Step(attack, known, d, uses_rows=True, few=True, most_rows=most)


def _own_columns(scene: Scene, seen: Array, known: Knowledge) -> bool:
    """Whether there is noise on the table's own columns, in no more rows than can be averaged."""
    if len(seen) > SEEN_WHOLE:
        return False
    return noise_variance(seen, known, scene.table.shape[1]) is not None


def _law_tells(scene: Scene, seen: Array, known: Knowledge) -> bool:
    """Whether the law of the noise tells more than its size does, without any record."""
    return _own_columns(scene, seen, known) and alone_is_worth_it(seen, known)


def _row_order(scene: Scene, seed: int) -> Iterator[Step]:
    """From the file alone; with a sample and a few recognized rows; with many of them."""
    known = scene.common(whole=True, order=True) | scene.statistics
    attack = RowOrderAttack(random_state=seed)
    yield from _along_the_file(scene, attack, known)
    told = _noise_only(scene, scene.common(others=False, whole=True, order=True) | scene.statistics)
    if _law_tells(scene, np.asarray(scene.released[:SEEN_WHOLE], dtype=np.float64), told):
        from isinglass.attack.order.row_blocks import block_of

        by_law = RowOrderAttack(by_law=True, random_state=seed)
        how = "each cell read by the law of the noise"
        yield Step(by_law, told, scene.table.shape[1], whole=True, how=how)
        # As with periods: whoever has the file can try every length; the table tells which.
        block = block_of(scene.table) if len(scene.table) == len(scene.released) else None
        if block is not None:
            by_block = RowOrderAttack(by_law=True, block=block, random_state=seed)
            how = f"blocks of {block} rows read together by the law of the noise"
            yield Step(by_block, told, scene.table.shape[1], whole=True, how=how)
    # Whoever has the file can try every period; the audit asks the table which is worth it.
    period = period_of(scene.table) if len(scene.table) == len(scene.released) else None
    if period is not None:
        again = known | RowOrder(by_phase(len(scene.released), period))
        for step in _along_the_file(scene, attack, again):
            yield replace(step, how="rows of the same phase side by side")
        # The phase is as good as a column that says whose row it is.
        phase = (np.arange(len(scene.released)) % period).astype(np.float64)[:, np.newaxis]
        grouped = scene.common(whole=True) | scene.statistics
        grouped |= KeptColumns(phase, np.array([True]))
        # Groups of a mixture mean nothing to whoever knows no pair of it.
        alone = scene.parameters is None or scene.parameters.method in UNIT_KEEPING
        for step in _along_the_file(scene, KeptColumnsAttack(random_state=seed), grouped):
            if alone or KnownPairs in step.knowledge:
                yield replace(step, how="rows of the same phase as one group")
    d, n = scene.table.shape[1], scene.split.most_pairs
    if scene.released.shape[1] == d and len(scene.released) <= SEEN_WHOLE:
        known |= scene.public_table()
        if n:
            known |= scene.split.pairs(scene.table, n, whole=True)
        yield Step(attack, known, d, n, n or None, uses_rows=True, whole=True)
    if n and len(scene.table) == len(scene.released):
        yield _table_order(scene, seed)


def _table_order(scene: Scene, seed: int) -> Step:
    """The public table put in the order of the file."""
    d, n = scene.table.shape[1], scene.split.most_pairs
    known = scene.common(whole=True, order=True) | scene.public_table()
    known |= scene.split.pairs(scene.table, n, whole=True)
    # As with periods: whoever has the file can look for a walk; the table tells if that pays.
    walks = len(scene.table) <= MOST_WALKED and is_walk(scene.table)
    attack, how = TableOrderAttack(walks=walks, random_state=seed), "records put in its order"
    return Step(attack, known, d, n, n, uses_rows=True, whole=True, how=how)


def _kept_columns(scene: Scene, seed: int) -> Iterator[Step]:
    known = scene.common(whole=True, order=True) | scene.statistics
    yield from _along_the_file(scene, KeptColumnsAttack(random_state=seed), known)


def _along_the_file(scene: Scene, attack: Attack, known: Knowledge) -> Iterator[Step]:
    """An attack on the whole file: alone, with a sample, with few and with many known pairs."""
    d, most = scene.table.shape[1], scene.split.most_pairs
    yield Step(attack, known, d, whole=True)
    known |= scene.sample()
    yield Step(attack, known, d, whole=True)
    for n in sorted({min(few_pairs(d), most), most} - {0}):
        pairs = scene.split.pairs(scene.table, n, whole=True)
        yield Step(attack, known | pairs, d, n, n, uses_rows=True, whole=True)


def _noise_only(scene: Scene, known: Knowledge) -> Knowledge:
    """Without what is claimed of a method that adds no noise: there may be some after all."""
    if scene.parameters is not None and scene.parameters.method in UNIT_KEEPING:
        return known
    return known.without(PublicParameters)


def _linkage(scene: Scene, seed: int) -> Iterator[Step]:
    """With the public table; then with a sample alone, by whoever recognizes a few records."""
    d, n = scene.table.shape[1], scene.split.most_pairs
    known = scene.common(few=True) | scene.public_table()
    if n:
        known |= scene.split.pairs(scene.table, n)
    named = KeepingLinkage(random_state=seed)
    yield Step(named, known, d, n, n or None, uses_rows=True, few=True)
    if most := rows_averaged(scene):
        yield Step(
            AveragingLinkage(named), known, d, n, n or None, uses_rows=True, few=True,
            most_rows=most, how="averaging over the records that fit",
        )  # fmt: skip
    few = min(few_pairs(d), n)
    sample = scene.sample()
    known = scene.common() | PublicTable(sample.records, sample.kept, complete=False)
    known |= scene.statistics
    if few:
        known |= scene.split.pairs(scene.table, few)
    yield Step(
        KeepingLinkage(random_state=seed), known, d, few, few or None, uses_rows=True,
        how="looking for the records of the sample",
    )  # fmt: skip


def _distance(scene: Scene, seed: int) -> Iterator[Step]:
    d = scene.table.shape[1]
    n = min(scene.split.n_known, max(d + 1, LOCATED))
    records = KnownRecords(scene.table[scene.split.attacked[:n]])
    known = scene.common(others=False) | records | scene.statistics
    yield Step(DistanceAttack(random_state=seed), known, d, n)


def _row_factor(scene: Scene, seed: int) -> Iterator[Step]:
    d, known = scene.table.shape[1], scene.common(others=False) | scene.statistics
    for more in (Knowledge(), scene.sample(), scene.public_table()):
        yield Step(RowFactorAttack(), known | more, d)
    # The same number multiplies or moves a row; which one, the file alone may leave open.
    if without_shift(scene.seen(), scene.statistics, None) is not None:
        for more in (Knowledge(), scene.sample(), scene.public_table()):
            yield Step(RowFactorAttack(added=True), known | more, d, how="added to each row")


def _pattern_linkage(scene: Scene, seed: int) -> Iterator[Step]:
    """With the public table; then with a sample alone, by whoever recognizes a few records."""
    d, n = scene.table.shape[1], scene.split.most_pairs
    known = scene.common(others=False, whole=True) | scene.public_table()
    if n:
        known |= scene.split.pairs(scene.table, n, whole=True)
    attack = PatternLinkageAttack(random_state=seed)
    yield Step(attack, known, d, n, n or None, uses_rows=True, whole=True)
    few, sample = min(few_pairs(d), n), scene.sample()
    known = scene.common(others=False, whole=True) | scene.statistics
    known |= PublicTable(sample.records, sample.kept, complete=False)
    if few:
        known |= scene.split.pairs(scene.table, few, whole=True)
    yield Step(
        PatternLinkageAttack(random_state=seed), known, d, few, few or None, uses_rows=True,
        whole=True, how="looking for the records of the sample",
    )  # fmt: skip


def _collusion(scene: Scene, seed: int) -> Iterator[Step]:
    d = scene.table.shape[1]
    tables = (np.asarray(scene.table[scene.split.sample]),)
    attack = CollusionAttack(random_state=seed)
    if scene.has_matrix:
        n = min(scene.split.levels, default=0)
        shared = scene.split.pairs(scene.table, n) if n else None
        known = scene.study() | Colluders(tables, shared=shared)
        yield Step(attack, known, d, n, n or None, uses_rows=True)
    else:
        known = scene.common(others=False) | Colluders(tables, key=scene.key)
        yield Step(attack, known, d, with_key=True)


def _stolen_key(scene: Scene, seed: int) -> Iterator[Step]:
    stolen = StolenKey(scene.key, rows=scene.split.attacked)
    known = scene.common(others=False) | stolen | scene.sample() | scene.statistics
    yield Step(StolenKeyAttack(random_state=seed), known, scene.table.shape[1], with_key=True)


#: Attacks whose attackers depend on the release or the table; all others describe their own.
_SPECIAL: dict[str, Callable[[Scene, int], Iterator[Step]]] = {
    "naive": _naive,
    "unit_pursuit": _unit_pursuit,
    "decoding": decoding_steps,
    "map": _map,
    "spectral": _spectral,
    "posterior": _posterior,
    "row_order": _row_order,
    "kept_columns": _kept_columns,
    "linkage": _linkage,
    "distance": _distance,
    "row_factor": _row_factor,
    "pattern_linkage": _pattern_linkage,
    "collusion": _collusion,
    "stolen_key": _stolen_key,
}
