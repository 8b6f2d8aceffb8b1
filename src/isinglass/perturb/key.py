"""Key files: arrays and facts, private to their owner, optionally locked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import field_checks, files
from isinglass.documents import read_json
from isinglass.errors import KeyFileError, PrivacyWarning
from isinglass.messages import warn
from isinglass.table.reading import RememberedReading

FORMAT = "isinglass-key-1"


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
    from isinglass.passphrase import COST, seal  # only for a locked key

    salt, nonce, sealed = seal(plain, passphrase, bound=_bound(header))
    lock = {**header, "salt": salt.hex(), "nonce": nonce.hex(), "scrypt": json.dumps(COST)}
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
    try:
        salt, nonce = bytes.fromhex(header["salt"]), bytes.fromhex(header["nonce"])
        cost = field_checks.section(read_json(header["scrypt"]), "scrypt")
    except (LookupError, TypeError, ValueError):
        raise KeyFileError(f"key file {path} is damaged: its lock cannot be read") from None
    from isinglass.passphrase import unseal

    plain = unseal(
        arrays["sealed"].tobytes(), passphrase,
        salt=salt, nonce=nonce, cost=cost, bound=_bound(header), name=str(path),
    )  # fmt: skip
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
    RememberedReading.from_json(facts.get("reading", {}))
    for name, values in field_checks.section(facts.get("categories", {}), "categories").items():
        if not isinstance(values, list) or any(isinstance(v, list | dict) for v in values):
            raise ValueError(f"the categories of {name} must be a list of values")
    return facts


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
