"""Distance outliers: exact search for the rows farthest from their neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from isinglass.detect.base import NUMBERS, Detector
from isinglass.detect.float32_proxy import RowSpace, ranges, refuse_unbounded, some_rows, space_of
from isinglass.detect.neighbor_index import Searcher
from isinglass.detect.same_rows import SameRows
from isinglass.detect.top_n import Strongest, at_least, strongest
from isinglass.errors import TableError
from isinglass.formats import counted
from isinglass.kernels import nearest
from isinglass.progress import Progress, quiet
from isinglass.threads import as_scikit_learn

if TYPE_CHECKING:
    from isinglass.detect.out_of_core import Blocks

Array = NDArray[Any]
Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

SCORES = {"mean": nearest.MEAN, "sum": nearest.SUM, "kth": nearest.KTH}
_PART = 1 << 14  # rows scored at a time
_MOST_CODES = 1 << 24  # whole numbers that float32 tells apart


@dataclass(frozen=True, slots=True, repr=False)
class Ranking:
    """Rows by falling score, equal scores by row number."""

    rows: Rows
    scores: Doubles

    def __repr__(self) -> str:
        return f"Ranking({counted(len(self.rows), 'row')}, strongest first)"


class DistanceOutliers(Detector):
    r"""The rows that lie furthest from their nearest neighbors: exactly the strongest n.

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
    n_neighbors : how many neighbors count; all others, if there are fewer. A single row has
        none and scores 0.
    score_by : "mean" or "sum" of the distances to the neighbors, or "kth", the distance to the
        furthest of them.
    weights : a factor for each column's squared differences, 1 by default; for a discrete column,
        what a mismatch adds to the squared distance. A column of weight 0 is ignored.
    discrete : columns, by position or name, whose values are only equal or different. Text is
        understood in files; arrays and frames hold numbers.
    memory_limit : bytes. A file whose rows would need more is read in blocks, as often as
        necessary. None: all rows are read at once.
    contamination : None or a share of the rows, up to 0.5: that many rows are found, at least
        one, in place of `n_outliers`.
    n_jobs : threads; None means one, unless joblib says otherwise, and -1 all cores.

    Attributes
    ----------
    outliers_ : row numbers from 0, strongest first.
    outlier_scores_ : their scores.
    cutoff_ : the score of the weakest of them; `predict` calls a row an outlier from there on.

    A fitted detector refers to the table it was given, and does not copy it where it need not.

    Examples
    --------
    >>> import isinglass as ig
    >>> table = [[0.0], [0.1], [0.2], [0.3], [5.0], [0.4]]
    >>> found = ig.DistanceOutliers(n_outliers=1, n_neighbors=2).fit(table)
    >>> found.outliers_, found.outlier_scores_
    (array([4]), array([4.65]))
    >>> found.predict([[0.2], [9.0]])
    array([ 1, -1])
    >>> ig.DistanceOutliers(contamination=0.2).fit_predict(table)
    array([ 1,  1,  1,  1, -1,  1])

    References
    ----------
    Bay, Schwabacher: Mining distance-based outliers in near linear time. KDD 2003.
    """

    outliers_: Rows
    outlier_scores_: Doubles
    _table: Searcher | None
    _same_rows: SameRows
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
        contamination: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_outliers = n_outliers
        self.n_neighbors = n_neighbors
        self.score_by = score_by
        self.weights = weights
        self.discrete = discrete
        self.memory_limit = memory_limit
        self.contamination = contamination
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
            refuse_unbounded(
                *ranges(X, as_scikit_learn(self.n_jobs)), "Input X"
            )  # codes would hide it
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
        from isinglass.detect.out_of_core import gather, row_bytes, strongest_in_blocks

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
                self._wanted,
                int(self.n_neighbors),
                SCORES[self.score_by],
                memory_limit=limit,
                weights=weights,
                n_jobs=as_scikit_learn(self.n_jobs),
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
            n_jobs=as_scikit_learn(self.n_jobs),
        )
        if k == 0:
            top = Strongest(1, np.zeros(1, dtype=np.int64), np.zeros(1))
        else:
            top = strongest(table, self._wanted(len(X)), progress=progress)
        self._table, self._same_rows = table, SameRows(X)
        self._keep(top, len(X))
        return self

    def _wanted(self, n_rows: int) -> int:
        """How many outliers to find among so many rows."""
        share = self._contamination()
        return int(self.n_outliers) if share is None else max(1, int(share * n_rows))

    def column_shares(self) -> Doubles | None:
        """How much of the strongest outliers' squared distances each column makes, about.

        None where the table did not fit into memory, or has a single row.
        """
        check_is_fitted(self)
        if self._table is None or self.n_rows_ < 2:
            return None
        return self._table.column_shares(self._positions_found)

    def _keep(self, top: Strongest, n_rows: int) -> None:
        self.outliers_, self.outlier_scores_ = top.rows, top.scores
        self._positions_found = top.rows  # which rows left out of a file do not move
        self.n_rows_ = n_rows
        self.cutoff_ = float(top.scores[-1])
        # `predict` asks for more than the threshold; the weakest outlier is one too.
        self.threshold_ = float(np.nextafter(self.cutoff_, -np.inf))

    def anomaly_score(self, X: Any = None) -> Doubles:
        """Scores of all rows of the fitted table, or of the rows of `X` beside that table.

        A row of `X` that equals one of the table is taken to be that row, and is not its own
        neighbor; any other is new. Leave `X` out to score the table's own rows.
        """
        table = self._searchable()
        if X is None:
            return self.row_scores(np.arange(len(table.X)))
        X = self._encoded(self._checked(X, reset=False))
        parts = [self._beside(X[a : a + _PART])[0] for a in range(0, len(X), _PART)]
        return np.concatenate([np.empty(0), *parts])

    def _beside(self, X: Array, cutoff: float = -np.inf) -> tuple[Doubles, NDArray[np.bool_]]:
        """Scores of rows beside the table; False where one was seen to be below the cutoff."""
        table = self._searchable()
        scores, done = np.zeros(len(X)), np.ones(len(X), dtype=bool)
        same = self._same_rows.find(X)
        new, known = np.flatnonzero(same < 0), np.flatnonzero(same >= 0)
        if len(new):
            found = table.anywhere(X[new], cutoff, best=self._unknown(X[new]))
            scores[new], done[new] = found.scores, found.done
        if len(known) and len(table.X) > 1:
            found = table.own(self._places()[same[known]], cutoff)
            scores[known], done[known] = found.scores, found.done
        return scores, done

    def _places(self) -> Rows:
        """Where each row of the table stands in its index."""
        order = self._searchable().index.order
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        return places

    def row_scores(self, rows: ArrayLike) -> Doubles:
        """Scores of the fitted table's own rows, by their numbers."""
        table, rows = self._searchable(), np.asarray(rows, dtype=np.int64)
        if len(table.X) == 1:
            return np.zeros(len(rows))
        place = self._places()
        score: Doubles = np.empty(len(place))
        for a in range(0, len(rows), _PART):
            found = table.own(place[rows[a : a + _PART]])
            score[found.rows] = found.scores
        return np.asarray(score[rows])

    def rank(self, X: Any) -> Ranking:
        """The rows of `X` with the highest `anomaly_score`, without scoring the others to the end.

        As many as the detector looks for: `n_outliers`, or the share `contamination` of `X`.
        """
        X = self._encoded(self._checked(X, reset=False))
        top = Strongest(min(self._wanted(len(X)), len(X)))
        a, size = 0, 1024  # few at first: they are searched without a cutoff
        while a < len(X):
            part = X[a : a + size]
            scores, done = self._beside(part, top.cutoff)
            top.add(a + np.flatnonzero(done), scores[done])
            a, size = a + size, min(2 * size, _PART)
        return Ranking(top.rows, top.scores)

    def fit_predict(self, X: Any, y: object = None) -> NDArray[np.int64]:
        """-1 for the strongest outliers of `X` and rows tied with the weakest, 1 for the rest."""
        self.fit(X)
        signs = np.ones(self.n_rows_, dtype=np.int64)
        signs[self.outliers_] = -1
        if self._table is not None and not isinstance(X, str | Path):
            signs[at_least(self._table, self.cutoff_)] = -1
        return signs

    def _unknown(self, X: Array) -> Doubles:
        """No neighbor found yet; a new row has one more to find than a row of the table."""
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
        low, high = ranges(X, as_scikit_learn(self.n_jobs))
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
        self._contamination()
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
