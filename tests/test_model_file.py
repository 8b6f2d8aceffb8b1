"""Model files: the same documents give the same bytes, and nothing else is read."""

import hashlib
import io
import struct
import zipfile

import pytest

from isinglass import model
from isinglass.documents import canonical_json
from isinglass.errors import ModelError
from isinglass.model import ENTRIES, MANIFEST, pack, unpack
from isinglass.signing import SigningKey

DOCUMENTS = {"model.json": b"{}", "card.json": b'{"a":1}'}


def zipped(entries, *, kind=zipfile.ZIP_DEFLATED):
    """A zip of entries in the order given; a name may come twice."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as file:
        for name, data in entries:
            file.writestr(zipfile.ZipInfo(name), data, kind)
    return buffer.getvalue()


def taken_apart(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def manifest(**changes):
    facts = {
        "format": model.FORMAT,
        "name": "m",
        "entries": {n: hashlib.sha256(d).hexdigest() for n, d in DOCUMENTS.items()},
        "signer": None,
    }
    return canonical_json(facts | changes)


def test_documents_come_back_with_their_signer():
    key = SigningKey.draw()
    found = unpack(pack("m", DOCUMENTS, key=key))
    assert (found.name, found.entries, found.signer) == ("m", DOCUMENTS, key.signer)
    assert unpack(pack("m", DOCUMENTS)).signer is None


def test_bytes_follow_from_documents_alone():
    key = SigningKey.draw()
    turned = dict(reversed(DOCUMENTS.items()))
    assert pack("m", DOCUMENTS, key=key) == pack("m", turned, key=key)
    with zipfile.ZipFile(io.BytesIO(pack("m", DOCUMENTS))) as file:
        assert [about.filename for about in file.infolist()] == [MANIFEST, *DOCUMENTS]
        for about in file.infolist():
            assert about.date_time == (1980, 1, 1, 0, 0, 0)
            assert not about.extra
            assert not about.comment


def hostile():
    good = pack("m", DOCUMENTS, key=SigningKey.draw())
    parts = taken_apart(good)
    yield "empty", b""
    yield "no zip", b"not a zip at all, but long enough to be looked at" * 9
    yield "cut", good[:-30]
    yield "cut short", good[: len(good) // 2]
    yield "before", b"#!/bin/sh\n" + good
    yield "after", good + b"more"
    for name in ("../model.json", "/model.json", "a/model.json", "model.json/", "MODEL.JSON"):
        yield f"path {name}", zipped([*parts.items(), (name, b"x")])
        kept = {n: d for n, d in parts.items() if n != "model.json"}
        yield f"instead {name}", zipped([*kept.items(), (name, parts["model.json"])])
    with pytest.warns(UserWarning, match="Duplicate name"):
        yield "twice", zipped([*parts.items(), ("model.json", b"{}")])
    yield "extra", zipped([*parts.items(), ("readme.txt", b"x")])
    yield "lacking", zipped([(n, d) for n, d in parts.items() if n != "card.json"])
    yield "no manifest", zipped([(n, d) for n, d in parts.items() if n != MANIFEST])
    yield "bomb", zipped([*list(parts.items())[:2], ("card.json", bytes(ENTRIES["card.json"] + 1))])
    yield "bzip2", zipped(parts.items(), kind=zipfile.ZIP_BZIP2)
    yield "changed", zipped((parts | {"model.json": b"{ }"}).items())
    yield "unnamed", zipped((parts | {"score.html": b"x"}).items())
    changes = [
        {"format": "other"}, {"name": ""}, {"name": "a\nb"}, {"name": 3}, {"entries": []},
        {"entries": {}}, {"signer": "zz"}, {"signer": 3}, {"signer": "00" * 32},
        {"signer": "00" * 32, "signature": "00" * 64}, {"signature": "00" * 64}, {"more": 1},
        {"entries": {"model.json": 3, "card.json": None}},
        {"entries": {"model.json": "é", "card.json": "é"}},
    ]  # fmt: skip
    for change in changes:
        yield f"manifest {change}", zipped([(MANIFEST, manifest(**change)), *DOCUMENTS.items()])
    yield "manifest no json", zipped([(MANIFEST, b"{"), *DOCUMENTS.items()])
    yield "manifest list", zipped([(MANIFEST, b"[]"), *DOCUMENTS.items()])
    renamed = parts[MANIFEST].replace(b'"name":"m"', b'"name":"n"')
    yield "renamed", zipped((parts | {MANIFEST: renamed}).items())


HOSTILE = dict(hostile())


@pytest.mark.parametrize("kind", HOSTILE)
def test_anything_else_is_refused_in_a_sentence(kind, tmp_path):
    path = tmp_path / "m.zip"
    path.write_bytes(HOSTILE[kind])
    with pytest.raises(ModelError, match=r"^[^\n]*$"):
        model.read(path)


def test_every_flipped_byte_is_seen_or_changes_nothing():
    key = SigningKey.draw()
    good = pack("m", DOCUMENTS, key=key)
    for place in range(len(good)):
        bad = good[:place] + bytes([good[place] ^ 0x41]) + good[place + 1 :]
        try:
            found = unpack(bad)
        except ValueError:
            continue
        # Dates and modes of entries are nobody's business; what is read is what was signed.
        assert (found.name, found.entries, found.signer) == ("m", DOCUMENTS, key.signer)


def test_an_entry_that_says_it_is_encrypted_is_refused():
    data = bytearray(pack("m", DOCUMENTS))
    for start in (b"PK\x03\x04", b"PK\x01\x02"):
        flags = data.index(start) + (6 if start.endswith(b"\x04") else 8)
        data[flags] |= 1
    with pytest.raises(ValueError, match=r"manifest\.json is encrypted"):
        unpack(bytes(data))


def test_an_entry_that_lies_about_its_size_is_refused():
    """A small size in the listing must not let much more be unpacked."""
    entries = [(MANIFEST, b"0" * 100_000), *DOCUMENTS.items()]
    data = bytearray(zipped(entries))
    for start, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = data.index(start) + at
        data[place : place + 4] = struct.pack("<L", 100)
    with pytest.raises(ValueError, match=r"manifest\.json is not as long as it says"):
        unpack(bytes(data))


def with_a_gap(data, place, hidden):
    """A zip with bytes before entry number `place`, or before the listing, which knows of them."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        starts = [about.header_offset for about in file.infolist()] + [file.start_dir]
    listing, at = bytearray(data[starts[-1] :]), 0
    for start in starts[:-1]:
        if start >= starts[place]:
            listing[at + 42 : at + 46] = struct.pack("<L", start + len(hidden))
        at += 46 + struct.unpack("<H", listing[at + 28 : at + 30])[0]
    listing[-6:-2] = struct.pack("<L", starts[-1] + len(hidden))
    return data[: starts[place]] + hidden + data[starts[place] : starts[-1]] + bytes(listing)


@pytest.mark.parametrize("place", range(len(DOCUMENTS) + 2))
def test_no_byte_is_hidden_before_between_or_after_entries(place):
    """A reader that goes from entry to entry would meet a forged one before the signed one."""
    good = pack("m", DOCUMENTS, key=SigningKey.draw())
    assert unpack(with_a_gap(good, place, b"")).entries == DOCUMENTS
    forged = zipped([("model.onnx", b"forged")])
    entry = forged[: forged.index(b"PK\x01\x02")]
    for hidden in (b"x", entry):
        bad = with_a_gap(good, place, hidden)
        assert taken_apart(bad) == taken_apart(good)  # Python's zipfile sees nothing
        with pytest.raises(ValueError, match="it holds more than its entries"):
            unpack(bad)


def test_no_byte_is_hidden_after_what_is_compressed():
    good = pack("m", DOCUMENTS)
    end = good.index(b"PK\x03\x04", 1)  # of the first entry
    data = bytearray(with_a_gap(good, 1, b"hidden"))
    for start, at in ((b"PK\x03\x04", 18), (b"PK\x01\x02", 20)):
        place = data.index(start) + at
        (size,) = struct.unpack("<L", data[place : place + 4])
        data[place : place + 4] = struct.pack("<L", size + 6)
    assert data[end : end + 6] == b"hidden"
    with pytest.raises(ValueError, match="it holds more than its entries"):
        unpack(bytes(data))


def test_entries_out_of_the_order_of_the_listing_are_refused():
    good = pack("m", DOCUMENTS)
    at = good.index(b"PK\x01\x02")
    first = 46 + struct.unpack("<H", good[at + 28 : at + 30])[0]
    end = good.index(b"PK\x05\x06")
    turned = good[:at] + good[at + first : end] + good[at : at + first] + good[end:]
    assert taken_apart(turned) == taken_apart(good)
    with pytest.raises(ValueError, match="it holds more than its entries"):
        unpack(turned)


def test_a_long_listing_is_refused_before_it_is_read():
    data = zipped([(f"{i}", b"") for i in range(2000)])
    with pytest.raises(ValueError, match="are not those of a model"):
        unpack(data)


def test_a_file_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "MOST_BYTES", 100)
    path = tmp_path / "m.zip"
    path.write_bytes(pack("m", DOCUMENTS))
    with pytest.raises(ModelError, match="larger than"):
        model.read(path)
    with pytest.raises(ModelError, match="cannot be read"):
        model.read(tmp_path / "none.zip")


def test_what_could_not_be_read_is_not_written():
    with pytest.raises(ModelError, match="too large"):
        pack("m", DOCUMENTS | {"card.json": bytes(ENTRIES["card.json"] + 1)})
    with pytest.raises(ValueError, match="name must be"):
        pack("a\nb", DOCUMENTS)
    with pytest.raises(ValueError, match="entries must be"):
        pack("m", {"model.json": b"{}"})
