"""What Bhaduri, Stefanski and Srivastava printed, and where."""

from __future__ import annotations

from math import pi, tan
from typing import Final

#: The archive of simulated flights and the detector's setting (Section IX-A).
ARCHIVE_ROWS: Final = 32_640_967
ARCHIVE_COLUMNS: Final = 29
TOP: Final = 500
NEIGHBORS: Final = 5
TRIALS: Final = 50

#: The carrier's columns (Section IX-A): it says 47 in all, but 39 and 7 make 46.
CARRIER_REAL, CARRIER_DISCRETE = 39, 7
CARRIER_FLIGHTS: Final = 3_573

#: Detection rate in per cent and its standard deviation: Figure 10(b), simulated engines.
ENGINES: Final = {
    "identity": (91.28, 2.36),
    "square": (87.48, 2.11),
    "tanh": (78.72, 5.82),
}
#: The same for the carrier: Figures 11 and 12.
CARRIER: Final = {"identity": (88.0, 1.3), "tanh": (68.0, 1.7)}

#: Figure 10(a): the slope, and the detection rate in per cent it is said to leave.
STEEP: Final = (1.43, 4.0)
#: The same number read as the angle of the slope.
STEEP_ANGLE: Final = tan(1.43)

#: Figure 2: columns of the input, output sizes, trials.
PROJECTED: Final = 50
PROJECTED_TO: Final = (5, 100)
PROJECTED_TRIALS: Final = 100

#: The range said to leave privacy "very low" (Figure 10c).
NEAR_ORIGIN: Final = 0.1

#: The paper's names for the three kinds, in its order.
KINDS: Final = {"identity": "linear", "square": "square", "tanh": "tanh"}

#: What Lemma 6.2 divides by beyond Cauchy and Schwarz, in units of s t.
EXTRA_DIVISOR: Final = 2 * pi
