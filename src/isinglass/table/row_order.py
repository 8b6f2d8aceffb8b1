"""Row order: whether columns follow the row number, and a keyed shuffle in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.chance import Stream

THRESHOLD = 0.5
#: Chance alone gives an autocorrelation of one over the root of the number of rows.
CHANCE = 4.0


class RowOrderCheck:
    """Compares each column with the row number and with itself one row before.

    For the row number an even sample of rows is kept in bounded memory: every `stride`-th row;
    when too many have gathered, every other one goes and the stride doubles. The sample depends
    on row numbers only, not on how rows were batched. Neighbors are compared in all rows, by
    running sums.
    """

    def __init__(self, n_columns: int) -> None:
        self._most = max(64, min(8192, (16 << 20) // (8 * max(n_columns, 1))))
        self._stride = 1
        self._next = 0
        self._seen = 0
        self._count = 0
        self._kept: list[NDArray[Any]] = [np.empty((0, n_columns))]
        # Counted from the first row, near which sums of squares lose least.
        self._origin: NDArray[Any] | None = None
        self._last = np.zeros(n_columns)
        self._sums, self._squares, self._products = (np.zeros(n_columns) for _ in range(3))

    def add(self, block: NDArray[Any]) -> None:
        """Take in the next rows of the table."""
        self._add_neighbors(block)
        rows = np.arange(self._next - self._seen, len(block), self._stride)
        if len(rows):
            self._kept.append(np.array(block[rows], dtype=np.float64))
            self._count += len(rows)
            self._next = self._seen + int(rows[-1]) + self._stride
        self._seen += len(block)
        while self._count > self._most:
            # Copied, so that the rows that go free their memory.
            self._kept = [np.concatenate(self._kept)[::2].copy()]
            self._count = len(self._kept[0])
            self._stride *= 2
            self._next = self._count * self._stride

    def _add_neighbors(self, block: NDArray[Any]) -> None:
        if not len(block):
            return
        if self._origin is None:
            self._origin = np.array(block[0], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # such columns are refused elsewhere
            rows = np.asarray(block, dtype=np.float64) - self._origin
            # The very first row is the origin, 0, and adds nothing.
            self._products += rows[0] * self._last + np.einsum("ij,ij->j", rows[1:], rows[:-1])
            self._squares += np.einsum("ij,ij->j", rows, rows)
            self._sums += rows.sum(axis=0)
        self._last = rows[-1].copy()

    def autocorrelations(self) -> NDArray[np.float64]:
        """Correlation of every column with itself one row before; 0 for constants."""
        n = self._seen
        if n < 5 or self._origin is None:
            return np.zeros(len(self._sums))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self._sums / n
            variance = self._squares - n * mean**2
            # The sum of (x_t - m)(x_t-1 - m) over n - 1 pairs; the first row is 0 here.
            shared = self._products - mean * (2 * self._sums - self._last) + (n - 1) * mean**2
            enough = variance > 1e-12 * np.maximum(self._squares, 1e-300)
            found = np.divide(shared, variance, out=np.zeros_like(shared), where=enough)
        return np.asarray(np.where(np.isfinite(found), found, 0.0))

    def correlations(self) -> NDArray[np.float64]:
        """Spearman's rank correlation of every column with the row number; 0 for constants."""
        sample = np.concatenate(self._kept)
        if len(sample) < 5:
            return np.zeros(sample.shape[1])
        from scipy.stats import rankdata

        ranks = rankdata(sample, axis=0)
        ranks -= ranks.mean(axis=0)
        number = np.arange(len(ranks)) - (len(ranks) - 1) / 2
        spread = np.sqrt((ranks**2).sum(axis=0) * (number**2).sum())
        products = number @ ranks
        return np.asarray(np.divide(products, spread, out=np.zeros_like(spread), where=spread > 0))

    def trending(self) -> NDArray[np.intp]:
        """Positions of the columns that tell a record's place in the table."""
        return np.flatnonzero(np.abs(self.correlations()) > THRESHOLD)

    def alike(self) -> NDArray[np.intp]:
        """Positions of the columns in which neighboring rows tell of each other."""
        least = max(THRESHOLD, CHANCE / np.sqrt(max(self._seen, 1)))
        return np.flatnonzero(np.abs(self.autocorrelations()) > least)


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
