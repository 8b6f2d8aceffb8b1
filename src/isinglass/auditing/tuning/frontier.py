"""Frontier of a search: the best trade-offs of privacy and detection."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from isinglass.auditing.tuning.guaranteed import ModelPoint
from isinglass.auditing.tuning.next_steps import NextStep, next_steps
from isinglass.auditing.tuning.points import Point
from isinglass.documents import for_json, plain
from isinglass.files import whole_file


@dataclass(frozen=True, slots=True)
class Frontier:
    """The settings tried, best first, and the recommendation.

    Measured on one table with the attacks of the audit: nothing is proved about another table,
    or against an attacker who knows more than these were given.

    Examples
    --------
    >>> def method(found: ig.Frontier) -> str:
    ...     return found.points[0].method
    >>> X = np.random.default_rng(0).random((60, 3))
    >>> method(ig.tune(X, "linear", attacks=["naive"], random_state=0))
    'linear'
    """

    points: tuple[Point, ...]
    recommended: Point | None
    sentence: str
    min_detection: float
    max_attack_gain: float
    settings: dict[str, Any] = field(default_factory=dict)
    attacker: str = "insider"  # whose gain counts
    min_auc: float | None = None
    table: str = "TABLE"  # the file that was searched, by its name
    #: Words of the command line that say which of its columns leave, and how it is read.
    options: tuple[str, ...] = ()
    #: Guaranteed models, of which a price was compared each; none where they were not tried.
    guaranteed: tuple[ModelPoint, ...] = ()

    def __post_init__(self) -> None:
        # As of a report: what is shown is Python's own, whoever measured it.
        for name in ("points", "recommended", "settings", "guaranteed"):
            object.__setattr__(self, name, plain(getattr(self, name)))

    @property
    def code(self) -> str | None:
        """The recommended setting as a line of code."""
        return None if self.recommended is None else self.recommended.candidate.code()

    def command(self, table: str | None = None) -> str | None:
        """The recommended setting as a command, for the table as it was searched."""
        if self.recommended is None:
            return None
        # Without the columns left out of the search, they would leave with the release.
        return self.recommended.candidate.command(table or self.table, self.options)

    def next_steps(self, table: str | None = None) -> list[NextStep]:
        """What to do now, the best first; never empty."""
        return next_steps(self, table or self.table)

    def to_json(self) -> dict[str, Any]:
        """Everything, as one document."""
        best = self.recommended
        return {
            "points": [asdict(p) for p in self.points],
            "recommended": None
            if best is None
            else {**asdict(best), "code": self.code, "command": self.command()},
            "sentence": self.sentence,
            "min_detection": self.min_detection,
            "max_attack_gain": self.max_attack_gain,
            "min_auc": self.min_auc,
            "attacker": self.attacker,
            "settings": self.settings,
            "guaranteed": [asdict(m) for m in self.guaranteed],
            "next_steps": [asdict(s) for s in self.next_steps()],
        }

    def save(self, path: str | Path) -> None:
        """Write the frontier as .html, .json or .png, by the name's ending."""
        path = Path(path)
        if path.suffix not in (".html", ".json", ".png"):
            raise ValueError(f"path must end in .html, .json or .png, got {path.name}")
        with whole_file(path, force=True) as temporary:
            if path.suffix == ".json":
                text = json.dumps(for_json(self.to_json()), indent=2, allow_nan=False)
                temporary.write_text(text, encoding="utf-8")
            elif path.suffix == ".html":
                from isinglass.auditing.tuning.page import render

                temporary.write_text(render(self), encoding="utf-8")
            else:
                from isinglass.auditing.tuning.figure import frontier
                from isinglass.plots.chart import png

                png(frontier([asdict(p) for p in self.points], self.guaranteed), temporary)
