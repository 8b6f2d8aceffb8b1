"""All measurements of the twelve sets, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

from isinglass.progress import Progress
from isinglass.threads import one_thread
from isinglass_papers.core.result import How
from isinglass_papers.rotation.accuracy import Accuracies, accuracies
from isinglass_papers.rotation.inversion import Undone, undone
from isinglass_papers.rotation.levels import ITERATIONS, SetLevels, levels
from isinglass_papers.rotation.nearest_records import Nearest, nearest
from isinglass_papers.rotation.sets import ScaledSet, unwarned


@dataclass(frozen=True, slots=True)
class RunSizes:
    """How much of everything; `most_rows` bounds the records that classifiers see."""

    rotations: int
    folds: int
    most_rows: int
    repeats: int  # of the search for a rotation
    attacked: int  # rotations attacked by ICA ...
    group: int  # ... of which the lowest of so many counts, as in the paper's iterations
    starts: int
    draws: int
    sizes: tuple[int, ...]  # of condensation's groups


QUICK = RunSizes(2, 3, 300, 2, 4, 2, 2, 100, (2, 5, 10, 20, 50))
FULL = RunSizes(
    10, 10, 1000, 10, 2 * ITERATIONS, ITERATIONS, 10, 2000, (2, 3, 5, 7, 10, 15, 20, 30, 40, 50)
)


@dataclass(frozen=True, slots=True)
class MeasuredSets:
    """What was measured, by the name of the set."""

    settings: RunSizes
    tables: dict[str, ScaledSet] = field(default_factory=dict)
    accuracy: dict[str, Accuracies] = field(default_factory=dict)
    levels: dict[str, SetLevels] = field(default_factory=dict)
    nearest: dict[str, Nearest] = field(default_factory=dict)
    undone: dict[str, Undone] = field(default_factory=dict)

    def called(self, name: str) -> str:
        """The set's name in the paper."""
        return self.tables[name].called


def measure(tables: list[ScaledSet], how: How, tell: Progress) -> MeasuredSets:
    """Run every experiment on every set."""
    s: RunSizes = how.pick(QUICK, FULL)
    found = MeasuredSets(s)
    # One thread: tables are small, and sums that round alike everywhere give the same numbers.
    with unwarned(), one_thread():
        for i, table in enumerate(tables):
            tell(f"rotation: {table.called}", i, len(tables))
            name = table.name
            found.tables[name] = table
            found.accuracy[name] = accuracies(table, s.rotations, s.folds, s.most_rows)
            found.levels[name] = levels(table, s.repeats, s.attacked, s.starts, s.draws)
            found.nearest[name] = nearest(table, s.sizes, s.repeats, ITERATIONS)
            found.undone[name] = undone(table, ITERATIONS)
    tell("rotation", len(tables), len(tables))
    return found
