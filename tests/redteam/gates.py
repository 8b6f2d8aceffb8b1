"""Gate cases: releases by our methods that a script undoes, and that no policy may let out.

Rows of the reviews in docs/explanation/redteam.md. Attacks need not find what these scripts find;
the gate has to be closed all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.redteam import by_left as left_over
from tests.redteam import by_membership as members
from tests.redteam import by_pairs as pairs
from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.by_digits import records_that_are_possible
from tests.redteam.harness import Known, Left, RefusedError, isinglass

#: Whoever attacks, by whatever attack; the order of the rows is left to the attacks.
POLICY = """[attacks]
maximum_gain = {most}
[attackers]
outsider = {most}
acquainted = {most}
insider = {most}
[release]
order = "any"
"""
MOST = 0.2


@dataclass(frozen=True)
class GateCase:
    """A release of ours with its key, the script that undoes it, and the review that found it.

    `passes` marks a control: the script gets nothing, and the gate must open.
    """

    name: str
    review: int
    leaves: str
    attacker: str
    measure: str
    make: Callable[[Path], Left]
    script: Callable[[Known], np.ndarray]
    quick: bool = False
    passes: bool = False
    draws: int = 1

    def gain(self, figure: float) -> float:
        """A script's figure as a share of what a blind guess leaves."""
        return 2 * figure - 1 if self.measure == "membership" else figure


def gate(left: Left, folder: Path) -> int:
    """The exit code of the audit with the key and a policy that limits everybody."""
    policy = folder / "limits.toml"
    policy.write_text(POLICY.format(most=MOST))
    try:
        isinglass("audit", left.table, left.release, "--key", left.key, "--policy", policy,
                  "--trials", "2", "--seed", "1", *left.options)  # fmt: skip
    except RefusedError as error:
        return error.code
    return 0


def _table(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"c{j}" for j in range(values.shape[1])])


def three_numbers(rows: int = 600) -> pd.DataFrame:
    """Three grades from 0 to 4; their sum decides, and none of them does."""
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 5, size=(rows, 3))
    values = rng.normal(size=(13, 6))[grades.sum(axis=1)] + 0.3 * rng.normal(size=(rows, 6))
    return _table(20 * values).assign(**dict(zip("uvw", grades.T, strict=True)))


def five_labels(rows: int = 900) -> pd.DataFrame:
    """A label of five values; for each of them all columns follow another quantity."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 5, rows)
    sides = rng.choice([-1.0, 1.0], size=(5, 48))[label]
    values = rng.normal(size=(rows, 1)) * sides + 0.2 * rng.normal(size=(rows, 48))
    return _table(values).assign(label=[f"L{v}" for v in label])


def cities_as_flags(rows: int = 300) -> pd.DataFrame:
    """Twelve cities, more frequent and less, as a column of 0 and 1 each."""
    rng = np.random.default_rng(0)
    share = np.arange(3, 15) / np.arange(3, 15).sum()
    return _table(np.eye(12)[rng.permutation(np.repeat(np.arange(12), (share * rows).astype(int)))])


def templates(rows: int = 400) -> pd.DataFrame:
    """One curve of 48 points, shifted in each row."""
    rng = np.random.default_rng(0)
    return _table(_CURVE[(np.arange(48) + rng.integers(0, 48, (rows, 1))) % 48])


_CURVE = np.sin(2 * np.pi * np.arange(48) / 48) + np.cos(6 * np.pi * np.arange(48) / 48 + 1.0)
_CODE = np.array([[(-1.0) ** (i & j).bit_count() for j in range(1, 64)] for i in range(64)])


def codewords(rows: int = 600) -> pd.DataFrame:
    """One of 64 codewords of 63 signs in each row."""
    return _table(_CODE[np.random.default_rng(0).integers(0, 64, rows)])


def spelled(rows: int = 300) -> pd.DataFrame:
    """A room written as 1, 01 or 1.0, which are three rooms."""
    rng = np.random.default_rng(0)
    room = rng.integers(0, 3, rows)
    values = 20 * (3 * rng.normal(size=(3, 6))[room] + 0.3 * rng.normal(size=(rows, 6)))
    return _table(values).assign(room=np.array(["1", "01", "1.0"])[room])


def _means(k: Known, groups: np.ndarray) -> np.ndarray:
    """Noisy means of groups, drawn toward the mean of all by what noise leaves of them."""
    Z = pd.DataFrame(k.Z).groupby(groups)
    size = Z[0].transform("size").to_numpy()[:, None]
    strength = k.facts["parameters"]["scale"] ** 2 / size
    return k.mean + (Z.transform("mean").to_numpy() - k.mean) / (1 + strength)


def means_by_sum(k: Known) -> np.ndarray:
    return _means(k, k.release[["u", "v", "w"]].sum(axis=1).to_numpy())


def means_by_spelling(k: Known) -> np.ndarray:
    return _means(k, k.release["room"].astype(str).to_numpy())


def filter_by_label(k: Known) -> np.ndarray:
    """The main direction of each label, and how far along it each row lies."""
    noise, found = k.facts["parameters"]["scale"] ** 2, np.empty_like(k.Z)
    Y = (k.Z - k.mean) / k.sd
    for label in k.release["label"].unique():
        rows = (k.release["label"] == label).to_numpy()
        values, axes = np.linalg.eigh(Y[rows].T @ Y[rows] / rows.sum())
        main, kept = axes[:, -1:], max(0.0, 1 - noise / values[-1])
        found[rows] = k.mean + k.sd * (kept * (Y[rows] @ main) @ main.T)
    return found


def frequencies_name_cities(k: Known) -> np.ndarray:
    """Each value that the release has is a city; how often it stands there says which."""
    values, where, counts = np.unique(
        k.Z[:, 0].round(9), return_inverse=True, return_counts=True
    )  # fmt: skip
    assert len(values) <= 12
    city = np.abs(counts[:, None] / len(k.Z) - k.mean).argmin(axis=1)
    return np.eye(12)[city][where]


def likeliest(k: Known, shapes: np.ndarray) -> np.ndarray:
    """The mean of shapes that records may have, by how likely each makes the row."""
    sd = k.facts["parameters"]["scale"] * k.sd
    away = np.square(k.Z[:, None] / sd - shapes[None] / sd).sum(axis=2) / 2
    weight = np.exp(away.min(axis=1, keepdims=True) - away)
    return (weight / weight.sum(axis=1, keepdims=True)) @ shapes


def mean_of_both(k: Known) -> np.ndarray:
    """Two noisy copies are less noisy together; their main direction, as far as it is no noise."""
    Y = ((k.Z + k.earlier[k.hidden].to_numpy(float)) / 2 - k.mean) / k.sd
    values, axes = np.linalg.eigh(np.cov(Y.T))
    kept = max(0.0, 1 - np.median(values) / values[-1])
    return k.mean + k.sd * (kept * (Y @ axes[:, -1:]) @ axes[:, -1:].T)


def in_further_columns(k: Known) -> np.ndarray:
    return np.cbrt(k.release[[f"note{j}" for j in range(len(k.hidden))]].to_numpy())


def with_columns(make: Callable[[Path], Left]) -> Callable[[Path], Left]:
    """The same release with the table in further columns, in a code."""

    def changed(folder: Path) -> Left:
        left = make(folder)
        release, table = pq.read_table(left.release), pd.read_csv(left.table)
        for j, name in enumerate(left.hidden):
            release = release.append_column(f"note{j}", pa.array(table[name].to_numpy() ** 3))
        pq.write_table(release, left.release)
        return left

    return changed


def beside_another(make: Callable[[Path], Left], table: mk.Table) -> Callable[[Path], Left]:
    """A release after an earlier one, and a third of another table that is named in its place."""

    def changed(folder: Path) -> Left:
        left = make(folder)
        table().to_csv(folder / "elsewhere.csv", index=False)
        stranger = folder / "stranger.parquet"
        isinglass("release", folder / "elsewhere.csv", "-o", stranger, "--method", "gaussian")
        return replace(left, key=folder / "left.key", options=("--also", str(stranger)))

    return changed


def told(make: Callable[[Path], Left], *options: str) -> Callable[[Path], Left]:
    """The same release, audited with further options."""
    return lambda folder: replace(make(folder), options=options)


ours = partial(mk.ours, secret=True)
pendigits = partial(t.real, "pendigits", 400)
thirty = partial(t.factors, 400, 30, 12, rest=0.5)
one = partial(t.one_quantity, 300, 30)
apart = partial(t.independent, 400, 8)

GATES = [
    GateCase("gate-sum-of-kept", 7, "noise of scale 6, three kept numbers whose sum decides",
             "outsider", "r2", ours(three_numbers, "gaussian", "scale=6", keep="u,v,w"),
             means_by_sum),
    GateCase("gate-kept-patient", 7, "noise of scale 25, the patient of each visit kept",
             "outsider", "membership",
             ours(t.visits, "gaussian", "scale=25", keep="patient", split=True),
             members.kept_values_are_there),
    GateCase("gate-further-columns", 7, "our release with the table in further columns",
             "outsider", "r2", with_columns(ours(apart, "gaussian", "scale=15")),
             in_further_columns),
    GateCase("gate-label-covariances", 8, "noise of scale 5, a kept label of five values",
             "outsider", "r2", ours(five_labels, "gaussian", "scale=5", keep="label"),
             filter_by_label),
    GateCase("gate-cities-projected", 8, "twelve cities as 0 and 1, projected to one column",
             "outsider", "r2", ours(cities_as_flags, "projection", "n_components=1"),
             frequencies_name_cities),
    GateCase("gate-templates", 9, "noise of scale 3 on one curve, shifted", "outsider", "r2",
             ours(templates, "gaussian", "scale=3"),
             partial(likeliest, shapes=_CURVE[(np.arange(48) + np.arange(48)[:, None]) % 48])),
    GateCase("gate-codewords", 9, "noise of scale 2.5 on 64 codewords", "outsider", "r2",
             ours(codewords, "gaussian", "scale=2.5"), partial(likeliest, shapes=_CODE)),
    GateCase("gate-spellings", 10, "noise of scale 8, a kept room as 1, 01 or 1.0",
             "outsider", "r2", ours(spelled, "gaussian", "scale=8", keep="room"),
             means_by_spelling, quick=True),
    GateCase("gate-projection-few-pairs", 10, "projection to one column, --max-pairs 2",
             "insider", "linked",
             told(ours(pendigits, "projection", "n_components=1"), "--max-pairs", "2"),
             pairs.forward_affine),
    GateCase("gate-geometric-few-pairs", 10, "geometric noise of .05, --max-pairs 2",
             "acquainted", "r2",
             told(ours(thirty, "geometric", "noise=0.05"), "--max-pairs", "2"),
             pairs.backward_affine),
    GateCase("gate-other-table", 10, "two releases, --also names one of another table",
             "outsider", "r2",
             beside_another(mk.twice(("uniform", "scale=6"), one, "gaussian", "scale=6",
 secret=True),
                            partial(one, seed=1)),
             mean_of_both),
    GateCase("gate-hard-ends", 11, "factors of at most 2 on columns far from zero", "outsider",
             "membership", ours(partial(left_over.far_from_zero, 300, 100, 10.0),
                                "multiplicative", "scale=1", split=True),
             left_over.members_by_factors),
    GateCase("gate-zeros-left", 11, "factors on amounts that are often zero", "outsider", "r2",
             ours(left_over.sparse, "multiplicative", "scale=1"), left_over.means_by_zeros),
    GateCase("gate-column-without-noise", 11, "noise of scale 4, and of 0 on a code", "outsider",
             "r2", ours(left_over.coded, "gaussian", "scale=[0,4,4,4,4,4,4]"),
             left_over.means_by_code, quick=True),
    GateCase("gate-uniform-reach", 11, "uniform noise of scale 20, 200 columns", "outsider",
             "membership", ours(partial(left_over.around_zero, 300, 200), "uniform", "scale=20",
                                split=True),
             left_over.members_by_reach),
    GateCase("gate-opens", 9, "noise of scale 20: its last digits tell nothing", "insider",
             "linked", ours(apart, "gaussian", "scale=20"),
             partial(records_that_are_possible, scale=20, law="gaussian"), quick=True,
             passes=True),
]  # fmt: skip
