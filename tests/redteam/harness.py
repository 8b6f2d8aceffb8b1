"""Plays a case twice, by its script and by the audit, and scores both by the same measures."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

ATTACKERS = ("outsider", "acquainted", "insider", "key_holder")
RESISTED = "resisted the attacks listed"
MARGIN = 0.05  # by how much the audit may stay below a script


@dataclass(frozen=True)
class Left:
    """What an owner has after a release: the files, and the truth that only the owner knows."""

    table: Path
    release: Path
    key: Path | None = None
    hidden: tuple[str, ...] = ()  # columns whose values a script guesses; none: all numeric ones
    source: np.ndarray | None = None  # the table's row behind each released row; None: the same
    others: pd.DataFrame | None = None  # records that were never in the table
    options: tuple[str, ...] = ()  # of the audit
    named: str | None = None  # a column that tells the audit which row is whose; scripts lack it
    earlier: Path | None = None  # another release of the same rows, which left before


@dataclass(frozen=True)
class Known:
    """What a script is given; everything its attacker does not hold is None or absent."""

    release: pd.DataFrame
    facts: dict[str, Any]  # what the file says of itself
    hidden: list[str]
    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rng: np.random.Generator
    sample: pd.DataFrame | None = None
    rows: np.ndarray | None = None  # recognized rows of the release ...
    records: pd.DataFrame | None = None  # ... and the records behind them
    public: pd.DataFrame | None = None  # the table, in another order
    key: Path | None = None
    candidates: pd.DataFrame | None = None  # who of them was in the table?
    earlier: pd.DataFrame | None = None  # another release of the same rows

    @property
    def Z(self) -> np.ndarray:  # noqa: N802
        """The released numbers, kept columns left out."""
        kept = self.facts.get("kept", [])
        numbers = self.release.drop(columns=[c for c in kept if c in self.release])
        return numbers.select_dtypes("number").to_numpy(float)

    def values(self, of: str) -> np.ndarray:
        """The hidden columns of `sample`, `records`, `public` or `candidates`."""
        return getattr(self, of)[self.hidden].to_numpy(float)


@dataclass(frozen=True)
class Case:
    """A release, the attacker who wants it back, and the script that tries."""

    name: str
    leaves: str
    attacker: str
    measure: str  # r2, linked, membership, or resisted for a control
    make: Callable[[Path], Left]
    script: Callable[[Known], np.ndarray] | None = None
    quick: bool = False
    refusable: bool = False  # the command may refuse to make this release at all
    draws: int = 1  # of what is known; where luck decides, the mean counts


class RefusedError(Exception):
    """The command said no, in one sentence and by its exit code."""

    code = 2


def isinglass(*arguments: str | Path) -> str:
    """Run the command as typed, in this process; what it prints on stdout."""
    (command,) = entry_points(group="console_scripts", name="isinglass")
    out, err = io.StringIO(), io.StringIO()
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    argv, sys.argv = sys.argv, ["isinglass", *map(str, arguments)]
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.resetwarnings()
            command.load()()
    except SystemExit as end:
        if end.code not in (None, 0):
            said = err.getvalue().strip().splitlines()
            refused = RefusedError(f"{arguments[0]}: exit {end.code}: {said[-1:]}")
            refused.code = int(end.code)
            raise refused from None
    finally:
        sys.argv = argv
        for number, handler in before.items():
            signal.signal(number, handler)
    return out.getvalue()


def read(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def knowledge(left: Left, attacker: str, seed: int) -> tuple[Known, dict[str, np.ndarray]]:
    """What `attacker` holds, and what is needed to score: truth, fair rows, the right matches."""
    rng = np.random.default_rng(seed)
    table, release = read(left.table), read(left.release)
    if left.named:
        table, release = table.drop(columns=left.named), release.drop(columns=left.named)
    hidden = list(left.hidden) or list(table.select_dtypes("number").columns)
    X = table[hidden].to_numpy(float)
    source = np.arange(len(table)) if left.source is None else left.source
    said = (pq.read_metadata(left.release).metadata or {}) if _parquet(left.release) else {}
    given: dict[str, Any] = {"facts": json.loads(said.get(b"isinglass", b"{}"))}
    fair, place = source >= 0, rng.permutation(len(table))
    n, d = X.shape
    level = ATTACKERS.index(attacker)
    if attacker in ("acquainted", "insider"):
        drawn = rng.permutation(n)[: n // 10]
        given["sample"] = table.iloc[drawn].reset_index(drop=True)
        pairs = max(2 * d, 60, *((10 * d, n // 100) if attacker == "insider" else ()))
        known = rng.permutation(np.flatnonzero(fair))[: min(pairs, fair.sum() // 3)]
        given["rows"], given["records"] = known, table.iloc[source[known]].reset_index(drop=True)
        fair[known] = False
        if attacker == "acquainted":
            fair &= ~np.isin(source, drawn)
    if attacker == "insider":
        given["public"] = table.iloc[place].reset_index(drop=True)
    if level == 3:
        given["key"] = left.key
    if left.earlier is not None:
        given["earlier"] = read(left.earlier)
    truth = {"X": X[np.maximum(source, 0)], "fair": fair, "records": X, "place": place}
    if left.others is not None:
        both = pd.concat([table, left.others], ignore_index=True)
        order = rng.permutation(len(both))
        given["candidates"] = both.iloc[order].reset_index(drop=True)
        truth["member"] = order < len(table)
        if left.source is not None and len(left.others) == 0:
            truth["member"] = np.isin(order, left.source)
    statistics = (X.mean(0), X.std(0), X.min(0), X.max(0))
    return Known(release, given.pop("facts"), hidden, *statistics, rng, **given), truth


def _parquet(path: Path) -> bool:
    return path.suffix == ".parquet"


def r2(truth: np.ndarray, guess: np.ndarray) -> float:
    """Mean over columns that vary of the share of variance explained, none below 0."""
    varies = truth.std(axis=0) > 1e-12 * (1 + np.abs(truth).max(axis=0))
    left = ((truth - guess) ** 2).mean(axis=0)[varies] / truth.var(axis=0)[varies]
    return float(np.maximum(0, 1 - left).mean())


def auc(member: np.ndarray, scores: np.ndarray) -> float:
    """The chance that a member scores above an outsider, ties half."""
    ranks = pd.Series(scores).rank().to_numpy()
    inside, outside = member.sum(), (~member).sum()
    return float((ranks[member].sum() - inside * (inside + 1) / 2) / (inside * outside))


def nearest(found: np.ndarray, among: np.ndarray) -> np.ndarray:
    """For each row found, the number of the closest row among the others."""
    return cKDTree(among).query(found)[1]


def one_to_one(cost: np.ndarray) -> np.ndarray:
    """For each row the record that costs least, when no record is taken twice."""
    return linear_sum_assignment(cost)[1]


def with_one(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.ones(len(X))])


def score(measure: str, truth: dict[str, np.ndarray], guess: np.ndarray) -> float:
    """The script's figure, on rows that were not given away."""
    if measure == "membership":
        return auc(truth["member"], guess)
    fair = truth["fair"]
    if measure == "r2":
        return r2(truth["X"][fair], np.asarray(guess, float)[fair])
    named = truth["records"][truth["place"]][np.asarray(guess, int)]  # copies count as right
    return float((named == truth["X"]).all(axis=1)[fair].mean())


def play_script(case: Case, left: Left) -> float | None:
    """The figure that the case's script reaches, its mean over the draws; None for a control.

    The audit attacks once, with what it happens to draw as known; that may be lucky or unlucky.
    Neither the best draw of a script nor its worst is a fair measure of it: their mean is what a
    stranger may expect.
    """
    if case.script is None:
        return None
    figures = []
    for seed in range(case.draws):
        known, truth = knowledge(left, case.attacker, seed)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # a script is a script
            figures.append(score(case.measure, truth, case.script(known)))
    return float(np.mean(figures))


def audit(left: Left, attacker: str) -> dict[str, Any]:
    """What the audit says, as one JSON document."""
    options: Sequence[str | Path] = left.options
    if left.named:
        options = [*options, "--id", left.named]
    if left.earlier:
        options = [*options, "--also", left.earlier]
    if attacker == "key_holder" and left.key:
        options = [*options, "--key", left.key, "--trials", "1"]
    said = isinglass("audit", left.table, left.release, *options, "--seed", "1", "--json")
    return json.loads(said)


def audited(said: dict[str, Any], attacker: str, measure: str) -> tuple[float, str]:
    """The audit's figure for this attacker (0 where it has none) and the attacker's verdict."""
    if "attackers" not in said:
        raise AssertionError("the audit's JSON has no 'attackers': it names no attacker at all")
    by_name = {entry["name"]: entry for entry in said["attackers"]}
    if attacker not in by_name:
        raise AssertionError(f"the audit's JSON has no attacker {attacker!r}, only {[*by_name]}")
    entry = by_name[attacker]
    return float(entry.get(measure) or 0.0), str(entry["verdict"])
