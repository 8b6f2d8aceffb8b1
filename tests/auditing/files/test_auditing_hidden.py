"""Records beside the rows of a file: in its metadata, names, categories, or between its parts."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import isinglass as ig
from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.files.hidden import refuse_hidden, refuse_long_names
from isinglass.errors import AuditError
from isinglass.table.read import open_table

RNG = np.random.default_rng(1)
N = 120
X = RNG.normal(size=(N, 4))
SECRET = X.tobytes()
NOISE = pa.table({f"z{i}": RNG.normal(size=N) for i in range(4)})
LISTED = pa.array([str(v) for v in X.ravel()])
pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


def facts(**more):
    said = {
        "method": "vault", "parameters": {}, "version": "1.0", "rows": N,
        "columns": NOISE.column_names, "promise": {"kind": "heuristic"},
    }  # fmt: skip
    return {"isinglass": json.dumps(said | more)}


def with_note_on_a_column():
    field = pa.field("z0", pa.float64(), metadata={"unit": SECRET.hex()})
    return NOISE.cast(pa.schema([field, *list(NOISE.schema)[1:]]))


def with_categories():
    codes = pa.array(np.arange(N, dtype=np.int32) % 3)
    return NOISE.append_column("kind", pa.DictionaryArray.from_arrays(codes, LISTED))


HIDDEN = {
    "a note": NOISE.replace_schema_metadata({"notes": SECRET}),
    "many notes": NOISE.replace_schema_metadata({f"n{i}": SECRET[:200] for i in range(9)}),
    "a long key": NOISE.replace_schema_metadata({SECRET.hex(): "x"}),
    "a note called pandas": NOISE.replace_schema_metadata({"pandas": SECRET.hex()}),
    "attributes": NOISE.replace_schema_metadata(
        {"pandas": json.dumps({"columns": [], "attributes": {"x": X[:60, 0].tolist()}})}
    ),
    "a note on a column": with_note_on_a_column(),
    "unused categories": with_categories(),
    "a fact that nobody writes": NOISE.replace_schema_metadata(facts(new=1)),
    "a short note beside our facts": NOISE.replace_schema_metadata(
        facts() | {"note": SECRET[:200]}
    ),
    "long facts": NOISE.replace_schema_metadata(facts(warnings=[str(v) for v in X.ravel()])),
    "a time zone": NOISE.append_column(
        "t", pa.nulls(N, pa.timestamp("ns", tz="x" * 300)).cast(pa.timestamp("ns", tz="x" * 300))
    ),
    "a long name": NOISE.rename_columns([LISTED[0].as_py() * 20, "b", "c", "d"]),
}


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_what_no_attack_looks_at_is_refused(name, kind, tmp_path):
    path = tmp_path / f"r.{kind}"
    if kind == "parquet":
        pq.write_table(HIDDEN[name], path)
    else:
        feather.write_feather(HIDDEN[name], path)
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(AuditError, match="which may hold records") as told:
        audit_files(tmp_path / "t.csv", path)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 250


def test_sizes_of_row_groups_are_no_place_for_records(tmp_path):
    path = tmp_path / "r.parquet"
    ours = NOISE.replace_schema_metadata(facts())
    for sizes, refused in (((40, 40, 40), False), ((50, 50, 20), False), ((40, 50, 30), True)):
        with pq.ParquetWriter(path, ours.schema) as writer:
            start = 0
            for size in sizes:
                writer.write_table(ours.slice(start, size))
                start += size
        if refused:
            with pytest.raises(AuditError, match="row groups of uneven size"):
                refuse_hidden(path)
        else:
            refuse_hidden(path)


def test_bytes_between_the_parts_of_a_file_are_refused(tmp_path):
    path = tmp_path / "r.parquet"
    pq.write_table(NOISE, path)
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    cut = len(data) - 8 - size
    path.write_bytes(data[:cut] + SECRET + data[cut:])
    assert pq.read_table(path).equals(NOISE)  # readers do not mind
    with pytest.raises(AuditError, match="bytes that belong to no column"):
        refuse_hidden(path)


def test_what_tools_write_by_themselves_is_no_secret(tmp_path):
    frame = pd.DataFrame(RNG.normal(size=(50, 300)), columns=[f"sensor_{i}" for i in range(300)])
    frame["kind"] = pd.Categorical(["a", "b"] * 25, categories=["a", "b", "never"])
    frame["day"] = pd.Timestamp("2020-01-01", tz="UTC")
    frame["text"] = [f"text {i}" for i in range(50)]
    frame.attrs["source"] = "plant 7"
    frame.index = pd.Index([f"row {i}" for i in range(50)], name="label")
    frame.to_parquet(tmp_path / "pandas.parquet")
    frame.to_parquet(tmp_path / "index.parquet", row_group_size=10, write_page_index=True)
    frame.reset_index().to_feather(tmp_path / "pandas.feather")
    polars = pl.from_pandas(frame.reset_index())
    polars.write_parquet(tmp_path / "polars.parquet")
    polars.write_ipc(tmp_path / "polars.arrow")
    X = frame.iloc[:, :40].reset_index(drop=True)
    ig.write_release(
        X, tmp_path / "ours.parquet", ig.Distortion(random_state=1),
        bounds=dict.fromkeys(X.columns, (-9.0, 9.0)), shuffle=True,
    )  # fmt: skip
    written = [p for p in tmp_path.iterdir() if p.suffix in (".parquet", ".feather", ".arrow")]
    assert len(written) == 6
    for path in written:
        refuse_hidden(path)
        refuse_long_names(path, open_table(path).schema)
