"""Bhaduri, Stefanski, Srivastava: random nonlinear distortion, run again."""

from __future__ import annotations

from isinglass.progress import Progress
from isinglass.threads import one_thread
from isinglass_papers.core.result import How, Missing, Reproduction
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.coil import coil
from isinglass_papers.distortion.curves import curves
from isinglass_papers.distortion.distances import distances
from isinglass_papers.distortion.full_size import archive
from isinglass_papers.distortion.inversion import inversion
from isinglass_papers.distortion.lemmas import lemmas
from isinglass_papers.distortion.moments import moments
from isinglass_papers.distortion.projected import projected
from isinglass_papers.distortion.rates import kinds
from isinglass_papers.distortion.saturated_corners import corners
from isinglass_papers.distortion.saturation import saturation
from isinglass_papers.distortion.scores import scores
from isinglass_papers.distortion.setting import (
    ENGINES,
    SIZE,
    ExperimentPart,
    PreparedTable,
    carrier_table,
    engine_tables,
    flight_table,
)
from isinglass_papers.distortion.sizes import defaults, sizes
from isinglass_papers.distortion.slopes import slopes

PAPER = "distortion"
#: data sets it reads; the other tables are generated
FILES = ENGINES
TITLE = "Random nonlinear distortion"
REFERENCE = (
    "K. Bhaduri, M. D. Stefanski, A. N. Srivastava: Privacy preserving outlier detection through "
    "random nonlinear data distortion. IEEE Transactions on Systems, Man, and Cybernetics, Part B "
    "41(1), 2011."
)


def reproduce(how: How, tell: Progress) -> Reproduction:
    """Every figure and claim of the paper; what stands in for its tables is named as such."""
    with one_thread():  # the same digits on any machine; detectors have threads of their own
        return _reproduce(how, tell)


def _reproduce(how: How, tell: Progress) -> Reproduction:
    flown, carried = flight_table(how), carrier_table(how)
    engines, missing = engine_tables(how)
    tables = [flown, *engines]
    parts = [projected(how, tell), curves(how, tell), coil(how, tell), lemmas(tell)]
    parts += [moments(how, tell), distances(how, tell)]
    parts += [inversion(how, tell, flown), corners(how, tell), saturation(how, tell)]
    few = tables if how.full else tables[:2]
    parts.append(scores(how, tell, few, carried))
    rated, rates = kinds(how, tell, tables, carried)
    parts.append(rated)
    parts.append(slopes(how, tell, few, rates))
    sized, by_size = sizes(how, tell, tables, rates)
    parts.append(sized)
    parts.append(defaults(how, tell, few))
    parts.append(archive(how, tell, flown, by_size))
    parts.append(ExperimentPart(missing=[*missing, *_unseen()]))
    figures = [figure for part in parts for figure in part.figures]
    return Reproduction(
        PAPER,
        TITLE,
        REFERENCE,
        how.full,
        how.seed,
        tuple(number for part in parts for number in part.numbers),
        tuple(claim for part in parts for claim in part.claims),
        tuple(sorted(figures, key=lambda figure: (figure.name[:6] != "figure", figure.name))),
        tuple(lack for part in parts for lack in part.missing),
        (*_notes(how, flown, carried), *(note for part in parts for note in part.notes)),
    )


def _unseen() -> list[Missing]:
    return [
        Missing(
            "Figures 7 to 10 on the paper's simulated flights",
            f"the {printed.ARCHIVE_ROWS:,} rows of 29 columns are not at hand; generated flights "
            "stand in, and the public sets of the same simulator are run beside them",
        ),
        Missing(
            "Figures 11 and 12 on the carrier's flights",
            "they are the carrier's own; generated flights with 39 real and 7 coded columns stand "
            "in (the paper says 47 columns, which 39 and 7 do not make)",
        ),
        Missing("Figure 1", "a drawing of an archive's architecture; there is nothing to run"),
    ]


def _notes(how: How, flown: PreparedTable, carried: PreparedTable) -> tuple[str, ...]:
    smaller = [
        f"the tables, of {printed.ARCHIVE_ROWS:,} rows and of {printed.CARRIER_FLIGHTS:,} flights "
        "there"
    ]
    if flown.top != printed.TOP:
        smaller.append(f"the top {printed.TOP}")
    if not how.full:
        smaller.append(f"the {printed.TRIALS} trials of Figure 10")
    return (
        "The paper prints neither the sizes m and p of its network nor the deviations of its "
        f"weights. Unless said otherwise they are m = p = {SIZE} and sigma_w = sigma_a = 1, with "
        "normal weights, sigma_b = 0 (B cancels in every distance) and the sigma_q that keeps "
        "distances near the origin. Columns are brought to [0, 1] by their own extremes; nothing "
        "is subtracted. Outliers are those of Orca's score, the mean distance to five neighbors, "
        "found exactly.",
        f"This run: {len(flown.X):,} generated flights' rows of {flown.X.shape[1]} columns, "
        f"{len(carried.X):,} of {printed.CARRIER_REAL} real and {printed.CARRIER_DISCRETE} coded "
        "ones (coded columns are released as they are and count 1 where they differ), the top "
        f"{flown.top}; each figure says over how many keys. Smaller than in the paper: "
        + "; ".join(smaller)
        + ".",
    )
