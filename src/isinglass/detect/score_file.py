"""Scores of a file's records by a model that was handed over, in bounded memory."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.onnx_file import ExportedAutoencoder
from isinglass.detect.private.document import ModelDocument
from isinglass.detect.private.records import CodedRecords
from isinglass.detect.private.table_records import table_records
from isinglass.errors import ModelError
from isinglass.progress import Progress, quiet
from isinglass.table.number_blocks import TableBlocks, choose_features
from isinglass.table.read import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_BLOCK = 1 << 16  # rows that an autoencoder scores at a time


class Scorer(Protocol):
    """A model that scores a table's records part by part."""

    threshold: float | None

    def parts(self, table: Table) -> Iterator[Any]:
        """The records of a table, some at a time, each part with a length."""
        ...

    def scores(self, part: Any) -> Floats:
        """The score of each record of a part."""
        ...

    def contributions(self, part: Any, rows: Rows) -> Floats:
        """What each column adds to the scores of some records of a part."""
        ...

    def names(self) -> list[str]:
        """The columns that contributions speak of, once a table has been looked at."""
        ...


class PrivateScorer:
    """Scores by a guaranteed model."""

    def __init__(self, document: ModelDocument, *, n_jobs: int | None = None) -> None:
        self.threshold = document.threshold
        self._model = document.model
        self._n_jobs = n_jobs

    def parts(self, table: Table) -> Iterator[CodedRecords]:
        return table_records(table, self._model.layout.columns)

    def scores(self, part: CodedRecords) -> Floats:
        return self._model.scores(part, n_jobs=self._n_jobs)

    def contributions(self, part: CodedRecords, rows: Rows) -> Floats:
        some = CodedRecords(part.numbers[rows], part.codes[rows])
        return self._model.contributions(some, n_jobs=self._n_jobs)

    def names(self) -> list[str]:
        return [column.name for column in self._model.layout.columns]


class AutoencoderScorer:
    """Scores by an exported autoencoder, which knows its columns by their order alone."""

    def __init__(self, exported: ExportedAutoencoder, *, drop: list[str]) -> None:
        self.threshold: float | None = exported.threshold
        self._exported = exported
        self._drop = drop
        self._names: list[str] = []

    def parts(self, table: Table) -> Iterator[Any]:
        features = choose_features(table, drop=self._drop)
        self._names = list(features.numeric)
        if len(self._names) != self._exported.n_columns:
            raise ModelError(
                f"{table.name} has {len(self._names)} columns of numbers and the model "
                f"{self._exported.n_columns}; leave out what it was not trained on"
            )
        return TableBlocks(table, features).blocks(_BLOCK)

    def scores(self, part: Any) -> Floats:
        return np.asarray(self._exported.squared_errors(part).mean(axis=1))

    def contributions(self, part: Any, rows: Rows) -> Floats:
        found = self._exported.squared_errors(part[rows])
        return np.asarray(found / found.shape[1])

    def names(self) -> list[str]:
        return self._names


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A record that was picked out: its row, its score, and what share each column has of it."""

    row: int
    score: float
    columns: tuple[tuple[str, float], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """How many records there were, and those picked out, strangest first."""

    rows: int
    above: int | None
    anomalies: list[Anomaly]


def score_file(
    scorer: Scorer,
    table: Table,
    take: Callable[[int, Floats], object],
    *,
    most: int | None,
    explain: bool = False,
    progress: Progress = quiet,
) -> ScoredFile:
    """Score every record; `take` gets the first row of each part and its scores.

    Picked out are the `most` strangest records or, if that is None, those above the threshold.
    """
    strangest: list[tuple[float, int, Any]] = []  # a heap of which the least strange is on top
    rows = above = 0
    for part in scorer.parts(table):
        found = scorer.scores(part)
        take(rows, found)
        if scorer.threshold is not None:
            above += int((found > scorer.threshold).sum())
        picked = _picked(found, strangest, most, scorer.threshold)
        added = scorer.contributions(part, picked) if explain and len(picked) else None
        for i, at in enumerate(picked.tolist()):
            shares = None if added is None else added[i]
            entry = (float(found[at]), -(rows + at), shares)
            if most is None or len(strangest) < most:
                heapq.heappush(strangest, entry)
            elif entry[:2] > strangest[0][:2]:
                heapq.heapreplace(strangest, entry)
        rows += len(found)
        progress("scoring", rows, table.n_rows)
    ordered = sorted(strangest, key=lambda entry: entry[:2], reverse=True)
    return ScoredFile(
        rows,
        None if scorer.threshold is None else above,
        [Anomaly(-row, value, _shares(scorer, value, s)) for value, row, s in ordered],
    )


def _picked(found: Floats, strangest: list[Any], most: int | None, threshold: float | None) -> Rows:
    """Records of a part that may be among those picked out, in the order of rows."""
    if most is None:
        return np.flatnonzero(found > (np.inf if threshold is None else threshold))
    if len(strangest) >= most:
        candidates = np.flatnonzero(found > strangest[0][0])
    else:
        candidates = np.arange(len(found))
    if len(candidates) > most:  # of equal scores, the first rows
        order = np.argsort(-found[candidates], kind="stable")[:most]
        candidates = np.sort(candidates[order])
    return candidates


def _shares(scorer: Scorer, score: float, added: Floats | None) -> tuple[tuple[str, float], ...]:
    """Each column's share of a score, the largest first."""
    if added is None:
        return ()
    shares = added / score if score > 0 else np.zeros_like(added)
    order = np.argsort(-shares, kind="stable")
    names = scorer.names()
    return tuple((names[j], float(shares[j])) for j in order.tolist())
