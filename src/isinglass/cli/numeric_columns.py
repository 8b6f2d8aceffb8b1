"""Read the numeric columns of input files, and check that two files share them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isinglass.progress import Progress


def read_numbers(
    path: Path,
    *,
    drop: Sequence[str],
    missing: str = "error",
    advice: str,
    progress: Progress,
    **reading: Any,
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The columns that are not dropped, float64, row by row, and their names.

    A missing value is an error, and `advice` says what to do about it, or its row is left out; a
    median would be a fact of the table.
    """
    import numpy as np

    from isinglass.errors import TableError
    from isinglass.memory import available_bytes, format_bytes
    from isinglass.table.columns import choose_columns, names_to_drop
    from isinglass.table.prepare import Source
    from isinglass.table.read import open_table

    opened = open_table(path, **reading)
    names = opened.schema.names
    # A column to leave out need not be in both files.
    left_out = [name for name in dict.fromkeys(names_to_drop(drop, names)) if name in names]
    columns = choose_columns(opened, drop=left_out, advice="leave them out with --drop")
    source = Source(opened, columns, missing=missing, advice=advice)
    size = 16 * source.n_columns * (opened.n_rows or 0)
    if size > available_bytes():
        raise TableError(f"{path} takes about {format_bytes(size)} of memory, more than there is")
    blocks, done = [], 0
    for block in source.blocks():
        blocks.append(np.ascontiguousarray(block.X, dtype=np.float64))
        done += len(block.X)
        progress("reading", done, opened.n_rows)
    if not done:
        some = any(batch.num_rows for batch in opened.batches(columns.numeric[:1]))
        why = "has a missing value in every row" if some else "has no rows"
        raise TableError(f"{path} {why}; there is nothing to work with")
    return np.concatenate(blocks), tuple(source.names)


def unknown_columns(drop: Sequence[str], paths: Sequence[Path], **reading: Any) -> None:
    """Refuse a column to leave out that none of the files has: most likely a slip."""
    from isinglass.errors import TableError
    from isinglass.table.columns import names_to_drop
    from isinglass.table.read import open_table

    names = [name for path in paths for name in open_table(path, **reading).schema.names]
    if unknown := sorted(set(names_to_drop(drop, names)) - set(names)):
        files = " or ".join(map(str, paths))
        raise TableError(f"there is no column named {', '.join(unknown)} in {files}")


def same_columns(names: Sequence[str], asked: Sequence[str], table: Path, records: Path) -> None:
    """Refuse records whose columns are not those of the table, in its order."""
    from isinglass.curate.records import other_columns
    from isinglass.errors import TableError

    wrong = other_columns(
        asked, names, what=str(records), whose=f"the columns of {table}",
        advice=" (leave out with --drop)",
    )  # fmt: skip
    if wrong is not None:
        raise TableError(wrong)
