"""Draft of a release: complete, but not yet named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isinglass.perturb.base import Perturbation
from isinglass.table.prepare import Source


@dataclass(frozen=True, slots=True)
class Draft:
    """A release that is complete on disk but has no name yet, with the owner's side of it.

    `earlier` counts the releases of the same rows that the register knows.
    """

    path: Path
    perturbation: Perturbation = field(repr=False)
    columns: tuple[str, ...]
    one_hot: tuple[str, ...]
    categories: Mapping[str, list[Any]] = field(repr=False)
    shuffle_key: NDArray[np.uint64] | None = field(repr=False)
    earlier: int

    @classmethod
    def of(
        cls,
        source: Source,
        path: Path,
        perturbation: Perturbation,
        shuffle_key: NDArray[np.uint64] | None,
        earlier: int,
    ) -> Self:
        """The draft of a table's release."""
        numeric, one_hot = source.columns.numeric, source.columns.one_hot
        return cls(path, perturbation, numeric, one_hot, source.categories, shuffle_key, earlier)
