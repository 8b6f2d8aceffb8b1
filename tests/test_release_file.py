"""A release file: facts that round trip, and bytes that depend on the rows alone."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isinglass import release
from isinglass.errors import ReleaseError
from isinglass.promise import Promise
from isinglass.release import Facts, Release, ReleaseWriter, read_facts

N = 5000
Z = np.random.default_rng(0).normal(size=(N, 2))
KEPT = pa.record_batch({
    "name": pa.array([None if i % 11 == 0 else f"r{i}" for i in range(N)]),
    "kind": pa.array([f"k{i % 7}" for i in range(N)]).dictionary_encode(),
    "row": pa.array(range(N)),
})  # fmt: skip
NOTHING = KEPT.select([])


def facts(**changes):
    settings = {"method": "tanh", "parameters": {"slope": 1.0}, "version": "1", "rows": N}
    return Facts(**(settings | {"columns": ("z0", "z1")} | changes))


def write(path, cuts=(), Z=Z, kept=NOTHING, about=None):
    with ReleaseWriter(path, ["z0", "z1"], kept.schema, Z.dtype.type) as writer:
        for start, end in zip([0, *cuts], [*cuts, len(Z)], strict=True):
            writer.add(Z[start:end], kept.slice(start, end - start))
        assert writer.rows == len(Z)
        writer.close(about or facts(kept=tuple(kept.schema.names)))
    return path


FULL = facts(
    kept=("name",),
    warnings=("one", "two"),
    seeded=True,
    again=True,
    order="keyed",
    bounds={"a": (0.0, 1.5), "b": (-1.0, 0.1)},
    promise=Promise("guaranteed", epsilon=0.1, neighbors="add or remove one", unit="record"),
)


@pytest.mark.parametrize(
    "about", [facts(), FULL, facts(promise=Promise("audited", ("naive", "ica")))]
)
def test_facts_round_trip(about, tmp_path):
    assert Facts.from_json(json.loads(json.dumps(about.to_json()))) == about
    assert read_facts(write(tmp_path / "r.parquet", about=about)) == about


def test_facts_a_later_version_adds_are_passed_over():
    assert Facts.from_json(facts().to_json() | {"new": 1}) == facts()


def test_a_release_reads_back(tmp_path):
    found = Release.read(write(tmp_path / "r.parquet", kept=KEPT))
    np.testing.assert_array_equal(found.to_numpy(), Z)
    assert found.facts.kept == ("name", "kind", "row")
    for name in KEPT.schema.names:
        assert found.table[name].to_pylist() == KEPT.column(name).to_pylist()
    assert repr(found) == f"Release(facts={found.facts!r})"
    single = write(tmp_path / "s.parquet", Z=Z.astype(np.float32))
    assert Release.read(single).to_numpy().dtype == np.float32


def test_the_path_adds_nothing_to_a_release(tmp_path):
    folder = tmp_path / "year=2020"
    folder.mkdir()
    assert Release.read(write(folder / "r.parquet")).table.column_names == ["z0", "z1"]


def test_files_that_are_no_release(tmp_path):
    with pytest.raises(ReleaseError, match="does not exist"):
        read_facts(tmp_path / "none.parquet")
    with pytest.raises(ReleaseError, match="not Parquet"):
        read_facts(tmp_path)
    (tmp_path / "text.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ReleaseError, match="it is not Parquet"):
        Release.read(tmp_path / "text.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(ReleaseError, match="not a release made by isinglass"):
        read_facts(tmp_path / "other.parquet")


@pytest.mark.parametrize("text", ["", "[]", "7", "{}", "{", '{"promise": {"kind": "audited"}}'])
def test_facts_that_cannot_be_read(text, tmp_path):
    table = pa.table({"a": [1]}).replace_schema_metadata({"isinglass": text})
    pq.write_table(table, tmp_path / "r.parquet", store_schema=True)
    with pytest.raises(ReleaseError, match="cannot be read here"):
        read_facts(tmp_path / "r.parquet")


def test_damaged_rows_and_missing_columns(tmp_path):
    path = write(tmp_path / "r.parquet")
    data = bytearray(path.read_bytes())
    data[4:2000] = bytes(1996)
    path.write_bytes(data)
    assert read_facts(path) == facts()
    with pytest.raises(ReleaseError, match="rows are damaged"):
        Release.read(path)
    with pytest.raises(ReleaseError, match="lacks columns"):
        Release.read(write(path, about=facts(columns=("z0", "z9"))))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, N), max_size=6).map(sorted), st.booleans(), st.sampled_from("CF"))
def test_equal_bytes_whatever_the_blocks(tmp_path, cuts, keep, order):
    kept = KEPT if keep else NOTHING
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release, "_GROUP_BYTES", 1)
        whole = write(tmp_path / "whole", kept=kept).read_bytes()
        assert write(tmp_path / "cut", cuts, np.asarray(Z, order=order), kept).read_bytes() == whole
    groups = pq.ParquetFile(tmp_path / "cut").metadata
    sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
    assert sizes == [1024] * 4 + [904]


def test_dictionaries_that_grow_do_not_show_in_the_bytes(tmp_path):
    """A stream may bring another dictionary with every batch."""
    texts = ["u"] * 1000 + ["v"] * 1000
    schema = pa.schema([("k", pa.dictionary(pa.int32(), pa.string()))])
    whole = pa.record_batch([pa.array(texts).dictionary_encode()], schema=schema)
    parts = [pa.record_batch([pa.array(texts[i : i + 1000]).dictionary_encode()], schema=schema)
             for i in (0, 1000)]  # fmt: skip
    for path, batches in ((tmp_path / "one", [whole]), (tmp_path / "two", parts)):
        with ReleaseWriter(path, ["z0", "z1"], schema, np.float64) as writer:
            done = 0
            for batch in batches:
                writer.add(Z[done : done + len(batch)], batch)
                done += len(batch)
            writer.close(facts(kept=("k",), rows=2000))
        assert Release.read(path).table["k"].to_pylist() == texts
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_what_the_tables_schema_says_stays_with_the_table(tmp_path):
    field = pa.field("k", pa.int64(), metadata={"note": "SECRET"})
    kept = pa.record_batch([pa.array(range(N))], pa.schema([field], metadata={"pandas": "SECRET"}))
    assert b"SECRET" not in write(tmp_path / "r.parquet", kept=kept).read_bytes()


def test_an_error_while_encoding_surfaces_and_nothing_hangs(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "_GROUP_BYTES", 1)

    def full(self, *arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ReleaseWriter, "_encode", full)
    for rows in (N, 1024, 10):  # met by the next group, or only at the end
        with pytest.raises(OSError, match="No space left"):
            write(tmp_path / "r.parquet", Z=Z[:rows])


def test_an_error_in_the_rows_closes_the_writer(tmp_path):
    writer = ReleaseWriter(tmp_path / "r", ["z0", "z1"], NOTHING.schema, np.float64)
    writer.add(Z, NOTHING)
    with pytest.raises(KeyboardInterrupt), writer:
        raise KeyboardInterrupt
    assert not writer._writer.is_open
