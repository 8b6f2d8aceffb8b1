"""The register knows a table again however it is disguised, and holds none of it."""

from __future__ import annotations

import itertools
import json
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.datasets import available, load
from isinglass.errors import ReleaseError
from isinglass.release_register import Register
from isinglass.table.fingerprint import Fingerprinter

N = 5000
NAMES = ["a", "b", "c", "d", "e", "f"]


def drawn(seed, rows=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6)) * [1, 10, 100, 1e6, 1e-6, 1]
    X[:, 5] = rng.integers(3, size=rows)
    return X


TABLE = drawn(0)
SECRET = bytes(range(32))


def prints(X, names=None, cut=1000):
    gather = Fingerprinter(SECRET, names or NAMES[: X.shape[1]])
    for start in range(0, len(X), cut):
        gather.add(X[start : start + cut])
    return gather.result()


def as_text(X, tmp_path):
    pd.DataFrame(X).to_csv(tmp_path / "t.csv", index=False)
    return pd.read_csv(tmp_path / "t.csv").to_numpy()


SHUFFLED = np.random.default_rng(9).permutation(N)
DISGUISES = {
    "as it is": (TABLE, NAMES),
    "rows permuted": (TABLE[SHUFFLED], NAMES),
    "columns permuted": (TABLE[:, ::-1], NAMES[::-1]),
    "columns renamed": (TABLE, ["u", "v", "w", "x", "y", "z"]),
    "single precision": (TABLE.astype(np.float32), NAMES),
    "one row removed": (TABLE[1:], NAMES),
    "a fifth of the rows": (TABLE[SHUFFLED][: N // 5], NAMES),
    "a fortieth of the rows": (TABLE[SHUFFLED][: N // 40], NAMES),
    "rows added": (np.vstack([TABLE, drawn(8, 3 * N)]), NAMES),
    "one column dropped": (TABLE[:, 1:], NAMES[1:]),
    "half of the columns": (TABLE[:, 1:4], NAMES[1:4]),
    "renamed, permuted and shortened": (
        TABLE[SHUFFLED][: N // 3, ::-1],
        ["u", "v", "w", "x", "y", "z"],
    ),
    "a column dropped, renamed, and grown": (
        np.vstack([TABLE, drawn(8, N)])[:, 1:],
        ["v", "w", "x", "y", "z"],
    ),
    "two of the columns of most rows": (TABLE[SHUFFLED][: 4 * N // 5, 2:4], ["q", "r"]),
    "a column added, rows removed": (
        np.column_stack([np.arange(N), TABLE])[500:],
        ["id", *NAMES],
    ),
    "zeros with a sign": (np.where(TABLE == 0, -0.0, TABLE), NAMES),
}


@pytest.mark.parametrize("name", DISGUISES)
def test_the_same_table_is_known_again(name):
    X, names = DISGUISES[name]
    assert prints(TABLE).same_rows_as(prints(X, names))
    assert prints(X, names).same_rows_as(prints(TABLE))


def test_a_copy_as_text_is_known_again(tmp_path):
    copy = as_text(TABLE, tmp_path)
    assert prints(copy) == prints(TABLE)
    single = as_text(TABLE.astype(np.float32), tmp_path)
    assert prints(single) == prints(TABLE)


def test_negative_zero_is_zero():
    assert prints(np.array([[0.0, 1.0]])) == prints(np.array([[-0.0, 1.0]]))


@pytest.mark.parametrize("rows", [N, N - 1, 50, 20_000])
def test_other_tables_of_the_same_kind_are_not_the_same(rows):
    for seed in range(1, 6):
        assert not prints(TABLE).same_rows_as(prints(drawn(seed, rows)))


def test_discrete_tables_of_the_same_kind_are_not_the_same():
    rng = np.random.default_rng(3)
    one, two = rng.integers(4, size=(2, 20_000, 5)).astype(float)
    assert not prints(one).same_rows_as(prints(two))
    assert not prints(one).same_rows_as(prints(two[:9000]))
    assert prints(one).same_rows_as(prints(one[::-1]))


@pytest.mark.slow
def test_chance_agreement_of_many_single_precision_values_is_no_alarm():
    """A million uniform float32 values in two tables: one in seventeen agrees by chance."""
    rng = np.random.default_rng(4)
    one, two = rng.random((2, 1_000_000, 3), dtype=np.float32)
    assert not prints(one, cut=65_536).same_rows_as(prints(two, cut=65_536))
    assert prints(one, cut=65_536).same_rows_as(prints(one[:700_000, 1:], ["x", "y"], cut=65_536))


def unrelated(kind, seed):
    """Tables that have much in common, but no record."""
    rng = np.random.default_rng(seed)
    number, value = np.arange(3000.0), rng.normal(size=3000)
    balanced = rng.permutation(np.tile([0.0, 1.0], 1500))
    return np.column_stack(
        {
            "a running number": [number, value],
            "a running number and codes": [number, *rng.integers(3, size=(3, 3000))],
            "two clocks": [number, 60 * number, value],
            "a clock that runs backwards": [-number, value],
            "a balanced code": [balanced, value],
            "codes only": [*rng.integers(2, size=(4, 3000))],
            "a coarse sensor": [*np.round(1000 * rng.normal(size=(3, 3000)))],
        }[kind]
    )


@pytest.mark.parametrize(
    "kind",
    [
        "a running number", "a running number and codes", "two clocks", "a balanced code",
        "a clock that runs backwards", "codes only", "a coarse sensor",
    ],
)  # fmt: skip
def test_unrelated_tables_are_not_taken_for_the_same(kind):
    for seed in range(0, 20, 2):
        one, two = unrelated(kind, seed), unrelated(kind, seed + 1)
        assert not prints(one).same_rows_as(prints(two))
        assert not prints(one).same_rows_as(prints(two[:-1]))


def changed(X, names, how):
    rows = np.delete(np.arange(len(X)), len(X) // 2)
    new = np.random.default_rng(1).random(len(rows))
    return {
        "one row less": (X[rows], names),
        "a column and a row less": (X[rows][:, 1:], names[1:]),
        "a column more, a row less": (np.column_stack([new, X[rows]]), ["new", *names]),
        "a column exchanged, a row less": (
            np.column_stack([new, X[rows][:, 1:]]),
            ["n", *names[1:]],
        ),
        "a third of the rows, a column less": (X[::3, 1:], names[1:]),
    }[how]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["iris", "breast_w", "heart", "ecoli", "credit_g", "votes", "mammography", "shuttle",
     "cmapss_fd001_train", "thyroid", "pendigits", "wine"],
)  # fmt: skip
def test_real_tables_are_known_again_with_other_columns_and_rows(name, real_data):
    data = load(name)
    names = list(data.column_names)
    known = prints(data.X, names, cut=50_000)
    for how in (
        "one row less", "a column and a row less", "a column more, a row less",
        "a column exchanged, a row less", "a third of the rows, a column less",
    ):  # fmt: skip
        X, other = changed(data.X, names, how)
        assert known.same_rows_as(prints(X, other, cut=50_000)), how


@pytest.mark.slow
def test_no_real_table_is_taken_for_another(real_data):
    found = {n: load(n) for n in available() if n not in ("cover", "http")}
    known = {n: prints(d.X, list(d.column_names), cut=50_000) for n, d in found.items()}
    alarms = [
        (a, b) for a, b in itertools.combinations(known, 2) if known[a].same_rows_as(known[b])
    ]
    assert alarms == []


def test_a_constant_column_in_common_does_not_make_tables_the_same():
    one, two = drawn(1)[:, :2], drawn(2)[:, :2]
    one[:, 1] = two[:, 1] = 7
    assert not prints(one).same_rows_as(prints(two))


@given(st.integers(1, 3000), st.booleans())
@settings(max_examples=20)
def test_batches_do_not_matter(cut, fortran):
    long = np.vstack([TABLE, TABLE + 1])  # past the end of the trial
    X = np.asfortranarray(long) if fortran else long
    assert prints(X, cut=cut + 200) == prints(long, cut=len(long))


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (1, 1), (3, 1)])
def test_tiny_tables(shape):
    X = np.ones(shape)
    assert prints(X).n_rows == shape[0]
    if shape[0]:
        assert prints(X).same_rows_as(prints(X))
        assert not prints(X).same_rows_as(prints(X + 1))
    assert not prints(X).same_rows_as(prints(TABLE[:, : shape[1]]))
    assert not prints(TABLE[:, : shape[1]]).same_rows_as(prints(X))


def test_numbers_too_large_for_single_precision_pass():
    assert prints(np.array([[1e300, -1e300], [1.0, 2.0]])).n_rows == 2


def test_nothing_of_the_table_is_shown_or_stored(tmp_path):
    (tmp_path / "home").mkdir()
    # Not drawn: some digest would hold the digits looked for below, once in many thousand times.
    (tmp_path / "home" / "register.secret").write_bytes(bytes(range(32)))
    register = Register(tmp_path / "home")
    gather = register.fingerprinter(NAMES)
    gather.add(TABLE)
    found = gather.result()
    register.add(found, release="out.parquet", method="tanh")
    stored = (tmp_path / "home" / "releases.jsonl").read_text()
    secret = (tmp_path / "home" / "register.secret").read_bytes()
    assert secret.hex() not in stored
    assert "digests" not in repr(found)
    assert not any(digest in repr(found) for digest in found.rows.digests)
    values = TABLE[:100, :5].ravel()
    bits = [*values.astype(np.float32).view(np.uint32).tolist(), *values.view(np.uint64).tolist()]
    assert not any(str(bit) in stored for bit in bits)
    assert not any(repr(value) in stored for value in values.tolist())
    assert not any(f'"{name}"' in stored for name in NAMES)
    other = Register(tmp_path / "other").fingerprinter(NAMES)
    other.add(TABLE)
    assert not other.result().rows.digests & found.rows.digests
    assert not {d for v in other.result().values for d in v.digests} & {
        d for v in found.values for d in v.digests
    }
    assert not set(other.result().columns) & set(found.columns)


def test_files_are_the_owners_alone(tmp_path):
    register = Register(tmp_path / "home")
    register.add(prints(TABLE), release="r", method="m")
    assert register.folder == tmp_path / "home"
    assert stat.S_IMODE(register.folder.stat().st_mode) == 0o700
    assert {p.name for p in register.folder.iterdir()} == {"releases.jsonl", "register.secret"}
    for path in register.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_entries_come_back(tmp_path):
    Register(tmp_path).add(prints(TABLE), release="one", method="tanh")
    Register(tmp_path).add(prints(drawn(5)), release="two", method="tanh")
    (entry,) = Register(tmp_path).earlier(prints(TABLE[::2]))
    assert (entry.release, entry.method, entry.fingerprint) == ("one", "tanh", prints(TABLE))
    assert Register(tmp_path).earlier(prints(drawn(6))) == []


@pytest.mark.parametrize("left", [1, 30, 200, -1])
def test_a_line_cut_short_swallows_nothing(tmp_path, left):
    register = Register(tmp_path)
    register.add(prints(TABLE), release="one", method="m")
    path = tmp_path / "releases.jsonl"
    with path.open("ab") as file:
        file.write(path.read_bytes()[:-1][:left])
    assert "one" in [e.release for e in register.earlier(prints(TABLE))]
    register.add(prints(TABLE), release="two", method="m", again=True)
    names = [e.release for e in register.earlier(prints(TABLE))]
    assert {"one", "two"} <= {*names}
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("line", [b"\xff\xfe", b"7", b"[]", b"{}", b'{"fingerprint": 3}', b"null"])
def test_a_strange_line_is_passed_over(tmp_path, line):
    register = Register(tmp_path)
    (tmp_path / "releases.jsonl").write_bytes(line + b"\n")
    register.add(prints(TABLE), release="one", method="m")
    assert [e.release for e in register.earlier(prints(TABLE))] == ["one"]


def test_facts_that_a_later_version_adds_are_passed_over(tmp_path):
    register = Register(tmp_path)
    register.add(prints(TABLE), release="one", method="m")
    path = tmp_path / "releases.jsonl"
    facts = json.loads(path.read_text())
    facts["new"] = facts["fingerprint"]["new"] = 1
    path.write_text(json.dumps(facts) + "\n")
    assert len(register.earlier(prints(TABLE))) == 1


def test_a_register_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ReleaseError, match=r"cannot be used.*ISINGLASS_HOME"):
        Register(tmp_path / "file")
    Register(tmp_path)
    (tmp_path / "register.secret").write_bytes(b"short")
    with pytest.raises(ReleaseError, match="is damaged"):
        Register(tmp_path)
    broken = Register(tmp_path / "other")
    (tmp_path / "other" / "releases.jsonl").mkdir()
    with pytest.raises(ReleaseError, match="cannot be written"):
        broken.add(prints(TABLE), release="r", method="m")
    with pytest.raises(ReleaseError, match="cannot be read"):
        broken.earlier(prints(TABLE))


ADD = """
import sys
import numpy as np
from isinglass.release_register import Register
X = np.random.default_rng(0).random((400, 2))
for i in range(25):
    register = Register(sys.argv[1])
    gather = register.fingerprinter(["a", "b"])
    gather.add(X)
    register.add(gather.result(), release=f"{sys.argv[2]}-{i}", method="m", again=True)
"""


def test_two_processes_that_add_at_once_both_land(tmp_path):
    home = tmp_path / "home"
    work = [subprocess.Popen([sys.executable, "-c", ADD, str(home), name]) for name in "uv"]
    assert [process.wait(60) for process in work] == [0, 0]
    register = Register(home)
    gather = register.fingerprinter(["a", "b"])
    gather.add(np.random.default_rng(0).random((400, 2)))
    names = sorted(entry.release for entry in register.earlier(gather.result()))
    assert names == sorted(f"{name}-{i}" for name in "uv" for i in range(25))


ONCE = """
import sys
import numpy as np
from isinglass.datasets import available, load
from isinglass.errors import ReleaseError
from isinglass.release_register import Register
register = Register(sys.argv[1])
landed = 0
for seed in range(40):
    gather = register.fingerprinter(["a", "b"])
    gather.add(np.random.default_rng(seed).random((400, 2)))
    try:
        register.add(gather.result(), release=sys.argv[2], method="m")
        landed += 1
    except ReleaseError:
        pass
print(landed)
"""


def test_of_two_releases_at_once_one_is_refused(tmp_path):
    home = tmp_path / "home"
    work = [
        subprocess.Popen(
            [sys.executable, "-c", ONCE, str(home), name], stdout=subprocess.PIPE, text=True
        )
        for name in "uv"
    ]
    landed = [int(process.communicate(timeout=60)[0]) for process in work]
    assert sum(landed) == 40
