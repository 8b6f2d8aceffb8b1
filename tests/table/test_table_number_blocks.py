"""Tables as blocks: the same rows on every pass, in any file, whatever the block size."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from isinglass.errors import TableError
from isinglass.table import value_codes
from isinglass.table.columns import Columns
from isinglass.table.number_blocks import (
    TableBlocks,
    choose_features,
    count_marked,
    read_blocks,
)
from isinglass.table.read import open_table

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=300),
        "town": RNG.choice(["Ulm", "Bonn", "Jena"], 300),
        "b": RNG.integers(0, 9, 300),
        "gear": RNG.choice([3, 1, 2], 300),
    }
)


def rows_of(blocks, max_rows=1000):
    return np.concatenate(list(blocks.blocks(max_rows)))


def by_first_appearance(values):
    return pd.factorize(values)[0]


def write(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=70)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=64)
    else:
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=50)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "arrows", "pandas", "polars"])
@pytest.mark.parametrize("max_rows", [1, 37, 300, 10_000])
def test_every_kind_of_table_gives_the_same_rows(kind, max_rows, tmp_path):
    source = {"pandas": FRAME, "polars": pl.from_pandas(FRAME)}.get(kind)
    if source is None:
        source = write(FRAME, tmp_path / f"t.{kind}")
    rows = read_blocks(source, discrete=["gear", "town"])
    assert rows.names == ["a", "b", "town", "gear"]
    assert rows.discrete == [2, 3]
    assert rows.dtype is np.float64
    expected = np.column_stack(
        [FRAME.a, FRAME.b, by_first_appearance(FRAME.town), by_first_appearance(FRAME.gear)]
    )
    for _ in range(2):
        blocks = list(rows.blocks(max_rows))
        assert all(b.flags.c_contiguous and b.dtype == np.float64 for b in blocks)
        assert [len(b) for b in blocks[:-1]] == [max_rows] * (len(blocks) - 1)
        assert 1 <= len(blocks[-1]) <= max_rows
        np.testing.assert_array_equal(np.concatenate(blocks), expected)
        assert rows.n_rows == 300
    np.testing.assert_array_equal(rows.row_numbers(np.array([7, 299])), [7, 299])


def test_a_pass_broken_off_changes_nothing_about_the_next():
    frame = FRAME.assign(a=FRAME.a.where(np.arange(300) % 3 > 0))
    rows = TableBlocks(SmallBatches(frame), Columns(("a",), coded=("town",)), missing="drop")
    stream = rows.blocks(10)
    next(stream)
    stream.close()
    there = np.flatnonzero(np.arange(300) % 3)
    np.testing.assert_array_equal(rows_of(rows, 13)[:, 0], FRAME.a[there])
    np.testing.assert_array_equal(rows.row_numbers(np.arange(200)), there)
    assert rows.n_left_out == 100


class SmallBatches:
    """A table in memory that is read seven rows at a time."""

    def __init__(self, frame):
        self._whole = open_table(frame)
        self.name, self.schema, self.n_rows = "small", self._whole.schema, len(frame)

    def batches(self, numeric, other=()):
        for batch in self._whole.batches(numeric, other):
            for start in range(0, batch.num_rows, 7):
                yield batch.slice(start, 7)


def test_row_numbers_skip_what_was_dropped():
    keep = np.ones(300, dtype=bool)
    keep[[0, 5, 8, *range(14, 35), 299]] = False  # whole batches of seven among them
    frame = FRAME.assign(a=FRAME.a.where(keep))
    rows = TableBlocks(SmallBatches(frame), Columns(("a", "b")), missing="drop")
    assert rows.n_rows is None
    np.testing.assert_array_equal(rows_of(rows, 50)[:, 0], FRAME.a[keep])
    assert rows.n_rows == keep.sum()
    everywhere = np.flatnonzero(keep)
    np.testing.assert_array_equal(rows.row_numbers(np.arange(keep.sum())), everywhere)
    np.testing.assert_array_equal(rows.row_numbers(np.array([20, 3])), everywhere[[20, 3]])


def test_a_discrete_value_may_be_missing():
    frame = pd.DataFrame(
        {
            "x": [1.0, 2, 3, 4, 5],
            "t": ["u", "", None, "v", "u"],
            "f": [0.0, -0.0, np.inf, 1, np.nan],
        }
    )
    with pytest.raises(TableError, match=r"t \(2\), f \(2\); .*missing='drop'"):
        rows_of(read_blocks(frame, discrete=["t", "f"]))
    dropped = read_blocks(frame, discrete=["t", "f"], missing="drop")
    np.testing.assert_array_equal(rows_of(dropped)[:, 0], [1, 4])
    filled = rows_of(read_blocks(frame, discrete=["t", "f"], missing="median"))
    np.testing.assert_array_equal(filled[:, 1], [0, 1, 1, 2, 0])  # all that lack it are alike
    np.testing.assert_array_equal(filled[:, 2], [0, 0, 1, 2, 1])  # -0.0 is 0.0


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["u", "v", "u"]).dictionary_encode(),
        pa.array(["u", "v", "u"], pa.string_view()),
        pa.array([True, False, True]),
        pa.array([2**62, 2**62 + 1, 2**62]),  # equal as float64
        pa.array([3, 9, 3], pa.timestamp("ms")),
        pa.array([1, 2, 1], pa.decimal128(9, 2)),
    ],
    ids=lambda column: str(column.type)[:12],
)
def test_what_may_be_discrete(column):
    rows = read_blocks(pa.table({"c": column}), discrete=["c"])
    np.testing.assert_array_equal(rows_of(rows), [[0], [1], [0]])


def test_what_may_not_be_discrete(monkeypatch):
    with pytest.raises(TableError, match="column c holds neither text nor numbers"):
        rows_of(read_blocks(pa.table({"c": [[1], [2]]}), discrete=["c"]))
    monkeypatch.setattr(value_codes, "MOST_VALUES", 2)
    with pytest.raises(TableError, match="column town has more than 2 different values"):
        rows_of(read_blocks(FRAME, discrete=["town", "gear"]))


def test_medians_are_those_of_the_whole_column():
    holes = RNG.random((300, 2)) < 0.3
    frame = pd.DataFrame(RNG.normal(size=(300, 3)), columns=list("abc"))
    frame[["a", "c"]] = frame[["a", "c"]].mask(holes)
    rows = rows_of(read_blocks(frame, missing="median"), 64)
    np.testing.assert_array_equal(rows, frame.fillna(frame.median()))
    frame["b"] = np.nan
    with pytest.raises(TableError, match="without a single value: b"):
        read_blocks(frame, missing="median")
    with pytest.raises(TableError, match="a missing value in every row"):
        rows_of(read_blocks(frame, missing="drop"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaling_is_by_the_range_of_the_rows_that_are_used(dtype):
    X = RNG.normal(size=(200, 3)).astype(dtype)
    X[:, 1] = 7
    X[50] = 1e6, np.nan, 0
    rows = read_blocks(pa.table(list(X.T), names=list("abc")), missing="drop", scale=True)
    assert rows.dtype is dtype
    used = np.delete(X, 50, axis=0).astype(np.float64)
    low, span = used.min(axis=0), np.ptp(used, axis=0)
    expected = ((used - low) / np.where(span, span, 1)).astype(dtype)
    np.testing.assert_array_equal(rows_of(rows, 33), expected)


def test_scaling_holds_at_the_ends_of_float64():
    X = np.array([[-1.7e308, 0.0], [0.0, 5e-324], [1.7e308, 5e-324]])
    np.testing.assert_array_equal(rows_of(read_blocks(X, scale=True)), [[0, 0], [0.5, 1], [1, 1]])


def test_small_numbers_stay_float32():
    table = pa.table({"a": pa.array([1.5], pa.float32()), "t": ["u"]})
    rows = read_blocks(table, discrete=["t"])
    assert rows.dtype is np.float32
    assert rows_of(rows).dtype == np.float32
    assert read_blocks(table, drop=["a"], discrete=["t"]).dtype is np.float64


def test_columns_are_dropped_by_name():
    names = ["a", "meta_x", "meta_y", "Meta", "x[1]", "label"]
    table = open_table(pa.table([pa.array([0.0])] * 6, names=names))
    chosen = choose_features(table, drop=["meta_x", "meta_y", "x[1]"], label="label")
    assert chosen == Columns(("a", "Meta"))
    for wrong, words in (
        ({"drop": ["b"]}, "no column named b; it has a, meta_x"),
        ({"label": "b*"}, r"no column named b\*"),
        ({"discrete": ["c"]}, "no column named c"),
        ({"discrete": ["a"], "label": "a"}, "column a cannot be both"),
        ({"drop": ["*"]}, r"no column named \*"),
    ):
        with pytest.raises(TableError, match=words):
            choose_features(table, **wrong)


def test_a_table_that_changes_is_noticed():
    table = SmallBatches(FRAME)
    table.n_rows = 299
    with pytest.raises(TableError, match="changed while it was read"):
        rows_of(TableBlocks(table, Columns(("a",))))


def test_no_rows_at_all():
    with pytest.raises(TableError, match="has no rows"):
        rows_of(read_blocks(np.empty((0, 3))))


def test_marks_are_counted_if_they_are_zeros_and_ones():
    marks = np.zeros(300, dtype=int)
    marks[[3, 100, 299]] = 1
    table = SmallBatches(FRAME.assign(mark=marks, odd=marks * 2))
    assert count_marked(table, "mark", np.array([299, 4, 3])) == (2, 3)
    assert count_marked(table, "odd", np.array([3])) is None
    assert count_marked(table, "town", np.array([3])) is None
