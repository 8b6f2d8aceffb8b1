"""Reader of Protocol Buffers fields from an untrusted file, and a look at how a model begins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_MOST_VARINT_BYTES = 10
#: A model begins with its format version, a small number, and one of these fields.
_VERSION_TAG = 0x08
_SECOND_TAGS = frozenset(bytes.fromhex("121a222832" + "3a4272"))


def is_onnx(path: str | Path) -> bool:
    """Whether a file begins as an ONNX model does, whatever its name; no table begins so."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(3)
    except OSError:
        return False
    return (
        len(start) == 3
        and start[0] == _VERSION_TAG
        and 0 < start[1] < 0x80
        and start[2] in _SECOND_TAGS
    )


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field's number and value: a whole number, or bytes for anything longer.

    Raises `ValueError` where the message is cut off or malformed. Nested messages are bytes; the
    caller decides which of them to open, so no depth is reached that the caller did not ask for.
    """
    place, end = 0, len(message)
    while place < end:
        tag, place = _varint(message, place)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        if kind == _LENGTH:
            size, place = _varint(message, place)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"wire type {kind} is not in use")
        if size > end - place:
            raise ValueError("a field is longer than the message")
        yield number, message[place : place + size]
        place += size


def whole_numbers(value: int | bytes) -> list[int]:
    """A repeated field of whole numbers, whether packed or one by one."""
    if isinstance(value, int):
        return [value]
    numbers, place = [], 0
    while place < len(value):
        number, place = _varint(value, place)
        numbers.append(number)
    return numbers


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = 0
    for i in range(_MOST_VARINT_BYTES):
        if place + i >= len(message):
            raise ValueError("a number is cut off")
        byte = message[place + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, place + i + 1
    raise ValueError("a number is too long")
