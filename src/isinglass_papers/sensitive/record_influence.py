"""Influence of one record on the number of anomalies, and what that does to B1 and B2."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglass.curate.questions.neighbor_counter import NeighborCounter
from isinglass.detect.metric import declare
from isinglass_papers.sensitive.baselines import b1, b2, packing
from isinglass_papers.sensitive.tiny_universe import Universe, count_of_anomalies, most_moved

# Of the baselines whose losses are looked at: those of thyroid's table.
BETA, EPSILON = 18, "0.1"


@dataclass(frozen=True)
class Moved:
    """By how much one record can change the number of anomalies."""

    line: tuple[int, ...]  # enumerated, beta = 1, 2, 3
    plane: int  # of beta = 3
    space: int
    b1_loss: float  # of the log-chance of an answer, in the plane with BETA and EPSILON
    b2_loss: float


def moved() -> Moved:
    """Enumerate on a line; in the plane and in space, build the worst neighbors."""
    line = tuple(most_moved(Universe(5, 1, 3, beta, 1))[0] for beta in (1, 2, 3))
    angle = 2 * math.pi * np.arange(5) / 5
    golden = (1 + math.sqrt(5)) / 2
    corners = [(0.0, a, b * golden) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    shells = {
        "plane": np.column_stack([np.cos(angle), np.sin(angle)]),
        "space": np.array([np.roll(c, s) for c in corners for s in range(3)])
        / math.hypot(1, golden),
    }
    found = {name: _shell_moved(0.99 * shell, 3) for name, shell in shells.items()}
    losses = []
    for make in (b1, b2):
        chances = []
        for t in np.linspace(0, 1, 101).tolist():
            rule = make(BETA, EPSILON, threshold=t)
            chances.append((rule.chance(packing(2, 1.0) * BETA, 1000), rule.chance(0, 1001)))
        # Below 1e-12 what is left of 1 - p is rounding.
        losses.append(max(abs(math.log(p / q)) for p, q in chances if min(p, q) > 1e-12))
    return Moved(line, found["plane"], found["space"], *losses)


def _shell_moved(shell: NDArray[np.float64], beta: int) -> int:
    """Anomalies that vanish when a record comes between beta copies of each point around it."""
    metric = declare("euclidean", None, None, shell.shape[1])
    places = np.vstack([shell, np.zeros(shell.shape[1])])
    numbers = []
    for middle in (0, 1):
        copies = np.array([beta] * len(shell) + [middle])
        look = NeighborCounter(np.repeat(places, copies, axis=0), metric)
        near = look.within(places, 1.0)
        numbers.append(int(count_of_anomalies(copies[None, :], near[None, :], beta)[0]))
    return numbers[0] - numbers[1]
