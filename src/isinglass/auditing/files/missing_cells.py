"""Missing cells of a release: filled in for the attacks, and told by where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from isinglass.auditing.files.align import Loaded

#: Where fewer cells of a column are missing, or fewer are left, it tells nothing about records.
_FEWEST = 0.01


def fill_holes(release: Loaded, columns: Sequence[str]) -> tuple[Loaded, tuple[str, ...], int]:
    """The release with the mean of its column in each missing cell, and how many were missing.

    A column without a single number becomes constant. Where cells are missing may depend on what
    stood there, so the marks of missing cells are columns beside the others; their names are the
    second result.
    """
    known = np.isfinite(release.X)
    n_missing = int(known.size - known.sum())
    if not n_missing:
        return release, (), 0
    X = np.where(known, release.X, 0.0)
    mean = X.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    share, beside = known.mean(axis=0), release.beside
    telling = np.flatnonzero((share >= _FEWEST) & (share <= 1 - _FEWEST))
    _, first = np.unique(known[:, telling], axis=1, return_index=True)
    marks = {f"{columns[j]} is missing": pa.array(~known[:, j]) for j in telling[np.sort(first)]}
    for name, mark in marks.items():
        if not beside.num_columns:
            beside = pa.table({name: mark})
        elif name not in beside.column_names:
            beside = beside.append_column(name, mark)
    return replace(release, X=np.where(known, X, mean), beside=beside), tuple(marks), n_missing
