"""Exceptions and warnings of the package."""


class IsinglassError(Exception):
    """Base of our own errors; the text is one sentence that says what to do."""


class TableError(IsinglassError):
    """The table on disk, or in memory, cannot be used as it is."""


class KeyFileError(IsinglassError):
    """A key file is damaged, locked, of another method, or in the way."""


class ReleaseError(IsinglassError):
    """A release cannot be made, written or read, or must not be."""


class ModelError(IsinglassError):
    """A model file cannot be written, read or trusted."""


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
