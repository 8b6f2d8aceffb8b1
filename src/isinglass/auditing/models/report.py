"""Report of a model's audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isinglass.auditing.report.report import Report
from isinglass.promise import HEURISTIC, Promise

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier


@dataclass(frozen=True, slots=True, repr=False)
class ModelReport(Report):
    """Findings about a model; of these, membership alone is measured."""

    @property
    def promise(self) -> Promise:
        """What the model may now say of itself: audited, by the ways of telling that were tried."""
        names = tuple(m.name for m in self.findings.membership)
        return Promise("audited", names) if names else HEURISTIC

    def html(self, *, public: bool = False, frontier: Frontier | None = None) -> str:
        """One page that loads nothing; there is no frontier of a model."""
        from isinglass.auditing.models.page import render

        return render(self._edition(public), public=public)

    def _repr_html_(self) -> str:
        from isinglass.auditing.models.page import summary

        return summary(self.findings)

    def __repr__(self) -> str:
        areas = [m.area for m in self.findings.membership]
        told = f"membership {max(areas):.2f}" if areas else "nothing measured"
        return f"ModelReport({self.verdict!r}, {told})"
