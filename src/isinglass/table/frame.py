"""Columns of a frame that an estimator cannot take, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from isinglass.table.columns import listed


def refuse_columns(X: Any, what: str = "X", error: type[Exception] = ValueError) -> None:
    """Raise an error that names columns of a frame that are not numbers, or share a name.

    The same columns are numbers as in a file: text, categories and dates are not, though some of
    them could be turned into numbers silently.
    """
    if isinstance(X, np.ndarray | list | tuple) or not hasattr(X, "columns"):
        return
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        schema = nw.from_native(X, eager_only=True).schema
    except DuplicateError:
        names = [str(name) for name in X.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise error(
            f"{what} must not have several columns of one name: {listed(twice)}; rename them"
        ) from None
    except TypeError:  # not a frame after all
        return
    wrong = [
        str(name)
        for name, kind in schema.items()
        # What kind of values an object column has shows when they are turned into numbers.
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown))
    ]
    if wrong:
        raise error(
            f"{what} must hold numbers only; these columns hold something else: {listed(wrong)}; "
            "leave them out or turn them into numbers"
        )
