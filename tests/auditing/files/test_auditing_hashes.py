"""Hashes and codes in place of values, in a release of texts or of whole numbers."""

from __future__ import annotations

import base64
import hashlib
import secrets
import zlib

import numpy as np
import pandas as pd
import pytest

from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.files.hashes import without_hashes
from isinglass.auditing.findings import RECOVERED, RESISTED
from isinglass.auditing.report.sentences import sentences
from isinglass.table.read import open_table

RNG = np.random.default_rng(6)
N, NAMES = 150, list("abcd")
X = np.round(100_000 * RNG.random((N, 4)) ** [1, 2, 3, 1]).astype(int)
FINE = np.round(RNG.normal(size=(N, 4)), 2)


def audited(release, tmp_path, table=X):
    pd.DataFrame(table, columns=NAMES).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame(release).to_csv(tmp_path / "r.csv", index=False)
    return audit_files(tmp_path / "t.csv", tmp_path / "r.csv", random_state=1).findings


def md5(value):
    return hashlib.md5(str(value).encode(), usedforsecurity=False)


def each(function, table=X):
    return pd.DataFrame([[function(v) for v in row] for row in table], columns=list("wxyz"))


LEAKS = {
    "hexadecimal": each(lambda v: md5(v).hexdigest()),
    "the first digits": each(lambda v: hashlib.sha256(str(v).encode()).hexdigest()[:10]),
    "behind a letter": each(lambda v: "h" + md5(v).hexdigest()),
    "base 64": each(lambda v: base64.b64encode(md5(v).digest()).decode()),
    "in other letters": each(
        lambda v: (
            md5(v).hexdigest().translate(str.maketrans("0123456789abcdef", "ghijklmnopqrstuv"))
        )
    ),
    "checksums": each(lambda v: zlib.crc32(str(v).encode())),
    "numbers": each(lambda v: int(md5(v).hexdigest()[:12], 16) % 10**9),
    "of decimals": each(lambda v: md5(float(v)).hexdigest(), FINE),
    "of records": pd.DataFrame({"row": [zlib.crc32(",".join(map(str, r)).encode()) for r in X]}),
}


@pytest.mark.parametrize("name", LEAKS)
def test_unsalted_hashes_are_the_values(name, tmp_path):
    found = audited(LEAKS[name], tmp_path, FINE if name == "of decimals" else X)
    outsider = next(a for a in found.attackers if a.name == "outsider")
    assert outsider.verdict == RECOVERED
    assert outsider.r2 > 0.95
    assert any("unsalted hashes" in note for note in sentences(found.notes))


def test_hashes_with_a_salt_resist(tmp_path):
    salt = secrets.token_hex()
    salted = each(lambda v: int(md5(f"{salt}{v}").hexdigest()[:12], 16) % 10**9)
    found = audited(salted, tmp_path)
    assert found.verdict == RESISTED
    assert not any("hashes" in note for note in sentences(found.notes))


@pytest.mark.parametrize("beside", [{}, {"number": RNG.normal(size=N)}])
def test_letters_are_no_numbers_by_the_alphabet(beside, tmp_path):
    ranks = np.argsort(np.argsort(X, axis=0), axis=0) * 8 // N
    letters = pd.DataFrame(np.array(list("QZEATYUB"))[ranks], columns=list("wxyz")).assign(**beside)
    found = audited(letters, tmp_path)
    assert found.verdict == RECOVERED
    acquainted = next(a for a in found.attackers if a.name == "acquainted")
    assert acquainted.r2 > 0.7


def test_letters_that_say_nothing_resist(tmp_path):
    letters = RNG.choice(list("QZEATYUB"), size=(N, 4))
    assert audited(letters, tmp_path).verdict == RESISTED


def test_many_whole_numbers_are_no_hashes():
    """Of many numbers up to a million some are hashes of others by chance."""
    rng = np.random.default_rng(2)
    table, release = (
        open_table(pd.DataFrame(rng.integers(0, 10**6, size=(3000, 3)), columns=list("abc")))
        for _ in range(2)
    )
    notes: list[str] = []
    assert without_hashes(table, release, list("abc"), (), notes) is release
    assert not notes
