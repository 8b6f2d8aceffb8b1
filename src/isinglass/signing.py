"""Ed25519 signatures of files that are handed over, and the signers this machine trusts.

A signature says that whoever holds a private key vouches for a file. It proves nothing to a reader
who does not know whose key that is: so a reader names the signer, or the signer of a name's first
file is noted, and every later file of that name must have the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isinglass import field_checks, files
from isinglass.documents import canonical_json, read_json
from isinglass.errors import KeyFileError, ModelError, PrivacyWarning
from isinglass.messages import spell, warn
from isinglass.passphrase import COST, seal, unseal

PRIVATE_FORMAT, PUBLIC_FORMAT = "isinglass-signing-key-1", "isinglass-signer-1"
#: files of the private key and of the public one
PUBLIC_ENDING = ".pub"
_MOST_BYTES = 1 << 16  # of a key file
_FINGERPRINT = re.compile(r"[0-9a-f]{40}")
_PINS = "signers.jsonl"
_P = 2**255 - 19  # of the field of Ed25519
_Y8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
#: y of the eight points of which 8 times the point is nothing: a signature by one of them, of any
#: text, can be made by anybody, so they are nobody's.
_SMALL_ORDER = frozenset({0, 1, _P - 1, _Y8, _P - _Y8})


@dataclass(frozen=True, slots=True)
class Signer:
    """Whoever holds a private key, by the public one."""

    public: bytes

    def __post_init__(self) -> None:
        if len(self.public) != 32:
            raise ValueError("a public key must be 32 bytes")
        y = int.from_bytes(self.public, "little") & (1 << 255) - 1
        if y >= _P or y in _SMALL_ORDER:
            raise ValueError("a public key must be one that somebody can hold the private half of")

    @property
    def fingerprint(self) -> str:
        """What two people compare, on the telephone too: 40 digits, four at a time."""
        digits = hashlib.sha256(self.public).hexdigest()[:40]
        return "-".join(digits[i : i + 4] for i in range(0, 40, 4))

    def vouches_for(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature is this signer's, of this message."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key; its bytes never print."""

    private: bytes = field(repr=False)

    @classmethod
    def draw(cls) -> SigningKey:
        """A new key, drawn by the operating system."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate().private_bytes_raw())

    @property
    def signer(self) -> Signer:
        """The public side."""
        return Signer(self._key().public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """The signature of a message; the same key and message give the same."""
        return bytes(self._key().sign(message))

    def _key(self) -> Any:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.private)


def write_keys(
    path: str | Path, key: SigningKey, *, passphrase: str | None = None, force: bool = False
) -> Path:
    """Write the private key for its owner alone, and the public one beside it; the latter's name.

    Neither replaces a file unless forced.
    """
    path = Path(path)
    public = path.with_name(path.name + PUBLIC_ENDING)
    for target in (path, public):
        files.refuse_unwritable(target, force=force)
    facts: dict[str, Any] = {"format": PRIVATE_FORMAT, "public": key.signer.public.hex()}
    if passphrase is None:
        facts["private"] = key.private.hex()
    else:
        salt, nonce, sealed = seal(key.private, passphrase, bound=_bound(facts))
        facts |= {"salt": salt.hex(), "nonce": nonce.hex(), "sealed": sealed.hex()}
        facts["scrypt"] = COST
    with files.whole_file(path, mode=files.OWNER_ONLY, force=force) as temporary:
        temporary.write_bytes(_lines(facts))
    known = {"format": PUBLIC_FORMAT, "public": key.signer.public.hex()}
    with files.whole_file(public, force=force) as temporary:
        temporary.write_bytes(_lines(known | {"fingerprint": key.signer.fingerprint}))
    return public


def read_signing_key(path: str | Path, *, passphrase: str | None = None) -> SigningKey:
    """Read a private key; each way of failing has its own sentence."""
    path = Path(path)
    facts = _read(path, PRIVATE_FORMAT, "a signing key")
    if files.open_to_others(path):
        text = f"key file {path} can be read by other users of this machine; run chmod 600 on it"
        warn(PrivacyWarning(text, public=""))
    try:
        public = bytes.fromhex(facts["public"])
        if "private" in facts:
            private = bytes.fromhex(facts["private"])
        else:
            parts = {name: bytes.fromhex(facts[name]) for name in ("sealed", "salt", "nonce")}
            cost = field_checks.section(facts["scrypt"], "scrypt")
    except (LookupError, TypeError, ValueError):
        raise KeyFileError(f"key file {path} is damaged") from None
    if "private" not in facts:
        if passphrase is None:
            raise KeyFileError(f"key file {path} is locked; give its passphrase")
        sealed, bound = parts.pop("sealed"), _bound(facts)
        private = unseal(sealed, passphrase, **parts, cost=cost, bound=bound, name=str(path))
    key = SigningKey(private)
    if len(private) != 32 or key.signer.public != public:
        raise KeyFileError(f"key file {path} is damaged: its two halves do not belong together")
    return key


def read_signer(given: str | Path) -> str:
    """The fingerprint that is written out, or that of a public key file."""
    digits = str(given).replace("-", "").replace(":", "").replace(" ", "").lower()
    if _FINGERPRINT.fullmatch(digits):
        return "-".join(digits[i : i + 4] for i in range(0, 40, 4))
    facts = _read(Path(given), PUBLIC_FORMAT, "a public key")
    try:
        return Signer(bytes.fromhex(facts["public"])).fingerprint
    except (LookupError, TypeError, ValueError):
        raise KeyFileError(f"key file {given} is damaged") from None


def check_signer(
    signer: Signer | None,
    *,
    name: str,
    file: str,
    wanted: str | Path | None = None,
    unsigned: bool = False,
    say: Callable[[str], object] = lambda text: None,
) -> None:
    """Refuse a file whose signer is not the one wanted or, without one, not that of its name.

    The first signer of a name is noted in the user's folder and said; so is one that is wanted.
    Without any signature a file is refused unless `unsigned`.
    """
    if signer is None:
        if wanted is not None or not unsigned:
            allow = "" if wanted is not None else f", or pass {spell('unsigned', True)}"
            raise ModelError(
                f"{file} is not signed, so anybody may have made or changed it; ask its owner for "
                f"a signed one{allow}"
            )
        say(f"warning: {file} is not signed: anybody may have made or changed it")
        return
    found = signer.fingerprint
    pins = Pins()
    if wanted is not None:
        if read_signer(wanted) != found:
            raise ModelError(f"{file} is signed by {found}, not by the signer given; do not use it")
        pins.note(name, found)
        return
    before = pins.noted(name)
    if before is None:
        pins.note(name, found)
        say(
            f"signer   {found}, noted at first use of the name {name}: compare it with its owner, "
            "because by itself a signature proves nothing"
        )
    elif before != found:
        raise ModelError(
            f"{file} is signed by {found}, but {name} was signed by {before} until now; ask its "
            f"owner, and name the new one in {spell('signer')} if that is meant"
        )


class Pins:
    """The signer that each name had when it was first read, in the user's folder; last one wins.

    Beside it, the versions of that name that were read, by who signed them.
    """

    def __init__(self) -> None:
        self._path = files.home() / _PINS

    def noted(self, name: str) -> str | None:
        """The fingerprint that belongs to a name, if there is one."""
        signers = [facts["signer"] for facts in self._of(name)]
        return signers[-1] if signers else None

    def note(self, name: str, fingerprint: str) -> None:
        """Note the signer of a name from now on."""
        if self.noted(name) != fingerprint:
            self._add({"name": name, "signer": fingerprint})

    def newest(self, name: str, fingerprint: str) -> int:
        """The newest version of a name that was read here with this signer's signature, or 0."""
        versions = [f.get("version") for f in self._of(name) if f["signer"] == fingerprint]
        return max((v for v in versions if type(v) is int), default=0)

    def note_version(self, name: str, fingerprint: str, version: int) -> None:
        """Note that a version was read, whose signer is the one of its name."""
        if self.newest(name, fingerprint) < version:
            self._add({"name": name, "signer": fingerprint, "version": version})

    def _of(self, name: str) -> list[dict[str, Any]]:
        """What is noted of a name, in its order."""
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ModelError(f"{self._path} cannot be read: {error.strerror}") from None
        found = []
        for line in lines:
            try:
                facts = read_json(line)
                if facts["name"] == name and isinstance(facts["signer"], str):
                    found.append(facts)
            except (ValueError, LookupError, TypeError):
                continue  # a line that a crash cut short
        return found

    def _add(self, facts: dict[str, Any]) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with files.open_to_append(self._path) as handle:
                files.append_line(handle, json.dumps(facts))
        except OSError as error:
            raise ModelError(f"{self._path} cannot be written: {error.strerror}") from None


def _lines(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, indent=1).encode() + b"\n"


def _bound(facts: dict[str, Any]) -> bytes:
    """What stands in the clear is bound to the locked part: changing it fails to open."""
    return canonical_json([facts["format"], facts["public"]])


def _read(path: Path, kind: str, what: str) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}") from None
    try:
        facts = field_checks.section(read_json(data[:_MOST_BYTES]), "it")
    except ValueError:
        facts = {}
    if facts.get("format") == kind:
        return facts
    kinds = {PRIVATE_FORMAT: ", but a private one", PUBLIC_FORMAT: ", but a public one"}
    other = kinds.get(str(facts.get("format")), "")
    raise KeyFileError(f"{path} is not {what} of isinglass{other}")
