"""Tables of every kind give the same numbers, and bad ones one sentence without a value."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

from isinglass.errors import TableError
from isinglass.table import batches
from isinglass.table.columns import choose_columns
from isinglass.table.prepare import Source
from isinglass.table.read import open_table

SECRETS = ("98765.4321", "SECRET")
NUMBERS = np.random.default_rng(0).normal(size=(2500, 3)) * [1, 1e6, 1e-6]
FRAME = pa.table({name: NUMBERS[:, i] for i, name in enumerate("abc")})
# More than the reader's first block of one MiB.
LONG = "a,b\n" + "1,2\n" * 300_000


def numbers(source, **options):
    table = open_table(source, **options)
    blocks = Source(table, choose_columns(table)).blocks()
    return np.concatenate([block.X for block in blocks])


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def complaint(path, **options):
    """The one sentence a bad file gets; it names the file and shows no value."""
    with pytest.raises(TableError) as caught:
        numbers(path, **options)
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text
    text = text.replace(str(path), "")
    assert not any(secret in text for secret in SECRETS)
    return text


def as_csv(path, delimiter=","):
    csv.write_csv(FRAME, path, csv.WriteOptions(delimiter=delimiter))


def as_gzip(path):
    as_csv(path)
    path.write_bytes(gzip.compress(path.read_bytes()))


def as_stream(path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, FRAME.schema) as stream:
        stream.write_table(FRAME, max_chunksize=700)


def as_file(path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, FRAME.schema) as file:
        file.write_table(FRAME, max_chunksize=700)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", as_csv),
        ("t.csv.gz", as_gzip),
        ("t.tsv", lambda path: as_csv(path, "\t")),
        ("t.csv", lambda path: as_csv(path, ";")),
        ("t.txt", lambda path: as_csv(path, "|")),
        ("many.parquet", lambda path: pq.write_table(FRAME, path, row_group_size=99)),
        ("one.parquet", lambda path: pq.write_table(FRAME, path)),
        ("no-ending", lambda path: pq.write_table(FRAME, path)),
        ("stream.arrow", as_stream),
        ("file.arrow", as_file),
        ("t.feather", lambda path: feather.write_feather(FRAME, str(path))),
        ("lz4.feather", lambda path: feather.write_feather(FRAME, str(path), compression="lz4")),
    ],
)
def test_every_kind_of_file_gives_the_same_numbers(name, write, tmp_path, monkeypatch):
    path = tmp_path / name
    write(path)
    np.testing.assert_array_equal(numbers(path), NUMBERS)
    monkeypatch.setattr(batches, "BATCH_BYTES", 5000)
    np.testing.assert_array_equal(numbers(str(path)), NUMBERS)


@pytest.mark.parametrize(
    "source",
    [
        FRAME,
        FRAME.combine_chunks().to_batches()[0],
        FRAME.to_pandas(),
        FRAME.to_pandas().set_index(np.arange(2500)[::-1]),
        pl.DataFrame({name: NUMBERS[:, i] for i, name in enumerate("abc")}),
        NUMBERS,
        np.asfortranarray(NUMBERS),
        NUMBERS.astype(">f8"),
        NUMBERS.astype(object),
    ],
)
def test_every_table_in_memory_gives_the_same_numbers(source):
    np.testing.assert_array_equal(numbers(source), NUMBERS)


def test_a_pandas_index_and_number_names_make_no_column():
    frame = pd.DataFrame(NUMBERS, columns=[5, 7, 9], index=[f"SECRET{i}" for i in range(2500)])
    assert open_table(frame).schema.names == ["5", "7", "9"]


def test_columns_come_in_the_order_asked_for(tmp_path):
    frame = pa.table({"x": [1.0], "k": ["u"], "x.1": [2.0], "y": [3.0]})
    pq.write_table(frame, tmp_path / "t.parquet")
    csv.write_csv(frame, tmp_path / "t.csv")
    feather.write_feather(frame, str(tmp_path / "t.feather"))
    for source in (frame, *tmp_path.iterdir()):
        (batch,) = open_table(source).batches(["y", "x"], ["k"])
        assert batch.to_pydict() == {"y": [3.0], "x": [1.0], "k": ["u"]}
        (batch,) = open_table(source).batches(["x.1"])
        assert batch.to_pydict() == {"x.1": [2.0]}


def test_masked_entries_of_an_array_stay_hidden():
    array = np.ma.array([[98765.4321, 2.0], [3.0, 4.0]], mask=[[True, False], [False, False]])
    (batch,) = open_table(array).batches(["x0", "x1"])
    assert batch.to_pydict() == {"x0": [None, 3.0], "x1": [2.0, 4.0]}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (np.zeros(3), "two dimensions, got 1"),
        (np.zeros((3, 0)), "no columns"),
        (np.array([[1, "SECRET"], [2.5, object()]], dtype=object), "must hold numbers"),
        (np.array([[1j]]), "must hold numbers, got dtype complex128"),
        (pd.DataFrame({"a": [1, "SECRET", 2.5]}), "mixes kinds"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "same name"),
        (pa.table([[1], [2]], names=["a", "a"]), "more than one column named 'a'"),
        ([[1, 2]], "got list"),
        (pl.LazyFrame({"a": [1]}), "got LazyFrame"),
    ],
)
def test_bad_tables_in_memory(source, said):
    with pytest.raises(TableError, match=said) as caught:
        numbers(source)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("\n\n \n", "is empty"),
        ("a,b\n", "has a header but no rows"),
        ("a,b", "has a header but no rows"),
        ("a,b\n1,2\n3,4,98765.4321\n", r"row 3 .*has 3 fields where the header has 2"),
        ("a,b\n1,2\nSECRET\n", r"row 3 .*has 1 fields where the header has 2"),
        (LONG + "1,2,SECRET\n", r"row 300002 .*has 3 fields"),
        ("a,b\n1,2\n3,SECRET\xe9\n".encode("latin-1"), "not UTF-8 text.*encoding='latin-1'"),
        ("a,SECRET\xe9\n1,2\n".encode("latin-1"), "not UTF-8 text.*encoding='latin-1'"),
        ("a,b\n1,SECRET\n".encode("utf-16"), "not UTF-8 text"),
        ("a,a,b\n1,2,3\n", "more than one column named 'a'; rename"),
        ("a,b\nSECRET,x\ny,z\n", "not numbers: a, b; .*`drop`.*`keep`"),
        (LONG + "1,SECRET\n", r"column b began as numbers .*row 300002 .*leave the column out"),
        (LONG + "98765.4321x,2\n", r"column a began as numbers .*row 300002"),
        (LONG.encode() + b"1,SECRET\xc9\n", "column b began as numbers"),
        ("a,b\n" + ",2\n" * 600_000 + "SECRET,2\n", "column a .*row 600002"),
        ("a,b\n" + "true,2\n" * 200_000 + "SECRET,2\n", "column a .*row 200002"),
        ('a,b\n1,2\n"98765.4321,3\n4,5\n', "row 3 .*quotation mark"),
        ('a,b\n1,2\n"98765.4321,3\n' + "4,5\n" * 600_000, "quotation mark is never closed"),
        ("98765.4321,98765.4321\n1,2\n", "no header"),
        ("98765.4321,3\n1,2\n", "no header"),
    ],
)
def test_bad_csv_files(content, said, tmp_path):
    assert re.search(said, complaint(written(tmp_path / "t.csv", content)))


def test_a_message_never_takes_a_number_from_a_value(tmp_path):
    path = written(tmp_path / "t.csv", "a,b\n1,2\nRow #98765.4321: Expected 7 columns got 8\n")
    assert "row 3 " in complaint(path)


def test_settings_of_a_csv_file(tmp_path):
    path = written(tmp_path / "t.csv", "\xe9,b\n1,2\n".encode("latin-1"))
    np.testing.assert_array_equal(numbers(path, encoding="latin-1"), [[1, 2]])
    assert open_table(path, encoding="latin-1").schema.names == ["\xe9", "b"]
    with pytest.raises(TableError, match="no encoding named nonsense"):
        numbers(path, encoding="nonsense")
    for encoding in ("utf-16", "utf-16-be"):
        path = written(tmp_path / "u.csv", "a,b\n1,2\n".encode(encoding))
        np.testing.assert_array_equal(numbers(path, encoding=encoding), [[1, 2]])
    path = written(tmp_path / "t.tsv", "a#b\n1#2\n")
    np.testing.assert_array_equal(numbers(path, delimiter="#"), [[1, 2]])
    for delimiter in ("", "ab", "\n", '"'):
        with pytest.raises(TableError, match="one character"):
            numbers(path, delimiter=delimiter)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (LONG + "1.5,-2e3\n", [1.5, -2000.0]),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n", [1, 2]),
        (b"a,b\r1,2\r", [1, 2]),
        ('"a\nz","b,c"\n1,2\n', [1, 2]),
        ("0,1\n7,8\n", [7, 8]),
        ("a,b\n" + ",2\n" * 600_000 + "3,4\n", [3, 4]),
    ],
)
def test_unusual_csv_files_that_are_fine(content, expected, tmp_path):
    table = open_table(written(tmp_path / "t.csv", content))
    found = list(table.batches(table.schema.names))
    assert [column[-1].as_py() for column in found[-1].columns] == expected


def test_texts_with_line_ends_pass(tmp_path):
    rows = ['1,"u\nv"', '2,"w ""x"""']
    path = written(tmp_path / "t.csv", "a,k\n" + "\n".join(rows * 100_000) + "\n")
    found = pa.Table.from_batches(open_table(path).batches(["a"], ["k"]))
    assert found.num_rows == 200_000
    assert found["k"][:2].to_pylist() == ["u\nv", 'w "x"']


def test_nulls_infinities_and_switches(tmp_path):
    text = "a,b,c\n1,inf,true\nNaN,-Infinity,\n,Inf,false\nNA,2,true\n"
    path = written(tmp_path / "t.csv", text)
    blocks = list(Source(open_table(path), choose_columns(open_table(path)))._raw())
    nan, inf = np.nan, np.inf
    expected = [[1, inf, 1], [nan, -inf, nan], [nan, inf, 0], [nan, 2, 1]]
    np.testing.assert_array_equal(blocks[0].X, expected)
    frame = pa.table({"a": [1, None], "b": pa.array([None, True]), "c": pa.nulls(2)})
    pq.write_table(frame, tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        table = open_table(source)
        (block,) = Source(table, choose_columns(table))._raw()
        np.testing.assert_array_equal(block.X, [[1, nan, nan], [nan, 1, nan]])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2", ""], [1, 2, None]),
        (["007", "12"], ["007", "12"]),
        (["7"] * 200_000 + ["008"], "008"),
        (["7"] * 200_000 + ["SECRET"], "SECRET"),
        (["1", "2.5", "NA"], [1.0, 2.5, None]),
        (["99999999999999999999", "1"], ["99999999999999999999", "1"]),
        (["12345678901234567", "1.5"], ["12345678901234567", "1.5"]),
        (["true", "", "false"], [True, None, False]),
        (["2020-01-01", "x"], ["2020-01-01", "x"]),
        (["u", "", "NA"], ["u", "", "NA"]),
        (["", ""], ["", ""]),
    ],
)
def test_kept_columns_of_a_csv_file_lose_nothing(cells, expected, tmp_path):
    path = written(tmp_path / "t.csv", "a,k\n" + "".join(f"1.5,{cell}\n" for cell in cells))
    found = pa.Table.from_batches(open_table(path).batches(["a"], ["k"]))["k"]
    if isinstance(expected, str):
        assert found[-1].as_py() == expected
        assert found[0].as_py() == "7"
    else:
        assert found.to_pylist() == expected


def test_truncated_files_of_every_kind(tmp_path):
    pq.write_table(FRAME, tmp_path / "t.parquet", row_group_size=100)
    as_stream(tmp_path / "stream.arrow")
    as_file(tmp_path / "file.arrow")
    as_gzip(tmp_path / "t.csv.gz")
    for path in list(tmp_path.iterdir()):
        whole = path.read_bytes()
        for share in (0.0001, 0.001, 0.1, 0.5, 0.9, 0.9999):
            cut = written(tmp_path / f"cut-{path.name}", whole[: max(3, int(share * len(whole)))])
            assert "truncated" in complaint(cut) or path.name.endswith("gz")
    whole = bytearray((tmp_path / "t.parquet").read_bytes())
    whole[5000:9000] = bytes(4000)
    assert "damaged" in complaint(written(tmp_path / "holes.parquet", bytes(whole)))


def test_damaged_bytes_never_do_more_than_raise(tmp_path):
    frame = FRAME.slice(0, 200).append_column("k", pa.array([f"r{i}" for i in range(200)]))
    pq.write_table(frame, tmp_path / "t.parquet", row_group_size=50)
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink:  # noqa: SIM117
        with pa.ipc.new_stream(sink, frame.schema) as stream:
            stream.write_table(frame, max_chunksize=50)
    rng = np.random.default_rng(1)
    for path in list(tmp_path.iterdir()):
        whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
        named = []
        for _ in range(150):
            data = whole.copy()
            data[rng.integers(len(data), size=20)] = rng.integers(256, size=20)
            damaged = written(tmp_path / f"damaged{path.suffix}", data.tobytes())
            try:
                table = open_table(damaged)
                for batch in table.batches(table.schema.names):
                    batch.to_pydict()
            except TableError as error:
                named.append(str(damaged) in str(error))
        assert len(named) > 50
        assert all(named)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.parquet", "a,b\n1,SECRET\n", "cannot be read as Parquet"),
        ("t.arrow", "a,b\n1,SECRET\n", "cannot be read as Arrow"),
        ("t.csv.gz", "a,b\n1,SECRET\n", "compressed data"),
        ("t.xlsx", "PK SECRET", "isinglass reads no .xlsx files; save it as .csv, "),
        ("t.feather", "FEA1 SECRET", "version 1"),
    ],
)
def test_files_that_are_something_else(name, content, said, tmp_path):
    assert said in complaint(written(tmp_path / name, content))


def test_a_folder_and_a_missing_file(tmp_path):
    assert "is a folder" in complaint(tmp_path)
    assert "No such file" in complaint(tmp_path / "none.csv")


MEASURE = """
import re, sys
from pathlib import Path
import numpy as np
import pyarrow.parquet, pyarrow.csv
from isinglass.table.read import open_table
from isinglass.table.columns import choose_columns
from isinglass.table.prepare import Source
rows = 0
if len(sys.argv) > 1:
    table = open_table(sys.argv[1])
    for block in Source(table, choose_columns(table)).blocks():
        rows += len(block.X)
        assert np.isfinite(block.X).all()
# Not ru_maxrss: a child inherits its parent's.
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())
print(rows, int(peak[1]) / 1024)
"""


def peak(*arguments):
    """Rows read, and MiB of memory at most."""
    command = [sys.executable, "-c", MEASURE, *map(str, arguments)]
    rows, size = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(rows), float(size)


@pytest.mark.slow
def test_one_huge_row_group_needs_little_memory(tmp_path):
    rng = np.random.default_rng(1)
    frame = pa.table({f"x{i}": rng.random(3_000_000, dtype=np.float32) for i in range(10)})
    path = tmp_path / "huge.parquet"
    pq.write_table(frame, path, row_group_size=3_000_000, use_dictionary=False)
    assert pq.ParquetFile(path).num_row_groups == 1
    rows, size = peak(path)
    assert rows == 3_000_000
    assert size - peak()[1] < 200


@pytest.mark.slow
def test_one_huge_arrow_batch_needs_little_memory(tmp_path):
    rng = np.random.default_rng(1)
    batch = pa.record_batch([rng.random(7_000_000, dtype=np.float32)] * 10, list("abcdefghij"))
    path = tmp_path / "huge.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    rows, size = peak(path)
    assert rows == 7_000_000
    assert size - peak()[1] < 170


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ten_thousand_columns_need_little_memory(kind, tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / f"wide.{kind}"
    names = [f"column_{i}" for i in range(10_000)]
    if kind == "csv":
        line = ",".join(f"{x:.6f}" for x in rng.random(10_000)) + "\n"
        path.write_text(",".join(names) + "\n" + line * 200)
    else:
        frame = pa.table(dict(zip(names, rng.random((10_000, 200)), strict=True)))
        pq.write_table(frame, path)
    rows, size = peak(path)
    assert rows == 200
    assert size - peak()[1] < 400
