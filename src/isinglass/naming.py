"""Parameter names in messages: as Python spells them, or as options of the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


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
