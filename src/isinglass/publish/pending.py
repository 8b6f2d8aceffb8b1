"""Token of a request for fresh noise, kept until its model is written.

Fresh noise is asked for by a request that nobody made before, so it is named by a random token. It
is noted before anything is paid: the same command, typed again after it was killed, finds what it
paid for.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
from pathlib import Path

from isinglass import files
from isinglass.documents import canonical_json
from isinglass.errors import ModelError

_TOKEN = re.compile(r"[0-9a-f]{16}")


class PendingRequest:
    """The token of one request to one ledger, in the owner's own folder."""

    def __init__(self, ledger: str, request: str) -> None:
        digest = hashlib.sha256(canonical_json([ledger, request])).hexdigest()
        self._path: Path = files.home() / "requests" / digest[:32]

    def token(self) -> str:
        """The token that is noted, or a new one, which is noted first."""
        try:
            while (found := self._noted()) is None:
                with contextlib.suppress(FileExistsError):  # the same command runs beside this one
                    files.write_new(self._path, secrets.token_hex(8).encode())
        except OSError as error:
            raise ModelError(f"{self._path} cannot be used: {error.strerror}") from None
        return found

    def end(self) -> None:
        """Forget the token: what it paid for is written, or never will be."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise ModelError(f"{self._path} cannot be removed: {error.strerror}") from None

    def _noted(self) -> str | None:
        try:
            found = self._path.read_bytes().decode("ascii", "replace")
        except FileNotFoundError:
            return None
        if not _TOKEN.fullmatch(found):  # damaged: nothing was ever paid under it
            self._path.unlink(missing_ok=True)
            return None
        return found
