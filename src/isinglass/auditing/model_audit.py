"""An audit of a model: can somebody tell which records it was trained on?"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.attack.likelihood_ratio import loss_score
from isinglass.auditing.attackers import ACQUAINTED, OUTSIDER
from isinglass.auditing.model_membership import (
    FEWEST,
    LOSS_THRESHOLD,
    Trial,
    alike_trials,
    far_records,
    membership_results,
    own_trials,
    shift,
)
from isinglass.auditing.model_report import ModelReport
from isinglass.auditing.model_verdict import model_attackers
from isinglass.auditing.policy import Policy
from isinglass.auditing.result import MODEL, Detection, Findings, Privacy, SkippedAttack
from isinglass.auditing.shadows import Shadows, train_shadows
from isinglass.detect import network
from isinglass.detect.onnx_file import ExportedAutoencoder
from isinglass.errors import AuditError, IsinglassError
from isinglass.progress import Progress, quiet

Array = NDArray[Any]
Flags = NDArray[np.bool_]

N_SHADOWS = 16
#: Records of either side that take part at most, and numbers that are kept of all shadow models.
_MOST_RECORDS = 50_000
_MOST_ERRORS = 30_000_000
_MOST_COMPARED = 10_000
_ERRORS_OF_SHIFT = 2.6


@dataclass(slots=True)
class _Measured:
    """What came of the attacks, and what must be said beside it."""

    trials: dict[str, tuple[Trial, ...]] = field(default_factory=dict)
    skipped: list[SkippedAttack] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    shadows: Shadows | None = None


def audit_model(
    model: ExportedAutoencoder,
    table: Array,
    others: Array | None = None,
    *,
    n_shadows: int = N_SHADOWS,
    policy: Policy | None = None,
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    random_state: int | None = None,
    progress: Progress = quiet,
) -> ModelReport:
    """Measure how well records of `table` are told from records the model was not trained on.

    Parameters
    ----------
    model : ExportedAutoencoder
    table : array
        The records the model was trained on.
    others : array, optional
        Records of the same kind that it was not trained on. Without them the model itself cannot
        be attacked: models made alike are, each trained on half of the table.
    n_shadows : int
        Shadow models to train; an even number, at least 4.
    policy : Policy, optional
    settings : mapping, optional
        Further entries for the report.
    notes : sentences, optional
        What must be said beside the figures.
    random_state : int, optional
    """
    if n_shadows < 4 or n_shadows % 2:
        raise ValueError(f"n_shadows must be an even number >= 4, got {n_shadows}")
    for name, records in (("table", table), ("others", others)):
        if records is not None and records.shape[1] != model.n_columns:
            raise AuditError(
                f"the model takes {model.n_columns:,} columns, and {name} has {records.shape[1]:,}"
            )
    begun = time.perf_counter()
    seed = secrets.randbelow(2**31) if random_state is None else int(random_state)
    rng = chance.generator(seed)
    said = list(notes)
    members = _some(model.shown(table), "the table", said, rng)
    outside = None if others is None else _some(model.shown(others), "the others", said, rng)
    if outside is not None:
        outside = _without_members(members, outside, said)
    fewest = 2 * FEWEST if outside is None else FEWEST
    if len(members) < fewest or (outside is not None and len(outside) < FEWEST):
        raise AuditError(f"membership needs at least {fewest} records of the table"
                         + f" and {FEWEST} others" * (outside is not None))  # fmt: skip
    pool = members if outside is None else np.vstack([members, outside])
    of_table = np.arange(len(pool)) < len(members)
    room = _MOST_ERRORS // (n_shadows * model.n_columns)
    compared = np.sort(rng.permutation(len(pool))[: max(20, min(_MOST_COMPARED, room))])
    far = far_records(pool[compared], rng)
    measured = _measured(
        model, pool, of_table, compared, own=outside is not None, n_models=n_shadows, rng=rng,
        progress=progress,
    )  # fmt: skip
    results = membership_results(measured.trials, far)
    if _worse_than_constant(model, members):
        said.append(
            "The model repeats the table's records worse than a constant would; perhaps it was not "
            "trained on them, or their columns stand in another order."
        )
    attackers = model_attackers(results, measured.skipped)
    findings = Findings(
        rows=len(table),
        columns=model.n_columns,
        method="autoencoder",
        promise="heuristic",
        detection=Detection(None, None, None, 0),
        attacks=(),
        skipped=tuple(measured.skipped),
        privacy=Privacy(float("nan"), float("nan")),
        linkage=None,
        verdict=attackers[-1].verdict,
        attackers=attackers,
        membership=results,
        notes=(*said, *measured.notes),
        assumptions=tuple(measured.assumptions),
        settings={
            "n_shadows": 0 if measured.shadows is None else len(measured.shadows.errors),
            "epochs": None if measured.shadows is None else measured.shadows.epochs,
            "models_made_alike": outside is None,
            "random_state": seed,
            **(settings or {}),
        },
        seconds=time.perf_counter() - begun,
        kind=MODEL,
    )
    if policy is not None:
        findings = replace(findings, policy=policy.check(findings))
    return ModelReport(findings)


def _measured(
    model: ExportedAutoencoder,
    pool: Array,
    of_table: Flags,
    compared: NDArray[np.intp],
    *,
    own: bool,
    n_models: int,
    rng: np.random.Generator,
    progress: Progress,
) -> _Measured:
    """Attack the model itself (`own`), or models made alike."""
    found = _Measured()
    goal = float(loss_score(model.errors(pool[of_table])).mean())
    missing = _lacks_torch()
    if missing is None:
        found.shadows = train_shadows(
            model, pool, compared, goal, n_models=n_models, rng=rng, progress=progress
        )
    elif not own:
        raise AuditError(
            "without records that the model was not trained on, models made alike must be trained, "
            "and torch is not installed; install isinglass[neural] or give other records"
        )
    if own:
        found.trials = own_trials(model.errors(pool[compared]), of_table[compared], found.shadows)
        found.assumptions.append(
            "All records of the table count as those the model was trained on, though some may "
            "have been held back to stop its training; the others count as records it never saw."
        )
        if missing is not None:
            found.skipped.append(SkippedAttack(
                "likelihood_ratio", missing, applicable=True, attacker=ACQUAINTED))  # fmt: skip
            found.notes.append(
                "Only the loss threshold was tried; attackers who train models of their own get "
                "more, and whether the other records are like the table's was not looked at."
            )
    elif found.shadows is not None:
        found.trials = alike_trials(found.shadows)
        n = len(found.shadows.errors)
        found.assumptions.append(
            f"The model itself was not attacked, for no records were given that it did not see. "
            f"The figures are of {n} models made alike: of its shape, each trained on half of the "
            "table until it fits as closely, and attacked with the other half as others."
        )
    if found.shadows is not None:
        found.assumptions.append(
            "The attacker may train models of the same shape on records like these, the one in "
            "question among them."
        )
        _check_shadows(found, found.shadows, of_table[compared], own)
    return found


def _check_shadows(found: _Measured, shadows: Shadows, of_table: Flags, own: bool) -> None:
    """What the shadow models tell about the figures."""
    if not shadows.fit_reached:
        why = (
            "models trained here did not come to fit their records as closely as this model does; "
            "it was trained harder, and may remember more than the figures say"
        )
        found.notes.append(f"The figures may be too low: {why}.")
        if not own:
            found.skipped.append(SkippedAttack(
                "models_as_closely_fitted", why, applicable=True, attacker=OUTSIDER))  # fmt: skip
    if own:
        area, error = shift(shadows, of_table)
        if abs(area - 0.5) > _ERRORS_OF_SHIFT * error:
            found.trials.pop(LOSS_THRESHOLD)
            why = (
                "the other records are not like the table's: models trained on half of either "
                f"tell them apart by their losses with an area of {area:.2f}"
            )
            found.skipped.append(SkippedAttack(LOSS_THRESHOLD, why, attacker=OUTSIDER))
            found.notes.append(
                "The loss threshold would show how the other records differ from the table's, not "
                "which were in training, and was left out; choose others at random where you can."
            )


def _some(shown: Array, what: str, notes: list[str], rng: np.random.Generator) -> Array:
    if len(shown) <= _MOST_RECORDS:
        return shown
    notes.append(f"Of {what}, {_MOST_RECORDS:,} records drawn at random took part.")
    return np.asarray(shown[np.sort(rng.permutation(len(shown))[:_MOST_RECORDS])])


def _without_members(members: Array, others: Array, notes: list[str]) -> Array:
    """The others that are no records of the table."""
    whole = np.dtype((np.void, members.dtype.itemsize * members.shape[1]))
    mine, theirs = (np.ascontiguousarray(m + 0).view(whole).ravel() for m in (members, others))
    same = np.isin(theirs, mine)
    if same.any():
        notes.append(f"{int(same.sum()):,} of the others are in the table and were left out.")
    return np.asarray(others[~same])


def _worse_than_constant(model: ExportedAutoencoder, members: Array) -> bool:
    errors = np.square(model.errors(members), dtype=np.float64).mean()
    return bool(errors > members.var(axis=0, dtype=np.float64).mean())


def _lacks_torch() -> str | None:
    try:
        network.torch_or_sentence()
    except IsinglassError:
        return "shadow models need torch, which is not installed; install isinglass[neural]"
    return None
