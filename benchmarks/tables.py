"""The tables on which outliers are looked for by ours and by the peers."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isinglass as ig
from benchmarks import shapes
from isinglass.datasets import available, flights, load

PLANTED, FEW, NONE, FILES = "well planted", "50 planted", "no outliers", "data files"
SHAPES = "awkward shapes"
# Columns are scaled to [0, 1], as whoever compares rows by distance does. In their own units
# altitude and weight outweigh the rest, which spares every tree most of the 29 dimensions: these
# are measured too, and held to the same bars.
PLANTED_RAW, FEW_RAW = "well planted, own units", "50 planted, own units"
FLIGHTS = (PLANTED, FEW, PLANTED_RAW, FEW_RAW)
SIZES = {"100k": 100_000, "150k": 150_000, "320k": 320_000, "1M": 1_000_000, "3.2M": 3_200_000}
FILE_ROWS = 10_000
SMALL = 100_000  # rows of the sets without outliers


@dataclass(frozen=True, slots=True)
class Data:
    """A table to search, made when it is its turn."""

    name: str
    family: str
    rows: int
    make: Callable[[], NDArray[Any]]


def catalog() -> list[Data]:
    """All data, families together and in order of rows within the flights."""
    found = [
        Data(f"{short}-{size}", family, rows, functools.partial(make, rows, planted))
        for short, family, planted, make in (
            ("flights", PLANTED, None, _scaled_flights),
            ("few", FEW, 50, _scaled_flights),
            ("raw-flights", PLANTED_RAW, None, _flights),
            ("raw-few", FEW_RAW, 50, _flights),
        )
        for size, rows in SIZES.items()
        if planted is not None or size != "150k"
    ]
    found += [
        Data("gaussian", NONE, SMALL, lambda: _generator().normal(size=(SMALL, 29))),
        Data("uniform", NONE, SMALL, lambda: _generator().random((SMALL, 29))),
        Data("tanh", NONE, SMALL, _distorted),
    ]
    found += _files()
    return found + [Data(name, SHAPES, n, make) for name, (n, make) in shapes.ALL.items()]


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)


def _flights(rows: int, planted: int | None) -> NDArray[Any]:
    return flights(rows, n_outliers=planted, random_state=0).X


def _scaled_flights(rows: int, planted: int | None) -> NDArray[Any]:
    X = _flights(rows, planted)
    low = X.min(axis=0)
    X -= low
    X /= X.max(axis=0)
    return X


def _distorted() -> NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ig.PrivacyWarning)  # learned bounds, fixed seed: no secret
        return ig.Distortion("tanh", random_state=0).fit_transform(_flights(SMALL, 0))


def _files() -> Iterator[Data]:
    try:
        names = available()
    except ig.errors.TableError as missing:
        print(f"no data files: {missing}", file=sys.stderr)
        return
    for name in names:
        rows = len(load(name).X)
        if rows > FILE_ROWS:
            yield Data(name, FILES, rows, lambda name=name: load(name).X)
