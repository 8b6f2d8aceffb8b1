"""Plain Python values from NumPy's, for text and for JSON."""

from __future__ import annotations

import math
import operator
from dataclasses import fields, is_dataclass
from typing import Any


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
