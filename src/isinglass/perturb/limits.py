"""Limits of a perturbation's parameters."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Mapping
from typing import Any

from isinglass import field_checks

#: The most that a parameter may be. Time and memory grow with each of these, so a file that
#: states one of them could otherwise make its reader work for as long as it likes.
MOST = {
    "k": 10**9,
    "layers": 64,
    "n_components": 100_000,
    "n_draws": 2_000,
    "n_hidden": 100_000,
    "n_iter": 10_000,
}
#: No other number is larger: its powers would overflow.
LARGEST = 1e50
#: Parameters that may hold one number for each column.
PER_COLUMN = ("center", "scale", "weights")
# These have readers of their own.
_ELSEWHERE = ("bounds", "public_matrix", "random_state")


def refuse_beyond(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters beyond their limits; a number that is not finite is left to the method."""
    for name, value in parameters.items():
        if name in _ELSEWHERE or not isinstance(value, numbers.Real):
            continue
        most, size = MOST.get(name, LARGEST), abs(float(value))
        if math.isfinite(size) and size > most:
            raise ValueError(f"{name} must be <= {most:g}, got {value:g}")


def refuse_misstated(kind: type, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters from a file that the method `kind` could not have written.

    Names that it does not have are passed over: a later version may have more.
    """
    for name, parameter in inspect.signature(kind).parameters.items():
        if name not in _ELSEWHERE and name in parameters:
            _refuse_other_kind(name, parameters[name], parameter.default)
    refuse_beyond(parameters)


def _refuse_other_kind(name: str, value: Any, default: Any) -> None:
    if value is None and (default is None or name == "optimize"):
        return
    if isinstance(value, list) and name in PER_COLUMN:
        for item in value[: field_checks.MOST_NAMES]:
            refuse_beyond({name: field_checks.number(item, name)})
    elif isinstance(default, bool):
        field_checks.flag(bool(value) if value in (0, 1) else value, name)
    elif isinstance(default, str):
        field_checks.word(value, name)
    elif isinstance(default, int) or name in MOST:
        some = int(value) if isinstance(value, float) and value.is_integer() else value
        field_checks.whole(some, name, most=MOST.get(name, field_checks.LARGEST))
    else:
        field_checks.number(value, name)
