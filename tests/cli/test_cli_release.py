"""The command line as a stranger meets it: one sentence, exit codes, no values, no litter."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.commands import ISINGLASS, inside, typed

import isinglass as ig

RNG = np.random.default_rng(8)
SECRET = 98765.4321


@pytest.fixture
def csv(tmp_path) -> Path:
    path = tmp_path / "t.csv"
    frame = pd.DataFrame(RNG.random((200, 3)), columns=["speed", "height", "heat"])
    frame.to_csv(path, index=False)
    return path


def refused(result, *words, left, cwd):
    """Exit 2, one sentence on stderr, nothing on stdout, no traceback, no file, no value."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("isinglass: ")
    for word in words:
        assert word in lines[0]
    assert "Traceback" not in result.stderr
    assert str(SECRET) not in result.stderr
    assert "98765" not in result.stderr
    assert set(os.listdir(cwd)) == left


def test_a_release_from_one_command(csv, tmp_path):
    result = typed("release", csv, "-o", "out.parquet", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert set(os.listdir(tmp_path)) == {"t.csv", "out.parquet", "out.key"}
    assert "200 rows" in result.stdout
    assert "Heuristic: nothing is proved" in result.stdout
    assert "warning: bounds were learned" in result.stderr
    release = ig.Release.read(tmp_path / "out.parquet")
    assert release.to_numpy().shape == (200, 3)


def test_the_json_shape_is_pinned(csv, tmp_path):
    result = inside("release", csv, "-o", "out.parquet", "--json", cwd=tmp_path)
    document = json.loads(result.stdout)
    assert list(document) == [
        "rows", "columns", "method", "release", "key", "promise", "warnings",
    ]  # fmt: skip
    assert document["rows"] == 200
    assert document["columns"] == 3
    assert document["method"] == "tanh"
    assert document["release"] == "out.parquet"
    assert document["key"] == "out.key"
    assert document["promise"] == "heuristic"
    assert len(document["warnings"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        "linear",
        "tanh",
        "sigmoid",
        "square",
        "sign",
        "double_logistic",
        "multiparty",
        "gaussian",
        "uniform",
        "adaptive",
        "multiplicative",
        "rotation",
        "geometric",
        "projection",
        "condensation",
    ],
)
def test_every_method_by_name(method, csv, tmp_path):
    extra = ["--set", "alpha=0.1"] if method == "multiparty" else []
    result = inside(
        "release", csv, "-o", "o.parquet", "--method", method, *extra, "--json", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["method"] == method
    assert ig.Release.read(tmp_path / "o.parquet").facts.rows == 200
    key = ig.load_key(tmp_path / "o.key")
    frame = pd.read_csv(csv).to_numpy()
    if key.keeps_rows:
        released = ig.Release.read(tmp_path / "o.parquet").to_numpy()
        np.testing.assert_array_equal(key.transform_rows(frame, 0), released)


def test_set_reaches_the_method_and_unknown_names_are_told(csv, tmp_path):
    inside("release", csv, "-o", "a.parquet", "--set", "n_components=2", "--set", "slope=3",
        cwd=tmp_path)  # fmt: skip
    facts = ig.Release.read(tmp_path / "a.parquet").facts
    assert len(facts.columns) == 2
    assert facts.parameters["slope"] == 3
    left = set(os.listdir(tmp_path))
    for setting, word in (
        ("sloop=3", "no parameter sloop"),
        ("slope", "name=value"),
        ("slope=-1", "slope must be > 0"),
        ("slope=steep", "slope takes a number"),
        ("slope=none", "slope takes a number"),
        ("layers=[1]", "layers takes a number"),
        ("n_components=NaN", "n_components takes a number"),
        ("clip=maybe", "clip takes true or false"),
    ):
        result = inside(
            "release", csv, "-o", "b.parquet", "--set", setting, "--again", cwd=tmp_path
        )
        refused(result, word, left=left, cwd=tmp_path)
    result = inside("release", csv, "-o", "b.parquet", "--method", "rot13", cwd=tmp_path)
    refused(result, "'rot13' is not one of", "rotation", left=left, cwd=tmp_path)


def bad_files(folder: Path) -> dict[str, tuple[Path, tuple[str, ...]]]:
    """name: (file, what the sentence must say)"""
    row = f"1.5,{SECRET},2\n"
    texts = {
        "empty.csv": ("", ("is empty",)),
        "header.csv": ("a,b,c\n", ("header but no rows",)),
        "ragged.csv": ("a,b,c\n" + row * 3 + f"{SECRET},1\n", ("2 fields", "3")),
        "twice.csv": ("a,b,a\n" + row * 9, ("more than one column named 'a'",)),
        "text.csv": ("a,b\n" + "x,SECRET98765\n" * 9, ("not numbers", "--keep", "--drop")),
        "headless.csv": ("18,170,51000\n" + row * 9, ("no header",)),
        "mixed.csv": ("bob smith,34,51234.5\n" + "al,3,4\n" * 9, ("no header",)),
        "nan.csv": ("a,b,c\n" + row * 9 + "nan,1,inf\n", ("a (1)", "c (1)", "--missing")),
        "quote.csv": ('a,b,c\n"1,2,3\n' + row * 9, ("cannot be read as CSV",)),
    }
    files = {}
    for name, (text, words) in texts.items():
        (folder / name).write_text(text)
        files[name] = (folder / name, words)
    (folder / "latin.csv").write_bytes(("a,b,ä\n" + row * 9).encode("latin-1"))
    files["latin.csv"] = (folder / "latin.csv", ("not UTF-8", "--encoding"))
    whole = folder / "whole.parquet"
    pq.write_table(pa.table({"a": np.full(5000, SECRET), "b": np.arange(5000.0)}), whole)
    (folder / "cut.parquet").write_bytes(whole.read_bytes()[:-100])
    files["cut.parquet"] = (folder / "cut.parquet", ("truncated",))
    (folder / "zero.parquet").write_bytes(b"")
    files["zero.parquet"] = (folder / "zero.parquet", ("is empty",))
    (folder / "t.xyz").write_text("a,b\n1,2\n")
    files["t.xyz"] = (folder / "t.xyz", ("reads no .xyz files",))
    (folder / "folder.csv").mkdir()
    files["folder.csv"] = (folder / "folder.csv", ("is a folder",))
    files["absent.csv"] = (folder / "absent.csv", ("No such file",))
    nothing = folder / "nothing.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), nothing)
    files["nothing.parquet"] = (nothing, ("no rows",))
    return files


NAMES = [
    "empty.csv", "header.csv", "ragged.csv", "twice.csv", "text.csv", "headless.csv",
    "mixed.csv", "nan.csv", "quote.csv",
    "latin.csv", "cut.parquet", "zero.parquet", "t.xyz", "folder.csv", "absent.csv",
    "nothing.parquet",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_gets_one_sentence(name, tmp_path):
    folder, work = tmp_path / "in", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    file, words = bad_files(folder)[name]
    result = inside("release", file, "-o", "out.parquet", cwd=work)
    refused(result, *words, left=set(), cwd=work)


def test_one_row_is_a_table(tmp_path):
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    result = inside("release", "one.csv", "-o", "out.parquet", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "one value only: a, b" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ten_thousand_columns(kind, tmp_path):
    names = [f"c{i}" for i in range(10_000)]
    values = RNG.random((30, 10_000))
    if kind == "csv":
        lines = [",".join(names), *(",".join(f"{v:.4f}" for v in row) for row in values)]
        (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    else:
        pq.write_table(pa.table(list(values.T), names=names), tmp_path / "wide.parquet")
    result = inside(
        "release", f"wide.{kind}", "-o", "out.parquet", "--method", "gaussian", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert ig.Release.read(tmp_path / "out.parquet").to_numpy().shape == (30, 10_000)
    # A network as wide as the table would be huge; fewer units are a matter of a setting.
    result = inside(
        "release", f"wide.{kind}", "-o", "two.parquet", "--again", "--set", "n_hidden=20",
        "--set", "n_components=20", "--set", "weights=gaussian", cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr


def test_unwritable_targets(csv, tmp_path):
    left = set(os.listdir(tmp_path))
    refused(inside("release", csv, "-o", "no/such/out.parquet", cwd=tmp_path),
            "does not exist", left=left, cwd=tmp_path)  # fmt: skip
    (tmp_path / "dir.parquet").mkdir()
    left.add("dir.parquet")
    refused(inside("release", csv, "-o", "dir.parquet", cwd=tmp_path), "is a folder",
            left=left, cwd=tmp_path)  # fmt: skip
    (tmp_path / "t.parquet").write_bytes(Path(csv).read_bytes())
    left.add("t.parquet")
    same = ("release", "t.parquet", "-o", "t.parquet", "--force")
    refused(inside(*same, cwd=tmp_path), "is read for this release",
            left=left, cwd=tmp_path)  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_plainly_and_leaves_nothing(csv, tmp_path, monkeypatch):
    """A file system with no room, as the kernel reports it: every write fails with ENOSPC."""

    class Full(pq.ParquetWriter):
        def __init__(self, path, *a, **k):
            super().__init__("/dev/full", *a, **k)

    monkeypatch.setattr(pq, "ParquetWriter", Full)
    result = inside("release", csv, "-o", "out.parquet", cwd=tmp_path)
    refused(result, "No space left", left={"t.csv"}, cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_half_way_leaves_nothing(number, tmp_path):
    rows = 400_000
    table = {f"c{i}": RNG.random(rows, dtype=np.float32) for i in range(20)}
    pq.write_table(pa.table(table), tmp_path / "t.parquet", use_dictionary=False)
    process = subprocess.Popen(
        [*ISINGLASS, "release", "t.parquet", "-o", "out.parquet", "--method", "gaussian"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".out.parquet.*.tmp")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert err.strip() == ("isinglass: stopped before anything was finished; nothing was written")
    assert out == ""
    assert os.listdir(tmp_path) == ["t.parquet"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "waits",
    [(120.0, 0.0, 0.1), pytest.param((120.0, 0.0, 0.05, 0.15, 0.3), marks=pytest.mark.matrix)],
    ids=len,
)
def test_killed_outright_the_target_is_whole_or_absent(tmp_path, waits):
    table = {f"c{i}": RNG.random(300_000, dtype=np.float32) for i in range(10)}
    pq.write_table(pa.table(table), tmp_path / "t.parquet", use_dictionary=False)
    found = 0
    for wait in waits:
        for left in tmp_path.glob(".out.*.tmp"):
            left.unlink()
        process = subprocess.Popen(
            [*ISINGLASS, "release", "t.parquet", "-o", "out.parquet", "--force", "--again"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        while not list(tmp_path.glob(".out.parquet.*.tmp")) and process.poll() is None:
            time.sleep(0.005)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=wait)
        process.kill()
        process.communicate()
        if (tmp_path / "out.parquet").exists():
            assert ig.Release.read(tmp_path / "out.parquet").facts.rows == 300_000
            veil = ig.load_key(tmp_path / "out.key")
            rows = np.column_stack(list(table.values()))[:50]
            expected = veil.transform_rows(rows, 0)
            np.testing.assert_array_equal(
                ig.Release.read(tmp_path / "out.parquet").to_numpy()[:50], expected
            )
            found += 1
    assert found > 0


def test_keep_takes_commas_and_repeats(tmp_path):
    (tmp_path / "t.csv").write_text('a,b,"x,y",t\n' + "1,2,3,u\n4,5,6,v\n" * 9)
    result = inside(
        "release", "t.csv", "-o", "1.parquet", "--keep", "x,y", "--drop", "t", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert ig.Release.read(tmp_path / "1.parquet").facts.kept == ("x,y",)
    result = inside("release", "t.csv", "-o", "2.parquet", "--keep", "b,t", "--again", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert ig.Release.read(tmp_path / "2.parquet").facts.kept == ("b", "t")
    left = set(os.listdir(tmp_path))
    result = inside("release", "t.csv", "-o", "3.parquet", "--keep", "nope", cwd=tmp_path)
    refused(result, "no column named nope", left=left, cwd=tmp_path)


def test_a_bounds_file_in_both_spellings(csv, tmp_path):
    (tmp_path / "b.csv").write_text("column,low,high\nspeed,0,1\nheight,0,1\nheat,0,1\n")
    (tmp_path / "b.json").write_text('{"speed": [0, 1], "height": [0, 1], "heat": [0, 1]}')
    for name in ("b.csv", "b.json"):
        result = inside("release", csv, "-o", "o.parquet", "--bounds", name, "--force", "--again",
                     cwd=tmp_path)  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert ig.Release.read(tmp_path / "o.parquet").facts.bounds["heat"] == (0.0, 1.0)
    (tmp_path / "b.csv").write_text("speed,0,1\nheight,0,one\n")
    left = set(os.listdir(tmp_path))
    result = inside("release", csv, "-o", "x.parquet", "--bounds", "b.csv", cwd=tmp_path)
    refused(result, "line 2", left=left, cwd=tmp_path)
    (tmp_path / "b.csv").write_text("speed,0,1\n")
    result = inside("release", csv, "-o", "x.parquet", "--bounds", "b.csv", cwd=tmp_path)
    refused(result, "height, heat", left=left, cwd=tmp_path)


def test_a_locked_key_from_a_file(csv, tmp_path):
    (tmp_path / "words").write_text("open sesame\n")
    (tmp_path / "b.json").write_text('{"speed": [0, 1], "height": [0, 1], "heat": [0, 1]}')
    inside("release", csv, "-o", "1.parquet", "--passphrase-file", "words", "--bounds", "b.json",
        cwd=tmp_path)  # fmt: skip
    left = set(os.listdir(tmp_path))
    result = inside(
        "release", csv, "-o", "2.parquet", "--use-key", "1.key", "--again", cwd=tmp_path
    )
    refused(result, "is locked", left=left, cwd=tmp_path)
    result = inside("release", csv, "-o", "2.parquet", "--use-key", "1.key", "--again",
                 "--passphrase-file", "words", "--json", cwd=tmp_path)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["method"] == "tanh"
    one, two = (ig.Release.read(tmp_path / f"{i}.parquet").to_numpy() for i in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_traceback_only_with_debug(tmp_path):
    result = typed("release", "absent.csv", "-o", "o.parquet", "--debug", cwd=tmp_path)
    assert "Traceback" in result.stderr


def test_an_unforeseen_error_shows_its_kind_only(csv, tmp_path, monkeypatch):
    def fail(*a, **k):
        raise RuntimeError("record 98765.4321")

    monkeypatch.setattr("isinglass.publish.write.look_at", fail)
    result = inside("release", csv, "-o", "out.parquet", cwd=tmp_path)
    refused(result, "RuntimeError", "--debug", left={"t.csv"}, cwd=tmp_path)


def test_multiparty_needs_alpha_and_takes_a_matrix(csv, tmp_path):
    left = set(os.listdir(tmp_path))
    result = inside("release", csv, "-o", "o.parquet", "--method", "multiparty", cwd=tmp_path)
    refused(result, "alpha", left=left, cwd=tmp_path)
    ig.public_matrix(3, study="s").save(tmp_path / "m.json")
    result = inside("release", csv, "-o", "o.parquet", "--method", "multiparty", "--set",
                    "alpha=.2", "--public-matrix", "m.json", cwd=tmp_path)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert ig.load_key(tmp_path / "o.key").public_matrix == ig.PublicMatrix.load(
        tmp_path / "m.json"
    )
