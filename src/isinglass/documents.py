"""JSON and TOML, read within limits of size and depth, and plain values from NumPy's for JSON."""

from __future__ import annotations

import json
import math
import operator
import tomllib
from dataclasses import fields, is_dataclass
from typing import Any

#: Far more than any file of ours needs; a document beyond it was not made to be read.
MOST_BYTES = 64 << 20
MOST_TOML_BYTES = 1 << 16
MOST_DOTS = 1_000  # in a line of TOML, whose reader takes the square of their number in time
DEEPEST = 32
MOST_DIGITS = 20  # of a whole number: 2^64 has that many


class DocumentError(ValueError):
    """A text that cannot be used; the message is a clause about "it"."""


class BrokenDocumentError(DocumentError):
    """A text that is no JSON at all, as one that was cut short is."""


def read_json(
    text: str | bytes,
    *,
    as_pairs: bool = False,
    infinite: bool = False,
    most_values: int | None = None,
) -> Any:
    """What a JSON text says.

    Files come from strangers, too. So whatever is wrong with one is a `DocumentError`, found
    before it costs time or memory: never a RecursionError, an infinity, or a number of a million
    digits that overflows where it is used. With `as_pairs` objects are lists of pairs, in which
    names may come twice. With `infinite` the words NaN and Infinity are read as numbers. Values are
    counted, with `most_values`, by the signs before them, before any is read: a short text may
    hold many empty ones, which take a hundred times its memory.
    """
    if len(text) > MOST_BYTES:
        raise DocumentError(f"it is longer than {MOST_BYTES >> 20} MiB")
    if most_values is not None:
        signs: Any = (b",", b"[", b"{") if isinstance(text, bytes) else (",", "[", "{")
        if sum(map(text.count, signs)) > most_values:
            raise DocumentError(f"it has more than {most_values:,} values")
    try:
        found = json.loads(
            text,
            object_pairs_hook=list if as_pairs else None,
            parse_int=_whole,
            parse_float=_real,
            parse_constant=None if infinite else _constant,
        )
    except DocumentError:
        raise
    except json.JSONDecodeError as error:
        raise BrokenDocumentError(f"it is not JSON: line {error.lineno}") from None
    except UnicodeDecodeError:
        raise BrokenDocumentError("it is not JSON, which is UTF-8 text") from None
    except RecursionError:
        raise DocumentError(_TOO_DEEP) from None
    _refuse_deep(found)
    return found


def read_toml(text: str, *, most_bytes: int = MOST_TOML_BYTES) -> dict[str, Any]:
    """What a TOML text says, within the same limits; its numbers may be nan or inf."""
    if len(text) > most_bytes:
        raise DocumentError(f"it is longer than {most_bytes >> 10} KiB")
    if any(line.count(".") > MOST_DOTS for line in text.splitlines()):
        raise DocumentError(_TOO_DEEP)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BrokenDocumentError(f"it is not TOML: {error}") from None
    except RecursionError:
        raise DocumentError(_TOO_DEEP) from None
    except ValueError:  # digits beyond those that Python reads as a whole number
        raise DocumentError(_TOO_LONG) from None
    for item in _refuse_deep(found):
        if isinstance(item, int) and abs(item) >= 10**MOST_DIGITS:
            raise DocumentError(_TOO_LONG)
    return found


_TOO_DEEP = f"it is nested more than {DEEPEST} deep"
_TOO_LONG = f"it has a whole number of more than {MOST_DIGITS} digits"


def _refuse_deep(found: Any) -> list[Any]:
    """Count level by level, which cannot run out of stack; gives what lies inside back."""
    level, everything = [found], [found]
    for _ in range(DEEPEST):
        level = [
            item
            for value in level
            if isinstance(value, list | tuple | dict)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
        everything += level
    if any(isinstance(value, list | tuple | dict) for value in level):
        raise DocumentError(_TOO_DEEP)
    return everything


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise DocumentError(_TOO_LONG)
    return int(digits)


def _real(digits: str) -> float:
    found = float(digits)
    if not math.isfinite(found):
        raise DocumentError("it has a number that is not finite")
    return found


def _constant(word: str) -> Any:
    raise DocumentError("it has a number that is not finite")


def canonical_json(value: Any) -> bytes:
    """The one JSON text of a value: names in order, no spaces, ASCII, finite numbers only."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def plain(value: Any) -> Any:
    """The same value with Python's own numbers in it, through containers and dataclasses.

    NumPy's numbers look like Python's until one is formatted, multiplied with a text or written
    as JSON. So facts are made plain once, where they are complete.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        found = {name: plain(part) for name, part in parts.items()}
        # What is plain already is handed on as it is.
        return value if all(found[n] is parts[n] for n in parts) else type(value)(**found)
    if isinstance(value, dict):
        made = {plain(name): plain(item) for name, item in value.items()}
        kept = all(map(operator.is_, made.values(), value.values()))
        return value if kept and all(map(operator.is_, made, value)) else made
    if isinstance(value, list | tuple):
        items = [plain(item) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else type(value)(items)
    # A scalar's `tolist` gives Python's own number, and an array's a list of them.
    return value.tolist() if hasattr(value, "tolist") else value


def for_json(value: Any) -> Any:
    """Lists, dictionaries, numbers and text alone; None for a number that is not finite."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: for_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {str(name): for_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [for_json(item) for item in value]
    if hasattr(value, "tolist"):
        return for_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
