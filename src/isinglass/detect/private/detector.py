"""Private detector: counts with exact noise, from which anybody may score records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from isinglass import model as model_file
from isinglass.bare_errors import without_frames
from isinglass.detect.base import Detector
from isinglass.detect.private.columns import (
    CategoryColumn,
    NumberColumn,
    PublicColumn,
    declared_columns,
)
from isinglass.detect.private.document import ModelDocument, write_document
from isinglass.detect.private.file_parts import packed, price_of
from isinglass.detect.private.for_everyone import refuse_empty_promise, weak_promise
from isinglass.detect.private.guarantee import ModelGuarantee
from isinglass.detect.private.layout import SHORT_LEVELS, Layout, usual_projections
from isinglass.detect.private.model import PrivateModel
from isinglass.detect.private.noise import ModelPrice, price_rounds
from isinglass.detect.private.records import CodedRecords, column_names, records_of
from isinglass.detect.private.rounds import fit_rounds
from isinglass.epsilon import FEMTO, femto, micro, text
from isinglass.messages import warn
from isinglass.signing import SigningKey, read_signing_key
from isinglass.threads import as_scikit_learn

Floats = NDArray[np.float64]
#: Reads the declared columns of a table once more: as often as there are rounds.
Reader = Callable[[Sequence[PublicColumn]], Iterable[CodedRecords]]

#: records for each deviation of the noise, below which scores are unreliable, or vary
UNRELIABLE_BELOW, VARYING_BELOW = 5, 20
_LARGE_DELTA = 0.1  # of delta times the records: as many may be betrayed whole


class PrivateDetector(Detector):
    r"""Score records by histograms that are differentially private for everybody in the table.

    `fit` counts in two rounds how the values of every column and of some random projections are
    distributed, adds exact noise to every count, and keeps those counts alone. A record's score
    is the mean of -log p over columns, plus the same over projections.

    Guarantee: (epsilon, delta)-differential privacy for every person, whatever the table and
    whatever else is known; see `guarantee_`. It covers the fitted detector, which may be given
    away, and all that is computed from it. Every `fit` is a new spend: two of them cost both
    prices. Scores of the table's own records are their owner's affair.

    Utility: records that are strange in a column, or in how columns go together along straight
    lines. Where a table is large beside the noise, it ranks about as an isolation forest without
    privacy does.

    Weakness: anomalies of local density, which lie among other records, are not found. Small
    tables drown in noise; a warning says so. What `bounds` exclude is seen at their edge.

    Parameters
    ----------
    epsilon : float, str or Fraction, default=1.0
        The price for one person, in whole millionths, read as it is written; at most 20, and
        above 3 with a warning, because so much promises little.
    delta : float, default=1e-6
        The chance that the promise fails, in whole parts of 1e-15, at most 0.001; 0 for pure
        epsilon, which needs more noise.
    bounds : (low, high), "scaled", or a mapping from columns to (low, high)
        What values the columns *could* have, from a manual or a regulation; low and high are each
        a number or one per column. Wide ones cost little. Never read from the table: then a
        single record would show in them.
    categories : mapping, default=None
        Columns, by name or position, of which the values are declared one by one. All others,
        and missing ones, are one more value.
    steps : mapping, default=None
        The distance of neighboring values, for columns in which only some are possible.
    log : iterable, default=()
        Columns that range over orders of magnitude: cells are equal in the logarithm.
    records_per_person : int, default=1
        The most records that one person has in the table. `fit` cannot check it.
    threshold_share : float, default=None
        The share of the table, at most 0.5, that should lie above `threshold_`; it takes a
        twentieth of the price, and `predict` needs it.
    rounds : {1, 2}, default=2
        With 1, projections are taken of columns as the bounds scale them, before anything is
        known about them: for several owners, whose counts add up.
    n_jobs : int or None
        Threads; None means one, unless joblib says otherwise, and -1 all cores. Counts and
        scores do not depend on it.

    Attributes
    ----------
    guarantee_ : ModelGuarantee
        The promise, in sentences: `str(guarantee_)`.
    n_estimated_ : float
        How many records there are, about: read from noised counts. The number itself is private.
    threshold_ : float or None
        The score above which a record is an outlier, by estimate; None if it was not asked for or
        drowns in noise.

    There is no `random_state`: noise that can be repeated can be taken off.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = rng.normal(size=(3000, 2))
    >>> found = ig.PrivateDetector(epsilon=1, bounds=(-10, 10)).fit(table)
    >>> ordinary, strange = found.anomaly_score([[0.1, 0.2], [6.0, -7.0]])
    >>> bool(ordinary < strange)
    True
    >>> print(str(found.guarantee_)[:83])
    Guaranteed: epsilon 1, delta 1e-06 of differential privacy for every person with at
    """

    threshold_: float | None  # type: ignore[assignment]
    n_estimated_: float
    guarantee_: ModelGuarantee
    _document: ModelDocument
    _model: PrivateModel
    _columns: tuple[PublicColumn, ...]

    def __init__(
        self,
        epsilon: Any = 1.0,
        delta: Any = 1e-6,
        bounds: Any = None,
        categories: Mapping[Any, Sequence[Any]] | None = None,
        *,
        steps: Mapping[Any, float] | None = None,
        log: Iterable[Any] = (),
        records_per_person: int = 1,
        threshold_share: float | None = None,
        rounds: int = 2,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.categories = categories
        self.steps = steps
        self.log = log
        self.records_per_person = records_per_person
        self.threshold_share = threshold_share
        self.rounds = rounds
        self.n_jobs = n_jobs

    @without_frames
    def fit(self, X: Any, y: object = None) -> Self:
        """Count the table `X` with noise, at the price `epsilon`; `y` is ignored."""
        self._check_settings()  # before anything else is looked at
        names = column_names(X, self)
        records = records_of(X, self._declared(names), self, reset=True)
        return self._fit(names, lambda columns: [records])

    @without_frames
    def fit_parts(self, names: Sequence[str], read: Reader) -> Self:
        """Count a table that `read` gives in parts, from its beginning in every round.

        `names` are those of its columns; `read` is handed what was declared of them.
        """
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return self._fit(names, read)

    def _check_settings(self) -> tuple[tuple[int, int], float | None, int]:
        """The price in whole parts, the threshold's share, and the records of one person."""
        spent = micro(self.epsilon), femto(self.delta)
        refuse_empty_promise(*spent)
        return spent, self._share(), _whole("records_per_person", self.records_per_person)

    def _declared(self, names: Sequence[str]) -> tuple[PublicColumn, ...]:
        return declared_columns(
            names, self.bounds, categories=self.categories, steps=self.steps, log=self.log
        )

    def priced(self, names: Sequence[str]) -> tuple[Layout, ModelPrice]:
        """What `fit` would count in a table of these columns, and what it would cost."""
        spent, share, person = self._check_settings()
        projections = usual_projections(self.rounds, pure=spent[1] == 0)
        layout = Layout(self._declared(names), self.rounds, projections)
        last = None if share is None else len(SHORT_LEVELS)
        return layout, price_rounds(*spent, layout.moved, last=last, records=person)

    def _fit(self, names: Sequence[str], read: Reader) -> Self:
        spent, share, person = self._check_settings()
        layout, price = self.priced(names)
        n_jobs = as_scikit_learn(self.n_jobs)
        fitted = fit_rounds(layout, price, lambda: read(layout.columns), share=share, n_jobs=n_jobs)
        self._take(ModelDocument(fitted.model, *spent, person, share, fitted.threshold), price)
        if weak := weak_promise(*spent):
            warn(weak, UserWarning)
        _warn_of_noise(fitted.model.n_estimated, price.rounds[0].deviation, spent[1])
        if share is not None and fitted.threshold is None:
            warn(
                "threshold_ cannot be told: the records above it are too few beside the noise, "
                f"about {fitted.tail:.1f} times its deviation; a larger threshold_share or "
                "epsilon would help. What the fit cost remains spent",
                UserWarning,
            )
        return self

    def anomaly_score(self, X: Any) -> Floats:
        """How strange each record of `X` is; the same number alone as among others."""
        check_is_fitted(self, "_model")
        records = records_of(X, self._columns, self)
        return self._model.scores(records, n_jobs=as_scikit_learn(self.n_jobs))

    def explain(self, X: Any) -> Floats:
        """What each column adds to the score of each record of `X`: a row adds up to the score."""
        check_is_fitted(self, "_model")
        records = records_of(X, self._columns, self)
        return self._model.contributions(records, n_jobs=as_scikit_learn(self.n_jobs))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 where a record of `X` scores above the threshold, 1 elsewhere."""
        self._check_threshold()
        return super().predict(X)

    def decision_function(self, X: Any) -> Floats:
        """Below zero for outliers, as in scikit-learn."""
        self._check_threshold()
        return super().decision_function(X)

    @property
    def offset_(self) -> float:
        """What scikit-learn takes off `score_samples` to get `decision_function`."""
        if self.threshold_ is None:  # an attribute that is not there, as notebooks expect
            raise AttributeError("without a threshold there is no offset_")
        return -self.threshold_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags

    def save(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        key: SigningKey | str | Path | None = None,
        passphrase: str | None = None,
        force: bool = False,
    ) -> None:
        """Write the fitted detector as a file from which anybody may score records.

        `name` is what this model and its later versions are called; the file's name without its
        ending if None. `key`, or the file it is in, signs it. Nothing of the table is written but
        what the guarantee covers.
        """
        check_is_fitted(self, "_model")
        if isinstance(key, str | Path):
            key = read_signing_key(key, passphrase=passphrase)
        name = Path(path).stem if name is None else name
        data = packed(write_document(self._document), name=name, key=key)
        model_file.write(path, data, force=force)

    @classmethod
    def _loaded(cls, document: ModelDocument) -> Self:
        """The fitted detector that a document was written from."""
        columns = document.model.layout.columns
        numbers = [c for c in columns if isinstance(c, NumberColumn)]
        listed = {c.name: list(c.values) for c in columns if isinstance(c, CategoryColumn)}
        made = cls(
            text(document.micro),
            document.femto / FEMTO,
            {c.name: (c.low, c.high) for c in numbers},
            listed or None,
            steps={c.name: c.step for c in numbers if c.step is not None} or None,
            log=tuple(c.name for c in numbers if c.log),
            records_per_person=document.records_per_person,
            threshold_share=document.threshold_share,
            rounds=document.model.layout.rounds,
        )
        made.n_features_in_ = len(columns)
        names = [c.name for c in columns]
        if names != [str(j) for j in range(len(columns))]:  # as those of an array are called
            made.feature_names_in_ = np.array(names, dtype=object)
        made._take(document, price_of(document))
        return made

    def _take(self, document: ModelDocument, price: ModelPrice) -> None:
        """Keep what was fitted."""
        self._document, self._model = document, document.model
        self._columns = document.model.layout.columns
        self.n_estimated_ = document.model.n_estimated
        self.threshold_ = document.threshold
        self.guarantee_ = ModelGuarantee(price)

    def _check_threshold(self) -> None:
        check_is_fitted(self, "_model")
        if self.threshold_ is None:
            raise ValueError(
                "there is no threshold: threshold_share was not given, or too few records would "
                "lie above it; anomaly_score needs none"
            )

    def _share(self) -> float | None:
        share: Any = self.threshold_share
        if share is None:
            return None
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) <= 0.5:
            raise ValueError(f"threshold_share must be None, or > 0 and <= 0.5, got {share!r}")
        return float(share)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
    return int(value)


def _warn_of_noise(n_estimated: float, deviation: float, femto: int) -> None:
    """Warn where noise drowns the table; from what the noised counts show, which is free."""
    ratio = n_estimated / deviation
    if ratio < VARYING_BELOW:
        what = (
            "its scores are unreliable"
            if ratio < UNRELIABLE_BELOW
            else "its scores vary from fit to fit"
        )
        warn(
            f"the noise is large for this table, {what}: there are about {ratio:.1f} records for "
            "each deviation of the noise on a count; a larger epsilon, fewer columns or more "
            "records would help",
            UserWarning,
        )
    if femto / FEMTO * n_estimated > _LARGE_DELTA:
        warn(
            "delta is large for this table: it should be well below 1 / the number of records",
        )
