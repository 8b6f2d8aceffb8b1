"""Key files: arrays and facts, private to their owner, optionally locked."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import field_checks, files
from isinglass.documents import read_json
from isinglass.errors import KeyFileError, PrivacyWarning
from isinglass.messages import warn

FORMAT = "isinglass-key-1"
# Scrypt at 2^15 blocks takes about a tenth of a second and 32 MiB: slow for a guesser, not for us.
_SCRYPT = {"n": 2**15, "r": 8, "p": 1}


@dataclass(frozen=True, slots=True)
class KeyFile:
    """What a key file holds; `facts` and `arrays` are secret and never print."""

    method: str
    facts: dict[str, Any] = field(repr=False)
    arrays: dict[str, NDArray[Any]] = field(repr=False)


def write_key(
    path: str | Path, key: KeyFile, *, passphrase: str | None = None, force: bool = False
) -> None:
    """Write `key` with mode 0600, whole or not at all; over an existing file only when forced."""
    with files.whole_file(path, mode=files.OWNER_ONLY, force=force) as temporary:
        temporary.write_bytes(pack(key, passphrase))


def pack(key: KeyFile, passphrase: str | None = None) -> bytes:
    """The bytes of a key file."""
    from safetensors.numpy import save

    header = {"format": FORMAT, "method": key.method}
    arrays = {name: np.ascontiguousarray(value) for name, value in key.arrays.items()}
    plain: bytes = save(arrays, metadata={**header, "facts": json.dumps(key.facts)})
    if passphrase is None:
        return plain
    if not passphrase:
        raise KeyFileError("the passphrase is empty; give one, or write the key without")
    salt, nonce = os.urandom(16), os.urandom(12)
    lock = {**header, "salt": salt.hex(), "nonce": nonce.hex(), "scrypt": json.dumps(_SCRYPT)}
    sealed = _cipher(passphrase, salt, _SCRYPT).encrypt(nonce, plain, _bound(lock))
    return bytes(save({"sealed": np.frombuffer(sealed, dtype=np.uint8)}, metadata=lock))


def read_key(path: str | Path, *, passphrase: str | None = None) -> KeyFile:
    """Read a key file; each way of failing has its own sentence."""
    path = Path(path)
    try:
        data = path.read_bytes()
        loose = files.open_to_others(path)
    except OSError as error:
        raise KeyFileError(f"key file {path} cannot be read: {error.strerror}") from None
    if loose:
        text = f"key file {path} can be read by other users of this machine; run chmod 600 on it"
        # Nothing a release should say: it is about the owner's machine.
        warn(PrivacyWarning(text, public=""))
    header, arrays = _parse(data, path)
    if "sealed" not in arrays:
        return _opened(header, arrays, path)
    if passphrase is None:
        raise KeyFileError(f"key file {path} is locked; give its passphrase")
    from cryptography.exceptions import InvalidTag

    try:
        cipher = _cipher(passphrase, bytes.fromhex(header["salt"]), read_json(header["scrypt"]))
        plain = cipher.decrypt(
            bytes.fromhex(header["nonce"]), arrays["sealed"].tobytes(), _bound(header)
        )
    except InvalidTag:
        raise KeyFileError(
            f"key file {path} does not open: the passphrase is wrong, or the file was changed"
        ) from None
    except (LookupError, TypeError, ValueError, OverflowError):
        raise KeyFileError(f"key file {path} is damaged: its lock cannot be read") from None
    return _opened(*_parse(plain, path), path)


def _opened(header: dict[str, str], arrays: dict[str, NDArray[Any]], path: Path) -> KeyFile:
    try:
        facts = _checked(field_checks.section(read_json(header["facts"]), "facts"))
        return KeyFile(field_checks.word(header["method"], "method"), facts, arrays)
    except (LookupError, TypeError, ValueError):
        raise KeyFileError(f"key file {path} is damaged: its facts cannot be read") from None


def _checked(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts of the kinds that their readers count on; some are not in every key file."""
    field_checks.section(facts["parameters"], "parameters")
    field_checks.whole(facts["n_features"], "n_features", least=1, most=field_checks.MOST_NAMES)
    field_checks.names(facts["names"], "names")
    field_checks.flag(facts["seeded"], "seeded")
    for name in ("columns", "one_hot"):
        field_checks.names(facts.get(name, []), name)
    for name, values in field_checks.section(facts.get("categories", {}), "categories").items():
        if not isinstance(values, list) or any(isinstance(v, list | dict) for v in values):
            raise ValueError(f"the categories of {name} must be a list of values")
    return facts


def _cipher(passphrase: str, salt: bytes, cost: dict[str, int]) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    n, r, p = (int(cost[name]) for name in "nrp")
    if min(n, r, p) < 1 or 128 * n * r > 256 << 20 or p > 16:
        raise KeyFileError("the key file asks for an unreasonable amount of work to open")
    return AESGCM(Scrypt(salt=salt, length=32, n=n, r=r, p=p).derive(passphrase.encode()))


def _bound(header: dict[str, str]) -> bytes:
    """What stands in the clear is bound to the locked part: changing it fails to open."""
    return json.dumps([header["format"], header["method"]]).encode()


def _parse(data: bytes, path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        # A file of ours that was cut short still begins like one: a small length, then JSON.
        ours = len(data) < 8 or (size < 1 << 24 and data[8:9] in (b"{", b""))
        if not ours:
            raise KeyFileError(f"{path} is not an isinglass key file")
        raise KeyFileError(f"key file {path} is truncated: it ends inside its header")
    try:
        header = read_json(data[8 : 8 + size])["__metadata__"]
        known = header["format"] == FORMAT
    except (ValueError, LookupError, TypeError):
        raise KeyFileError(f"{path} is not an isinglass key file") from None
    if not known:
        raise KeyFileError(f"{path} is not an isinglass key file of a version known here")
    try:
        return header, load(data)
    except (SafetensorError, ValueError):
        raise KeyFileError(
            f"key file {path} is truncated or damaged: its arrays do not fill it"
        ) from None
