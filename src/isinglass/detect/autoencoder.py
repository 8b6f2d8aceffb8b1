"""Autoencoder detector: high reconstruction error is strange (Erfani et al.)."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from isinglass import chance
from isinglass.detect import network, onnx_graph
from isinglass.detect.base import NUMBERS, Detector
from isinglass.detect.network import Report
from isinglass.progress import Progress
from isinglass.table.scale import (
    Scaling,
    declared_scaling,
    learned_scaling,
    scaled,
    shift_and_factor,
)
from isinglass.table.survey import RunningMoments

Array = NDArray[Any]

_REACH = (-1.0, 2.0)  # what the network is shown of a scaled value: one span beyond either bound
_FADE = 0.9  # how much the errors of earlier parts still count when another part arrives
_CHUNK = 65_536  # records scored at a time


class Autoencoder(Detector):
    r"""A three-layer network that learns to repeat its input through a narrow middle.

    Columns are brought to [0, 1]; h logistic hidden units see the scaled record, as many outputs
    as columns try to repeat it. The anomaly score is the mean, over columns, of the squared error
    of the scaled record. The threshold is the mean of the training errors plus three deviations.

    Guarantee: none. The weights are a function of every training record; nothing bounds what
    they tell about one. Membership inference is not excluded, nor is the recovery of a record
    that weighed much in training. To train on releases does not turn them into anything better.

    Utility: records that keep the relations between columns score low, those that break them
    score high, even where every single value is ordinary. Small, quick to apply, and passed on
    without a record: see `export`.

    Weakness: anomalies in the training table lift the threshold, which then misses their like;
    the ranking suffers less. Anomalies that keep the relations between columns are missed.
    Learned bounds come from the two records next to a percentile, in tables below about 1000
    rows from the two outermost ones: whoever owns one of the two can work out the other. Declare
    `bounds` where that matters. Parts given to `partial_fit` must look alike, or be visited many
    times for one epoch each: the network forgets.

    Parameters
    ----------
    n_hidden : int, default=None
        Hidden units; None means half as many as columns, rounded down, and at least one.
    max_epochs : int, default=300
        Most passes over the table. The paper used 300 to 1000.
    learning_rate : float, default=0.25
        Step along the gradient of the loss, which is the mean squared error over records *and*
        columns. A sum over columns diverges at this rate on wide tables.
    momentum : float, default=0.85
        Share of the last step that is taken again.
    batch_size : int, default=None
        Records per step; None means a thousandth of the records, but 32 to 256.
    validation_fraction : float, default=0.1
        Share of the records that is held back, rounded down. Training stops when they stop
        getting better and keeps the weights that were best on them. 0 holds nothing back: all
        epochs are run.
    patience : int, default=20
        Epochs without an improvement before training stops.
    tolerance : float, default=1e-4
        An improvement lowers the best loss on the held-back records by more than this share.
    output : {"linear", "logistic"}, default="linear"
        What the output units do. Logistic ones learn more slowly and never leave [0, 1].
    bounds : None, "scaled" or (low, high), default=None
        What is brought to [0, 1]: `(low, high)`, each a number or one per column, agreed on in
        public; `"scaled"` for columns that lie in [0, 1]; None for the percentiles 0.1 and 99.9
        of the table, or of the first part, each taken midway between two records so that no
        single record's value is stored. Values beyond stay beyond, but the network is shown
        them, and the threshold counts them, at most one span outside: a wild record neither
        drives the training nor shows in the threshold. Its own score knows no such limit. A
        column with equal bounds is shifted and not stretched.
    contamination : float, default=None
        The share of the training records, up to 0.5, that lie above the threshold; None means
        three deviations above their mean. Not with `partial_fit`, which keeps no record's error.
    device : None, "cpu", "cuda" or "cuda:N", default=None
        Where to calculate; None is the CPU. A graphics card pays for wide tables with large
        batches.
    random_state : int, Generator or None
        Repeats start, batches and held-back records; on the CPU also the bytes of the weights.
    progress : None, True or callable, default=None
        True draws a bar with epochs and loss on stderr if that is a terminal. A callable is told
        `(stage, epoch, max_epochs)` after every epoch; the stage names the loss.

    Attributes
    ----------
    threshold_ : float
        A record is an outlier where its score is above.
    n_hidden_, n_epochs_, n_features_in_ : int
        Hidden units; epochs run so far, over all parts; columns.
    loss_curve_, validation_curve_ : list of float
        The loss in every epoch: over its batches while they were learned, and after it on the
        held-back records. The second is empty where none were held back.

    References
    ----------
    S. M. Erfani, Y. W. Law, S. Karunasekera, C. A. Leckie, M. Palaniswami: Privacy-preserving
    collaborative anomaly detection for participatory sensing. PAKDD 2014.

    Examples
    --------
    >>> import numpy as np
    >>> import isinglass as ig
    >>> x = np.random.default_rng(0).random((400, 1))
    >>> table = np.hstack([x, 1 - x])  # what one column says, the other says, too
    >>> found = ig.Autoencoder(max_epochs=60, random_state=0).fit(table)
    >>> found.predict([[0.3, 0.7], [0.9, 0.9]])
    array([ 1, -1])
    """

    n_features_in_: int
    n_hidden_: int
    n_epochs_: int
    loss_curve_: list[float]
    validation_curve_: list[float]
    _scaling: Scaling
    _weights: network.Weights
    _errors: RunningMoments
    _rng: np.random.Generator

    def __init__(
        self,
        n_hidden: int | None = None,
        *,
        max_epochs: int = 300,
        learning_rate: float = 0.25,
        momentum: float = 0.85,
        batch_size: int | None = None,
        validation_fraction: float = 0.1,
        patience: int = 20,
        tolerance: float = 1e-4,
        output: str = "linear",
        bounds: Any = None,
        contamination: float | None = None,
        device: str | None = None,
        random_state: chance.RandomState = None,
        progress: bool | Progress | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.max_epochs = max_epochs
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tolerance = tolerance
        self.output = output
        self.bounds = bounds
        self.contamination = contamination
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from the table `X`; `y` is ignored."""
        self._fit_first(X, self.max_epochs)
        share = self._contamination()
        if share is not None:
            # A score is an outlier's where it lies above: as many as the share allows do.
            scores = np.sort(self.anomaly_score(X))
            self.threshold_ = float(scores[len(scores) - 1 - int(share * len(scores))])
        return self

    def partial_fit(self, X: Any, y: object = None, *, epochs: int | None = None) -> Self:
        """Learn from one more part of a table, in `epochs` passes or, without, `max_epochs`.

        The first part settles the bounds, unless they are declared, and the starting weights;
        each later one trains them further, and holds back its own share of records. A part that
        brings no improvement on its held-back records leaves the weights as they were. The
        threshold is that of all training errors, each measured right after the network had
        trained on its part; with every new part the earlier ones count a tenth less, because
        the network has moved on since.
        """
        epochs = self.max_epochs if epochs is None else epochs
        _check_whole("epochs", epochs, 0)
        if self.contamination is not None:
            raise ValueError(
                "contamination needs the scores of all records, and partial_fit sees a part; "
                "leave it out"
            )
        if not hasattr(self, "_weights"):
            return self._fit_first(X, epochs)
        self._check_parameters()
        X = self._validated(X, reset=False, dtype=NUMBERS)
        return self._train(X, epochs, self._scaling, self._weights, self._rng, first=False)

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """The mean, over columns, of the squared error of each scaled record."""
        check_is_fitted(self, "_weights")
        X = self._validated(X, reset=False, dtype=NUMBERS)
        return self._squared_errors(X, self._scaling, self._weights, whole=True)

    def export(self, path: str | Path) -> None:
        """Write the fitted detector as an ONNX file, whole or not at all.

        Input `record` (float32, N x d, in the table's own units); outputs `score` (N), equal to
        `anomaly_score` up to rounding, `is_outlier` (N) and `reconstruction` (N x d, in the
        table's units). Bounds, weights and threshold are inside, records are not.
        """
        check_is_fitted(self, "_weights")
        low, factor = shift_and_factor(self._scaling, np.float32)
        model = onnx_graph.build_model(
            self._weights, low, factor, reach=_REACH, threshold=self.threshold_
        )
        onnx_graph.write(path, model)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_weights")

    # The machinery.

    def _fit_first(self, X: Any, epochs: int) -> Self:
        self._check_parameters()
        # One record alone would lie open in the learned bounds.
        X = self._validated(X, reset=True, ensure_min_samples=2, dtype=NUMBERS)
        width = X.shape[1]
        if self.bounds is None:
            scaling = learned_scaling(X)
        else:
            scaling = declared_scaling(self.bounds, width)
        rng = chance.generator(self.random_state)
        n_hidden = max(1, width // 2) if self.n_hidden is None else int(self.n_hidden)
        weights = network.draw(
            rng, width, n_hidden, logistic=self.output == "logistic", dtype=X.dtype
        )
        return self._train(X, epochs, scaling, weights, rng, first=True)

    def _train(
        self,
        X: Array,
        epochs: int,
        scaling: Scaling,
        weights: network.Weights,
        rng: np.random.Generator,
        *,
        first: bool,
    ) -> Self:
        """Train on `X`; what was learned before stays where that fails."""
        device = network.device_or_sentence(self.device)
        shown = scaled(X, scaling).clip(*_REACH).astype(weights.flat.dtype, copy=False)
        order = rng.permutation(len(X))
        held_back = shown[order[: int(len(X) * self.validation_fraction)]]
        settings = network.Settings(
            max_epochs=epochs,
            learning_rate=float(self.learning_rate),
            momentum=float(self.momentum),
            batch_size=int(self.batch_size or min(max(len(X) // 1000, 32), 256)),
            patience=int(self.patience),
            tolerance=float(self.tolerance),
        )
        with training_progress(self.progress, epochs) as report:
            trained = network.train(
                weights,
                shown[order[len(held_back) :]],
                held_back,
                settings,
                rng=rng,
                device=device,
                report=report,
            )
        errors = self._squared_errors(X, scaling, trained.weights, whole=False)
        self._scaling, self._weights, self._rng = scaling, trained.weights, rng
        if first:
            self._errors = RunningMoments(0, np.zeros(1), np.zeros(1))
            self.loss_curve_, self.validation_curve_ = [], []
        self._errors = self._errors.faded(_FADE).joined(errors[np.newaxis])
        self.threshold_ = _threshold(self._errors)
        self.loss_curve_ += trained.losses
        self.validation_curve_ += trained.held_back_losses
        self.n_epochs_ = len(self.loss_curve_)
        self.n_hidden_ = weights.n_hidden
        return self

    def _squared_errors(
        self, X: Array, scaling: Scaling, weights: network.Weights, *, whole: bool
    ) -> NDArray[np.float64]:
        device = network.device_or_sentence(self.device)
        parts = [
            network.squared_errors(
                weights, scaled(X[i : i + _CHUNK], scaling), _REACH, whole=whole, device=device
            )
            for i in range(0, len(X), _CHUNK)
        ]
        return np.concatenate(parts)

    def _check_parameters(self) -> None:
        if self.n_hidden is not None:
            _check_whole("n_hidden", self.n_hidden, 1)
        _check_whole("max_epochs", self.max_epochs, 0)
        self._contamination()
        if self.batch_size is not None:
            _check_whole("batch_size", self.batch_size, 1)
        _check_whole("patience", self.patience, 1)
        _check_number("learning_rate", self.learning_rate, "above 0", lambda v: v > 0)
        _check_number("momentum", self.momentum, ">= 0 and < 1", lambda v: 0 <= v < 1)
        fraction = self.validation_fraction
        _check_number("validation_fraction", fraction, ">= 0 and < 1", lambda v: 0 <= v < 1)
        _check_number("tolerance", self.tolerance, ">= 0 and < 1", lambda v: 0 <= v < 1)
        if self.output not in ("linear", "logistic"):
            raise ValueError(f"output must be 'linear' or 'logistic', got {self.output!r}")


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")


def _check_number(name: str, value: Any, rule: str, holds: Callable[[float], bool]) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not holds(float(value)):
        raise ValueError(f"{name} must be a number {rule}, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")


def _threshold(errors: RunningMoments) -> float:
    """The mean plus three deviations."""
    return float(errors.mean[0] + 3 * np.sqrt(errors.squares[0] / errors.count))


@contextlib.contextmanager
def training_progress(progress: bool | Progress | None, max_epochs: int) -> Iterator[Report]:
    """What to report every epoch to, for as long as training lasts."""
    if callable(progress):
        yield lambda epoch, loss, held: progress(_stage(epoch, loss, held), epoch, max_epochs)
    elif progress and sys.stderr.isatty():
        with _bar(max_epochs) as report:
            yield report
    else:
        yield lambda epoch, loss, held: None


def _stage(epoch: int, loss: float, held: float | None) -> str:
    text = f"epoch {epoch}, loss {loss:.3g}"
    return text if held is None else f"{text}, held back {held:.3g}"


@contextlib.contextmanager
def _bar(max_epochs: int) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("epoch 0", total=max_epochs)
        yield lambda epoch, loss, held: bar.update(
            task, completed=epoch, description=_stage(epoch, loss, held)
        )
