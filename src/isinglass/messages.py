"""Messages: parameter names as the caller spells them, and warnings at the caller's line."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isinglass.errors import PrivacyWarning


class Spelling:
    """How a message tells its reader what to set or call: here, in Python."""

    def parameter(self, name: str, value: Any) -> str:
        """A parameter, with the value it should take if there is one."""
        return f"`{name}`" if value is None else f"{name}={value!r}"

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """A method with its arguments; `...` stands for what the reader must think of."""
        given = (f"{n}={'…' if v is ... else repr(v)}" for n, v in arguments.items())
        return f"`{name}({', '.join(given)})`"


_spelling = Spelling()


def spell(parameter: str, value: Any = None) -> str:
    """A parameter that a message names, as its reader would type it."""
    return _spelling.parameter(parameter, value)


def spell_call(method: str, **arguments: Any) -> str:
    """A call that a message recommends, as its reader would type it."""
    return _spelling.call(method, arguments)


@contextlib.contextmanager
def spelled(spelling: Spelling) -> Iterator[None]:
    """Spell parameters another way within the block, as the command line does.

    This holds for all threads, because a message may be made in any of them.
    """
    global _spelling
    before, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = before


_OWN = str(Path(__file__).parent / "_").removesuffix("_")
# What may stand between a user's line and our methods: pipelines, set_output, copying.
_BETWEEN = ("copy", "joblib", "pickle", "sklearn")


def warn(message: str | Warning, category: type[Warning] = PrivacyWarning) -> None:
    """Warn at the line outside of this package and scikit-learn that led here.

    However deep a method sits, the warning names the line somebody can change, and Python shows
    it once for each such line.
    """
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename, frame.f_globals):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(file: str, names: dict[str, object]) -> bool:
    package = str(names.get("__name__", "")).partition(".")[0]
    return file.startswith(_OWN) or package in _BETWEEN
