"""The tables of the experiments: what the paper had of each, and what is found of it here."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isinglass import datasets
from isinglass.curate.space import Space
from isinglass_papers.core.data import Sets
from isinglass_papers.sensitive.printed import TABLES

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SYNTHETIC = "mixed_gaussian"
#: names that fit below a box
SHORT = {
    "thyroid": "Thyroid",
    "mammography": "Mammography",
    "credit_fraud": "Credit",
    "aps_train9000_pca12": "APS",
    "aps_test_pca12": "APS test",
    SYNTHETIC: "Synthetic",
}


@dataclass(frozen=True)
class Case:
    """A table, its beta and r, and the name that the paper prints for it."""

    name: str
    beta: int
    r: float
    printed: str
    kind: str = "a part"  # what the table is where it is not all of the paper's
    n_components: int | None = None  # to fit
    n_columns: int | None = None  # to keep
    width: int = 0  # columns found
    note: str = ""  # in what it is not the paper's table

    @property
    def whole(self) -> bool:
        """Whether it is all of the paper's table, so that its beta holds as printed."""
        return self.beta == TABLES[self.printed].beta

    def of(self, n_records: int, width: int) -> Case:
        """The case of a table found: beta is the printed one's share of its records."""
        printed = TABLES[self.printed]
        note = f"{self.kind}, {n_records:,} records" if n_records != printed.size else ""
        if self.name == SYNTHETIC:
            note = "a draw of our own"
        beta = max(1, printed.beta * n_records // printed.size)
        return replace(self, beta=beta, width=width, note=note)


def _case(
    name: str,
    printed: str,
    *,
    kind: str = "a part",
    n_components: int | None = None,
    n_columns: int | None = None,
) -> Case:
    table = TABLES[printed]
    return Case(name, table.beta, table.r, printed, kind, n_components, n_columns)


CASES = (
    _case("thyroid", "Thyroid"),
    _case("mammography", "Mammography"),
    # V1 to V28 are principal components of the whole table already, so the first six are V1 to V6.
    _case("credit_fraud", "Credit Fraud", n_columns=6),
    _case("aps_train9000_pca12", "APS Trucks"),
    _case("aps_test_pca12", "APS Trucks", kind="the official test set"),
    _case(SYNTHETIC, "Synthetic", n_components=9),
)


def loaded(case: Case, sets: Sets, seed: int = 1) -> tuple[Case, Array, Mask]:
    """The case of the table found, the table in the dimensions of the paper, and its labels."""
    if case.name == SYNTHETIC:
        data = datasets.mixed_gaussian(random_state=seed)
    else:
        data = sets.load(case.name)
    assert data.is_outlier is not None
    X = data.X[:, : case.n_columns].astype(np.float64)
    return case.of(*data.X.shape), in_components(X, case.n_components), data.is_outlier


def in_components(X: Array, n_components: int | None) -> Array:
    """The first principal components, fitted on the very records, as in the paper.

    For reproduction only: no guarantee allows it, so `public` is not true of the private table.
    """
    if n_components is None:
        return X
    return Space.fitted(X, public=True, scale=None, n_components=n_components).places(X)
