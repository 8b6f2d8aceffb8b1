"""Random multiparty perturbation, Erfani et al. 2014: detection, attacks and analysis, again."""

from __future__ import annotations

import numpy as np

from isinglass.progress import Progress
from isinglass_papers.core.result import How, Reproduction
from isinglass_papers.multiparty import alpha as multiparty_alpha
from isinglass_papers.multiparty import attack_figures as multiparty_recovered
from isinglass_papers.multiparty import detection as multiparty_detection
from isinglass_papers.multiparty import numbers as multiparty_numbers
from isinglass_papers.multiparty import theory as multiparty_theory
from isinglass_papers.multiparty.attack_figures import INDEPENDENT
from isinglass_papers.multiparty.attacks import attack
from isinglass_papers.multiparty.claims import claims
from isinglass_papers.multiparty.detection import QUICK_RECORDS, SetDetection, detect
from isinglass_papers.multiparty.measurements import Evidence
from isinglass_papers.multiparty.protocol import RECORDS
from isinglass_papers.multiparty.sources import SETS, sources

PAPER = "multiparty"
#: data sets it reads; the banana set is generated
FILES = tuple(name for name in SETS if name != "banana")
#: The place of a set is part of its attacks' seed, whichever others there are.
PLACES = ("abalone", "banana", "gas_drift", "har_smartphone", INDEPENDENT, "opportunity")
TITLE = "Random multiparty perturbation"
REFERENCE = (
    "S. M. Erfani, Y. W. Law, S. Karunasekera, C. A. Leckie, M. Palaniswami: Privacy-preserving "
    "collaborative anomaly detection for participatory sensing. PAKDD 2014."
)


def reproduce(how: How, tell: Progress) -> Reproduction:
    """Table 1, figures 2 to 4, the attacks of Section 5, and a choice of alpha."""
    found = sources(how)
    tables = found.tables
    detected = {n: detect(n, SETS.index(n), X, how, tell) for n, X in tables.items()}
    everyone = tables | {INDEPENDENT: np.random.default_rng([how.seed, 300]).random((RECORDS, 8))}
    attacked = {
        name: attack(name, PLACES.index(name), X, how, tell) for name, X in everyone.items()
    }
    errors, shape = multiparty_theory.guesses(how), multiparty_theory.shape()
    frontier = None
    if "abalone" in tables:
        frontier = multiparty_alpha.choose(tables["abalone"], how, tell)
    filters = multiparty_theory.filters(how)
    return Reproduction(
        PAPER, TITLE, REFERENCE, how.full, how.seed,
        numbers=(
            *multiparty_numbers.table_1(detected),
            *multiparty_numbers.fewer_dimensions(detected),
            *multiparty_theory.numbers(errors, shape),
            *multiparty_recovered.numbers(attacked),
            *(() if frontier is None else multiparty_alpha.numbers(frontier)),
        ),
        claims=claims(Evidence(detected, attacked, errors, filters, shape, frontier)),
        figures=(
            *multiparty_detection.figures(detected),
            *multiparty_recovered.figures(attacked),
            *multiparty_theory.figures(errors, how),
            *(() if frontier is None else (multiparty_alpha.figure(frontier),)),
        ),
        missing=tuple(found.missing),
        notes=_notes(how, detected, found.differs),
    )  # fmt: skip


def _notes(how: How, detected: dict[str, SetDetection], differs: list[str]) -> tuple[str, ...]:
    draws = "; ".join(
        f"{one.name} {one.epochs} epochs, {_times(len(one.by_alpha[None]))}"
        for one in detected.values()
    )
    cut = [one.name for one in detected.values() if one.records < RECORDS]
    quick = " Quick runs are too short for the last digits" + (
        f", and {', '.join(cut)} is cut to {QUICK_RECORDS} records." if cut else "."
    )
    return (
        "Protocol: the first 1,000 records, every column brought to [0, 1], 50 anomalies uniform "
        "in the unit cube added; half of all, in batches of 30 with a private matrix each, trains "
        "the network (half as many hidden units as columns, rate 0.25, momentum 0.85), the other "
        "half, transformed with the public matrix, tests it. Our readings: the loss is the mean "
        "over columns, outputs are linear, and columns of the release are brought to [0, 1]. The "
        "other reading of Table 1 tests the same networks on records under private matrices.",
        f"Of this run: {draws}. The paper takes 300 to 1,000 epochs and does not say how often it "
        "repeats." + ("" if how.full else quick),
        "; ".join(differs) + ".",
    )


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"
