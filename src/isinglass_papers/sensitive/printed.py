"""What Asif, Papakonstantinou and Vaidya (CCS 2019) printed in their Tables 1 to 3."""

from __future__ import annotations

from dataclasses import dataclass

#: the order of the four columns in Table 3
FOUR = ("B1", "B2", "DP", "SP")


@dataclass(frozen=True)
class PrintedRow:
    """A row of the paper's Tables 1 to 3; B1, B2, DP, SP in that order where there are four."""

    size: int
    dim: int
    beta: int
    r: float
    anomalies: int
    random_sp: float
    random_dp: float
    random_anomalies_sp: float
    precision: tuple[float, ...]
    recall: tuple[float, ...]
    f1: tuple[float, ...]

    @property
    def share(self) -> float:
        """Of anomalies among the records."""
        return self.anomalies / self.size

    def false_calls(self, at: int) -> float:
        """Expected false calls that the printed precision and recall imply."""
        return self.anomalies * self.recall[at] * (1 / self.precision[at] - 1)

    def implied_f1(self, at: int) -> float:
        """F1 of the printed precision and recall."""
        return 2 / (1 / self.precision[at] + 1 / self.recall[at])

    def flat(self) -> list[tuple[str, float]]:
        """Every number of the row, with its name."""
        found: list[tuple[str, float]] = [
            ("records", self.size), ("columns", self.dim), ("beta", self.beta), ("r", self.r),
            ("anomalies", self.anomalies), ("SP, random places", self.random_sp),
            ("DP, random places", self.random_dp),
            ("SP, anomalous places, random places", self.random_anomalies_sp),
        ]  # fmt: skip
        for what in ("precision", "recall", "f1"):
            values = getattr(self, what)
            label = "F1" if what == "f1" else what
            found += [(f"{label} of {name}", values[at]) for at, name in enumerate(FOUR)]
        return found


TABLES = {
    "Credit Fraud": PrintedRow(
        284_807, 28, 1022, 6.7, 103, 1.1127e-21, 0.4750, 1.1127e-21,
        (0.0101, 0.0230, 0.9930, 0.9963), (1.0, 0.0498, 0.5250, 0.9968),
        (0.0199, 0.0315, 0.6868, 0.9966),
    ),
    "APS Trucks": PrintedRow(
        60_000, 170, 282, 16.2, 677, 2.9719e-13, 0.4750, 2.9719e-13,
        (0.0115, 0.0165, 0.9870, 0.9931), (1.0, 0.0753, 0.5263, 0.9954),
        (0.0227, 0.0271, 0.6865, 0.9943),
    ),
    "Synthetic": PrintedRow(
        20_000, 200, 97, 3.8, 201, 3.2173e-5, 0.4750, 3.2173e-5,
        (0.0101, 0.0114, 0.9930, 0.9963), (1.0, 0.1189, 0.5250, 0.9968),
        (0.0199, 0.0208, 0.6868, 0.9966),
    ),
    "Mammography": PrintedRow(
        11_183, 6, 55, 1.7, 75, 0.0022, 0.4749, 0.0021,
        (0.0070, 0.0081, 0.0211, 0.2004), (0.8244, 0.1000, 0.5250, 0.9977),
        (0.0138, 0.0149, 0.0435, 0.3337),
    ),
    "Thyroid": PrintedRow(
        3_772, 6, 18, 0.1, 61, 0.0870, 0.4750, 0.0867,
        (0.0174, 0.0191, 0.1427, 0.3100), (0.6656, 0.2918, 0.5250, 0.8993),
        (0.0339, 0.0358, 0.2244, 0.4610),
    ),
}  # fmt: skip


def twin(name: str, at: int) -> str | None:
    """Another table whose printed precision, recall and F1 in a column are the same, if any."""

    def scores(table: PrintedRow) -> tuple[float, float, float]:
        return table.precision[at], table.recall[at], table.f1[at]

    same = (n for n, t in TABLES.items() if n != name and scores(t) == scores(TABLES[name]))
    return next(same, None)
