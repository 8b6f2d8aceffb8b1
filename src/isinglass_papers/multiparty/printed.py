"""What Erfani et al. (PAKDD 2014) print: Table 1 and the numbers in their text."""

from __future__ import annotations

#: Levels of noise on the private matrices, in Table 1's order.
ALPHAS = (0.01, 0.1, 0.2, 0.4, 0.6)

#: Table 1, area under the ROC curve: columns, then without perturbation, then at `ALPHAS`; None
#: where it says N/A.
TABLE_1: dict[str, tuple[int, float, tuple[float | None, ...]]] = {
    "abalone": (8, 1.0, (0.95, 0.92, 0.87, None, None)),
    "banana": (8, 1.0, (0.98, 0.92, 0.81, None, None)),
    "gas_drift": (168, 0.99, (0.98, 0.98, 0.98, 0.95, 0.92)),
    "har_smartphone": (561, 0.99, (0.98, 0.98, 0.97, 0.96, 0.95)),
    "opportunity": (242, 0.99, (0.99, 0.98, 0.94, 0.90, 0.87)),
}

#: Section 3.2: the curvature of the double logistic that is closest to the identity.
CURVATURE = 2.81
#: Section 5.1: up to here the density of tanh of a normal variable is convex.
TANH_CONVEX = 0.9
#: Section 5.1, before Lemma 1: the median error of a guess of a private entry, in alphas. The paper
#: prints the formula, not its value.
MEDIAN_ERROR = 2 - 2**0.5
#: Section 6: lost in accuracy at alpha = 0.01, at 40 % fewer dimensions of a wide table, and at
#: half of them of a narrow one ("might").
LOST_AT_LEAST_NOISE, LOST_AT_40, LOST_AT_HALF = 0.01, 0.01, 0.10
