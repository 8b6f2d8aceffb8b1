"""Audit of a model: membership of its training records."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.attack.members.model_ratio import loss_score
from isinglass.auditing.attackers import ACQUAINTED, OUTSIDER
from isinglass.auditing.findings import MODEL, Detection, Findings, Privacy, SkippedAttack
from isinglass.auditing.models.membership import (
    FEWEST,
    Trial,
    alike_trials,
    are_alike,
    far_records,
    membership_results,
    own_trials,
)
from isinglass.auditing.models.report import ModelReport
from isinglass.auditing.models.shadows import Shadows, train_shadows
from isinglass.auditing.models.verdict import model_attackers
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.policy import Policy
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


@dataclass(slots=True)
class _Measured:
    """What came of the attacks, and what must be said beside it."""

    far: Flags
    alike: bool
    trials: dict[str, tuple[Trial, ...]] = field(default_factory=dict)
    skipped: list[SkippedAttack] = field(default_factory=list)
    notes: list[AuditNote] = field(default_factory=list)
    assumptions: list[AuditNote] = field(default_factory=list)
    shadows: Shadows | None = None


def audit_model(
    model: ExportedAutoencoder,
    table: Array,
    others: Array | None = None,
    *,
    n_shadows: int = N_SHADOWS,
    policy: Policy | None = None,
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[AuditNote] = (),
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
    notes : facts, optional
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
    told = _Teller(model, members, n_shadows, rng, progress)
    measured = None if outside is None else told.itself(outside)
    if measured is None:
        measured = told.alike(unlike=outside is not None)
    results = membership_results(measured.trials, measured.far)
    if _worse_than_constant(model, members):
        said.append(AuditNote.of(Kind.REPEATS_BADLY))
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
            "models_made_alike": measured.alike,
            "random_state": seed,
            **(settings or {}),
        },
        seconds=time.perf_counter() - begun,
        kind=MODEL,
    )
    if policy is not None:
        findings = replace(findings, policy=policy.check(findings))
    return ModelReport(findings)


@dataclass(slots=True)
class _Teller:
    """Tells members from others: for the model itself, or for models made alike."""

    model: ExportedAutoencoder
    members: Array
    n_models: int
    rng: np.random.Generator
    progress: Progress

    def itself(self, outside: Array) -> _Measured | None:
        """Attack the model; None where the others are not like the table's records."""
        pool = np.vstack([self.members, outside])
        # Others that are in the table were left out; so its own repeated records must be.
        alone = np.concatenate([_occurs_once(self.members), np.ones(len(outside), dtype=bool)])
        compared = self._compared(pool)
        if alone[: len(self.members)].sum() >= FEWEST:
            compared = compared[alone[compared]]
        of_table = compared < len(self.members)
        found = _Measured(far_records(pool[compared], self.rng), alike=False)
        found.assumptions.append(AuditNote.of(Kind.TABLE_IS_TRAINING))
        missing = _lacks_torch()
        if missing is None:
            found.shadows = self._trained(pool, compared, self.n_models)
            control = self._trained(pool, compared, 2, np.arange(len(self.members)))
            if not are_alike(control, found.shadows, of_table):
                return None
            _say_what_shadows_mean(found, found.shadows)
        else:
            found.skipped.append(
                SkippedAttack("likelihood_ratio", missing, applicable=True, attacker=ACQUAINTED)
            )
            found.notes.append(AuditNote.of(Kind.THRESHOLD_ALONE))
        found.trials = own_trials(self.model.errors(pool[compared]), of_table, found.shadows)
        return found

    def alike(self, *, unlike: bool) -> _Measured:
        """Attack models made alike; `unlike` says that others were given and are of no use."""
        if _lacks_torch() is not None:
            raise AuditError(
                "without records that the model was not trained on, models made alike must be "
                "trained, and torch is not installed; install isinglass[neural] or give others"
            )
        compared = self._compared(self.members)
        found = _Measured(far_records(self.members[compared], self.rng), alike=True)
        found.shadows = self._trained(self.members, compared, self.n_models)
        found.trials = alike_trials(found.shadows)
        why = AuditNote.of(Kind.OTHERS_NOT_ALIKE if unlike else Kind.NO_OTHERS)
        if unlike:
            found.notes.append(AuditNote.of(Kind.OTHERS_UNLIKE))
        n_models = len(found.shadows.errors)
        found.assumptions.append(AuditNote.of(Kind.MODELS_ALIKE, why=why, n=n_models))
        _say_what_shadows_mean(found, found.shadows)
        return found

    def _compared(self, pool: Array) -> NDArray[np.intp]:
        room = _MOST_ERRORS // (self.n_models * self.model.n_columns)
        most = max(2 * FEWEST, min(_MOST_COMPARED, room))
        return np.sort(self.rng.permutation(len(pool))[:most])

    def _trained(
        self,
        pool: Array,
        compared: NDArray[np.intp],
        n_models: int,
        trained: NDArray[np.intp] | None = None,
    ) -> Shadows:
        goal = float(loss_score(self.model.errors(self.members)).mean())
        return train_shadows(
            self.model, pool, compared, goal, n_models=n_models, rng=self.rng,
            progress=self.progress, trained=trained,
        )  # fmt: skip


def _say_what_shadows_mean(found: _Measured, shadows: Shadows) -> None:
    found.assumptions.append(AuditNote.of(Kind.SHADOWS_ALLOWED))
    if not shadows.fit_reached:
        why = AuditNote.of(Kind.FIT_NOT_REACHED)
        found.notes.append(AuditNote.of(Kind.TOO_LOW, why=why))
        if found.alike:
            found.skipped.append(
                SkippedAttack("models_as_closely_fitted", why, applicable=True, attacker=OUTSIDER)
            )


def _some(shown: Array, what: str, notes: list[AuditNote], rng: np.random.Generator) -> Array:
    if len(shown) <= _MOST_RECORDS:
        return shown
    notes.append(AuditNote.of(Kind.DRAWN_AT_RANDOM, what=what, n=_MOST_RECORDS))
    return np.asarray(shown[np.sort(rng.permutation(len(shown))[:_MOST_RECORDS])])


def _without_members(members: Array, others: Array, notes: list[AuditNote]) -> Array:
    """The others that are no records of the table."""
    same = np.isin(_as_items(others), _as_items(members))
    if same.any():
        notes.append(AuditNote.of(Kind.OTHERS_IN_TABLE, n=int(same.sum())))
    return np.asarray(others[~same])


def _occurs_once(records: Array) -> Flags:
    _, places, counts = np.unique(_as_items(records), return_inverse=True, return_counts=True)
    return np.asarray(counts[places] == 1)


def _as_items(records: Array) -> Array:
    """Each record as one item that can be compared; adding 0 makes one zero of both."""
    rows = np.ascontiguousarray(records + 0)
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()


def _worse_than_constant(model: ExportedAutoencoder, members: Array) -> bool:
    errors = np.square(model.errors(members), dtype=np.float64).mean()
    return bool(errors > members.var(axis=0, dtype=np.float64).mean())


def _lacks_torch() -> AuditNote | None:
    try:
        network.torch_or_sentence()
    except IsinglassError:
        return AuditNote.of(Kind.TORCH_LACKING)
    return None
