"""Every table of a tiny universe, and how many changes lie between any two: Figure 4, and proofs.

Tables here have up to `most` copies of each of the records 1, 2, …, n on a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.questions.builtin import presence_distance, sensitive_distance
from isinglass.plots.palette import FAINT, SOFT
from isinglass_papers.core.draw import picture
from isinglass_papers.core.result import Figure

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
FAR = np.iinfo(np.int64).max  # no path


@dataclass(frozen=True)
class Universe:
    """All small tables over 1..n; `near` counts the records within r of each place."""

    n: int
    r: int
    most: int
    beta: int
    k: int
    tables: Counts = field(init=False, repr=False)
    near: Counts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        steps = (self.most + 1) ** np.arange(self.n)
        tables = np.arange((self.most + 1) ** self.n)[:, None] // steps % (self.most + 1)
        at = np.arange(self.n)
        close = (np.abs(at[:, None] - at) <= self.r).astype(np.int64)
        object.__setattr__(self, "tables", tables)
        object.__setattr__(self, "near", tables @ close)

    def number(self, table: Sequence[int]) -> int:
        """The row of a table."""
        return int(np.dot(table, (self.most + 1) ** np.arange(self.n)))

    def anomalous(self, i: int) -> Mask:
        """Whether record i (from 0) is present and an anomaly, table by table."""
        found: Mask = (self.tables[:, i] > 0) & (self.near[:, i] <= self.beta)
        return found

    def edges(self, *, sensitive: bool) -> Iterator[tuple[int, Counts, Counts]]:
        """For each record j: tables before and after one more of it, where they are neighbors."""
        for j in range(self.n):
            before = np.flatnonzero(self.tables[:, j] < self.most)
            after = before + (self.most + 1) ** j
            if sensitive:
                # The larger table has the more records near j.
                covered = self.near[after, j] >= self.beta + 1 - self.k
                before, after = before[covered], after[covered]
            yield j, before, after

    def steps_from(self, start: Mask, *, sensitive: bool) -> Counts:
        """Fewest changes from any table of `start`, `FAR` where there is no way."""
        edges = list(self.edges(sensitive=sensitive))
        steps = np.where(start, 0, FAR)
        level = 0
        while (steps == level).any():
            for _, a, b in edges:
                for here, there in ((a, b), (b, a)):
                    new = there[(steps[here] == level) & (steps[there] == FAR)]
                    steps[new] = level + 1
            level += 1
        return steps

    def to_other_answer(self, i: int, *, sensitive: bool) -> Counts:
        """Fewest changes that turn the answer about record i over, eq. (1)."""
        yes = self.anomalous(i)
        from_yes = self.steps_from(yes, sensitive=sensitive)
        return np.where(yes, self.steps_from(~yes, sensitive=sensitive), from_yes)

    def bounds(self, i: int, *, sensitive: bool) -> Counts:
        """The product's distance for each table: eq. (2), or eq. (3)."""
        pairs, which = np.unique(
            np.column_stack([self.tables[:, i], self.near[:, i]]), axis=0, return_inverse=True
        )
        values = [
            sensitive_distance(own, near, self.beta, self.k)
            if sensitive
            else presence_distance(own, near, self.beta)
            for own, near in pairs.tolist()
        ]
        return np.array(values)[which.ravel()]


@dataclass(frozen=True)
class Checked:
    """What an enumeration found, over all settings."""

    settings: int
    cases: int  # tables times records
    wrong_2: int  # cases where eq. (2) is not the distance on G
    above_3: int  # cases where eq. (3) exceeds the distance on GS
    jumps_3: int  # neighbors of G, not only of GS, between which eq. (3) changes by more than 1
    tight: int  # cases with a way, in which eq. (3) is the distance on GS
    reachable: int


def check(universes: Sequence[Universe]) -> Checked:
    """Compare eqs. (2) and (3) with the true distances, table by table and record by record."""
    cases = wrong = above = jumps = tight = reachable = 0
    for one in universes:
        for i in range(one.n):
            plain, lower = one.bounds(i, sensitive=False), one.bounds(i, sensitive=True)
            true = one.to_other_answer(i, sensitive=True)
            cases += len(true)
            wrong += int((plain != one.to_other_answer(i, sensitive=False)).sum())
            above += int((lower > true).sum())
            tight += int((lower == true).sum())
            reachable += int((true < FAR).sum())
            for _, a, b in one.edges(sensitive=False):
                jumps += int((np.abs(lower[a] - lower[b]) > 1).sum())
    return Checked(len(universes), cases, wrong, above, jumps, tight, reachable)


def universes(sizes: Sequence[tuple[int, int, int]]) -> list[Universe]:
    """For each (n, r, most): beta from 1 to 3, and k from 1 to beta."""
    return [
        Universe(n, r, most, beta, k)
        for n, r, most in sizes
        for beta in (1, 2, 3)
        for k in range(1, beta + 1)
    ]


def parts(universe: Universe) -> Counts:
    """The number of the connected part of the sensitive graph in which each table lies."""
    part = np.full(len(universe.tables), -1)
    while (part < 0).any():
        start = np.zeros(len(part), dtype=bool)
        start[int(np.flatnonzero(part < 0)[0])] = True
        part[universe.steps_from(start, sensitive=True) < FAR] = part.max() + 1
    return part


def count_of_anomalies(tables: Counts, near: Counts, beta: int) -> Counts:
    """O: how many records of each table are anomalies."""
    return np.asarray((tables * (near <= beta)).sum(axis=1))


def most_moved(universe: Universe) -> tuple[int, tuple[int, ...], int]:
    """By how much one record changes O at most: the amount, a table before, and the record."""
    anomalies = count_of_anomalies(universe.tables, universe.near, universe.beta)
    best: tuple[int, tuple[int, ...], int] = (0, (), 0)
    for j, a, b in universe.edges(sensitive=False):
        moved = np.abs(anomalies[a] - anomalies[b])
        if moved.max() > best[0]:
            at = int(moved.argmax())
            best = int(moved[at]), tuple(universe.tables[a[at]].tolist()), j + 1
    return best


@dataclass(frozen=True)
class Named:
    """Distances of the three tables that the text around Figure 4 names, for record 5."""

    figure: Figure
    distances: tuple[int, int, int]
    bounds: tuple[int, int, int]
    edges: int  # in all
    sensitive_edges: int


NAMED = ((3, 0, 0, 0, 1), (3, 2, 1, 0, 1), (3, 0, 1, 0, 1))


def figure_4(most: int) -> Named:
    """Figure 4's graph: beta = 3, r = 1, k = 1 on five records, by enumeration."""
    universe = Universe(5, 1, most, 3, 1)
    true = universe.to_other_answer(4, sensitive=True)
    lower = universe.bounds(4, sensitive=True)
    rows = [universe.number(table) for table in NAMED]
    every = sum(len(a) for _, a, _ in universe.edges(sensitive=False))
    kept = sum(len(a) for _, a, _ in universe.edges(sensitive=True))
    return Named(
        _drawn(universe, rows, true),
        tuple(int(true[row]) for row in rows),  # type: ignore[arg-type]
        tuple(int(lower[row]) for row in rows),  # type: ignore[arg-type]
        every, kept,
    )  # fmt: skip


def _drawn(universe: Universe, starts: Sequence[int], true: Counts) -> Figure:
    """One shortest way from each named table to the other answer, drawn a line each."""
    links: dict[int, list[tuple[int, str]]] = {}
    for j, a, b in universe.edges(sensitive=True):
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            links.setdefault(x, []).append((y, f"+ {j + 1}"))
            links.setdefault(y, []).append((x, f"− {j + 1}"))
    rows: list[dict[str, float | int | str]] = []
    yes = universe.anomalous(4)
    for start in starts:
        # Along a shortest way the distance to the other answer falls by one at each step.
        here, step, change = start, 0, ""
        while True:
            place = "".join(str(c) for c in universe.tables[here].tolist())
            rows.append(
                {
                    "step": step,
                    "lane": f"from {_comma(universe.tables[start])}",
                    "change": change,
                    "table": place,
                    "answer": "anomaly" if yes[here] else "none",
                }
            )
            if yes[here] != yes[start]:
                break
            left = int(true[here])
            here, change = min(
                (y, name) for y, name in links[here]
                if (yes[y] != yes[start]) == (left == 1) and (left == 1 or true[y] == left - 1)
            )  # fmt: skip
            step += 1
    return Figure(
        "figure-4", "Figure 4: ways through the sensitive graph",
        "Records 1 to 5 on a line, beta 3, r 1, k 1. Each row of tables is a shortest way from a "
        "table that the paper names to one where record 5 is no anomaly; a table is written as "
        "the number of copies of each record, and a step says which record comes or goes.",
        tuple(rows), _ways(),
    )  # fmt: skip


def _comma(table: Counts) -> str:
    return "(" + ", ".join(str(c) for c in table.tolist()) + ")"


def _ways() -> dict[str, Any]:
    spec = picture(
        "line", "step", "lane:N", color="answer", titles={"step": "changes", "answer": "record 5"}
    )
    encoding = spec["layer"][0]["encoding"]
    encoding["x"]["axis"] = {"tickMinStep": 1}
    x, lane = encoding["x"], {"field": "lane", "type": "nominal", "title": None, "sort": None}
    color = encoding["color"]
    text = {"type": "text", "fontSize": 12}
    named = {"field": "table", "type": "nominal"}
    changed = {"field": "change", "type": "nominal"}
    spec["layer"] = [
        {"mark": {"type": "line", "color": FAINT},
         "encoding": {"x": x, "y": lane, "detail": lane}},
        {"mark": {"type": "point", "filled": True, "size": 70},
         "encoding": {"x": x, "y": lane, "color": color}},
        {"mark": text | {"dy": -13}, "encoding": {"x": x, "y": lane, "text": named}},
        {"mark": text | {"dy": 15, "dx": -28, "color": SOFT},
         "encoding": {"x": x, "y": lane, "text": changed}},
    ]  # fmt: skip
    spec["width"], spec["height"] = 520, 210
    return spec
