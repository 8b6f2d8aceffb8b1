"""Figure 2: the error of an inner product by the number of released columns."""

from __future__ import annotations

from math import sqrt

import numpy as np

from isinglass import chance, theory
from isinglass.perturb.projection import RandomProjection
from isinglass.progress import Progress
from isinglass_papers.core.draw import Row, picture
from isinglass_papers.core.result import Claim, Figure, How, Number
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rules import Repeated, verdict_by_count
from isinglass_papers.distortion.setting import ExperimentPart, seeds


def projected(how: How, tell: Progress) -> ExperimentPart:
    """The text plots |x1.x1 - y1.y1|, the caption says two vectors: both are drawn."""
    tell("projections", 0, None)
    low, high = printed.PROJECTED_TO
    sizes = np.arange(low, high + 1, how.pick(19, 5)).tolist()
    trials = how.pick(20, printed.PROJECTED_TRIALS)
    pair = chance.generator(how.seed).random((2, printed.PROJECTED))
    own, cross = float(pair[0] @ pair[0]), float(pair[0] @ pair[1])
    rows: list[Row] = []
    scaled, wide = {}, {}
    for size in sizes:
        errors = []
        for key in seeds(how, 70, trials):
            made = RandomProjection(int(size), bounds="scaled", random_state=key)
            product = made.fit_transform(pair)
            y, unscaled = np.tanh(product), np.tanh(product * sqrt(size))
            errors.append(
                (
                    abs(own - y[0] @ y[0]),
                    abs(cross - y[0] @ y[1]),
                    abs(own - unscaled[0] @ unscaled[0]),
                )
            )
        itself, two, unit = (Repeated.of(column) for column in np.transpose(errors))
        scaled[size], wide[size] = itself, unit
        expected = own - size * theory.expected_square("tanh", sqrt(own) / sqrt(size))
        for what, error in (
            ("a vector with itself", itself.mean),
            ("two vectors", two.mean),
            ("with itself, expected", expected),
        ):
            rows.append({"size": size, "error": error, "of": what})
    figure = Figure(
        "figure-02",
        "Figure 2: error of the inner product by output size",
        f"tanh of a random projection of {printed.PROJECTED} columns with entries of variance "
        f"1/m; mean of {trials} keys, and the error of the expected product in closed form.",
        tuple(rows),
        picture(
            "line",
            "size",
            "error",
            color="of",
            titles={"size": "released columns m", "error": "absolute error", "of": ""},
        ),
    )
    ends = sizes[0], sizes[-1]
    numbers = [
        Number(
            "Figure 2",
            f"error of x1.x1 at m = {size}, where x1.x1 = {own:.1f}",
            None,
            scaled[size].mean,
            scaled[size].low,
            scaled[size].high,
            note="the paper prints neither its vectors nor a value",
        )
        for size in ends
    ]
    claim = size_claim(
        ends, (scaled[ends[0]], scaled[ends[1]]), (wide[ends[0]], wide[ends[1]])
    )  # fmt: skip
    return ExperimentPart(numbers, [claim], [figure])


def size_claim(
    sizes: tuple[int, int], scaled: tuple[Repeated, Repeated], wide: tuple[Repeated, Repeated]
) -> Claim:
    """The error falls beyond chance under both scales of the weights, or under one of them.

    Each pair holds the errors at the smallest and the largest size.
    """
    falls = [first.above(last) for first, last in (scaled, wide)]
    return Claim(
        "Figure 2",
        "A larger output dimension makes the error of the inner product smaller.",
        verdict_by_count(sum(falls), len(falls), none="does not hold"),
        f"Error at m = {sizes[0]} and {sizes[1]}: {scaled[0].mean:.2f} and {scaled[1].mean:.2f} "
        f"with entries of variance 1/m, {wide[0].mean:.2f} and {wide[1].mean:.2f} with unit "
        "variance"
        + ("." if len(set(falls)) == 1 else "; the paper does not state which scale it took."),
    )
