"""Public matrix of a study, expanded from published facts."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isinglass.documents import read_json
from isinglass.errors import ReleaseError
from isinglass.files import whole_file
from isinglass.formats import shorten

FORMAT = "isinglass-public-matrix-1"
#: A matrix is expanded whole, and a few bytes in a file decide how large that is.
MOST_FEATURES = 100_000
_LONGEST = 1_000  # characters of a study's name, and of a seed


@dataclass(frozen=True, slots=True)
class PublicMatrix:
    """A study's public matrix, by the few facts from which everybody expands the same one.

    Because the entries come out of a hash, whoever opens a study cannot choose them freely, and
    a participant who expands them again needs no trust in the file.

    Examples
    --------
    >>> matrix = ig.public_matrix(3, 2, seed='c0ffee' * 6)
    >>> matrix.matrix.shape
    (2, 3)
    >>> ig.PublicMatrix.from_json(matrix.to_json()) == matrix
    True
    """

    n_features: int
    n_components: int
    study: str
    seed: str  # hexadecimal

    def __post_init__(self) -> None:
        for name in ("n_features", "n_components"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise ValueError(f"{name} must be a whole number, got {shorten(repr(value))}")
            if value > MOST_FEATURES:
                raise ValueError(f"{name} must be <= {MOST_FEATURES}, got {value}")
        if self.n_features < 2:
            raise ValueError(
                f"a public matrix needs n_features >= 2, got n_features={self.n_features}"
            )
        if not 1 <= self.n_components < self.n_features:
            raise ValueError(
                f"n_components must be >= 1 and < n_features={self.n_features}, "
                f"got {self.n_components}"
            )
        if not isinstance(self.study, str) or len(self.study) > _LONGEST:
            raise ValueError(f"study must be a string of at most {_LONGEST} characters")
        if not isinstance(self.seed, str) or not self.seed or not _is_hex(self.seed):
            raise ValueError("seed must be a string of whole bytes in lower-case hexadecimal")
        if len(self.seed) > _LONGEST:
            raise ValueError(f"seed must be a string of at most {_LONGEST} characters")

    @property
    def matrix(self) -> NDArray[np.float64]:
        """T, w x n: 53-bit fractions in [0, 1), read off SHAKE-256, the same on every machine."""
        shape = (self.n_components, self.n_features)
        stream = hashlib.shake_256(self._encoded()).digest(8 * shape[0] * shape[1])
        words = np.frombuffer(stream, dtype=">u8") >> np.uint64(11)
        return (words.astype(np.float64) * 2.0**-53).reshape(shape)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what the matrix is expanded from."""
        return hashlib.sha256(self._encoded()).hexdigest()

    def _encoded(self) -> bytes:
        # Every part is preceded by its length, so no two sets of facts share an encoding.
        parts = (
            FORMAT.encode(),
            self.study.encode(),
            self.n_features.to_bytes(8, "big"),
            self.n_components.to_bytes(8, "big"),
            bytes.fromhex(self.seed),
        )
        return b"".join(len(part).to_bytes(8, "big") + part for part in parts)

    def to_json(self) -> dict[str, Any]:
        """The facts as JSON can hold them, with the fingerprint as a check."""
        return {
            "format": FORMAT,
            "study": self.study,
            "n_features": self.n_features,
            "n_components": self.n_components,
            "seed": self.seed,
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """The opposite of `to_json`; facts that do not match their fingerprint are an error."""
        if not isinstance(facts, Mapping) or facts.get("format") != FORMAT:
            raise ValueError(f"not a public matrix: its format must be {FORMAT!r}")
        names = ("n_features", "n_components", "study", "seed")
        missing = [name for name in (*names, "fingerprint") if name not in facts]
        if missing:
            raise ValueError(f"the public matrix lacks {', '.join(missing)}")
        found = cls(**{name: facts[name] for name in names})
        if found.fingerprint != facts["fingerprint"]:
            raise ValueError("the public matrix does not match its fingerprint: it was changed")
        return found

    def to_text(self) -> str:
        """What `save` writes."""
        return json.dumps(self.to_json(), indent=2) + "\n"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the facts as JSON; they are public."""
        with whole_file(path, force=force) as temporary:
            temporary.write_text(self.to_text(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        try:
            return cls.from_json(read_json(Path(path).read_bytes()))
        except OSError as error:
            raise ReleaseError(f"public matrix {path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise ReleaseError(f"public matrix {path} cannot be used: {error}") from None


def _is_hex(text: str) -> bool:
    return len(text) % 2 == 0 and not set(text) - set("0123456789abcdef")


def public_matrix(
    n_features: int,
    n_components: int | None = None,
    *,
    study: str = "isinglass",
    seed: str | None = None,
    preset: str | None = None,
    force: bool = False,
) -> PublicMatrix:
    """Make the public matrix of a study whose tables have `n_features` columns.

    It has (n + 1) // 2 rows unless told otherwise. More make a linear filter that isolates small
    groups of columns possible; they are refused without `force`. `preset="paper"` is the
    published n - 1. A seed of one's own is a hexadecimal string; else it is drawn.

    Examples
    --------
    >>> ig.public_matrix(5, 3, study='sensors', seed='c0ffee')
    PublicMatrix(n_features=5, n_components=3, study='sensors', seed='c0ffee')
    """
    if preset not in (None, "paper"):
        raise ValueError(f"preset must be None or 'paper', got {preset!r}")
    if preset == "paper" and n_components is not None:
        raise ValueError(f"preset='paper' sets n_components; leave it out, got {n_components}")
    safe = (n_features + 1) // 2
    width = n_components
    if width is None:
        width = n_features - 1 if preset == "paper" else safe
    if width > safe and preset != "paper" and not force:
        raise ValueError(
            f"n_components must be <= (n_features + 1) // 2 = {safe}, got {width}: more let "
            "anyone with the public matrix recover most of the variance; pass force=True, or "
            "preset='paper' for the published n - 1"
        )
    seed = secrets.token_hex(32) if seed is None else seed.lower()
    # numpy's whole numbers are welcome; their bytes are not, so they become Python's.
    return PublicMatrix(int(n_features), int(width), study, seed)
