"""Loader for data files in the folder ISINGLASS_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from isinglass.datasets.dataset import Dataset
from isinglass.errors import TableError

VARIABLE = "ISINGLASS_DATA"

# Files of the project's data folder whose label 1 means "outlier". A label in any other file is
# a class, a count or a target, and only the caller knows which.
_LABEL_MARKS_OUTLIERS = frozenset(
    {
        "annthyroid",
        "aps_test_pca12",
        "aps_train9000_pca12",
        "cardio",
        "cover",
        "credit_fraud",
        "http",
        "mammography",
        "pendigits",
        "satellite",
        "shuttle",
        "smtp",
        "thyroid",
    }
)


def available() -> tuple[str, ...]:
    """The names `load` takes, in alphabetical order.

    Examples
    --------
    >>> isinstance(ig.datasets.available(), tuple)
    True
    """
    return tuple(sorted(path.stem for path in _folder().glob("*.parquet")))


def load(name: str) -> Dataset:
    """Read `name`.parquet from the data folder.

    Features are all columns except `label` and those whose name begins with `meta_`; `X` is
    float32 where all of them are, else float64. `labels` holds the label column, if there is
    one. `is_outlier` is set only for the project's own outlier benchmarks, where label 1 means
    outlier; for other files it is None.

    Examples
    --------
    >>> ig.datasets.load('mammography').X.shape  # doctest: +SKIP
    """
    names = available()
    if name not in names:  # also keeps a name from reaching outside the folder
        there = ", ".join(names) if names else "no Parquet file"
        raise TableError(f"no data set named {name!r} in the folder {VARIABLE}; it has {there}")
    return read(_folder() / f"{name}.parquet")


def read(path: Path) -> Dataset:
    """Read one file of such a folder, as `load` says."""
    import pyarrow.parquet  # a tenth of a second that the generators need not pay

    name = path.stem
    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as cause:
        raise TableError(f"{name}.parquet in the folder {VARIABLE} cannot be read") from cause
    columns = [c for c in table.column_names if c != "label" and not c.startswith("meta_")]
    for column in columns:
        kind = table.schema.field(column).type
        if not (pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)):
            raise TableError(f"column {column!r} of {name}.parquet is {kind}, not a number")
    all_single = all(table.schema.field(c).type == pyarrow.float32() for c in columns)
    X = np.empty((table.num_rows, len(columns)), dtype=np.float32 if all_single else np.float64)
    for position, column in enumerate(columns):
        X[:, position] = table.column(column).to_numpy()
    labels = None
    if "label" in table.column_names:
        labels = table.column("label").to_numpy().astype(np.int64)
    is_outlier = None
    if labels is not None and name in _LABEL_MARKS_OUTLIERS:
        is_outlier = labels == 1
    return Dataset(X, is_outlier, tuple(columns), labels)


def _folder() -> Path:
    value = os.environ.get(VARIABLE)
    if not value:
        raise TableError(f"the variable {VARIABLE} is not set; point it at the data folder")
    folder = Path(value)
    if not folder.is_dir():
        raise TableError(f"the variable {VARIABLE} does not name a folder; point it at one")
    return folder
