"""The audit as a user calls it: of arrays, frames, files or releases."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isinglass.attack.base import Attack
from isinglass.attack.knowledge import Fact, KeptColumns, Knowledge, PublicParameters
from isinglass.auditing.audit import audit_arrays
from isinglass.auditing.policy import Policy
from isinglass.auditing.report.report import Report
from isinglass.detect.base import Detector
from isinglass.perturb.base import Perturbation
from isinglass.progress import Progress, quiet
from isinglass.release import Release

# What an audit of files takes beside: the options of the command.
_OF_FILES = (
    "key", "passphrase", "drop", "one_hot", "missing", "id_column", "label", "person", "encoding",
    "delimiter",
)  # fmt: skip


def audit(
    table: Any,
    release: Any,
    *,
    perturbation: Perturbation | None = None,
    detector: Detector | None = None,
    attacks: str | Iterable[str | Attack] = "auto",
    knowledge: str | Fact | Knowledge = "auto",
    n_trials: int | None = None,
    n_outliers: int | None = None,
    most_pairs: int | None = None,
    labels: ArrayLike | None = None,
    column_names: Sequence[str] | None = None,
    weights: ArrayLike | None = None,
    parameters: PublicParameters | None = None,
    kept: ArrayLike | KeptColumns | None = None,
    other_releases: Sequence[Any] = (),
    rows_correspond: bool | None = None,
    order_known: bool = True,
    persons: ArrayLike | None = None,
    policy: Policy | None = None,
    random_state: int | None = None,
    progress: Progress = quiet,
    **files: Any,
) -> Report:
    """Attack a release and look for the outliers in it: what would leak, what would be found.

    Guarantee: none, for or against. The report says what the attacks listed got back, each with
    a blind baseline, a control and an interval; whoever knows more, or thinks of something else,
    may get more.

    Parameters
    ----------
    table : array, frame or path
        The original records.
    release : array, frame, path or Release
        What left; whoever made it, and however. An array has the table's order. Of a frame, a
        path or a `Release`, columns are found by name and role, and rows are matched as the
        release says or as they fit; `key`, `passphrase`, `drop`, `one_hot`, `missing`,
        `id_column`, `label`, `person`, `encoding` and `delimiter` go with these only. What is
        marked *arrays* below goes with arrays only.
    perturbation : Perturbation, optional
        What made the release, fitted or not. Keys are then drawn anew `n_trials` times, with one
        record in five held out for the control. A fitted one also shows what its key is worth.
    detector : Detector, optional, arrays
        By default `DistanceOutliers` with 500 outliers, or a tenth of a small table.
    attacks : "auto", or names or attacks, arrays
        "auto" sends all that apply.
    knowledge : "auto", or facts, arrays
        "auto": all public parameters; d + 1, 2 d, 10 d (at least 60) and 1 % of the records as
        known pairs; a sample of 10 %; the whole table as public table. Facts given here go to
        every attack, and row numbers in them count the release's rows.
    n_trials : int
        Releases in all: the one given, and `n_trials` - 1 under keys drawn anew. By default 4
        with a perturbation, else 1.
    n_outliers : int
        Of the default detector.
    most_pairs : int, optional
        No attacker is assumed to know more pairs than this; 0 means that nobody recognizes any
        record. The report says so.
    labels : array, optional, arrays
        True or 1 for records known to be anomalies.
    column_names : names for the report, optional, arrays
        By default those of a frame.
    weights : one number > 0 a column, optional, arrays
        How much each column matters to its owner; a larger one asks for more privacy.
    parameters : PublicParameters, optional, arrays
        What is public about a release whose perturbation is not at hand.
    kept : array or KeptColumns, optional, arrays
        Columns that left as they were; every attack gets them.
    other_releases : arrays, or paths where the release is one
        Further releases of the same rows, for the attacks that combine them.
    rows_correspond : bool, optional, arrays
        Whether row i of the release is record i. Not said: guesses are scored both ways.
    order_known : bool, arrays
        False for a release in a secret order: attacks that need row numbers are then missing.
    persons : array, optional, arrays
        Whose record each row of the table is, where people have several. All records of a person
        are then held out together, for membership and for the control.
    policy : Policy, optional
        Demands the report then answers line by line.
    random_state : int, optional
        Of the audit's own draws; None draws one, and the report says which.
    progress : callable, optional
        Called as `progress(stage, done, in all)`.

    Examples
    --------
    >>> import isinglass as ig
    >>> X = ig.datasets.flights(300, n_features=4, random_state=0).X
    >>> veil = ig.Rotation(bounds=(-1e4, 1e6), optimize=None, random_state=0)
    >>> report = ig.audit(X, veil.fit_transform(X), attacks=["naive", "known_input"])
    >>> report.verdict
    'recovered'
    """
    of_arrays: dict[str, Any] = {
        "detector": detector, "labels": labels, "column_names": column_names, "weights": weights,
        "parameters": parameters, "kept": kept, "rows_correspond": rows_correspond,
        "persons": persons,
    }  # fmt: skip
    same: dict[str, Any] = {
        "perturbation": perturbation, "n_trials": n_trials, "n_outliers": n_outliers,
        "most_pairs": most_pairs, "other_releases": other_releases, "policy": policy,
        "random_state": random_state, "progress": progress,
    }  # fmt: skip
    unknown = [name for name in files if name not in _OF_FILES]
    if unknown:
        raise TypeError(f"audit takes no argument {unknown[0]!r}")
    if _as_file(release) or isinstance(table, str | Path):
        given = [name for name, value in of_arrays.items() if value is not None]
        given += [] if order_known else ["order_known"]
        given += [n for n, v in (("attacks", attacks), ("knowledge", knowledge)) if _is_set(v)]
        if given:
            raise ValueError(
                f"{', '.join(given)} must be left out unless table and release are arrays"
            )
        return _audit_files(table, release, files, same)
    if files:
        raise ValueError(f"{', '.join(files)} must be left out where the release is an array")
    if column_names is None and hasattr(table, "columns"):
        of_arrays["column_names"] = [str(name) for name in table.columns]
    of_arrays |= {"attacks": attacks, "knowledge": knowledge, "order_known": order_known}
    return audit_arrays(table, release, **of_arrays, **same)


def _is_set(value: Any) -> bool:
    return not (isinstance(value, str) and value == "auto")


def _as_file(release: Any) -> bool:
    """Whether a release has columns with names, as a file has."""
    if isinstance(release, str | Path | Release):
        return True
    return not isinstance(release, np.ndarray | list | tuple) and hasattr(release, "columns")


def _audit_files(table: Any, release: Any, files: dict[str, Any], same: dict[str, Any]) -> Report:
    from isinglass.auditing.files.audit_files import audit_files  # and the readers of files

    if same["random_state"] is None:
        same["random_state"] = secrets.randbelow(2**31)
    # Only a file's name: its folders are the owner's business.
    key, passphrase = files.pop("key", None), files.pop("passphrase", None)
    shown = {"key": None if key is None else Path(key).name, **files, **same}
    shown = {n: v for n, v in shown.items() if _shows(v)}
    names = [_name(table, "table"), _name(release, "release")]
    named = [n for n in ("perturbation", "policy") if same[n] is not None]
    arguments = [*(f"{n}={n}" for n in named), *(f"{n}={v!r}" for n, v in shown.items())]
    code = ", ".join([*names, *arguments])
    settings = {"code": f"report = ig.audit({code})"}
    if key is not None:
        from isinglass.auditing.files.key_match import open_key_file

        if same["perturbation"] is not None:
            raise ValueError("perturbation must be left out where key is given, which brings it")
        same["perturbation"], files["key"] = open_key_file(key, passphrase=passphrase)
    if isinstance(release, str | Path):
        return audit_files(table, release, settings=settings, **files, **same)
    with tempfile.TemporaryDirectory(prefix="isinglass-") as folder:
        path = Path(folder) / "release.parquet"
        _written(release, path)
        return audit_files(table, path, settings=settings, **files, **same)


def _name(given: Any, otherwise: str) -> str:
    return repr(Path(given).name) if isinstance(given, str | Path) else otherwise


def _shows(value: Any) -> bool:
    """Whether an argument was given and can stand in a line of code."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(item, str) for item in value)
    return isinstance(value, str | int | float)


def _written(release: Any, path: Path) -> None:
    """A release in memory as a file, for the readers of files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from isinglass.table.read import open_table

    if isinstance(release, Release):
        release.write(path)
        return
    frame = open_table(release)
    pq.write_table(pa.Table.from_batches(frame.batches(frame.schema.names)), path)
