"""Plan of a curator: epsilon, expected detection and number of queries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from isinglass.curate.ledger.budget import fits
from isinglass.curate.planning.capacity import Capacity, capacity
from isinglass.curate.planning.choose import checked_labels, in_space
from isinglass.curate.planning.expected import (
    Expected,
    PricePoint,
    checked_counts,
    grouped,
    least_price,
)
from isinglass.curate.questions.base import Question
from isinglass.curate.questions.builtin import Sparse
from isinglass.curate.questions.neighbor_counter import NeighborCounter
from isinglass.curate.setup import question_for
from isinglass.curate.space import Space
from isinglass.epsilon import as_float, fraction, micro, text

if TYPE_CHECKING:
    from altair import VConcatChart

#: the points of a frontier: so many queries at one place use up the budget
BOUGHT = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_UNCAPPED = 2**61


@dataclass(frozen=True, slots=True)
class Plan:
    """What a budget buys on records like those given: expectations, not promises."""

    mode: str
    beta: int
    r: float
    k: int | None
    cap: int  # millionths of epsilon for one place
    target_recall: float | None
    n_records: int
    n_anomalies: int
    chosen: PricePoint
    frontier: tuple[PricePoint, ...] = field(repr=False)
    n_queries: int | None = None  # in the list that was to be asked
    n_fitting: int | None = None  # of which so many fit under the budget, in order
    capacity: Capacity | None = None  # of records like those of the table

    @property
    def epsilon(self) -> float:
        """The price of an answer."""
        return self.chosen.epsilon

    @property
    def sentence(self) -> str:
        """The plan as a sentence."""
        at, cap = self.chosen, text(self.cap)
        parts = [
            f"At epsilon {text(at.micro)}, {self.mode} answers are expected to find "
            f"{_share(at.recall)} of the anomalies ({self.n_anomalies:,} of {self.n_records:,} "
            f"records) with {_share(at.false_alarms)} false alarms among the others"
        ]
        if at.labelled_recall is not None:
            parts.append(f"{_share(at.labelled_recall)} of the labeled records are called one")
        if at.queries_here:
            more = "y" if at.queries_here == 1 else "ies"
            parts.append(f"a budget of {cap} buys {at.queries_here:,} such quer{more} at one place")
        else:
            less = "epsilon" if self.target_recall is None else "recall"
            parts.append(
                f"that is more than the budget of {cap} a place, so no query fits: plan with a "
                f"lower {less} or a larger budget"
            )
        if self.n_queries is not None:
            parts.append(f"of the {self.n_queries:,} queries listed, {self.n_fitting:,} fit")
        return "; ".join(parts) + "."

    def to_json(self) -> dict[str, Any]:
        """Everything, as one document; prices in epsilon."""
        facts = asdict(self) | {"chosen": _told(self.chosen), "budget": as_float(self.cap)}
        del facts["cap"]
        if self.capacity is not None:
            facts["capacity"]["sentence"] = self.capacity.sentence
        return facts | {"frontier": [_told(p) for p in self.frontier], "sentence": self.sentence}

    def chart(self) -> VConcatChart:
        """Recall, precision and queries against epsilon, to look at in a notebook."""
        from isinglass.curate.planning.figure import draw

        return draw(self)

    def save(self, path: str | Path) -> None:
        """Write the plan as .png, .svg, .html or .json, by the name's ending."""
        from isinglass.curate.planning.figure import page, png, svg
        from isinglass.files import whole_file

        path = Path(path)
        if path.suffix not in (".png", ".svg", ".html", ".json"):
            raise ValueError(f"path must end in .png, .svg, .html or .json, got {path.name}")
        with whole_file(path) as aside:
            if path.suffix == ".png":
                aside.write_bytes(png(self))
                return
            written = {
                ".svg": lambda: svg(self),
                ".html": lambda: page(self),
                ".json": lambda: json.dumps(self.to_json(), indent=2, allow_nan=False) + "\n",
            }[path.suffix]()
            aside.write_text(written, encoding="utf-8")


def plan(
    *,
    budget: Any,
    epsilon: Any = None,
    target_recall: float | None = None,
    table: Any = None,
    labels: ArrayLike | None = None,
    counts: Mapping[tuple[int, ...], int] | Iterable[tuple[int, ...]] | None = None,
    beta: float | None = None,
    r: float | None = None,
    mode: str | Question = "sparse",
    k: int = 1,
    queries: Any = None,
    space: Space | None = None,
    metric: str = "euclidean",
    p: float | None = None,
    weights: ArrayLike | None = None,
) -> Plan:
    r"""Say what answers at `epsilon` will find, or which epsilon finds a share of the anomalies.

    The chance of a wrong answer is known exactly, so nothing is drawn: the expected recall is the
    mean of 1 - error over the anomalies. It grows with epsilon, so the least price that reaches
    `target_recall` is found by bisection over whole millionths.

    Guarantee: none; a plan shows counts of the table it was made on. Make it on public or past
    records, or on counts that are assumed; on the private table it is for the owner's eyes only.

    Utility: as good as the likeness between those records and the private ones. In mode "sparse"
    every record is counted as if it were asked about and not itself in the table.

    Weakness: labeled records that are no (beta, r)-anomalies are found by no epsilon. The target
    is a share of the (beta, r)-anomalies; recall and precision by labels are told beside it.

    Parameters
    ----------
    budget : what may be spent at one place, in epsilon.
    epsilon, target_recall : the price of an answer, or the recall wanted, between 0 and 1; one of
        the two.
    table : public or past records, each a query; with `labels`, where it is known which of them
        are anomalies to a person.
    counts : instead of a table, what is assumed: pairs (copies, records within r), the record
        itself counted in both, and how many such records there are; a mapping, or a list.
    beta, r, mode, k : the question, as in `Curator`.
    queries : records that are to be asked about; the plan says how many fit under the budget.
    space : the declared space; without it `metric`, `p` and `weights` say the distance.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> plan = ig.plan(budget="1", epsilon="0.1", table=X, beta=5, r=0.2)
    >>> type(plan).__name__
    'Plan'
    """
    if (epsilon is None) == (target_recall is None):
        raise ValueError(
            "one of epsilon and target_recall must be given, and not both, "
            f"got epsilon={epsilon}, target_recall={target_recall}"
        )
    if target_recall is not None and not 0 < target_recall < 1:
        raise ValueError(
            f"target_recall must be between 0 and 1, both excluded, got {target_recall}"
        )
    cap = micro(budget, "budget")
    question = question_for(mode, beta, r, k, False)
    if isinstance(question, Sparse):
        question = Sparse(question.beta, question.r, count_query=False)
    if (table is None) == (counts is None):
        raise ValueError("one of table and counts must be given, and not both")
    if table is None:
        if labels is not None:
            raise ValueError("labels must be None where counts are given instead of a table")
        records = Expected(question, checked_counts(counts or ()))
    else:
        places, declared = in_space(table, space, metric, p, weights)
        found = question.look(NeighborCounter(places, declared), places, _UNCAPPED)
        truth = (
            np.zeros(len(places), dtype=bool)
            if labels is None
            else checked_labels(labels, len(places))
        )
        records = Expected(question, grouped(found, truth), labeled=labels is not None)
    used = micro(epsilon) if target_recall is None else least_price(records, target_recall)
    chosen = records.at(used, cap)
    whole = None
    if table is not None and chosen.queries_here:
        prices_at = fraction(chosen.micro), fraction(cap)
        whole = capacity(places, question.influence, *prices_at, declared)
    prices = {max(1, cap // (n * question.lipschitz)) for n in BOUGHT} | {used}
    n_queries = n_fitting = None
    if queries is not None:
        asked, distance = in_space(queries, space, metric, p, weights)
        n_queries = len(asked)
        which = fits(asked, question.influence, fraction(chosen.micro), fraction(cap), distance)
        n_fitting = int(which.sum())
    return Plan(
        mode=question.name,
        beta=question.beta,
        r=question.r,
        k=question.k,
        cap=cap,
        target_recall=target_recall,
        n_records=records.n_records,
        n_anomalies=records.n_anomalies,
        chosen=chosen,
        frontier=tuple(records.at(price, cap) for price in sorted(prices)),
        n_queries=n_queries,
        n_fitting=n_fitting,
        capacity=whole,
    )


def _told(point: PricePoint) -> dict[str, Any]:
    facts = asdict(point)
    del facts["micro"]
    return {"epsilon": point.epsilon} | facts


def _share(value: float | None) -> str:
    # False alarms are rarer than a tenth of a percent, and how rare they are counts.
    return "none" if value is None else f"{100 * value:.3g} %"
