"""Names of `--method` and the perturbations behind them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isinglass.documents import read_json
from isinglass.errors import ReleaseError
from isinglass.method_names import METHODS
from isinglass.stated import is_number

if TYPE_CHECKING:
    from isinglass.perturb.base import Perturbation


def perturbation_for(
    method: str, settings: Sequence[str] = (), extra: dict[str, Any] | None = None
) -> Perturbation:
    """The unfitted perturbation a method name and `--set name=value` ask for."""
    from isinglass.perturb.registry import class_named

    if method not in METHODS:
        raise ReleaseError(f"method {method} is unknown; choose one of {', '.join(METHODS)}")
    kind = class_named(method)
    fixed = kind.variants[method].fixed
    defaults = {n: p.default for n, p in inspect.signature(kind).parameters.items()}
    known = [name for name in defaults if name not in (*fixed, "bounds", "public_matrix")]
    parameters = dict(fixed) | (extra or {})
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ReleaseError(f"--set takes name=value, got {setting}")
        if name not in known:
            raise ReleaseError(
                f"method {method} has no parameter {name}; it has {', '.join(known)}"
            )
        parameters[name] = parse(value)
        if not _fits(name, parameters[name], defaults[name]):
            wanted = {bool: "true or false", str: "a word"}.get(type(defaults[name]), "a number")
            raise ReleaseError(f"--set {name} takes {wanted}, got {value}")
    return kind(**parameters)


def parse(value: str) -> Any:
    """A number, true, false, none, a JSON list, or else text."""
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return words[value.lower()]
    for read in (int, float, read_json):
        try:
            return read(value)
        except ValueError:
            continue
    return value


# Parameters that may hold one number for each column.
_PER_COLUMN = ("center", "scale", "weights")


def _fits(name: str, value: Any, default: Any) -> bool:
    """Whether a value is of its parameter's kind."""
    if value is None:
        return default is None or name == "optimize"
    if isinstance(default, bool | str):
        return isinstance(value, type(default))
    if isinstance(value, list):
        return name in _PER_COLUMN and all(is_number(v) for v in value)
    if isinstance(value, float) and isinstance(default, int):
        return False
    return is_number(value)


def name_of(method: str, parameters: dict[str, Any]) -> str:
    """The name that would make a perturbation with these public facts."""
    from isinglass.perturb.registry import class_of

    kind = class_of(method)
    for name, variant in ({} if kind is None else kind.variants).items():
        if variant.fixed and all(parameters.get(k) == v for k, v in variant.fixed.items()):
            return name
    return method
