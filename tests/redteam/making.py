"""How releases are made: by our command line, or by the hands of others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import isinglass as ig
from tests.redteam.harness import Left, isinglass

Table = Callable[[], pd.DataFrame]
SEED = "random_state=8250193"
#: Of what others draw; a seed that people use would be guessed, and every case undone by it.
SECRET = 82_501_937_641


def ours(
    table: Table,
    method: str,
    *sets: str,
    keep: str = "",
    drop: str = "",
    width: int = 0,
    split: bool = False,
    secret: bool = False,
) -> Callable[[Path], Left]:
    """`isinglass release`; `split` keeps half of the records out, as strangers.

    The key is `secret`, or of a seed, which makes the same release each time and passes no gate.
    """

    def make(folder: Path) -> Left:
        records, others = table(), None
        if split:
            others = records[len(records) // 2 :].reset_index(drop=True)
            records = records[: len(records) // 2]
        records.to_csv(folder / "table.csv", index=False)
        out = folder / "left.parquet"
        chosen = sets if secret else (*sets, SEED)
        options = [f"--set={s}" for s in chosen] + ([f"--keep={keep}"] if keep else [])
        options += [f"--drop={drop}"] if drop else []
        if width:
            text = _matrix(records.shape[1], width)
            (folder / "matrix.json").write_text(text)
            options.append(f"--public-matrix={folder / 'matrix.json'}")
        isinglass("release", folder / "table.csv", "-o", out, "--method", method, *options)
        hidden = records.drop(columns=keep.split(",") if keep else []).select_dtypes("number")
        key = folder / "left.key"
        told = (f"--drop={drop}",) if drop else ()
        return Left(folder / "table.csv", out, key, tuple(hidden), others=others, options=told)

    return make


def twice(
    first: tuple[str, ...], table: Table, method: str, *sets: str, secret: bool = False
) -> Callable[[Path], Left]:
    """Two releases of the same rows: the `first` by its method and settings, then another."""

    def make(folder: Path) -> Left:
        records, earlier, out = table(), folder / "earlier.parquet", folder / "left.parquet"
        records.to_csv(folder / "table.csv", index=False)
        for path, (name, *options) in ((earlier, first), (out, (method, *sets))):
            seed = [] if secret else [f"random_state={len(name)}250193"]
            chosen = [f"--set={s}" for s in (*options, *seed)]
            command = ("release", folder / "table.csv", "-o", path, "--method", name, "--again")
            isinglass(*command, *chosen)
        return Left(folder / "table.csv", out, None, tuple(records), earlier=earlier)

    return make


def _matrix(columns: int, width: int) -> str:
    return ig.public_matrix(columns, width, study="red", seed="5e" * 32, force=True).to_text()


def mislabeled(table: Table, method: str, claimed: str, *sets: str) -> Callable[[Path], Left]:
    """A release of ours whose metadata tell a lie about the method."""

    def make(folder: Path) -> Left:
        left = ours(table, method, *sets)(folder)
        released = pq.read_table(left.release).rename_columns(list(left.hidden))
        facts = json.loads(pq.read_metadata(left.release).metadata[b"isinglass"])
        facts |= {"method": claimed, "parameters": {"k": 10}, "columns": list(left.hidden)}
        said = {b"isinglass": json.dumps(facts).encode()}
        pq.write_table(released.replace_schema_metadata(said), folder / "lie.parquet")
        return Left(left.table, folder / "lie.parquet", None, left.hidden)

    return make


def foreign(table: Table, change: Callable, *, named: bool = False) -> Callable[[Path], Left]:
    """A file of another tool: `change(records, rng)` gives its rows, or rows and their sources.

    A source below 0 is nobody's.
    """

    def make(folder: Path) -> Left:
        records = table()
        done = change(records, np.random.default_rng(SECRET))
        rows, source = done if isinstance(done, tuple) else (done, None)
        record = np.arange(len(records)) if source is None else source
        if named:
            records.insert(0, "record", [f"r{i}" for i in range(len(records))])
            rows.insert(0, "record", [f"r{i}" for i in record])
        records.to_csv(folder / "table.csv", index=False)
        rows.to_csv(folder / "left.csv", index=False)
        hidden = tuple(records.columns.drop("record", errors="ignore"))
        return Left(
            folder / "table.csv",
            folder / "left.csv",
            hidden=hidden,
            source=source,
            others=records[:0].drop(columns="record", errors="ignore"),
            named="record" if named else None,
        )

    return make


def other_units(records, rng):
    """Every column in another unit under another name, columns and rows shuffled, 1 % noise."""
    X = records.to_numpy()
    X = X + 0.01 * X.std(0) * rng.normal(size=X.shape)
    X = X * rng.uniform(0.2, 50, X.shape[1]) + rng.uniform(-90, 90, X.shape[1])
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    return pd.DataFrame(X[rows][:, columns]).add_prefix("q"), rows


def noise_by_block(records, rng):
    """The same noise row, three deviations strong, for every fifty rows."""
    noise = rng.normal(size=(len(records) // 50 + 1, records.shape[1])) * 3
    return records + np.repeat(noise, 50, axis=0)[: len(records)] * records.std().to_numpy()


def pseudonyms(records, rng):
    """Each value of a column becomes a number drawn for it."""
    coded = records.copy()
    for name in coded:
        values = coded[name].unique()
        book = dict(zip(values, rng.permutation(10**6)[: len(values)], strict=True))
        coded[name] = coded[name].map(book).astype(float)
    return coded


def means_of_near_five(records, rng):
    """A record and its four nearest share their mean (microaggregation)."""
    X, group = (records / records.std()).to_numpy(), np.full(len(records), -1)
    while (group < 0).any():
        left = np.flatnonzero(group < 0)
        near = left[np.argsort(((X[left] - X[left[0]]) ** 2).sum(axis=1))[:5]]
        group[near] = left[0]
    return records.groupby(group).transform("mean")


def means_of_any_five(records, rng):
    return records.groupby(np.arange(len(records)) // 5).transform("mean")


def sign_by_row(records, rng):
    return records * rng.choice([-1.0, 1.0], size=(len(records), 1))


def factor_by_row(records, rng):
    return records * np.exp(rng.normal(size=(len(records), 1)))


def half(records, rng):
    rows = rng.permutation(len(records))[: len(records) // 2]
    return records.iloc[rows].reset_index(drop=True), rows


def half_with_noise(records, rng):
    rows = rng.permutation(len(records))[: len(records) // 2]
    noisy = records + 0.1 * records.std().to_numpy() * rng.normal(size=records.shape)
    return noisy.iloc[rows].reset_index(drop=True), rows


def rounded(records, rng):
    """To half a deviation, as a spreadsheet might."""
    step = records.std() / 2
    return (records / step).round() * step


def ranks(records, rng):
    """Each value replaced by its place in its column."""
    return records.rank(method="first").add_prefix("rank_")


def main_components(records, rng):
    """Standardized, turned to principal components, small ones left out."""
    X = ((records - records.mean()) / records.std()).to_numpy()
    axes = np.linalg.svd(X, full_matrices=False)[2][: X.shape[1] * 2 // 3]
    return pd.DataFrame(X @ axes.T).add_prefix("pc")


def noise_along_one_line(records, rng):
    """Strong noise, one number a row, always in the same secret direction."""
    line = rng.normal(size=(1, records.shape[1])) * records.std().to_numpy()
    return records + 5 * rng.normal(size=(len(records), 1)) * line


def random_network(records, rng):
    """Two layers of random rectified units, as an embedding would be."""
    X = ((records - records.mean()) / records.std()).to_numpy()
    for width in (40, 20):
        X = np.maximum(0, X @ rng.normal(size=(X.shape[1], width)) / 3 + rng.normal(size=width) / 3)
    return pd.DataFrame(X).add_prefix("e")


def among_decoys(records, rng):
    """Rows under a little noise, among twice as many rows that were drawn, all shuffled."""
    order = rng.permutation(3 * len(records))
    drawn = rng.multivariate_normal(records.mean(), records.cov(), size=2 * len(records))
    noisy = records + 0.3 * records.std().to_numpy() * rng.normal(size=records.shape)
    rows = pd.DataFrame(np.vstack([noisy, drawn])[order], columns=records.columns)
    return rows, np.where(order < len(records), order, len(records) - 1 - order)


def fresh_noise(records, rng):
    return pd.DataFrame(rng.normal(size=records.shape)).add_prefix("z")


def fresh_synthetic(records, rng):
    """A table of the same means and covariance that never saw a record."""
    drawn = rng.multivariate_normal(records.mean(), records.cov(), size=len(records))
    return pd.DataFrame(drawn, columns=records.columns)
