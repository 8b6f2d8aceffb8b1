"""Exceptions and warnings of the package, shown at the line of the user's code."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path


class IsinglassError(Exception):
    """Base of our own errors. The command line prints its text as one sentence and exits 2."""


class TableError(IsinglassError):
    """The table on disk, or in memory, cannot be used as it is."""


class KeyFileError(IsinglassError):
    """A key file is damaged, locked, of another method, or in the way."""


class ReleaseError(IsinglassError):
    """A release cannot be made, written or read, or must not be."""


class AttackError(IsinglassError):
    """An attack cannot begin: a fact it needs is missing, or the release is not of its kind."""


class AuditError(IsinglassError):
    """A table and a release cannot be compared as they are, or a policy cannot be read."""


class CuratorError(IsinglassError):
    """A curator cannot be set up as asked, or an answer that was paid for could not be computed."""


class LedgerError(IsinglassError):
    """A ledger cannot be used: damaged, older than its noted head, or under another contract."""


class BudgetError(IsinglassError):
    """The budget does not allow a query; nothing was spent. Decided by queries alone.

    `asked`, `spent` and `left` are millionths of epsilon at the place asked about, `row` the
    query's position in its batch.
    """

    def __init__(self, text: str, *, asked: int, spent: int, left: int, row: int = 0) -> None:
        super().__init__(text)
        self.asked, self.spent, self.left, self.row = asked, spent, left, row


class PrivacyWarning(UserWarning):
    """A setting makes a release tell more than its owner may think.

    `public` is what a release's metadata may say of it, where the text is for its owner alone.
    """

    def __init__(self, text: str, *, public: str | None = None) -> None:
        super().__init__(text)
        self.public = text if public is None else public


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
