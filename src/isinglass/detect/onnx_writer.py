"""Writer of ONNX graphs, so that a model's bytes do not depend on what else is installed.

The few messages of the format that a graph of ours needs, field by field, as onnx.proto numbers
them; a test holds them against what the onnx package writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isinglass

Array = NDArray[Any]
#: An operator, the names of its inputs, and those of its outputs.
Node = tuple[str, tuple[str, ...], tuple[str, ...]]
#: Kind and shape of each input or output; a name in a shape stands for any number.
Described = dict[str, tuple[str, list[int | str]]]

# Old enough for every runtime of the last years.
OPSET = 17
IR_VERSION = 8
_KINDS = {"float32": 1, "int64": 7, "bool": 9, "float64": 11}
_INT = 2  # the kind of an attribute that is a whole number
_CASTS = {"CastInt64": _KINDS["int64"], "CastDouble": _KINDS["float64"]}


def graph_bytes(
    name: str,
    nodes: Iterable[Node],
    constants: dict[str, Array],
    inputs: Described,
    outputs: Described,
    facts: dict[str, str],
) -> bytes:
    """The bytes of a graph of nodes with constants.

    `CastInt64` and `CastDouble` stand for `Cast`; a `ReduceSum` drops the axes that it sums over.
    """
    graph = [
        *(_message(1, _node(*node)) for node in nodes),
        _text(2, name),
        *(_message(5, _tensor(n, value)) for n, value in constants.items()),
        *(_message(11, _described(n, *what)) for n, what in inputs.items()),
        *(_message(12, _described(n, *what)) for n, what in outputs.items()),
    ]
    model = [
        _whole(1, IR_VERSION),
        _text(2, "isinglass"),
        _text(3, isinglass.__version__),
        _message(7, graph),
        _message(8, [_text(1, ""), _whole(2, OPSET)]),
        *(_message(14, [_text(1, key), _text(2, value)]) for key, value in facts.items()),
    ]
    return b"".join(model)


def _node(operator: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> list[bytes]:
    attributes: dict[str, int] = {}
    if operator in _CASTS:
        attributes["to"] = _CASTS[operator]
        operator = "Cast"
    elif operator == "ReduceSum":
        attributes["keepdims"] = 0
    return [
        *(_text(1, n) for n in inputs),
        *(_text(2, n) for n in outputs),
        _text(4, operator),
        *(
            _message(5, [_text(1, n), _whole(3, value), _whole(20, _INT)])
            for n, value in attributes.items()
        ),
    ]


def _tensor(name: str, value: Array) -> list[bytes]:
    ordered = np.ascontiguousarray(value).reshape(value.shape)
    little = ordered.astype(ordered.dtype.newbyteorder("<"))
    return [
        *(_whole(1, size) for size in value.shape),
        _whole(2, _KINDS[value.dtype.name]),
        _text(8, name),
        _bytes(9, little.tobytes()),
    ]


def _described(name: str, kind: str, shape: list[int | str]) -> list[bytes]:
    sizes = [
        _message(1, [_whole(1, size) if isinstance(size, int) else _text(2, size)])
        for size in shape
    ]
    tensor = [_whole(1, _KINDS[kind]), _message(2, sizes)]
    return [_text(1, name), _message(2, [_message(1, tensor)])]


def _message(number: int, parts: list[bytes]) -> bytes:
    return _bytes(number, b"".join(parts))


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _whole(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; none of our numbers is negative."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
