"""Aggarwal's paper run again: levels under noise, their closed forms, and other methods'."""

from __future__ import annotations

import time

from isinglass.progress import Progress
from isinglass_papers.core.result import How, Missing, Reproduction
from isinglass_papers.randomization.adaptive import adaptive
from isinglass_papers.randomization.density import density
from isinglass_papers.randomization.dimension import dimension
from isinglass_papers.randomization.growth import growth
from isinglass_papers.randomization.other_methods import others
from isinglass_papers.randomization.pairs import pairs
from isinglass_papers.randomization.printed import REFERENCE, TITLE

PAPER = "randomization"
#: data sets it reads: none, all are generated
FILES: tuple[str, ...] = ()

_NOTES = (
    "A record's level is the number of records of the table, itself included, that fit its "
    "released row at least as well as it does; AR is the mean level, WR the level which the worst "
    "1 % of the records do not exceed. Noise of 8 means a standard deviation of eight of the "
    "column's; records are compared with the original table. Both readings are settled by the "
    "printed numbers. Every experiment takes projections of 100-column base sets of 10,000 "
    "records; where the paper has one draw, ours are several, and their spread is shown.",
)
_QUICK = (
    "This is the quick run: one draw where the full one has eight, fewer points on each "
    "curve, and smaller tables for the measured rings of figure 4 and beyond the paper.",
)
_FULL = (
    "Figures 1 to 3 have the paper's sizes. Smaller than that are the comparisons beyond the "
    "paper (1,000 or 2,000 records), which learn a map for every release.",
)


def reproduce(how: How, tell: Progress) -> Reproduction:
    """All parts, one after the other; the sets are synthetic, so that no data are missing."""
    start = time.perf_counter()
    parts = [part(how, tell) for part in (dimension, density, growth, pairs, others, adaptive)]
    return Reproduction(
        PAPER, TITLE, REFERENCE, how.full, how.seed,
        numbers=tuple(n for part in parts for n in part.numbers),
        claims=tuple(c for part in parts for c in part.claims),
        figures=tuple(f for part in parts for f in part.figures),
        missing=(
            Missing(
                "the curves of figures 1 to 4 point by point",
                "the paper prints a few of their values only; those are all compared",
            ),
        ),
        notes=_NOTES + (_FULL if how.full else _QUICK),
        seconds=time.perf_counter() - start,
    )  # fmt: skip
