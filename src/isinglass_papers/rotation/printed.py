"""What Chen and Liu printed in their Table 1, set by set."""

from __future__ import annotations

from dataclasses import dataclass

#: Accuracy in percent, its change after rotation in points, and the change's deviation.
Accuracy = tuple[float, float, float]
#: A minimum and an average over columns, as deviations of columns scaled to [0, 1].
Levels = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PrintedSet:
    """A row of Table 1. `star` marks sets on which their ICA did not converge."""

    name: str
    called: str
    n_rows: int
    n_columns: int
    knn: Accuracy
    svm: Accuracy
    perceptron: Accuracy | None
    lop: Levels
    ica: Levels
    star: bool


# fmt: off
TABLE_1 = (
    PrintedSet("breast_w", "Breast-w", 699, 10, (97.6, -0.5, 0.3), (97.2, 0, 0),
            (89.1, -4.9, 1.2), (0.41, 0.50), (0.73, 0.95), star=False),
    PrintedSet("credit_a", "Credit-a", 690, 14, (82.7, 0.2, 0.8), (85.5, 0, 0),
            (64.6, 4.7, 1.5), (0.31, 0.47), (0.51, 0.97), star=True),
    PrintedSet("credit_g", "Credit-g", 1000, 24, (72.1, 1.2, 0.9), (76.3, 0, 0),
            (70.1, -0.1, 0), (0.40, 0.51), (0.52, 0.99), star=True),
    PrintedSet("diabetes", "Diabetes", 768, 8, (73.3, 0.4, 0.5), (77.3, 0, 0),
            (66.6, -4.5, 0.8), (0.23, 0.28), (0.81, 0.95), star=False),
    PrintedSet("ecoli", "E.Coli", 336, 7, (85.1, 0.2, 0.8), (78.6, 0, 0),
            None, (0.24, 0.34), (0.75, 0.95), star=True),
    PrintedSet("heart", "Heart", 270, 13, (78.9, 2.1, 0.5), (84.8, 0, 0),
            (67.4, -0.41, 1.0), (0.42, 0.54), (0.50, 0.97), star=True),
    PrintedSet("hepatitis", "Hepatitis", 155, 19, (80.8, 1.8, 1.5), (79.4, 0, 0),
            (79.4, -0.3, 0.8), (0.37, 0.48), (0.53, 1.00), star=False),
    PrintedSet("ionosphere", "Ionosphere", 351, 34, (86.4, 0.5, 0.6), (89.7, 0, 0),
            (66.9, -1.8, 0.6), (0.31, 0.41), (0.82, 1.01), star=True),
    PrintedSet("iris", "Iris", 150, 4, (94.6, 1.2, 0.4), (96.7, 0, 0),
            None, (0.43, 0.50), (0.69, 0.79), star=True),
    PrintedSet("tic_tac_toe", "Tic-tac-toe", 958, 9, (99.0, -0.3, 0.4), (98.3, 0, 0),
            (56.6, 8.0, 0.6), (0.61, 0.68), (0.52, 0.88), star=False),
    PrintedSet("votes", "Votes", 435, 16, (92.5, 0.4, 0.4), (95.6, 0, 0),
            (60.3, -2.8, 1.3), (0.65, 0.82), (0.50, 0.99), star=False),
    PrintedSet("wine", "Wine", 178, 13, (98.3, -0.6, 0.5), (98.9, 0, 0),
            None, (0.26, 0.34), (0.78, 0.97), star=True),
)
# fmt: on
