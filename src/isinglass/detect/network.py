"""Three-layer network: weights, output, gradient and training."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isinglass.errors import IsinglassError

if TYPE_CHECKING:
    from torch import Tensor

Array = NDArray[Any]
#: Told after every epoch: the epoch, its loss, the loss on the held-back records if there are any.
Report = Callable[[int, float, float | None], None]

START = 0.1  # weights and biases start uniform on [-START, START]


@dataclass(frozen=True, slots=True)
class Weights:
    """What a trained network is: one vector that holds W, a, V and b one after the other.

    The output for a record z is g(s(z W + a) V + b), s the logistic function, g the same or the
    identity.
    """

    width: int
    n_hidden: int
    logistic: bool
    flat: Array = field(repr=False)

    def parts(self) -> list[Array]:
        """W (d x h), a (h), V (h x d) and b (d)."""
        cuts = np.cumsum([math.prod(s) for s in shapes(self.width, self.n_hidden)])[:-1]
        pieces = np.split(self.flat, cuts)
        sizes = shapes(self.width, self.n_hidden)
        return [p.reshape(s) for p, s in zip(pieces, sizes, strict=True)]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to train; the names are the estimator's."""

    max_epochs: int
    learning_rate: float
    momentum: float
    batch_size: int
    patience: int
    tolerance: float


@dataclass(frozen=True, slots=True)
class Trained:
    """Weights, and the losses on the way to them."""

    weights: Weights
    losses: list[float]
    held_back_losses: list[float]


def shapes(width: int, n_hidden: int) -> list[tuple[int, ...]]:
    """The shapes of W, a, V and b."""
    return [(width, n_hidden), (n_hidden,), (n_hidden, width), (width,)]


def draw(
    rng: np.random.Generator, width: int, n_hidden: int, *, logistic: bool, dtype: Any
) -> Weights:
    """Weights to start from."""
    size = sum(math.prod(s) for s in shapes(width, n_hidden))
    flat = rng.uniform(-START, START, size=size).astype(dtype)
    return Weights(width, n_hidden, logistic, flat)


def torch_or_sentence() -> Any:
    """The module torch, or one sentence that says how to get it."""
    try:
        import torch
    except ImportError:
        raise IsinglassError(
            "Autoencoder needs torch, which is not installed; install isinglass[neural]"
        ) from None
    return torch


def device_or_sentence(name: str | None) -> Any:
    """The device `name` stands for; None is the CPU."""
    torch = torch_or_sentence()
    try:
        device = torch.device("cpu" if name is None else name)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be None, 'cpu', 'cuda' or 'cuda:N', got {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise IsinglassError(
            f"device is {name!r}, but torch sees {torch.cuda.device_count()} such devices here; "
            "use device='cpu'"
        )
    return device


@contextlib.contextmanager
def calculating() -> Iterator[None]:
    """No autograd, and one thread: more cut a product up and round otherwise, and gain nothing.

    A batch is small. The caller's thread count comes back on leaving.
    """
    torch = torch_or_sentence()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(before)


class TensorNetwork:
    """Weights on a device, as tensors."""

    def __init__(self, weights: Weights, device: Any, dtype: Any = None) -> None:
        torch = torch_or_sentence()
        self._torch = torch
        self._facts = weights
        flat = weights.flat.astype(weights.flat.dtype if dtype is None else dtype)
        self.flat: Tensor = torch.from_numpy(flat).to(device, copy=True)
        self.gradient: Tensor = torch.zeros_like(self.flat)
        self._W, self._a, self._V, self._b = self._cut(self.flat)
        self._to_W, self._to_a, self._to_V, self._to_b = self._cut(self.gradient)
        self._V_t = self._V.t()

    def weights(self) -> Weights:
        """A copy of the weights, off the device."""
        facts = self._facts
        flat = self.flat.cpu().numpy().copy()
        return Weights(facts.width, facts.n_hidden, facts.logistic, flat)

    def output(self, z: Tensor) -> Tensor:
        """What the network makes of records."""
        return self._layers(z)[1]

    def _layers(self, z: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self._torch.addmm(self._a, z, self._W).sigmoid_()
        output = self._torch.addmm(self._b, hidden, self._V)
        return hidden, output.sigmoid_() if self._facts.logistic else output

    def back_propagate(self, z: Tensor) -> Tensor:
        """Set `gradient` to that of the loss over `z`, the mean of all squared errors.

        With e the errors and s the logistic function, s' = s (1 - s):
        dV = hidden' (2 e / size), dW = z' ((2 e / size) V' * s'), times g' at a logistic output.
        Gives the sum of squared errors.
        """
        torch = self._torch
        slope_of = torch.ops.aten.sigmoid_backward
        hidden, output = self._layers(z)
        error = output - z
        flat = error.view(-1)
        total: Tensor = torch.dot(flat, flat)
        error.mul_(2 / error.numel())
        if self._facts.logistic:
            error = slope_of(error, output)
        torch.mm(hidden.t(), error, out=self._to_V)
        torch.sum(error, 0, out=self._to_b)
        back = slope_of(torch.mm(error, self._V_t), hidden)
        torch.mm(z.t(), back, out=self._to_W)
        torch.sum(back, 0, out=self._to_a)
        return total

    def _cut(self, flat: Tensor) -> list[Tensor]:
        sizes = shapes(self._facts.width, self._facts.n_hidden)
        pieces = self._torch.split(flat, [math.prod(s) for s in sizes])
        return [p.view(s) for p, s in zip(pieces, sizes, strict=True)]


def train(
    weights: Weights,
    table: Array,
    held_back: Array,
    settings: Settings,
    *,
    rng: np.random.Generator,
    device: Any,
    report: Report,
) -> Trained:
    """Descend, in batches and with momentum, from `weights`; keep those best on `held_back`.

    Without held-back records every epoch is run and the last weights are kept. Weights that were
    better before the first epoch are kept too: a part that teaches nothing undoes nothing.
    """
    torch = torch_or_sentence()
    with calculating():
        z = torch.from_numpy(table).to(device)
        held = torch.from_numpy(held_back).to(device)
        net = TensorNetwork(weights, device)
        velocity = torch.zeros_like(net.flat)
        best, best_flat = _loss(net, held), net.flat.clone()
        mark, marked = best, 0  # the last improvement that counts, and its epoch
        losses: list[float] = []
        held_losses: list[float] = []
        for epoch in range(1, settings.max_epochs + 1):
            order = torch.from_numpy(rng.permutation(len(table))).to(device)
            totals = []
            for batch in z.index_select(0, order).split(settings.batch_size):
                totals.append(net.back_propagate(batch))
                velocity.mul_(settings.momentum).sub_(net.gradient, alpha=settings.learning_rate)
                net.flat.add_(velocity)
            losses.append(float(torch.stack(totals).sum(dtype=torch.float64)) / z.numel())
            held_loss = _loss(net, held)
            if not math.isfinite(losses[-1]) or (len(held) and not math.isfinite(held_loss)):
                raise IsinglassError(
                    f"the loss is no longer finite in epoch {epoch}, so the network is of no use; "
                    f"lower learning_rate, now {settings.learning_rate}, or momentum, now "
                    f"{settings.momentum}"
                )
            if len(held):
                held_losses.append(held_loss)
            report(epoch, losses[-1], held_loss if len(held) else None)
            if not len(held) or held_loss < best:
                best = held_loss
                best_flat.copy_(net.flat)
            if held_loss < mark * (1 - settings.tolerance):
                mark, marked = held_loss, epoch
            elif len(held) and epoch - marked >= settings.patience:
                break
        net.flat.copy_(best_flat)
        return Trained(net.weights(), losses, held_losses)


def squared_errors(
    weights: Weights, scaled: Array, reach: tuple[float, float], *, whole: bool, device: Any
) -> NDArray[np.float64]:
    """Mean squared error of each scaled record, in its own precision.

    The network is shown values cut to `reach`; its output is compared with those, or with the
    `whole` ones.
    """
    torch = torch_or_sentence()
    with calculating():
        z = torch.from_numpy(scaled).to(device)
        shown = z.clamp(*reach)
        output = TensorNetwork(weights, device, scaled.dtype).output(shown)
        errors = ((z if whole else shown) - output).square().mean(1)
        return np.asarray(errors.cpu().numpy(), dtype=np.float64)


def _loss(net: TensorNetwork, z: Tensor) -> float:
    """The mean squared error over records; NaN without any."""
    return float((net.output(z) - z).square().mean())
