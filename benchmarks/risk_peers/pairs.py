"""The releases: red-team cases again, with some records kept apart that never were in the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.harness import Left, read

Table = Callable[[], pd.DataFrame]
#: Of the records, for the peers' controls. As many as are released: where they are fewer,
#: Anonymeter extrapolates, and finds several times as much singling out.
APART = 0.5


@dataclass(frozen=True)
class Pair:
    """A release to be made of most of a table's records; the others stay apart."""

    name: str
    leaves: str
    table: Table
    release: Callable[[Table], Callable[[Path], Left]]

    def make(self, folder: Path) -> Left:
        """The table and its release in `folder`, and for the peers, who match columns by name,
        the same under the table's names: table-peers, release-peers and apart-peers."""
        whole = self.table()
        n = round(len(whole) * (1 - APART))
        left = self.release(lambda: whole[:n].reset_index(drop=True))(folder)
        table, release = read(left.table), read(left.release)
        if left.named:
            table, release = table.drop(columns=left.named), release.drop(columns=left.named)
        if set(release) != set(table):  # kept columns have their names already
            own = [c for c in table if c not in release]
            new = [c for c in release if c not in table]
            release = release.rename(columns=dict(zip(new, own, strict=True)))
        table.to_csv(folder / "table-peers.csv", index=False)
        release[list(table)].to_csv(folder / "release-peers.csv", index=False)
        whole[n:].to_csv(folder / "apart-peers.csv", index=False)
        return left


def ours(method: str, *sets: str, keep: str = "") -> Callable[[Table], Callable[[Path], Left]]:
    return lambda table: mk.ours(table, method, *sets, keep=keep)


def other(change: Callable, *, named: bool = False) -> Callable[[Table], Callable[[Path], Left]]:
    return lambda table: mk.foreign(table, change, named=named)


abalone = partial(t.real, "abalone", 980)
diabetes = partial(t.real, "diabetes", 768)
digits = partial(t.real, "pendigits", 980)
fraud = partial(t.real, "credit_fraud", 980)
mammography = partial(t.real, "mammography", 980)
thyroid = partial(t.real, "annthyroid", 980)
groups = partial(t.clusters, 980, 6)
people = partial(t.cities, 980)
ten = partial(t.factors, 980, 10, 4, rest=0.3)

PAIRS = [
    Pair("gaussian-weak", "noise of scale 0.2", thyroid, ours("gaussian", "scale=0.2")),
    Pair("gaussian-groups", "noise of scale 0.8, clustered records", groups,
         ours("gaussian", "scale=0.8")),
    Pair("gaussian-correlated", "noise of scale 1, correlated columns", ten,
         ours("gaussian", "scale=1")),
    Pair("gaussian-strong", "noise of scale 4", digits, ours("gaussian", "scale=4")),
    Pair("uniform-weak", "uniform noise of scale 0.5, 28 columns", fraud,
         ours("uniform", "scale=0.5")),
    Pair("adaptive-weak", "adaptive noise, k = 2", groups, ours("adaptive", "k=2")),
    Pair("adaptive-strong", "adaptive noise, k = 30", digits, ours("adaptive", "k=30")),
    Pair("multiplicative-weak", "noise by factors, scale 0.1", abalone,
         ours("multiplicative", "scale=0.1")),
    Pair("multiplicative-strong", "noise by factors, scale 0.3", digits,
         ours("multiplicative", "scale=0.3")),
    Pair("kept-five", "noise of scale 3, five columns of eight as they are", people,
         ours("gaussian", "scale=3", keep="city,lat,lon,rent,income")),
    Pair("condensation-pairs", "condensation, k = 2", groups, ours("condensation", "k=2")),
    Pair("condensation-strong", "condensation, k = 50", groups, ours("condensation", "k=50")),
    Pair("rotation", "rotation", diabetes, ours("rotation", "n_iter=3")),
    Pair("tanh-default", "tanh", thyroid, ours("tanh")),
    Pair("rounded", "rounded to half a deviation", diabetes, other(mk.rounded)),
    Pair("means-of-near-five", "means of five near records", mammography,
         other(mk.means_of_near_five)),
    Pair("pseudonyms", "each value replaced by a number of its own", mammography,
         other(mk.pseudonyms)),
    Pair("half-of-the-rows", "half of the rows, shuffled", mammography,
         other(mk.half, named=True)),
    Pair("other-units", "columns in other units, columns and rows shuffled", mammography,
         other(mk.other_units, named=True)),
    Pair("control-synthetic", "a fresh table of the same covariance", mammography,
         other(mk.fresh_synthetic)),
]  # fmt: skip
