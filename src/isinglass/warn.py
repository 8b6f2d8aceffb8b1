"""Warnings shown at the line of the user's code that caused them."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from isinglass.errors import PrivacyWarning

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
