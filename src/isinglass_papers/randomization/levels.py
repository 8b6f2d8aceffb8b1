"""Levels of one table under one noise, and the parts of which the reproduction is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import datasets
from isinglass.measure.randomization import (
    average_level,
    expected_randomization_level,
    randomization_level,
    worst_level,
)
from isinglass.perturb.noise import AdditiveNoise
from isinglass_papers.core.result import Claim, Figure, Number
from isinglass_papers.randomization import printed

Array = NDArray[np.float64]
Row = dict[str, float | int | str]

LAWS = ("gaussian", "uniform")


@dataclass(frozen=True, slots=True)
class PaperPart:
    """What one part of the paper came to."""

    numbers: tuple[Number, ...] = ()
    claims: tuple[Claim, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """Levels over repetitions: an average, a worst and a share of lone records for each."""

    averages: Array = field(repr=False)
    worsts: Array = field(repr=False)
    alone: float  # share of records of level 1
    deviation: float  # of the level, record by record
    n_records: int

    @property
    def average(self) -> float:
        return float(self.averages.mean())

    @property
    def worst(self) -> float:
        return float(self.worsts.mean())

    @property
    def spread(self) -> float:
        """Deviation of an average: over repetitions, or over records where that is more."""
        many = len(self.averages) > 2
        return max(
            float(self.averages.std(ddof=1)) if many else 0.0,
            self.deviation / math.sqrt(self.n_records),
        )


def seed_of(*parts: int) -> int:
    """A seed of its own for every part of a run."""
    return int(np.random.SeedSequence(list(parts)).generate_state(1)[0])


def base_set(name: str, n_records: int, seed: int, **how: float) -> datasets.Dataset:
    """The 100 columns of which all projections are taken."""
    make: Any = {
        "UniDis": datasets.uni_dis,
        "EGauDis": datasets.e_gau_dis,
        "VGauDis": datasets.v_gau_dis,
        "OGauDis": datasets.o_gau_dis,
    }[name]
    found = make(n_rows=n_records, n_features=printed.COLUMNS, random_state=seed, **how)
    assert isinstance(found, datasets.Dataset)
    return found


def deviations(X: Array) -> Array:
    """As noise that counts in deviations of the columns takes them."""
    return np.asarray(X.std(axis=0, ddof=1))


def levels(X: Array, law: str, ratio: float, seed: int) -> NDArray[np.int64]:
    """Release the table once and count, for each row, who fits as well as the truth."""
    X = np.ascontiguousarray(X)
    Z = AdditiveNoise(law, scale=ratio, random_state=seed).fit_transform(X)
    return randomization_level(X, Z, scale=ratio * deviations(X), distribution=law)


def expected(X: Array, law: str, ratio: float) -> Array:
    """The same on average over all noise, in closed form."""
    X = np.ascontiguousarray(X)
    return expected_randomization_level(X, scale=ratio * deviations(X), distribution=law)


def measured(tables: Sequence[Array], law: str, seed: int, ratio: float | None = None) -> Measured:
    """One release of each of some tables made alike."""
    size = printed.RATIO if ratio is None else ratio
    found = [levels(X, law, size, seed_of(seed, i)) for i, X in enumerate(tables)]
    pooled = np.concatenate(found)
    return Measured(
        np.array([average_level(one) for one in found]),
        np.array([worst_level(one) for one in found]),
        float((pooled == 1).mean()),
        float(pooled.std()),
        len(found[0]),
    )


def ends(values: Array) -> tuple[float | None, float | None]:
    """The smallest and largest of several repetitions; none where there was one."""
    return (float(values.min()), float(values.max())) if len(values) > 1 else (None, None)


def short(value: float) -> str:
    """A level as a sentence has it: whole from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
