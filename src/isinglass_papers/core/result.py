"""What a reproduction finds: numbers beside the printed ones, claims with a verdict, figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

Verdict = Literal["holds", "holds conditionally", "does not hold", "not reproduced", "not tested"]
VERDICTS: tuple[Verdict, ...] = (
    "holds",
    "holds conditionally",
    "does not hold",
    "not reproduced",
    "not tested",
)


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a paper and ours.

    `printed` is None where the paper prints none (a figure without its values); where it prints
    a formula, it is what that gives, and `what` or `note` says so. `ours` is None where the data
    are missing. `low` and `high` are the spread of ours over repetitions. `note` says in
    one sentence why the two differ, or that it is unexplained; it is empty only where they agree.
    """

    where: str
    what: str
    printed: float | None
    ours: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    #: The printed number is met by another reading of the paper, which `note` names.
    other_reading: bool = False

    @property
    def agrees(self) -> bool:
        """Whether no note is owed: ours has the printed number within its reach, or one is absent.

        Its reach is the spread of ours, widened by one unit of the printed number's last digit;
        without a spread, half a unit (ours rounds to it) or 1 %, whichever is more.
        """
        if self.printed is None or self.ours is None:
            return True
        unit = _last_digit(self.printed)
        if self.low is None or self.high is None:
            return abs(self.ours - self.printed) <= max(unit / 2, abs(self.printed) / 100)
        return self.low - unit <= self.printed <= self.high + unit


def _last_digit(value: float) -> float:
    """One unit of the last digit: 0.1 for 9646.1, 1 for 2907.

    A float forgets its trailing zeros, so that 1.00 comes as 1: never more than a twentieth.
    """
    if not math.isfinite(value):
        return 0.0
    last = Decimal(repr(value)).normalize().as_tuple().exponent
    return min(10.0 ** min(int(last), 0), abs(value) / 20)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a paper in our words, whether it holds, and our numbers for that."""

    where: str
    says: str
    verdict: Verdict
    ours: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {self.verdict!r}")


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, the rows it is drawn from, and the sentence to read it by.

    `name` is the file's stem, such as "figure-10a"; `spec` is Vega-Lite without its data.
    """

    name: str
    title: str
    caption: str
    rows: tuple[Mapping[str, float | int | str], ...] = field(repr=False)
    spec: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Missing:
    """Something of the paper that was not run, and why: data missing, or not said how."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Everything about one paper, from one run."""

    paper: str
    title: str
    reference: str
    full: bool
    seed: int
    numbers: tuple[Number, ...]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    archive: bool = False

    @property
    def command(self) -> str:
        """What to type to get the same."""
        how = "--full" if self.full else "--quick"
        archive = " --archive" if self.archive else ""
        return f"isinglass reproduce {self.paper} {how}{archive} --seed {self.seed}"


@dataclass(frozen=True, slots=True)
class How:
    """How thoroughly: `full` as the paper did it, else small enough for a minute."""

    full: bool = False
    seed: int = 0
    archive: bool = False  # distortion alone: the 32,640,967 rows of the paper, too
    folder: str | None = None  # of the data files; None: the variable ISINGLASS_DATA

    def pick(self, quick: Any, full: Any) -> Any:
        """One of two settings."""
        return full if self.full else quick
