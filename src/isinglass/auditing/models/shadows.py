"""Shadow models: autoencoders of the same shape, trained on random halves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.members.model_ratio import loss_score
from isinglass.detect import network
from isinglass.detect.onnx_file import ExportedAutoencoder
from isinglass.progress import Progress

Array = NDArray[Any]
Rows = NDArray[np.intp]
Flags = NDArray[np.bool_]

#: Steps and multiplications that training one shadow model may take at most.
_MOST_STEPS = 60_000
_MOST_PRODUCTS = 1e11
#: From so many multiplications on, half as many shadow models are trained.
_MANY_PRODUCTS = 2e10
_FIRST_EPOCHS = 4
_GROWTH = 1.5
#: Losses that differ by no more than this share count as the same fit.
_SAME_FIT = 0.1


@dataclass(frozen=True, slots=True)
class Shadows:
    """Errors of shadow models for the records compared, and which of these each was trained on.

    Models 2 i and 2 i + 1 share the records out between them.
    """

    errors: Array = field(repr=False)  # (models, records, columns)
    trained_on: Flags = field(repr=False)  # (models, records)
    epochs: int
    #: Whether they fit their training records as closely as the model fits its own.
    fit_reached: bool


def train_shadows(
    model: ExportedAutoencoder,
    shown: Array,
    compared: Rows,
    goal: float,
    *,
    n_models: int,
    rng: np.random.Generator,
    progress: Progress,
    trained: Rows | None = None,
) -> Shadows:
    """Train on random halves of `shown`, until training records are fitted as closely as `goal`.

    The file does not say how long the model was trained, nor at which rate; what a model remembers
    goes by how closely it fits. `goal` is the mean `loss_score` to reach. With `trained`, the
    halves are of these records only.
    """
    trained = np.arange(len(shown)) if trained is None else trained
    recipe = _Recipe(model, len(trained) // 2)
    some = trained[rng.permutation(len(trained))[: len(trained) // 2]]
    epochs, reached = _epochs_needed(recipe, shown[some], goal, rng, progress)
    if recipe.products(epochs) > _MANY_PRODUCTS:
        n_models = max(min(4, n_models), n_models // 2)
    errors, trained_on = [], []
    for number, half in enumerate(_halves(len(trained), n_models, rng)):
        rows = trained[half]
        weights = recipe.train(recipe.start(rng), shown[rows], epochs, rng)
        errors.append(model.with_weights(weights.parts()).errors(shown[compared]))
        inside = np.zeros(len(shown), dtype=bool)
        inside[rows] = True
        trained_on.append(inside[compared])
        progress("training models", number + 1, n_models)
    return Shadows(np.stack(errors), np.stack(trained_on), epochs, reached)


class _Recipe:
    """How shadow models are made: the model's shape, the estimator's own defaults."""

    def __init__(self, model: ExportedAutoencoder, n_rows: int) -> None:
        self.model = model
        self._batch = min(max(n_rows // 1000, 32), 256)
        steps = math.ceil(n_rows / self._batch)
        size = model.n_columns * model.n_hidden
        self._products_per_epoch = 6.0 * n_rows * size  # forwards once, backwards twice
        by_products = _MOST_PRODUCTS / self._products_per_epoch
        self.most_epochs = max(_FIRST_EPOCHS, int(min(_MOST_STEPS / steps, by_products)))

    def products(self, epochs: int) -> float:
        return epochs * self._products_per_epoch

    def start(self, rng: np.random.Generator) -> network.Weights:
        model = self.model
        return network.draw(
            rng, model.n_columns, model.n_hidden, logistic=model.logistic, dtype=np.float32
        )

    def train(
        self, weights: network.Weights, rows: Array, epochs: int, rng: np.random.Generator
    ) -> network.Weights:
        settings = network.Settings(
            max_epochs=epochs,
            learning_rate=0.25,
            momentum=0.85,
            batch_size=self._batch,
            patience=epochs,
            tolerance=0.0,
        )
        trained = network.train(
            weights,
            rows,
            rows[:0],
            settings,
            rng=rng,
            device=network.device_or_sentence(None),
            report=lambda epoch, loss, held: None,
        )
        return trained.weights


def _epochs_needed(
    recipe: _Recipe, rows: Array, goal: float, rng: np.random.Generator, progress: Progress
) -> tuple[int, bool]:
    """Epochs after which a model fits its records as closely as `goal`, and whether it ever did."""
    weights, done, wanted = recipe.start(rng), 0, _FIRST_EPOCHS
    while True:
        weights = recipe.train(weights, rows, wanted - done, rng)
        done = wanted
        progress("fitting a first model", done, recipe.most_epochs)
        scores = loss_score(recipe.model.with_weights(weights.parts()).errors(rows))
        # Other records are a little harder or easier; waiting for more would never end.
        close = max(_SAME_FIT, float(scores.std()) / math.sqrt(len(scores)))
        reached = float(scores.mean()) >= goal - close
        if reached or done >= recipe.most_epochs:
            return done, reached
        wanted = min(math.ceil(done * _GROWTH), recipe.most_epochs)


def _halves(n: int, n_models: int, rng: np.random.Generator) -> Iterator[Rows]:
    """Two halves at a time: each record is in one and out of the other."""
    for _ in range(n_models // 2):
        order = rng.permutation(n)
        yield order[: n // 2]
        yield order[n // 2 :]
