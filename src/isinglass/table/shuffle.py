"""Keyed shuffle of rows in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.chance import Stream

Array = NDArray[Any]
_BUCKET_BYTES = 64 << 20
_MOST_BITS = 9  # every bucket is an open file, and systems allow about a thousand


def keyed_order(key: NDArray[np.uint64], n_rows: int) -> NDArray[np.intp]:
    """Row `keyed_order(key, n)[i]` of the table stands at place i of the shuffled release."""
    return np.argsort(Stream(key).words(0, n_rows)[:, 0], kind="stable")


class Shuffler:
    """Takes rows in table order and gives them back ordered by a tag drawn for each row number.

    Rows go to buckets by the leading bits of their tags; a bucket is small enough to sort in
    memory. Buckets are files in a folder of their own that is gone when the work ends.
    """

    def __init__(self, key: NDArray[np.uint64], n_rows: int, row_bytes: int, folder: Path) -> None:
        self._stream = Stream(key)
        self._bits = min(_MOST_BITS, (n_rows * row_bytes // _BUCKET_BYTES).bit_length())
        self._seen = 0
        self._folder = tempfile.TemporaryDirectory(prefix=".shuffle-", dir=folder)
        self._files: dict[int, tuple[Any, Any]] = {}

    def add(self, Z: Array, kept: pa.RecordBatch) -> None:
        """Take the next rows of the table."""
        tags = self._stream.words(self._seen, len(Z))[:, 0]
        self._seen += len(Z)
        rows = pa.FixedSizeListArray.from_arrays(
            pa.array(np.ascontiguousarray(Z).ravel()), Z.shape[1]
        )
        whole = pa.RecordBatch.from_arrays(
            [pa.array(tags), rows, *kept.columns],
            names=["tag", "row", *(f"kept {n}" for n in kept.schema.names)],
        )
        bucket = tags >> np.uint64(64 - self._bits) if self._bits else np.zeros_like(tags)
        for number in np.unique(bucket).tolist():
            self._writer(number, whole.schema).write_batch(whole.filter(pa.array(bucket == number)))

    def _writer(self, number: int, schema: pa.Schema) -> Any:
        if number not in self._files:
            sink = pa.OSFile(str(Path(self._folder.name) / str(number)), "wb")
            self._files[number] = (sink, pa.ipc.new_stream(sink, schema))
        return self._files[number][1]

    def blocks(self) -> Iterator[tuple[Array, pa.RecordBatch]]:
        """The rows in keyed order."""
        for sink, writer in self._files.values():
            writer.close()
            sink.close()
        for number in sorted(self._files):
            path = Path(self._folder.name) / str(number)
            with pa.OSFile(str(path), "rb") as source:
                bucket = pa.ipc.open_stream(source).read_all().combine_chunks()
            path.unlink()
            order = np.argsort(bucket.column("tag").to_numpy(), kind="stable")
            bucket = bucket.take(pa.array(order)).combine_chunks()
            rows = bucket.column("row").chunk(0)
            Z = rows.flatten().to_numpy().reshape(len(rows), -1)
            names = [n for n in bucket.column_names if n.startswith("kept ")]
            kept = pa.RecordBatch.from_arrays(
                [bucket.column(n).chunk(0) for n in names], [n[5:] for n in names]
            )
            yield Z, kept

    def close(self) -> None:
        """Remove the buckets."""
        self._folder.cleanup()
