"""Second pass over a table: perturb, and write block by block into a draft."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from isinglass.errors import ReleaseError, TableError
from isinglass.messages import spell
from isinglass.perturb.base import Perturbation
from isinglass.progress import Progress
from isinglass.publish.first_pass import Checksum, FirstPass
from isinglass.release import Facts, ReleaseWriter
from isinglass.table.batches import prefetch
from isinglass.table.prepare import Block, Source, all_finite
from isinglass.table.row_order import Shuffler


@dataclass(frozen=True, slots=True)
class Draft:
    """A release that is complete on disk but has no name yet, with the owner's side of it.

    `earlier` counts the releases of the same rows that the register knows.
    """

    path: Path
    perturbation: Perturbation = field(repr=False)
    columns: tuple[str, ...]
    one_hot: tuple[str, ...]
    categories: Mapping[str, list[Any]] = field(repr=False)
    shuffle_key: NDArray[np.uint64] | None = field(repr=False)
    earlier: int

    @classmethod
    def of(
        cls,
        source: Source,
        path: Path,
        perturbation: Perturbation,
        shuffle_key: NDArray[np.uint64] | None,
        earlier: int,
    ) -> Self:
        """The draft of a table's release."""
        numeric, one_hot = source.columns.numeric, source.columns.one_hot
        return cls(path, perturbation, numeric, one_hot, source.categories, shuffle_key, earlier)


Array = NDArray[Any]


def write_rows(
    perturbation: Perturbation,
    source: Source,
    look: FirstPass,
    whole: Array | None,
    path: Path,
    shuffle_key: NDArray[np.uint64] | None,
    facts: Facts,
    tell: Progress,
) -> None:
    """The second pass: perturb block by block and write, in the table's order or a keyed one."""
    blocks: Iterable[Block] = prefetch(source.blocks())
    if whole is not None:
        nothing = pa.RecordBatch.from_pylist([{}] * 0, schema=pa.schema([]))
        blocks = [Block(whole, nothing)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(_arrow_errors())
        writer: ReleaseWriter | None = None
        shuffler: Shuffler | None = None
        done, checksum = 0, Checksum()
        changed = f"{source.table.name} changed while it was being read; start again"
        for block in blocks:
            Z = block.X
            if whole is None:
                checksum.add(block.X)
                if not checksum.agrees_with(look.checksum):
                    raise TableError(changed)
                Z = perturbation.transform_rows(block.X, done)
            if not all_finite(Z):
                raise ReleaseError(
                    f"{perturbation.method} gave numbers too large to write; scale the columns of "
                    f"{source.table.name} down, or declare {spell('bounds')}"
                )
            if writer is None:
                # Only reading a CSV file settles the types of the columns kept.
                kept = block.kept.schema
                writer = stack.enter_context(ReleaseWriter(path, facts.columns, kept, source.dtype))
                if shuffle_key is not None:
                    row_bytes = Z.itemsize * Z.shape[1] + 64 * len(kept.names)
                    shuffler = Shuffler(shuffle_key, facts.rows, row_bytes, path.parent)
                    stack.callback(shuffler.close)
            (shuffler or writer).add(Z, block.kept)
            done += len(Z)
            tell("perturbing", done, facts.rows)
        if done != facts.rows or writer is None:
            raise TableError(changed)
        if shuffler is not None:
            done = 0
            for Z, kept_rows in shuffler.blocks():
                writer.add(Z, kept_rows)
                done += len(Z)
                tell("shuffling", done, facts.rows)
        writer.close(facts)


@contextlib.contextmanager
def _arrow_errors() -> Iterator[None]:
    """A column that cannot be written is told without the value it failed at."""
    try:
        yield
    except pa.ArrowException as error:
        raise ReleaseError(
            "a kept column is of a kind that cannot be written as Parquet "
            f"({type(error).__name__}); leave it out with {spell('drop')}"
        ) from None
