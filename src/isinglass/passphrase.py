"""Encryption of private files by a passphrase: Scrypt and AES-GCM."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from isinglass.errors import KeyFileError

# Scrypt at 2^15 blocks takes about a tenth of a second and 32 MiB: slow for a guesser, not for us.
COST = {"n": 2**15, "r": 8, "p": 1}
_MOST_BYTES, _MOST_LANES = 256 << 20, 16


def seal(plain: bytes, passphrase: str, *, bound: bytes) -> tuple[bytes, bytes, bytes]:
    """Salt, nonce and `plain` encrypted; `bound` stays in the clear and must not change."""
    if not passphrase:
        raise KeyFileError("the passphrase is empty; give one, or write the key without")
    salt, nonce = os.urandom(16), os.urandom(12)
    return salt, nonce, _cipher(passphrase, salt, COST).encrypt(nonce, plain, bound)


def unseal(
    sealed: bytes,
    passphrase: str,
    *,
    salt: bytes,
    nonce: bytes,
    cost: Mapping[str, Any],
    bound: bytes,
    name: str,
) -> bytes:
    """What was sealed in the file of this name; each way of failing has its own sentence."""
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(_cipher(passphrase, salt, cost).decrypt(nonce, sealed, bound))
    except InvalidTag:
        raise KeyFileError(
            f"key file {name} does not open: the passphrase is wrong, or the file was changed"
        ) from None
    except (LookupError, TypeError, ValueError, OverflowError):
        raise KeyFileError(f"key file {name} is damaged: its lock cannot be read") from None


def _cipher(passphrase: str, salt: bytes, cost: Mapping[str, Any]) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    n, r, p = (int(cost[name]) for name in "nrp")
    if min(n, r, p) < 1 or 128 * n * r > _MOST_BYTES or p > _MOST_LANES:
        raise KeyFileError("the key file asks for an unreasonable amount of work to open")
    return AESGCM(Scrypt(salt=salt, length=32, n=n, r=r, p=p).derive(passphrase.encode()))
