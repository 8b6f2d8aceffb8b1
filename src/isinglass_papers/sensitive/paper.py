"""Sensitive privacy: the tables and figures of Asif, Papakonstantinou and Vaidya, run again."""

from __future__ import annotations

import time

import numpy as np

from isinglass.progress import Progress
from isinglass_papers.core.data import MissingData, Sets
from isinglass_papers.core.result import Claim, How, Missing, Number, Reproduction
from isinglass_papers.sensitive import claims as conclusions
from isinglass_papers.sensitive import figures as sensitive_figures
from isinglass_papers.sensitive import proofs as sensitive_proofs
from isinglass_papers.sensitive import tables as sensitive_tables
from isinglass_papers.sensitive.cases import CASES, SYNTHETIC, Case, loaded
from isinglass_papers.sensitive.example import (
    example,
    figure_1,
    figure_5,
    figures_2_and_3,
)
from isinglass_papers.sensitive.printed import TABLES
from isinglass_papers.sensitive.records import MeasuredTable, measured
from isinglass_papers.sensitive.tiny_universe import figure_4

PAPER = "sensitive"
#: data sets it reads; the mixed gaussian one is generated
FILES = tuple(case.name for case in CASES if case.name != SYNTHETIC)
TITLE = "Sensitive privacy: answers about anomalies"
REFERENCE = (
    "H. Asif, P. A. Papakonstantinou, J. Vaidya: How to accurately and privately identify "
    "anomalies. CCS 2019."
)
_EXAMPLE_ROWS = 800
_NOTES = (
    "Every error is the exact probability of a wrong answer, averaged over records, never counted "
    "from trials. Sets that are a part of the paper's have beta scaled to their size, so their "
    "errors are larger than printed; the printed beta is tried on a lone record, and on an "
    "estimate for the whole card-fraud table.",
    "The paper counts true anomalies that the (beta, r)-rule identifies, which we read as labeled "
    "anomalies with at most beta records within r. The rule also names records that no label "
    "calls anomalies; errors and scores here are over all it names, and Tables 1 and 3 have a row "
    "for the labeled ones beside each count and each recall of SP.",
    "Principal components are fitted on the very records, as in the paper: good for reproduction "
    "only, as no guarantee covers it. V1 to V6 of the card-fraud set are such components already.",
)


def reproduce(how: How, tell: Progress) -> Reproduction:
    """Run everything; `how.full` draws the random parts more often."""
    began = time.perf_counter()
    stages = len(CASES) + 3
    tell("examples", 0, stages)
    made = example(_EXAMPLE_ROWS, how.seed)
    compiled, named = figure_5(), figure_4(how.pick(4, 6))
    tell("small universes", 1, stages)
    claims = sensitive_proofs.claims(named, compiled) + conclusions.example_claims(made)
    sets = Sets(how.folder)
    found: list[MeasuredTable] = []
    missing: list[Missing] = []
    numbers: list[Number] = [*compiled.numbers]
    for at, case in enumerate(CASES):
        tell(case.name, 2 + at, stages)
        try:
            found.append(_case(case, sets, how, numbers, claims))
        except MissingData as error:
            missing.append(Missing(f"{case.printed} ({case.name})", str(error)))
            if case.name == "credit_fraud":
                claims.append(conclusions.not_fitted())
    tell("draws", stages - 1, stages)
    draws = _draws(how, found)
    numbers += sensitive_tables.numbers(found, draws)
    numbers += _without_data(found)
    claims += conclusions.claims(found, how.seed)
    missing += [
        *_parts(found),
        Missing("Figure 2, Appendix A.1", "the example's distribution, beta and r are in an "
                "appendix that our copy lacks; ours are our own"),
        Missing("Table 1, Appendix A.2", "so is the protocol by which beta and r were found"),
    ]  # fmt: skip
    figures = [*figure_1(), *figures_2_and_3(made), named.figure, compiled.figure]
    figures += sensitive_figures.figures(found, how.seed)
    tell("done", stages, stages)
    return Reproduction(
        PAPER, TITLE, REFERENCE, how.full, how.seed, _sorted(numbers), tuple(claims),
        tuple(figures), tuple(missing), _NOTES, time.perf_counter() - began,
    )  # fmt: skip


def _case(
    case: Case, sets: Sets, how: How, numbers: list[Number], claims: list[Claim]
) -> MeasuredTable:
    case, X, labels = loaded(case, sets, how.seed + 1)
    if case.name == "credit_fraud":
        if not case.whole:
            drawings = how.pick(3, 15)
            numbers += sensitive_tables.whole_fraud(X, labels, seed=how.seed, drawings=drawings)
        whole = sets.load(case.name).X.astype(np.float64)
        claims.append(conclusions.fitted_on_itself(whole, case.r, X.shape[1]))
    return measured(case, X, labels, seed=how.seed, drawings=how.pick(2, 20))


def _draws(how: How, found: list[MeasuredTable]) -> list[MeasuredTable]:
    """The mixed gaussian table again, for the spread between draws."""
    (case,) = (case for case in CASES if case.name == SYNTHETIC)
    more = [
        measured(*loaded(case, Sets(how.folder), how.seed + 1 + again), r_by_labels=False)
        for again in range(1, how.pick(2, 10))
    ]
    return [each for each in found if each.case.name == SYNTHETIC] + more


def _parts(found: list[MeasuredTable]) -> list[Missing]:
    """Tables of the paper of which only something is found, and what that is."""
    missing = []
    for name, printed in TABLES.items():
        ours = [each for each in found if each.case.printed == name]
        if not ours or any(each.case.whole for each in ours):
            continue
        told = ", and ".join(
            f"{each.case.note}, {int(each.labels.sum()):,} of them labeled anomalies"
            for each in ours
        )
        if name == "Credit Fraud" and not ours[0].copied:
            told += "; no anomaly has a copy, so Figure 10 is not tested"
        missing.append(Missing(f"{name}, the whole {printed.size:,} records", f"found: {told}"))
    return missing


def _without_data(found: list[MeasuredTable]) -> list[Number]:
    """Printed numbers of tables that are missing, with nothing of ours beside them."""
    there = {each.case.printed for each in found}
    return [
        Number("Tables 1 to 3", f"{name}: {what}", value, None, note="data missing")
        for name, printed in TABLES.items()
        if name not in there
        for what, value in printed.flat()
    ]


def _sorted(numbers: list[Number]) -> tuple[Number, ...]:
    return tuple(sorted(numbers, key=lambda number: number.where))
