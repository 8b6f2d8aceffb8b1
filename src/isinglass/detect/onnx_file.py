"""Reader of an exported autoencoder, without an ONNX runtime."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.onnx_graph import graph_nodes
from isinglass.detect.protobuf import fields, whole_numbers
from isinglass.errors import IsinglassError

Array = NDArray[Any]

MOST_BYTES = 64 << 20
#: What a file of ours holds beside its numbers; much more would be something else in disguise.
_OVERHEAD_BYTES = 16 << 10
# Numbers of the fields that an exported file has; any other may change what the graph means.
_MODEL_FIELDS = {1, 2, 3, 7, 8, 14}
_GRAPH_FIELDS = {1, 2, 5, 11, 12}
_NODE_FIELDS = {1, 2, 3, 4, 5}
_TENSOR_FIELDS = {1, 2, 8, 9}
_GRAPH, _NODE, _INITIALIZER = 7, 1, 5
_FLOAT32 = 1
_REDUCE_MEAN = {"axes": [1], "keepdims": [0]}


@dataclass(frozen=True, slots=True)
class ExportedAutoencoder:
    """What an exported file tells: scaling, weights, threshold; their values do not print."""

    low: Array = field(repr=False)
    factor: Array = field(repr=False)
    reach: tuple[float, float]
    W: Array = field(repr=False)
    a: Array = field(repr=False)
    V: Array = field(repr=False)
    b: Array = field(repr=False)
    threshold: float
    logistic: bool

    @property
    def n_columns(self) -> int:
        return len(self.low)

    @property
    def n_hidden(self) -> int:
        return len(self.a)

    def with_weights(self, parts: Sequence[Array]) -> ExportedAutoencoder:
        """The same scaling and shape with other weights: W, a, V and b."""
        W, a, V, b = parts
        return replace(self, W=W, a=a, V=V, b=b)

    def shown(self, X: Array) -> Array:
        """Records as the network is shown them: scaled, and cut to what it may see."""
        with np.errstate(over="ignore"):  # infinitely far out is cut like the rest
            z = (np.asarray(X, dtype=np.float64) - self.low) * self.factor
        return np.asarray(z.clip(*self.reach), dtype=np.float32)

    def errors(self, shown: Array) -> Array:
        """Records as the network is shown them, less what it makes of them."""
        return np.asarray(shown - self._output(shown))

    def squared_errors(self, X: Array) -> Array:
        """The squared error of every value of records; a record's mean is its score."""
        with np.errstate(over="ignore"):
            z = (np.asarray(X, dtype=np.float64) - self.low) * self.factor
            return np.asarray((z - self._output(self.shown(X))) ** 2)

    def _output(self, shown: Array) -> Array:
        with np.errstate(over="ignore"):
            hidden = 1 / (1 + np.exp(-(shown @ self.W + self.a)))
            output = hidden @ self.V + self.b
            return np.asarray(1 / (1 + np.exp(-output)) if self.logistic else output)


def read_autoencoder(path: str | Path) -> ExportedAutoencoder:
    """Read what `Autoencoder.export` wrote; refuse any other graph.

    The graph must be the exported one, node by node: one that computes something else would be
    taken for what it is not.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise IsinglassError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise IsinglassError(f"{path} is larger than {MOST_BYTES >> 20} MiB, too large for a model")
    try:
        return _read(data)
    except ValueError as error:
        raise IsinglassError(
            f"{path} is not an Autoencoder as isinglass exports it: {error}"
        ) from None


def _read(data: bytes) -> ExportedAutoencoder:
    nodes: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
    found: dict[str, Array] = {}
    graphs = [value for number, value in _known(data, _MODEL_FIELDS, "model") if number == _GRAPH]
    if len(graphs) != 1 or isinstance(graphs[0], int):
        raise ValueError("it has no graph")
    for number, value in _known(graphs[0], _GRAPH_FIELDS, "graph"):
        if number == _NODE:
            nodes.append(_node(_message(value)))
        elif number == _INITIALIZER:
            name, tensor = _tensor(_message(value))
            if name in found:
                raise ValueError("it has two constants of one name")
            found[name] = tensor
    for logistic in (False, True):
        if nodes == graph_nodes(logistic):
            made = _autoencoder(found, logistic)
            break
    else:
        raise ValueError("its graph computes something else")
    if len(data) > 4 * sum(t.size for t in found.values()) + _OVERHEAD_BYTES:
        raise ValueError("it holds more than its weights")
    return made


def _autoencoder(found: dict[str, Array], logistic: bool) -> ExportedAutoencoder:
    names = {"low", "factor", "least", "most", "W", "a", "V", "b", "threshold"}
    if found.keys() != names:
        raise ValueError("its constants are not those of an autoencoder")
    if not all(np.isfinite(tensor).all() for tensor in found.values()):
        raise ValueError("a constant is not finite")
    d, h = found["low"].size, found["a"].size
    shapes = {"low": (d,), "factor": (d,), "W": (d, h), "a": (h,), "V": (h, d), "b": (d,)}
    scalars = names - shapes.keys()
    if not d or not h or any(found[n].shape != () for n in scalars):
        raise ValueError("its constants do not fit together")
    if any(found[name].shape != shape for name, shape in shapes.items()):
        raise ValueError("its constants do not fit together")
    reach = float(found["least"]), float(found["most"])
    if not (found["factor"] > 0).all() or reach[0] >= reach[1]:
        raise ValueError("its scaling has no width")
    weights = {name: found[name] for name in ("W", "a", "V", "b")}
    return ExportedAutoencoder(
        low=found["low"].astype(np.float64),
        factor=found["factor"].astype(np.float64),
        reach=reach,
        threshold=float(found["threshold"]),
        logistic=logistic,
        **weights,
    )


def _node(message: bytes) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    inputs, outputs, operator, attributes = [], [], "", {}
    for number, value in _known(message, _NODE_FIELDS, "node"):
        if number == 1:
            inputs.append(_text(value))
        elif number == 2:
            outputs.append(_text(value))
        elif number == 4:
            operator = _text(value)
        elif number == 5:
            name, numbers = _attribute(_message(value))
            attributes[name] = numbers
    if attributes != (_REDUCE_MEAN if operator == "ReduceMean" else {}):
        raise ValueError("its graph computes something else")
    return operator, tuple(inputs), tuple(outputs)


def _attribute(message: bytes) -> tuple[str, list[int]]:
    """Name and whole numbers, which are all that an exported graph has."""
    name, numbers = "", []
    for number, value in _known(message, {1, 3, 8, 20}, "attribute"):
        if number == 1:
            name = _text(value)
        elif number in (3, 8):
            numbers += whole_numbers(value)
    return name, numbers


def _tensor(message: bytes) -> tuple[str, Array]:
    name, sizes, kind, raw = "", [], 0, b""
    for number, value in _known(message, _TENSOR_FIELDS, "constant"):
        if number == 1:
            sizes += whole_numbers(value)
        elif number == 2 and isinstance(value, int):
            kind = value
        elif number == 8:
            name = _text(value)
        elif number == 9:
            raw = _message(value)
    if kind != _FLOAT32 or len(sizes) > 2 or math.prod(sizes) * 4 != len(raw):
        raise ValueError("a constant is damaged, or not of float32")
    return name, np.frombuffer(raw, dtype="<f4").reshape(sizes).astype(np.float32)


def _known(message: bytes, allowed: Iterable[int], what: str) -> Iterator[tuple[int, int | bytes]]:
    for number, value in fields(message):
        if number not in allowed:
            raise ValueError(f"its {what} has a field of number {number}")
        yield number, value


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number stands where a message should")
    return value


def _text(value: int | bytes) -> str:
    return _message(value).decode("utf-8")  # a UnicodeDecodeError is a ValueError
