"""Aggregation of scores into results per attack, privacy levels and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.auditing.chance_tables import fresh_copy, share_of_copies, shuffled_columns
from isinglass.auditing.files.left_as_is import unchanged_columns
from isinglass.auditing.findings import (
    RECOVERED_GAIN,
    AttackResult,
    ColumnResult,
    Privacy,
    SkippedAttack,
)
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.runner import Outcome
from isinglass.auditing.scene import Scene
from isinglass.auditing.scoring import (
    Score,
    Yardstick,
    gain_interval,
    over_baseline,
    over_trials,
    wilson,
)
from isinglass.auditing.split import SEEN_UNALIGNED
from isinglass.measure.vod import column_weights

Array = NDArray[Any]


def attack_results(
    trials: Sequence[Sequence[Outcome]], names: Sequence[str], yard: Yardstick
) -> tuple[list[AttackResult], list[SkippedAttack]]:
    """One result for each attacker: the release's own score, with the spread over other keys."""
    results, skipped = [], []
    for place, outcome in enumerate(trials[0]):
        if outcome.not_begun:
            assert outcome.failed is not None
            name, who = outcome.step.attack.name, outcome.step.attacker
            skipped.append(SkippedAttack(name, outcome.failed, applicable=True, attacker=who))
            continue
        again = [s for trial in trials[1:] if (s := _same(trial, trials[0], place)) is not None]
        results.append(_result(outcome, again, names, yard))
    return results, skipped


def _same(trial: Sequence[Outcome], first: Sequence[Outcome], place: int) -> Score | None:
    """The score of the same attacker, by its name and its turn, in another trial."""
    name = first[place].step.attack.name
    turn = sum(o.step.attack.name == name for o in first[:place])
    alike = [o for o in trial if o.step.attack.name == name]
    return alike[turn].score if turn < len(alike) else None


def _result(
    outcome: Outcome, again: list[Score], names: Sequence[str], yard: Yardstick
) -> AttackResult:
    step, score = outcome.step, outcome.score
    about: dict[str, Any] = {
        "name": step.attack.name,
        "knowledge": step.describe(),
        "knowledge_beyond": step.describe_beyond(),
        "n_pairs": step.n_pairs,
        "with_key": step.with_key,
        "attacker": step.attacker,
        "seconds": outcome.seconds,
    }
    if score is None:
        return AttackResult(
            **about, success=0.0, low=0.0, high=1.0, baseline=0.0, control=None,
            control_kind=None, worst_column="", failed=outcome.failed,
        )  # fmt: skip
    shares = [float(s.success.mean()) for s in (score, *again)]
    low, high = over_trials(shares, score.n_records)
    controls = [s.control for s in again if s.control is not None]
    control, kind = score.control, "rows permuted"
    if controls:
        control, kind = float(np.mean(controls)), "held out"
    gains = score.gains()
    least, most = gain_interval(score, again)
    varying = [int(j) for j in np.flatnonzero(yard.varies)]
    columns = tuple(
        ColumnResult(
            names[j], float(score.success[i]), float(score.baseline[i]), float(score.error[i]),
            float(score.r2[i]), float(gains[i]),
        )
        for i, j in enumerate(varying)
    )  # fmt: skip
    return AttackResult(
        **about,
        success=shares[0],
        low=low,
        high=high,
        baseline=float(score.baseline.mean()),
        control=control,
        control_kind=None if control is None else kind,
        worst_column=names[varying[int(np.argmax(gains))]],
        columns=columns,
        r2=float(score.r2.mean()),
        r2_baseline=float(score.r2_baseline.mean()),
        near=float(score.near.mean()),
        near_baseline=float(score.near_baseline.mean()),
        outliers=score.outliers,
        outliers_baseline=score.outliers_baseline,
        rest=score.rest,
        gain=score.gain(),
        gain_low=least,
        gain_high=most,
        worst_gain=float(gains.max()),
        n_records=score.n_records,
        scored_by=score.scored_by,
        exact=score.exact if score.scored_by == "row" else 0.0,
    )


def privacy_of(
    results: Sequence[AttackResult], weights: ArrayLike | None, yard: Yardstick
) -> Privacy:
    """The lowest level over all attackers without the key: deviation of the guess, in ranges.

    Not of the release itself, which a mere change of sign would bring to its highest.
    """
    w = column_weights(weights, len(yard.varies))[yard.varies]
    levels = [
        np.array([c.error for c in r.columns]) / w
        for r in results
        if r.failed is None and not r.with_key
    ]
    if not levels:
        return Privacy(0.0, 0.0)
    return Privacy(
        minimum=float(min(level.min() for level in levels)),
        average=float(min(level.mean() for level in levels)),
    )


def unique_share(scene: Scene) -> float | None:
    """Share of released rows that are alone with their values in columns that left as they are.

    Those are kept columns, and columns that should have got noise and did not.
    """
    parts = [] if scene.kept is None else [scene.kept.values]
    if scene.rows_correspond is not False and scene.table.shape == scene.released.shape:
        same = unchanged_columns(scene.table, scene.released)
        parts += [scene.released[:, same]] if same.any() else []
    if not parts:
        return None
    # Other tables hold such values in single precision, or rounded to it.
    values = np.ascontiguousarray(np.column_stack(parts), dtype=np.float32) + np.float32(0)
    _, counts = np.unique(values, axis=0, return_counts=True)
    return float((counts == 1).sum() / len(values))


def verbatim_share(table: Array, released: Array, rng: np.random.Generator) -> float:
    """Share of released rows that are records of the table, beyond what chance would give.

    In any row; in the same columns, or in whichever hold most values of the table's.
    """
    d = table.shape[1]
    as_they_are: list[int | None] = list(range(d)) if released.shape[1] == d else []
    return max(
        _copied(table, released, columns, rng)
        for columns in (as_they_are, _same_values(table, released))
    )


def _copied(
    table: Array, released: Array, columns: list[int | None], rng: np.random.Generator
) -> float:
    """The share, where column j of the table is taken for released column `columns[j]`.

    What rows of shuffled columns would hit, as those of a table of codes do, is chance; so is
    what fresh rows would hit whose columns go together as those released do, and what a further
    record would, where records are often alike.
    """
    mine = [j for j, c in enumerate(columns) if c is not None]
    if not mine:
        return 0.0
    kind = np.dtype(np.float32 if np.float32 in (table.dtype, released.dtype) else np.float64)
    used = [c for c in columns if c is not None]
    # A released column that is taken for two is shuffled once: with itself it always agrees.
    which = sorted(set(used))
    again = [which.index(c) for c in used]
    theirs = released[:, which]
    records, rows, *blind = (
        np.ascontiguousarray(m, dtype=kind)
        for m in (
            table[:, mine],
            theirs[:, again],
            shuffled_columns(theirs, rng)[:, again],
            fresh_copy(theirs, rng)[:, again],
        )
    )
    whole = np.dtype((np.void, kind.itemsize * len(mine)))
    there = records.view(whole).ravel()
    found, *by_chance = (
        float(np.isin(m.view(whole).ravel(), there).mean()) for m in (rows, *blind)
    )
    return float(over_baseline(found, max(*by_chance, share_of_copies(records))))


def _same_values(table: Array, released: Array) -> list[int | None]:
    """For each column of the table the released one that holds most of its values, if many."""
    found: list[int | None] = []
    values = [np.unique(column.astype(np.float32)) for column in released.T]
    for column in table.T:
        own = np.unique(column.astype(np.float32))
        shares = [float(np.isin(own, other, assume_unique=True).mean()) for other in values]
        best = int(np.argmax(shares))
        found.append(best if len(own) > 1 and shares[best] >= RECOVERED_GAIN else None)
    return found


def assumptions_of(
    scene: Scene, n_trials: int, most_pairs: int | None, *, by_person: bool = False
) -> tuple[AuditNote, ...]:
    """What the attackers were given."""
    told = Kind.NOTHING_KNOWN if scene.parameters is None else Kind.PARAMETERS_KNOWN
    split = scene.split
    said = [
        AuditNote.of(told),
        AuditNote.of(Kind.KNOWLEDGE_DEALT, n_sample=len(split.sample), n_pairs=split.most_pairs),
        AuditNote.of(Kind.NAMED_AT_BEST),
    ]
    if most_pairs is not None:
        said.append(AuditNote.of(Kind.PAIRS_LIMITED, n=most_pairs))
    if scene.kept is not None:
        said.append(AuditNote.of(Kind.KEPT_COLUMNS_KNOWN))
    if scene.others:
        said.append(AuditNote.of(Kind.OTHERS_ATTACKED, n=len(scene.others)))
    if scene.rows_correspond is None:
        said.append(AuditNote.of(Kind.CORRESPONDENCE_UNSAID))
    if by_person:
        said.append(AuditNote.of(Kind.PERSONS_GIVEN))
    if n_trials > 1:
        of = "person" if by_person else "record"
        said.append(AuditNote.of(Kind.KEYS_DRAWN_ANEW, n=n_trials - 1, of=of))
    return tuple(said)


def notes_of(
    scene: Scene, verbatim: float, cells: float, varies: NDArray[np.bool_]
) -> list[AuditNote]:
    """What a reader must know beside the numbers."""
    notes = []
    if verbatim > 0:
        notes.append(AuditNote.of(Kind.UNCHANGED_ROWS, share=verbatim))
    if cells > verbatim and cells >= 0.01:
        notes.append(AuditNote.of(Kind.UNCHANGED_CELLS, share=cells))
    constant = int((~varies).sum())
    if constant:
        notes.append(AuditNote.of(Kind.CONSTANT_COLUMNS, n=constant))
    n = int(scene.split.chosen.sum())
    if n < len(scene.split.attacked) or n < len(scene.table):
        notes.append(AuditNote.of(Kind.MEASURED_ON_SAMPLE, n=n))
    if n < 400:
        low, high = wilson(0.5, n)
        notes.append(AuditNote.of(Kind.FEW_RECORDS, n=n, half=(high - low) / 2))
    if not scene.rows_correspond and len(scene.released_rows()) < len(scene.released):
        notes.append(AuditNote.of(Kind.NOT_ALL_COMPARED, n=SEEN_UNALIGNED))
    if scene.secret_order:
        notes.append(AuditNote.of(Kind.ROWS_UNKNOWN))
    elif scene.rows_correspond is False:
        notes.append(AuditNote.of(Kind.ROWS_ARE_NO_RECORDS))
    return notes
