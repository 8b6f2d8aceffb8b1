"""A keyed order: a permutation that depends on the key and the row numbers alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isinglass import chance
from isinglass.table import row_order
from isinglass.table.row_order import Shuffler, keyed_order

KEY = chance.stream_key(chance.generator(1))
N = 500
Z = np.random.default_rng(0).normal(size=(N, 3))
NAMES = [f"r{i}" for i in range(N)]
KEPT = pa.record_batch({
    "tag": NAMES,
    "row": pa.array([None if i % 5 == 0 else i for i in range(N)]),
    "kind": pa.array([f"k{i % 7}" for i in range(N)]).dictionary_encode(),
})  # fmt: skip


def shuffled(Z, kept, cuts, folder):
    work = Shuffler(KEY, len(Z), 100, folder)
    try:
        for start, end in zip([0, *cuts], [*cuts, len(Z)], strict=True):
            work.add(Z[start:end], kept.slice(start, end - start))
        found = list(work.blocks())
    finally:
        work.close()
    assert list(folder.iterdir()) == []
    table = pa.Table.from_batches([batch for _, batch in found])
    return np.concatenate([block for block, _ in found]), table, len(found)


def test_the_order_is_a_permutation_of_its_key_alone():
    order = keyed_order(KEY, N)
    assert sorted(order) == list(range(N))
    assert (order != np.arange(N)).mean() > 0.9
    np.testing.assert_array_equal(order, keyed_order(KEY, N))
    other = keyed_order(chance.stream_key(chance.generator(2)), N)
    assert (order == other).mean() < 0.05


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, N), max_size=5).map(sorted), st.sampled_from([64 << 20, 8000, 1500]))
def test_rows_come_in_the_keyed_order_whatever_the_batches(tmp_path, cuts, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_order, "_BUCKET_BYTES", size)
        found, kept, buckets = shuffled(Z, KEPT, cuts, tmp_path)
    assert (buckets > 4) == (size < 64 << 20)
    order = keyed_order(KEY, N)
    assert found.tobytes() == np.ascontiguousarray(Z[order]).tobytes()
    assert kept["tag"].to_pylist() == [NAMES[i] for i in order]
    assert kept["row"].to_pylist() == [None if i % 5 == 0 else i for i in order]
    assert kept["kind"].to_pylist() == [f"k{i % 7}" for i in order]


def test_single_precision_in_columns_and_nothing_kept(tmp_path):
    rows = np.asfortranarray(Z.astype(np.float32))
    found, _, _ = shuffled(rows, KEPT.select([]), [100], tmp_path)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, rows[keyed_order(KEY, N)])


def test_an_error_leaves_no_bucket_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(row_order, "_BUCKET_BYTES", 1500)
    work = Shuffler(KEY, N, 100, tmp_path)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        try:
            work.add(Z, KEPT)
            assert len(list(next(tmp_path.iterdir()).iterdir())) > 4
            next(work.blocks())
            raise KeyboardInterrupt
        finally:
            work.close()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_buckets_is_the_owners_alone(tmp_path):
    work = Shuffler(KEY, N, 100, tmp_path)
    assert next(tmp_path.iterdir()).stat().st_mode & 0o777 == 0o700
    work.close()


def test_buckets_never_outnumber_the_files_a_system_lets_open(tmp_path):
    work = Shuffler(KEY, 1 << 50, 1 << 10, tmp_path)
    assert 1 << work._bits <= 512
    work.close()
