"""What Aggarwal's paper prints, and where: data, no code."""

from __future__ import annotations

TITLE = "Randomization and public information"
REFERENCE = (
    "C. C. Aggarwal: On randomization, public information and the curse of dimensionality. "
    "ICDE 2007."
)

RECORDS = 10_000
COLUMNS = 100  # of the base set, of which projections are taken
RATIO = 8.0  # deviation of the noise over that of a column, in figures 1 to 3

# Section 4.3 and figure 1: average level (AR) by noise and number of columns, on UniDis.
AVERAGE = {
    ("uniform", 1): 9646.1,
    ("uniform", 100): 151.7,
    ("gaussian", 1): 4552.2,
    ("gaussian", 100): 1824.4,
}
# The same as shares of the records, in percent (the second is cut, not rounded).
SHARE = {("uniform", 1): 96.46, ("uniform", 100): 1.51}
# The level that the worst hundredth of the records do not exceed (WR).
WORST_UNIFORM_1 = 2907.0
WORST_UNIFORM_BEYOND_64 = 1.0
WORST_GAUSSIAN_BEYOND_64 = (5.0, 10.0)

# Figure 2: VGauDis(theta), 75 columns, gaussian noise, from no skew to the axis' end.
SKEW_COLUMNS = 75
SKEW_AVERAGE = (2353.0, 2773.9)
SKEW_WORST = (24.0, 13.0)

# Figure 3: OGauDis(f), 75 columns: the share of outliers from where the worst level rises again.
OUTLIER_TURN = 0.2

# Figure 4: the average level to be kept.
KEPT = 3300.0

# Below equation 13: beyond this S = sum delta² / sigma² a record is said to count for nothing.
FAR = 36.0
