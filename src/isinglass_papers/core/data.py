"""Where a reproduction's tables come from: a folder of files, scikit-learn, or nowhere."""

from __future__ import annotations

import os
from pathlib import Path

from isinglass.datasets import Dataset
from isinglass.errors import TableError
from isinglass_papers.core.fetch import OPENML


class MissingData(TableError):  # noqa: N818
    """A set that is not there; it is reported, and never replaced by another."""


class Sets:
    """The data sets of the papers, by name, from one folder.

    `folder` None means the one that the variable ISINGLASS_DATA names. Sets that scikit-learn
    ships are taken from it where the folder does not have them.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = folder if folder is not None else os.environ.get("ISINGLASS_DATA")

    def has(self, name: str) -> bool:
        """Whether `load` would find it."""
        return name in _SHIPPED or self._file(name) is not None

    def load(self, name: str) -> Dataset:
        """Read a set, or raise `MissingData` with the way to get it."""
        from isinglass.datasets.files import read

        path = self._file(name)
        if path is not None:
            return read(path)
        if name in _SHIPPED:
            return _shipped(name)
        way = "OpenML does not have it as it is needed here"
        if name in OPENML:
            way = "`isinglass reproduce --data FOLDER --fetch` gets it from OpenML"
        raise MissingData(
            f"the data set {name} is missing: {way}; --data names a folder with {name}.parquet"
        )

    def _file(self, name: str) -> Path | None:
        path = None if self.folder is None else Path(self.folder) / f"{name}.parquet"
        return path if path is not None and path.is_file() else None


_SHIPPED = ("iris", "wine")


def _shipped(name: str) -> Dataset:
    import numpy as np
    from sklearn import datasets

    found = {"iris": datasets.load_iris, "wine": datasets.load_wine}[name]()
    names = tuple(str(column) for column in found.feature_names)
    return Dataset(np.asarray(found.data), None, names, np.asarray(found.target, dtype=np.int64))
