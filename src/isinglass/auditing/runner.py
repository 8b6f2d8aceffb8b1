"""Attack runner: run every scenario and score every guess."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import (
    Colluders,
    Knowledge,
    KnownPairs,
    KnownRecords,
    PopulationSample,
    PublicTable,
)
from isinglass.attack.rowless_linkage import RowlessLinkageAttack
from isinglass.auditing.chance_tables import shuffled_columns
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.scene import Scene, Step
from isinglass.auditing.scoring import (
    Score,
    Yardstick,
    above_chance,
    constants,
    score_rows,
)
from isinglass.chance import haar
from isinglass.errors import IsinglassError
from isinglass.measure.separation import best_naming
from isinglass.threads import all_in_one_thread

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attacker: a score, or why there is none."""

    step: Step = field(repr=False)
    score: Score | None
    failed: AuditNote | None = None
    #: The attack cannot begin with what it was given, which is not a failure of the attack.
    not_begun: bool = False
    seconds: float = 0.0


def attack_all(
    scene: Scene,
    steps: list[Step],
    yard: Yardstick,
    *,
    held_out: Array | None,
    rng: np.random.Generator,
    tell: Callable[[], None],
) -> list[Outcome]:
    """Run the attackers one after the other against the scene's release."""
    # Attacks are many small products: threads would wait for one another. Large ones are cut up.
    with all_in_one_thread():
        return _attack_all(scene, steps, yard, held_out, rng, tell)


def _attack_all(
    scene: Scene,
    steps: list[Step],
    yard: Yardstick,
    held_out: Array | None,
    rng: np.random.Generator,
    tell: Callable[[], None],
) -> list[Outcome]:
    truth, outcomes, blind = scene.truth(), [], _Blind(yard)
    release = scene
    for step in steps:
        start = time.perf_counter()
        scene = release if step.view is None else replace(release, released=step.view)
        seen = scene.seen()
        try:
            few = scene.split.n_few if step.few else len(seen)
            few = few if step.most_rows is None else min(few, step.most_rows)
            if step.whole:
                everything = np.asarray(scene.released, dtype=np.float64)
                guess = _guess(step, everything, (len(everything), truth.shape[1]))
                guess = guess[scene.released_rows()]
            else:
                guess = _guess(step, seen[:few], (len(seen[:few]), truth.shape[1]))
        except IsinglassError as error:
            why = AuditNote.quote(step.attack, str(error))
            outcomes.append(Outcome(step, None, why, not_begun=True))
        except (ArithmeticError, ValueError, LookupError, MemoryError) as error:
            # The text of a library's error may quote a value; its kind does not.
            why = AuditNote.of(Kind.ERROR_WHILE_COMPUTING, error=type(error).__name__)
            outcomes.append(Outcome(step, None, why))
        else:
            seconds = time.perf_counter() - start
            score = _scored(scene, step, guess, truth[:few], yard, blind, held_out, rng)
            outcomes.append(Outcome(step, score, seconds=seconds))
        tell()
    return outcomes


def _guess(step: Step, seen: Array, shape: tuple[int, ...]) -> Array:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # an attack that struggles is not the user's concern
        guess = np.asarray(step.attack.guess(seen, step.knowledge), dtype=np.float64)
    if guess.shape != shape:
        raise ValueError("a guess must have a row for each released row and a column for each")
    if not np.isfinite(guess).all():
        raise ArithmeticError("a guess must be finite")
    return guess


def _scored(
    scene: Scene,
    step: Step,
    guess: Array,
    truth: Array,
    yard: Yardstick,
    baseline: _Blind,
    held_out: Array | None,
    rng: np.random.Generator,
) -> Score:
    """Score a guess the way that shows most of what it gives away."""
    chosen, outlier = _unknown_rows(scene, step, len(truth))
    guess, truth = guess[:, yard.varies], truth[:, yard.varies]
    others = truth if held_out is None else held_out[:, yard.varies]
    blind = _blind(step.knowledge, truth[chosen | outlier], baseline)
    parts: dict[str, Any] = {"outlier": outlier, "chosen": chosen, "others": others, "rng": rng}
    scores = []
    if scene.rows_correspond is not False:
        scores.append(score_rows(guess, truth, yard, blind, **parts))
        if step.attack.unordered:
            scores.append(_scored_by_best_name(guess, truth, yard, blind, parts))
    if isinstance(step.attack, RowlessLinkageAttack):
        if not scene.rows_correspond:
            scores.append(_scored_by_clear_names(scene, step.attack, guess, yard, blind, rng))
    elif not scene.rows_correspond and not step.uses_rows:
        scores.append(_scored_by_nearest(scene, step, guess, yard, blind, held_out, rng))
    return max(scores, key=lambda s: s.gain())


def _scored_by_best_name(
    guess: Array, truth: Array, yard: Yardstick, blind: dict[str, Array], parts: dict[str, Any]
) -> Score:
    """Columns in the order and sign that suit the attacker; so are those of a random mixture.

    With few columns any mixture, named well, looks like something: that much is no success.
    """
    named = score_rows(best_naming(guess, truth), truth, yard, blind, **parts)
    deviation = guess.std(axis=0)
    unit = (guess - guess.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    mixed = unit @ haar(parts["rng"], guess.shape[1])
    chance = score_rows(best_naming(mixed, truth), truth, yard, blind, **parts)
    return above_chance(named, chance)


def _scored_by_clear_names(
    scene: Scene,
    attack: RowlessLinkageAttack,
    guess: Array,
    yard: Yardstick,
    blind: dict[str, Array],
    rng: np.random.Generator,
) -> Score:
    """The share of rows with one clear record over chance; values tell nothing.

    The guess consists of records, and so comes near to every one of them, whoever was released.
    """
    n = min(len(guess), len(scene.table))
    records = np.asarray(scene.table[:n], dtype=np.float64)[:, yard.varies]
    everybody, nobody = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    score = score_rows(
        guess[:n], records, yard, blind, outlier=nobody, chosen=everybody, others=None, rng=rng,
        scored_by="nearest record",
    )  # fmt: skip
    share, by_chance = attack.shown
    return replace(above_chance(score, score), shown=share, shown_baseline=by_chance)


def _scored_by_nearest(
    scene: Scene,
    step: Step,
    guess: Array,
    yard: Yardstick,
    blind: dict[str, Array],
    held_out: Array | None,
    rng: np.random.Generator,
) -> Score:
    """Records and guesses side by side, whichever row shows whom."""
    from isinglass.auditing.scoring_unaligned import score_unaligned  # where rows are anybody's

    split, n = scene.split, len(scene.table)
    chosen, outlier, given = (np.zeros(n, dtype=bool) for _ in range(3))
    chosen[split.attacked[split.chosen]] = outlier[split.attacked[split.outlier]] = True
    given[split.sample] = given[split.attacked[: step.n_known]] = True
    table = np.asarray(scene.table, dtype=np.float64)[:, yard.varies]
    beside = None if held_out is None else held_out[:, yard.varies]
    by_chance = None
    if step.attack.fits_rows:
        mixed = shuffled_columns(scene.seen(), rng)
        by_chance = _guess(step, mixed, (len(mixed), scene.table.shape[1]))[:, yard.varies]
    return score_unaligned(
        guess, table, yard, blind, chosen=chosen & ~given, outlier=outlier & ~given,
        given=given, rng=rng, held_out=beside, by_chance=by_chance,
    )  # fmt: skip


def _unknown_rows(scene: Scene, step: Step, n: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The rows to score: chosen ones, and outliers, that the attacker did not know before."""
    known = np.zeros(n, dtype=bool)
    known[: step.n_known] = True
    pairs = step.knowledge.find(KnownPairs)
    if pairs is not None:
        rows = np.isin(scene.split.attacked[:n], pairs.rows) if step.whole else pairs.rows
        known[rows if step.whole else rows[rows < n]] = True
    return scene.split.chosen[:n] & ~known, scene.split.outlier[:n] & ~known


def _blind(knowledge: Knowledge, truth: Array, baseline: _Blind) -> dict[str, Array]:
    """Constants for each column, from the records this attacker has seen.

    One who has seen none is granted those of the truth itself: a baseline that is
    too good only ever hides a gain of the size of chance, and there is no other to take.
    """
    holders = (
        knowledge.find(PublicTable),
        knowledge.find(PopulationSample),
        knowledge.find(KnownRecords),
        knowledge.find(KnownPairs),
    )
    records = [fact.records for fact in holders if fact is not None and len(fact.records)]
    colluders = knowledge.find(Colluders)
    if colluders is not None and colluders.tables:
        records.append(np.vstack(colluders.tables))
    return baseline.of(max(records, key=len), whole=True) if records else baseline.of(truth)


class _Blind:
    """The constants a blind guess is made of; many attackers have seen the same records."""

    def __init__(self, yard: Yardstick) -> None:
        self._yard = yard
        self._found: dict[tuple[int, int], tuple[Array, dict[str, Array]]] = {}

    def of(self, records: Array, *, whole: bool = False) -> dict[str, Array]:
        """Those of some records; `whole`: with columns that never vary, which do not count."""
        seen = records[:, self._yard.varies] if whole else records
        same = zlib.crc32(np.ascontiguousarray(seen).tobytes()), len(seen)
        before = self._found.get(same)
        if before is None or not np.array_equal(before[0], seen):
            made = {r: constants(seen, self._yard.widths(r)) for r in ("within", "near")}
            before = self._found[same] = seen, made
        return before[1]
