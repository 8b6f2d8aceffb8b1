"""Model file: a small zip of documents with their digests and a signature.

`manifest.json` names the other entries with their SHA-256, and carries the signature. Names,
order, dates and modes in the zip are fixed, so that its bytes follow from the documents alone. What
is read may be forged: every size is bounded before anything is unpacked, and nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import struct
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isinglass import field_checks, files
from isinglass.documents import canonical_json, read_json
from isinglass.errors import ModelError
from isinglass.signing import Signer, SigningKey

FORMAT = "isinglass-model-1"
MANIFEST = "manifest.json"
#: The entries in their order, and the most bytes of each once unpacked; those that must be there.
ENTRIES = {
    "model.json": 4 << 20,
    "card.json": 4 << 20,
    "model.onnx": 64 << 20,
    "score.html": 32 << 20,
}
NEEDED = ("model.json", "card.json")
MOST_BYTES = 64 << 20  # of the file
LONGEST_NAME = 100
_MOST_MANIFEST = 1 << 16
_SIGNED = b"isinglass model manifest\n"  # a signature of this is never one of something else
#: the record at the end of a zip, and the most bytes of the listing before it
_END, _MOST_LISTING = struct.Struct("<4s4H2LH"), 1 << 12
_LOCAL = struct.Struct("<4s5H3L2H")  # the record before each entry, without the name
_DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a model file holds: documents by their names, and who vouches for them.

    `name` is what the owner calls the model, and all later versions of it.
    """

    name: str
    entries: dict[str, bytes] = field(repr=False)
    signer: Signer | None = None


def pack(name: str, entries: dict[str, bytes], *, key: SigningKey | None = None) -> bytes:
    """The bytes of a model file, signed if there is a key."""
    if not set(NEEDED) <= set(entries) <= set(ENTRIES):
        raise ValueError(f"entries must be {', '.join(ENTRIES)}, got {', '.join(entries)}")
    check_name(name)
    for entry, data in entries.items():
        if len(data) > ENTRIES[entry]:
            raise ModelError(f"the model is too large: {entry} has {len(data):,} bytes")
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "entries": {e: hashlib.sha256(data).hexdigest() for e, data in entries.items()},
        "signer": None if key is None else key.signer.public.hex(),
    }
    if key is not None:
        manifest["signature"] = key.sign(_SIGNED + canonical_json(manifest)).hex()
    whole = {MANIFEST: canonical_json(manifest)} | {e: entries[e] for e in ENTRIES if e in entries}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for entry, data in whole.items():
            about = zipfile.ZipInfo(entry, _DATE)
            about.compress_type, about.create_system = zipfile.ZIP_DEFLATED, 3
            about.external_attr = _MODE
            zipped.writestr(about, data, compresslevel=9)
    return buffer.getvalue()


def write(path: str | Path, data: bytes, *, force: bool = True) -> None:
    """Put the file in place, whole or not at all."""
    with files.whole_file(path, force=force) as temporary:
        temporary.write_bytes(data)


def read(path: str | Path) -> ModelFile:
    """Read a model file whose entries are all as its manifest says, and its signature valid.

    That says nothing yet about whose signature it is.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return unpack(data)
    except ValueError as error:
        raise ModelError(f"{path} is not a model file that can be used: {error}") from None


def unpack(data: bytes) -> ModelFile:
    """What the bytes of a model file hold; a ValueError says what is wrong with them."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES >> 20} MiB")
    entries = _unzipped(data)
    manifest = field_checks.section(read_json(entries.pop(MANIFEST)), "its manifest")
    if manifest.get("format") != FORMAT:
        raise ValueError("it is of a format or a version not known here")
    signature = manifest.pop("signature", None)
    name = check_name(manifest.get("name"))
    digests = field_checks.section(manifest.get("entries"), "the entries of its manifest")
    if set(manifest) != {"format", "name", "entries", "signer"} or set(digests) != set(entries):
        raise ValueError("its manifest does not name what is in it")
    for entry, digest in digests.items():
        found = hashlib.sha256(entries[entry]).hexdigest()
        if not isinstance(digest, str) or not hmac.compare_digest(found.encode(), digest.encode()):
            raise ValueError(f"{entry} was changed after the manifest was written")
    if manifest["signer"] is None:
        if signature is not None:
            raise ValueError("it has a signature of nobody")
        return ModelFile(name, entries)
    signer = Signer(_hex(manifest["signer"]))
    if not signer.vouches_for(_SIGNED + canonical_json(manifest), _hex(signature)):
        raise ValueError("its signature is not that of its signer: it was changed, or is forged")
    return ModelFile(name, entries, signer)


def check_name(name: Any) -> str:
    """The name of a model, which stands in messages and cards; a ValueError if it is unfit."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError(f"the name must be a printable text of 1 to {LONGEST_NAME} characters")
    return name


def _hex(value: Any) -> bytes:
    try:
        return bytes.fromhex(field_checks.word(value, "the signature", longest=128))
    except ValueError:
        raise ValueError("its signature cannot be read") from None


def _unzipped(data: bytes) -> dict[str, bytes]:
    """The entries of a zip that is laid out as ours are; sizes are looked at before any content."""
    _refuse_long_listing(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            listed = zipped.infolist()
            if not 0 < len(listed) <= len(ENTRIES) + 1:
                raise ValueError("its entries are not those of a model")
            limits = ENTRIES | {MANIFEST: _MOST_MANIFEST}
            names = [about.filename for about in listed]
            if len(set(names)) < len(names) or not set(names) <= set(limits):
                raise ValueError("its entries are not those of a model")
            if not {MANIFEST, *NEEDED} <= set(names):
                raise ValueError("it lacks what a model needs")
            for about in listed:
                _refuse_unlike_ours(about, limits[about.filename])
            if zipped.comment:
                raise ValueError("it holds more than its entries")
            found, at = {}, 0
            for about in listed:
                found[about.filename], at = _content(data, about, at)
            if at != zipped.start_dir:
                raise ValueError("it holds more than its entries")
            return found
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, OSError, UnicodeError):
        raise ValueError("it is truncated, damaged or no zip at all") from None
    except (NotImplementedError, RuntimeError, LookupError, OverflowError):
        raise ValueError("it is zipped in a way that models are not") from None


def _refuse_long_listing(data: bytes) -> None:
    """The listing at the end of a zip may be made to cost memory before anybody looks at it."""
    end = data[-_END.size :]
    if len(end) < _END.size or not end.startswith(b"PK\x05\x06"):
        raise ValueError("it is truncated, damaged or no zip at all")
    count, size, start = _END.unpack(end)[4:7]
    if count > len(ENTRIES) + 1 or size > _MOST_LISTING or data[-42:-38] == b"PK\x06\x07":
        raise ValueError("its entries are not those of a model")
    if start + size + _END.size != len(data):
        raise ValueError("it holds more than its entries")


def _refuse_unlike_ours(about: zipfile.ZipInfo, limit: int) -> None:
    if about.flag_bits & 0x1:
        raise ValueError(f"{about.filename} is encrypted")
    if about.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is zipped in a way that models are not")
    if about.file_size > limit:
        raise ValueError(f"{about.filename} would be larger than {limit >> 10:,} KiB")
    if about.flag_bits or about.comment or about.extra or about.is_dir():
        raise ValueError("it holds more than its entries")


def _content(data: bytes, about: zipfile.ZipInfo, at: int) -> tuple[bytes, int]:
    """The content of an entry that begins at byte `at`, and the byte after it.

    Entries lie end to end, and the record before each says what the listing says: else readers
    that go from entry to entry, as some do, would find another model than those that go by the
    listing.
    """
    name = about.filename.encode("ascii")
    begin = at + _LOCAL.size + len(name)
    end = begin + about.compress_size
    head, packed = data[at:begin], data[begin:end]
    kind, sizes = about.compress_type, (about.compress_size, about.file_size)
    said = (about.flag_bits, kind, about.CRC, *sizes, len(name), 0)
    if about.header_offset != at or len(head) < begin - at or len(packed) < end - begin:
        raise ValueError("it holds more than its entries")
    magic, _, flags, method, _, _, *numbers = _LOCAL.unpack_from(head)
    if (magic, head[_LOCAL.size :]) != (b"PK\x03\x04", name) or (flags, method, *numbers) != said:
        raise ValueError("its entries are not as it lists them")
    found = packed
    if kind == zipfile.ZIP_DEFLATED:
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        found = unpacker.decompress(packed, about.file_size + 1)
        if unpacker.unused_data:
            raise ValueError("it holds more than its entries")
    if len(found) != about.file_size:
        raise ValueError(f"{about.filename} is not as long as it says")
    if zlib.crc32(found) != about.CRC:
        raise ValueError("it is truncated, damaged or no zip at all")
    return found, end
