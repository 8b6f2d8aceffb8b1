"""`Dataset`: records, labels and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.formats import counted


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dataset:
    """A table and what is known about its rows; printing one shows its shape, never a value.

    `is_outlier` marks the planted or known outliers, None where a set has no such notion.
    `labels` holds the class, cluster or other label of each row, None where there is none.

    Examples
    --------
    >>> data = ig.datasets.flights(1000, n_features=6, n_outliers=5, random_state=0)
    >>> data.X.shape, int(data.is_outlier.sum())
    ((1000, 6), 5)
    """

    X: NDArray[Any]
    is_outlier: NDArray[np.bool_] | None
    column_names: tuple[str, ...]
    labels: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return f"Dataset({counted(rows, 'row')} x {counted(columns, 'column')})"
