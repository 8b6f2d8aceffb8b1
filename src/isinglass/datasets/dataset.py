"""`Dataset`, in which every set of data is handed over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dataset:
    """A table and what is known about its rows; printing one shows its shape, never a value.

    `is_outlier` marks the planted or known outliers, None where a set has no such notion.
    `labels` holds the class, cluster or other label of each row, None where there is none.
    """

    X: NDArray[Any]
    is_outlier: NDArray[np.bool_] | None
    column_names: tuple[str, ...]
    labels: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return f"Dataset({rows} rows x {columns} columns)"
