"""Releases of the same rows that the owner's register knows, and the files that are among them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from isinglass.release import Facts

Array = NDArray[Any]
Digest = Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class EarlierReleases:
    """How many other releases there are, and which files count as one of them.

    `n_others` is None where the register knows none. A file counts by its digest; so many others
    count as they are named, as the register has as many lines without a digest, or knows nothing
    of these rows (None). None counts twice, and this release does not.
    """

    n_others: int | None
    digest_of: Digest = field(repr=False)
    own: str = field(repr=False)
    digests: frozenset[str] = field(default=frozenset(), repr=False)
    n_unnamed: int | None = None

    def unknown(self, paths: Iterable[Path]) -> list[Path]:
        """Those of the files that are no other release of these rows."""
        seen, left, found = {self.own}, self.n_unnamed, []
        for path in paths:
            digest = self.digest_of(path)
            unnamed = digest not in self.digests
            if digest in seen or (unnamed and left == 0):
                found.append(path)
            elif unnamed and left is not None:
                left -= 1
            seen.add(digest)
        return found


def earlier_releases(
    X: Array | None, names: Sequence[str], release: Path, facts: Facts | None
) -> EarlierReleases:
    """What the register knows of the rows X; None for rows that it is not asked about.

    A release that says that its rows had left before has at least one other, unless the register
    says of an earlier one that it never left.
    """
    from isinglass.release_register import Register

    if X is None or not Register.begun():
        return EarlierReleases(None, _plain_digest, _plain_digest(release))
    register = Register()
    prints = register.fingerprinter(names)
    prints.add(X)
    same = prints.result()
    found, own = register.earlier(same), register.file_digest(release)
    digests = {entry.digest for entry in found if entry.digest is not None}
    itself = own in digests or release.name in {Path(entry.release).name for entry in found}
    explained = bool(register.never_left(same))
    again = facts is not None and facts.again and not explained
    n_others: int | None = max(len(found) - itself, int(again))
    if not n_others and not explained:
        n_others = None
    unnamed = None
    if found:  # of lines without a digest one is this release's, where none with one is
        unnamed = sum(entry.digest is None for entry in found) - (itself and own not in digests)
        unnamed = max(unnamed, 0)
    return EarlierReleases(
        n_others, register.file_digest, own, frozenset(digests), unnamed
    )  # fmt: skip


def _plain_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
