"""Distance outliers: the rows whose nearest neighbours are furthest away, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from isinglass.detect.base import NUMBERS, Detector
from isinglass.detect.float32_proxy import RowSpace, ranges, refuse_unbounded, some_rows, space_of
from isinglass.detect.neighbor_index import Searcher
from isinglass.detect.out_of_core import Blocks, gather, row_bytes, strongest_in_blocks
from isinglass.detect.top_n import Strongest, strongest
from isinglass.errors import TableError
from isinglass.kernels import nearest
from isinglass.progress import Progress, quiet

Array = NDArray[Any]
Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

SCORES = {"mean": nearest.MEAN, "sum": nearest.SUM, "kth": nearest.KTH}
_PART = 1 << 14  # rows scored at a time
_MOST_CODES = 1 << 24  # whole numbers that float32 tells apart


@dataclass(frozen=True, slots=True)
class Ranking:
    """Rows by falling score, equal scores by row number."""

    rows: Rows = field(repr=False)
    scores: Doubles = field(repr=False)


class DistanceOutliers(Detector):
    r"""The rows that lie furthest from their nearest neighbours: exactly the strongest n.

    A row's score is the mean distance to its `n_neighbors` nearest *other* rows. A copy of a row
    is another row, at distance 0. `fit` finds the rows of the highest scores without computing
    those of all rows; `anomaly_score` gives any row's score.

    Guarantee: none about privacy; it finds what the rows it is given show. About the answer: the
    same rows, in the same order, with the same scores as a brute force in float64. A distance is
    the root of the squared differences summed in the order of the columns; a score is the
    distances in ascending order, summed, divided by their number. Equal scores are ordered by row
    number. How many threads or how much memory is used never changes the answer.

    Utility: the score of Bay and Schwabacher's Orca, by which Bhaduri, Stefanski and Srivastava
    measure what a perturbation leaves of the outliers. Weakness: columns count by their units;
    scale them first, or give weights. Where no row stands out, as after a heavy perturbation,
    searching costs more. A group of `n_neighbors` + 1 close rows hides each other.

    Parameters
    ----------
    n_outliers : how many rows to find; all of them, in order, if there are fewer.
    n_neighbors : how many neighbours count; all others, if there are fewer. A single row has
        none and scores 0.
    score_by : "mean" or "sum" of the distances to the neighbours, or "kth", the distance to the
        furthest of them.
    weights : a factor for each column's squared differences, 1 by default; for a discrete column,
        what a mismatch adds to the squared distance. A column of weight 0 is ignored.
    discrete : columns, by position or name, whose values are only equal or different. Text is
        understood in files; arrays and frames hold numbers.
    memory_limit : bytes. A file whose rows would need more is read in blocks, as often as
        necessary. None: all rows are read at once.
    n_jobs : threads; None means all cores.

    Attributes
    ----------
    outliers_ : row numbers from 0, strongest first.
    outlier_scores_ : their scores.
    cutoff_ : the score of the weakest of them; `predict` calls a row an outlier from there on.

    A fitted detector refers to the table it was given, and does not copy it where it need not.

    References
    ----------
    Bay, Schwabacher: Mining distance-based outliers in near linear time. KDD 2003.
    """

    outliers_: Rows
    outlier_scores_: Doubles
    _table: Searcher | None
    _categories: dict[int, Array] | None  # None: the file's own codes, which are not kept

    def __init__(
        self,
        n_outliers: int = 500,
        n_neighbors: int = 5,
        *,
        score_by: str = "mean",
        weights: ArrayLike | None = None,
        discrete: Sequence[int | str] | None = None,
        memory_limit: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_outliers = n_outliers
        self.n_neighbors = n_neighbors
        self.score_by = score_by
        self.weights = weights
        self.discrete = discrete
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None) -> Self:
        """Find the strongest outliers of `X`: an array, a frame, or the path of a file."""
        self._check_settings()
        if isinstance(X, str | Path):
            from isinglass.table.number_blocks import read_blocks

            rows = read_blocks(X, discrete=self._names())
            weights = self._weights(len(rows.names))
            if weights is not None:
                weights = weights[rows.places]  # which are given in the file's order
            return self._fit_blocks(rows, weights, quiet)
        X = self._checked(X, reset=True)
        discrete = self._positions()
        if discrete:
            refuse_unbounded(*ranges(X, self.n_jobs), "Input X")  # codes would hide it
        self._categories = {c: np.unique(X[:, c]) for c in discrete}
        if any(len(known) >= _MOST_CODES for known in self._categories.values()):
            raise ValueError(f"discrete columns must have fewer than {_MOST_CODES:,} values")
        X = self._encoded(X)
        return self._fit_rows(X, discrete, self._weights(X.shape[1]), "Input X", quiet)

    def fit_blocks(self, rows: Blocks, *, progress: Progress = quiet) -> Self:
        """`fit` on rows that are read in blocks; within `memory_limit`, all at once."""
        self._check_settings()
        return self._fit_blocks(rows, self._weights(len(rows.names)), progress)

    def _fit_blocks(self, rows: Blocks, weights: Doubles | None, progress: Progress) -> Self:
        self._categories = None if rows.discrete else {}
        width = len(rows.names)
        self.feature_names_in_ = np.array(rows.names, dtype=object)
        self.n_features_in_ = width
        limit = self.memory_limit
        most = 1 << 62 if limit is None else limit // row_bytes(width, rows.dtype)
        progress("reading", 0, rows.n_rows)
        X = gather(rows, most)
        if X is not None:
            if not len(X):
                raise TableError(f"{rows.name} has no rows")
            self._fit_rows(X, rows.discrete, weights, rows.name, progress)
        else:
            assert limit is not None
            top, n_rows = strongest_in_blocks(
                rows,
                int(self.n_outliers),
                int(self.n_neighbors),
                SCORES[self.score_by],
                memory_limit=limit,
                weights=weights,
                n_jobs=self.n_jobs,
                progress=progress,
            )
            self._table = None
            self._keep(top, n_rows)
        self.outliers_ = rows.row_numbers(self.outliers_)
        return self

    def _fit_rows(
        self,
        X: Array,
        discrete: Sequence[int],
        weights: Doubles | None,
        name: str,
        progress: Progress,
    ) -> Self:
        self._k = int(self.n_neighbors)
        k = min(self._k, len(X) - 1)
        table = Searcher(
            X,
            self._space(X, discrete, weights, name),
            max(k, 1),
            SCORES[self.score_by],
            n_jobs=self.n_jobs,
        )
        if k == 0:
            top = Strongest(1, np.zeros(1, dtype=np.int64), np.zeros(1))
        else:
            top = strongest(table, int(self.n_outliers), progress=progress)
        self._table = table
        self._keep(top, len(X))
        return self

    def _keep(self, top: Strongest, n_rows: int) -> None:
        self.outliers_, self.outlier_scores_ = top.rows, top.scores
        self.n_rows_ = n_rows
        self.cutoff_ = float(top.scores[-1])
        # `predict` asks for more than the threshold; the weakest outlier is one too.
        self.threshold_ = float(np.nextafter(self.cutoff_, -np.inf))

    def anomaly_score(self, X: Any = None) -> Doubles:
        """Scores of all rows of the fitted table, or of the rows of `X` beside that table.

        Rows of `X` are taken as new: one that is in the table finds itself at distance 0. Leave
        `X` out to score the table's own rows.
        """
        table = self._searchable()
        if X is None:
            return self.row_scores(np.arange(len(table.X)))
        X = self._encoded(self._checked(X, reset=False))
        parts = [
            table.anywhere(X[a : a + _PART], best=self._unknown(X[a : a + _PART]))
            for a in range(0, len(X), _PART)
        ]
        return np.concatenate([np.empty(0), *(part.scores for part in parts)])

    def row_scores(self, rows: ArrayLike) -> Doubles:
        """Scores of the fitted table's own rows, by their numbers."""
        table, rows = self._searchable(), np.asarray(rows, dtype=np.int64)
        if len(table.X) == 1:
            return np.zeros(len(rows))
        place = np.empty(len(table.X), dtype=np.int64)  # of each row in the index
        place[table.index.order] = np.arange(len(place))
        score: Doubles = np.empty(len(place))
        for a in range(0, len(rows), _PART):
            found = table.own(place[rows[a : a + _PART]])
            score[found.rows] = found.scores
        return np.asarray(score[rows])

    def score(self, X: Any, y: object = None) -> Ranking:
        """Reference mode: the `n_outliers` rows of `X` furthest from the fitted table.

        Rows of `X` are taken as new, whatever they are; `y` is ignored.
        """
        table = self._searchable()
        X = self._encoded(self._checked(X, reset=False))
        top = Strongest(min(self.n_outliers, len(X)))
        a, size = 0, 1024  # few at first: they are searched without a cutoff
        while a < len(X):
            part = X[a : a + size]
            found = table.anywhere(part, top.cutoff, best=self._unknown(part))
            top.add(a + np.flatnonzero(found.done), found.scores[found.done])
            a, size = a + size, min(2 * size, _PART)
        return Ranking(top.rows, top.scores)

    def fit_predict(self, X: Any, y: object = None) -> NDArray[np.int64]:
        """-1 for the strongest outliers of `X`, 1 for its other rows."""
        self.fit(X)
        signs = np.ones(self.n_rows_, dtype=np.int64)
        signs[self.outliers_] = -1
        return signs

    def _unknown(self, X: Array) -> Doubles:
        """No neighbour found yet; a new row has one more to find than a row of the table."""
        assert self._table is not None
        return np.full((len(X), min(self._k, len(self._table.X))), np.inf)

    def _searchable(self) -> Searcher:
        check_is_fitted(self)
        if self._table is None:
            raise ValueError(
                "the table did not fit into memory_limit and was not kept; "
                "raise the limit to score rows beside it"
            )
        return self._table

    def _space(
        self, X: Array, discrete: Sequence[int], weights: Doubles | None, name: str
    ) -> RowSpace:
        low, high = ranges(X, self.n_jobs)
        refuse_unbounded(low, high, name)
        return space_of(low, high, some_rows(X), weights=weights, discrete=discrete)

    def _checked(self, X: Any, *, reset: bool) -> Array:
        # What is not finite shows when the columns' ranges are taken, which spares a pass.
        return self._validated(
            X, reset=reset, dtype=NUMBERS, order="C", ensure_all_finite=not reset
        )

    def _encoded(self, X: Array) -> Array:
        """Values of discrete columns as codes; -1 for one that the fitted table does not have."""
        if self._categories is None:
            raise ValueError(
                "rows cannot be scored beside a file with discrete columns; fit an array"
            )
        if not self._categories:
            return X
        X = X.copy()
        for c, known in self._categories.items():
            place = np.searchsorted(known, X[:, c]).clip(max=len(known) - 1)
            X[:, c] = np.where(known[place] == X[:, c], place, -1)
        return X

    def _weights(self, width: int) -> Doubles | None:
        if self.weights is None:
            return None
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (width,):
            raise ValueError(f"weights must have one entry per column, {width}, got {weights.size}")
        if not np.all(np.isfinite(weights) & (weights >= 0)) or not weights.any():
            raise ValueError("weights must be finite, >= 0 and not all 0")
        return weights

    def _check_settings(self) -> None:
        for name in ("n_outliers", "n_neighbors"):
            value: Any = getattr(self, name)
            if not (isinstance(value, int | np.integer) and value >= 1):
                raise ValueError(f"{name} must be a whole number >= 1, got {value}")
        if self.score_by not in SCORES:
            raise ValueError(f"score_by must be one of {', '.join(SCORES)}, got {self.score_by!r}")
        limit: Any = self.memory_limit
        if limit is not None and not (isinstance(limit, int | np.integer) and limit >= 1):
            raise ValueError(f"memory_limit must be a number of bytes >= 1, got {limit}")

    def _positions(self) -> list[int]:
        """Discrete columns by position."""
        names = list(getattr(self, "feature_names_in_", ()))
        places = []
        for column in self.discrete or ():
            if isinstance(column, str) and column not in names:
                raise ValueError(f"discrete must name columns of X, got {column!r}")
            place = names.index(column) if isinstance(column, str) else int(column)
            if not 0 <= place < self.n_features_in_:
                raise ValueError(
                    f"discrete must lie between 0 and {self.n_features_in_ - 1}, got {place}"
                )
            places.append(place)
        return sorted(set(places))

    def _names(self) -> list[str]:
        names = [column for column in self.discrete or () if isinstance(column, str)]
        if len(names) != len(self.discrete or ()):
            raise ValueError("discrete columns of a file must be given by name")
        return names
