"""Audit context: the table, the scale of its columns and its strongest outliers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.attack.knowledge import KeptColumns, PublicParameters
from isinglass.auditing.scoring import Yardstick
from isinglass.detect.base import Detector
from isinglass.errors import AuditError, PrivacyWarning
from isinglass.method_names import UNIT_KEEPING
from isinglass.perturb.base import Perturbation
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.table.columns import refuse_columns

Array = NDArray[Any]

#: Where the columns of a release nobody explained follow the table's this closely, on the mean,
#: they are read as the same columns in the same units.
_SAME_COLUMNS = 0.3
#: Records for which the rule of adaptive noise is computed anew, which takes half a minute.
_MOST_BY_RULE = 10_000


@dataclass(frozen=True, slots=True)
class Subject:
    """The table and the rules of measuring it; the same for every trial."""

    table: Array = field(repr=False)
    names: tuple[str, ...]
    yard: Yardstick
    detector: Detector
    parameters: PublicParameters | None = None
    labels: NDArray[np.bool_] | None = field(default=None, repr=False)
    keeps_units: bool = False

    def scaled(self, X: Array) -> Array:
        """Records as a release has them before mixing: columns in [0, 1] by the same bounds.

        By declared bounds where there are any, else by the table's smallest and largest values.
        """
        low, high = self.table.min(axis=0), self.table.max(axis=0)
        facts = self.parameters
        if facts is not None and facts.low is not None and facts.high is not None:
            low, high = facts.low, facts.high
            if facts.parameters.get("clip"):
                X = np.clip(X, low, high)
        span = np.where(high > low, high - low, 1.0)
        return np.asarray((X - low) / span)

    def scaled_release(self, Z: Array) -> Array:
        """A release as a miner would search it: by range where columns kept their units."""
        if not self.keeps_units:
            return Z
        low, high = self.table.min(axis=0), self.table.max(axis=0)
        return np.asarray((Z - low) / np.where(high > low, high - low, 1.0))


def subject_of(
    table: Array,
    released: Array,
    *,
    names: Sequence[str] | None,
    detector: Detector,
    parameters: PublicParameters | None,
    labels: ArrayLike | None,
) -> Subject:
    """Measure the table once, and refuse what cannot be audited."""
    low, high = (np.asarray(e, dtype=np.float64) for e in (table.min(axis=0), table.max(axis=0)))
    span = np.where(high > low, high - low, 1.0)
    # By range first: the square of a very small number is none at all.
    deviation = ((np.asarray(table, dtype=np.float64) - low) / span).std(axis=0, ddof=1) * span
    yard = Yardstick.of(low, high, deviation)
    if not yard.varies.any():
        raise AuditError("every column of the table holds one value only: nothing can be recovered")
    if names is None:
        names = [f"column {j}" for j in range(table.shape[1])]
    if len(names) != table.shape[1]:
        raise AuditError(
            f"the table has {table.shape[1]} columns, but {len(names)} names are given"
        )
    marks = None if labels is None else np.asarray(labels).astype(bool)
    if marks is not None and marks.shape != (len(table),):
        raise AuditError(f"labels must be one for each of the {len(table):,} records")
    return Subject(
        table, tuple(str(n) for n in names), yard, detector, parameters, marks,
        _keeps_units(table, released, parameters),
    )  # fmt: skip


def numbers(values: ArrayLike, what: str) -> Array:
    """A table as floats, finite, with at least two records."""
    refuse_columns(values, what, AuditError)
    try:
        found = np.asarray(values)
        if found.dtype.kind != "f":
            found = found.astype(np.float64)
    except (TypeError, ValueError):
        raise AuditError(f"{what} must hold numbers only; it has text in it") from None
    if found.ndim != 2 or len(found) < 2 or not found.shape[1]:
        raise AuditError(f"{what} must be a table of at least 2 records, got shape {found.shape}")
    if not np.isfinite(found).all():
        raise AuditError(f"{what} has values that are missing or not finite")
    return found


def public_parameters(perturbation: Perturbation) -> PublicParameters:
    """All that an owner makes public with a perturbation, bounds only where declared."""
    low = high = None
    if isinstance(perturbation, ScaledPerturbation):
        fitted = hasattr(perturbation, "_scaling")
        declared = perturbation.declared_bounds() if fitted else None
        if declared is not None:
            low, high = (np.asarray(edge) for edge in declared)
    matrix = perturbation.known_matrix()
    facts = perturbation.public_parameters()
    return rule_known(PublicParameters(perturbation.method, facts, low, high, matrix), perturbation)


def rule_known(parameters: PublicParameters, perturbation: Perturbation) -> PublicParameters:
    """What whoever knows the rule of adaptive noise, and the table, computes: every scale."""
    scales = perturbation.known_scales() if hasattr(perturbation, "_key") else {}
    if not scales:
        return parameters
    return replace(parameters, parameters={**parameters.parameters, **scales})


def rule_computed(parameters: PublicParameters, table: Array) -> PublicParameters:
    """The scales of adaptive noise without its key, from the public k and the table.

    The rule is public and an attacker may hold the table, so he computes them, too; up to the
    draws by which levels were estimated they are those of the key. Large tables are left alone:
    their records are then linked by a model learned from known pairs.
    """
    known = parameters.parameters
    if parameters.method != "adaptive_noise" or "sigmas" in known or len(table) > _MOST_BY_RULE:
        return parameters
    from isinglass.perturb.adaptive import AdaptiveNoise  # only where it made the release

    # An attacker takes as few draws as the rule allows, however many the owner took.
    k, draws = int(known.get("k", 10)), 200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # nothing is released here
        rule = AdaptiveNoise(k, n_draws=draws, random_state=0).fit(table)
    return rule_known(parameters, rule)


def _keeps_units(table: Array, released: Array, parameters: PublicParameters | None) -> bool:
    """Whether released column j is the table's column j, changed a little."""
    if table.shape[1] != released.shape[1]:
        return False
    if parameters is not None:
        return parameters.method in UNIT_KEEPING
    if len(table) != len(released):
        return False
    some = slice(None, None, max(1, len(table) // 10_000))
    X, Z = (np.asarray(m[some], dtype=np.float64) for m in (table, released))
    X, Z = X - X.mean(axis=0), Z - Z.mean(axis=0)
    norms = np.linalg.norm(X, axis=0) * np.linalg.norm(Z, axis=0)
    follow = (X * Z).sum(axis=0) / np.where(norms > 0, norms, np.inf)
    return bool(follow.mean() > _SAME_COLUMNS)


def kept_columns(kept: ArrayLike | KeptColumns | None, n_rows: int) -> KeptColumns | None:
    """The columns that left as they were, one row for each released row."""
    if kept is None or isinstance(kept, KeptColumns):
        found = kept
    else:
        found = KeptColumns(numbers(kept, "kept"))
    if found is not None and len(found.values) != n_rows:
        raise AuditError(f"kept must have a row for each of the {n_rows:,} released rows")
    return found


def kept_of_table(
    kept: KeptColumns | None, given: ArrayLike | None, rows_correspond: bool | None, n_rows: int
) -> Array | None:
    """The kept columns of the table's own rows."""
    if kept is None:
        return None
    if given is not None:
        return numbers(given, "table_kept")
    return kept.values if rows_correspond is not False and len(kept.values) == n_rows else None
