"""Signing keys: what is written, what opens, and whose signature is taken."""

import hashlib
import io
import json
import os
import zipfile

import pytest

from isinglass import model
from isinglass.errors import KeyFileError, ModelError
from isinglass.signing import (
    Signer,
    SigningKey,
    check_signer,
    read_signer,
    read_signing_key,
    write_keys,
)


def check(signer, **more):
    said = []
    check_signer(signer, **{"name": "hearts", "file": "m.zip", "say": said.append} | more)
    return said


def test_a_key_signs_and_only_its_own_public_side_agrees():
    key, other = SigningKey.draw(), SigningKey.draw()
    signature = key.sign(b"text")
    assert signature == key.sign(b"text")
    assert key.signer.vouches_for(b"text", signature)
    assert not key.signer.vouches_for(b"texts", signature)
    assert not key.signer.vouches_for(b"text", b"short")
    assert not other.signer.vouches_for(b"text", signature)
    assert key.private.hex() not in repr(key)


@pytest.mark.parametrize("passphrase", [None, "four words are better"])
def test_keys_are_read_back(tmp_path, passphrase):
    key, path = SigningKey.draw(), tmp_path / "hospital"
    public = write_keys(path, key, passphrase=passphrase)
    assert public == tmp_path / "hospital.pub"
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert read_signing_key(path, passphrase=passphrase) == key
    assert read_signer(public) == key.signer.fingerprint
    assert (key.private.hex() in path.read_text()) is (passphrase is None)
    assert key.private.hex() not in public.read_text()
    with pytest.raises(Exception, match="exists"):
        write_keys(path, key)


def test_a_fingerprint_is_read_however_it_is_typed():
    found = SigningKey.draw().signer.fingerprint
    assert len(found) == 49
    assert read_signer(found.replace("-", "").upper()) == found
    assert read_signer(found.replace("-", " ")) == found


def test_a_locked_key_opens_for_its_passphrase_alone(tmp_path):
    path = tmp_path / "k"
    write_keys(path, SigningKey.draw(), passphrase="right")
    with pytest.raises(KeyFileError, match="is locked"):
        read_signing_key(path)
    with pytest.raises(KeyFileError, match="the passphrase is wrong"):
        read_signing_key(path, passphrase="wrong")
    facts = json.loads(path.read_text())
    # Another public side in the clear is a change of what is bound to the lock.
    path.write_text(json.dumps(facts | {"public": SigningKey.draw().signer.public.hex()}))
    with pytest.raises(KeyFileError, match="or the file was changed"):
        read_signing_key(path, passphrase="right")
    path.write_text(json.dumps(facts | {"scrypt": {"n": 2**40, "r": 8, "p": 1}}))
    with pytest.raises(KeyFileError, match="unreasonable amount of work"):
        read_signing_key(path, passphrase="right")
    with pytest.raises(KeyFileError, match="empty"):
        write_keys(tmp_path / "e", SigningKey.draw(), passphrase="")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 3}', '{"format": "isinglass-signing-key-1"}', "\x00" * 99]
)
def test_what_is_no_key_is_a_sentence(tmp_path, text):
    path = tmp_path / "k"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(KeyFileError):
        read_signing_key(path)
    with pytest.raises(KeyFileError):
        read_signer(path)


def test_halves_of_two_keys_and_the_wrong_half_are_refused(tmp_path):
    path = tmp_path / "k"
    public = write_keys(path, SigningKey.draw())
    with pytest.raises(KeyFileError, match="is not a public key of isinglass, but a private one"):
        read_signer(path)
    with pytest.raises(KeyFileError, match="is not a signing key of isinglass, but a public one"):
        read_signing_key(public)
    facts = json.loads(path.read_text()) | {"private": SigningKey.draw().private.hex()}
    path.write_text(json.dumps(facts))
    with pytest.raises(KeyFileError, match="do not belong together"):
        read_signing_key(path)
    with pytest.raises(KeyFileError, match="cannot be read"):
        read_signer(tmp_path / "nobody.pub")


def test_a_key_that_others_can_read_warns(tmp_path):
    path = tmp_path / "k"
    write_keys(path, SigningKey.draw())
    path.chmod(0o644)
    with pytest.warns(UserWarning, match="chmod 600"):
        read_signing_key(path)


def test_the_first_signer_of_a_name_is_noted_and_a_change_refused():
    one, two = SigningKey.draw().signer, SigningKey.draw().signer
    (said,) = check(one)
    assert one.fingerprint in said
    assert "by itself a signature proves nothing" in said
    assert check(one) == []
    with pytest.raises(ModelError, match=f"was signed by {one.fingerprint} until now"):
        check(two)
    assert len(check(two, name="lungs")) == 1
    assert check(two, wanted=two.fingerprint) == []  # named, and noted from now on
    assert check(two) == []
    with pytest.raises(ModelError, match="until now"):
        check(one)


def test_a_signer_that_was_named_decides(tmp_path):
    key = SigningKey.draw()
    public = write_keys(tmp_path / "k", key)
    assert check(key.signer, wanted=public) == []
    with pytest.raises(ModelError, match="not by the signer given"):
        check(SigningKey.draw().signer, wanted=public)
    with pytest.raises(ModelError, match="is not signed"):
        check(None, wanted=public, unsigned=True)


def test_an_unsigned_file_is_refused_until_asked_for():
    with pytest.raises(ModelError, match="is not signed, so anybody may have made"):
        check(None)
    assert check(None, unsigned=True) == [
        "warning: m.zip is not signed: anybody may have made or changed it"
    ]


def test_a_public_key_has_one_size():
    with pytest.raises(ValueError, match="32 bytes"):
        Signer(b"short")


# The curve of Ed25519, -x^2 + y^2 = 1 + d x^2 y^2, in whole numbers, as RFC 8032 writes it.
P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def point(y, odd):
    """The point of this y whose x is odd or even, or None where there is none."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square:
        return None
    return (P - x if x % 2 != odd else x) % P, y


def added(a, b):
    (x1, y1), (x2, y2) = a, b
    product = D * x1 * x2 * y1 * y2
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P)
    return x % P, (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P


def times(n, a):
    found = (0, 1)
    for digit in bin(n)[2:]:
        found = added(found, found)
        found = added(found, a) if digit == "1" else found
    return found


def written(y, odd):
    return (y | odd << 255).to_bytes(32, "little")


def taken(public):
    try:
        Signer(public)
    except ValueError:
        return False
    return True


def test_points_of_small_order_are_nobodys_keys():
    """L times a point has order 1, 2, 4 or 8: such points are all of those there are."""
    order = 2**252 + 27742317777372353535851937790883648493
    small, y = {(0, 1)}, 2
    while len(small) < 8:
        if (found := point(y, 0)) is not None:
            step = times(order, found)
            small |= {times(n, step) for n in range(8)}
        y += 1
    assert {times(8, a) for a in small} == {(0, 1)}
    for x, y in small:
        for odd in (0, 1):  # of the two points with x = 0, either way of writing x is read
            assert not taken(written(y, odd))
            assert (x == 0) or point(y, x % 2) == (x, y)


def test_all_other_points_are_taken():
    others = [a for y in range(2, 60) for odd in (0, 1) if (a := point(y, odd)) is not None]
    assert len(others) > 30
    for x, y in others:
        assert taken(written(y, x % 2))
        assert times(8, (x, y)) != (0, 1)
    for _ in range(20):
        assert taken(SigningKey.draw().signer.public)


def test_a_number_beyond_the_field_is_no_key():
    """Readers differ in whether they take it for the remainder."""
    for y in range(P, 2**255):
        assert not taken(written(y, 0))
        assert not taken(written(y, 1))


def test_nobodys_key_neither_signs_a_file_nor_is_read_from_one(tmp_path):
    public = b"\x01" + bytes(31)  # with it, itself and zeros are a signature of any text
    (tmp_path / "n.pub").write_text(
        json.dumps({"format": "isinglass-signer-1", "public": public.hex()})
    )
    with pytest.raises(KeyFileError, match="is damaged"):
        read_signer(tmp_path / "n.pub")
    facts = {
        "format": model.FORMAT,
        "name": "m",
        "entries": {n: hashlib.sha256(b"{}").hexdigest() for n in model.NEEDED},
        "signer": public.hex(),
        "signature": (public + bytes(32)).hex(),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in (
            (model.MANIFEST, json.dumps(facts)),
            *dict.fromkeys(model.NEEDED, "{}").items(),
        ):
            file.writestr(name, data)
    with pytest.raises(ValueError, match="somebody can hold the private half of"):
        model.unpack(buffer.getvalue())
