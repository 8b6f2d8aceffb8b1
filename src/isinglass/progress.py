"""Progress callbacks."""

from __future__ import annotations

from collections.abc import Callable

#: Called as progress(stage, done, in all or None).
Progress = Callable[[str, int, int | None], None]


def quiet(stage: str, done: int, total: int | None) -> None:
    """Callback that does nothing."""
