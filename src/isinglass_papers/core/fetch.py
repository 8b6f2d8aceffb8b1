"""Fetching the papers' data sets from OpenML, for those who have a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from isinglass.errors import TableError

#: sets that OpenML has otherwise than these pages describe them, or not at all
ELSEWHERE = (
    "aps_test_pca12",
    "aps_train9000_pca12",
    "cmapss_fd001_train",
    "cmapss_fd002_train",
    "cmapss_fd003_train",
    "cmapss_fd004_train",
    "credit_a",
    "credit_fraud",
    "credit_g",
    "har_smartphone",
    "thyroid",
)
#: our name of a set: its name and version on OpenML, and the label that marks an outlier, if any
OPENML: Mapping[str, tuple[str, int, str | None]] = {
    "abalone": ("abalone", 1, None),
    "breast_w": ("breast-w", 1, None),
    "diabetes": ("diabetes", 1, None),
    "ecoli": ("ecoli", 1, None),
    "gas_drift": ("gas-drift", 1, None),
    "heart": ("heart-statlog", 1, None),
    "hepatitis": ("hepatitis", 1, None),
    "ionosphere": ("ionosphere", 1, None),
    "iris": ("iris", 1, None),
    "mammography": ("mammography", 1, "1"),
    "tic_tac_toe": ("tic-tac-toe", 1, None),
    "votes": ("vote", 1, None),
    "wine": ("wine", 1, None),
}

Get = Callable[..., Any]


def fetch(name: str, folder: Path, *, get: Get | None = None) -> Path:
    """Write `name`.parquet into `folder`, from OpenML; give back the file.

    Numbers stay as they are, categories become 0, 1, … in the order OpenML lists them, missing
    values the column's median. The copy the papers used may have been coded otherwise.
    """
    import pyarrow as pa
    import pyarrow.parquet

    from isinglass.files import whole_file

    if name not in OPENML:
        raise TableError(f"OpenML has no set known here as {name}; it has {', '.join(OPENML)}")
    there, version, outlier = OPENML[name]
    try:
        found = (get or _openml())(name=there, version=version, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise TableError(
            f"{name} cannot be fetched from OpenML ({type(error).__name__}); is there a network?"
        ) from None
    except ValueError as error:  # no such set there, or a file that is not the announced one
        raise TableError(f"OpenML does not give {name} as expected: {error}") from None
    X = np.asarray(found["data"], dtype=np.float64)
    hole = np.isnan(X)
    if hole.any():
        X = np.where(hole, np.nanmedian(X, axis=0), X)
    columns = {str(n): X[:, i].astype(np.float32) for i, n in enumerate(found["feature_names"])}
    columns["label"] = _codes(np.asarray(found["target"]), outlier)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.parquet"
    with whole_file(path) as aside:
        pyarrow.parquet.write_table(pa.table(columns), aside, compression="zstd")
    return path


def _openml() -> Get:
    from sklearn.datasets import fetch_openml

    return fetch_openml  # type: ignore[no-any-return]


def _codes(labels: np.ndarray[Any, Any], outlier: str | None) -> np.ndarray[Any, Any]:
    """Classes as whole numbers; where one marks outliers, 1 for it and 0 for the rest."""
    if outlier is not None:
        return np.asarray(labels.astype(str) == outlier, dtype=np.int8)
    if labels.dtype.kind in "fiu":
        return labels.astype(np.int64)
    return np.asarray(np.unique(labels.astype(str), return_inverse=True)[1], dtype=np.int64)
