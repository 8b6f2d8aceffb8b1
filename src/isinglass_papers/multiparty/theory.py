"""The paper's analysis in numbers: Lemma 1, densities, and what a linear filter isolates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from isinglass.activations import double_logistic, double_logistic_inverse
from isinglass.theory.double_logistic import (
    TanhLandmarks,
    best_curvature,
    density,
    guess_error_tail,
    interval_mass,
    tanh_density,
    tanh_landmarks,
)
from isinglass_papers.core import draw
from isinglass_papers.core.result import Figure, How, Number
from isinglass_papers.multiparty.attacks import private_matrix
from isinglass_papers.multiparty.printed import CURVATURE, MEDIAN_ERROR, TANH_CONVEX
from isinglass_papers.multiparty.protocol import matrix_of, participant

Array = NDArray[Any]
Row = dict[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Guesses:
    """Errors of guessed entries in alphas, a row for each private matrix: drawn, and T itself."""

    drawn: Array = field(repr=False)
    best: Array = field(repr=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a filter that cancels w - 1 attributes leaves: how many, and how cleanly."""

    n: int
    w: int
    left: int
    #: Share of the filter's squared weights on the attributes left, on the private T + D.
    clean: float


def guesses(how: How) -> Guesses:
    """Private matrices as participants draw them, guessed in two ways."""
    rng = np.random.default_rng([how.seed, 200])
    alpha, n = 0.2, 40
    matrix = matrix_of(n, 1, rng)
    drawn, best = [], []
    for _ in range(how.pick(20, 200)):
        true = private_matrix(participant(matrix, alpha, rng))
        guess = matrix.matrix + rng.uniform(-alpha, alpha, true.shape)
        drawn.append(np.abs(guess - true).ravel() / alpha)
        best.append(np.abs(matrix.matrix - true).ravel() / alpha)
    return Guesses(np.array(drawn), np.array(best))


@dataclass(frozen=True, slots=True)
class Shape:
    """The double logistic and tanh, as far as Section 5.1 argues with their shape.

    `rises` is the density of tanh at its mode over that at 0. `top` is f(1), and `back` the
    largest error of the inverse on [0, 1]. `infinite`: the density of f grows beyond all bounds
    toward -1, 0 and 1.
    """

    curvature: float
    turns: TanhLandmarks
    rises: float
    top: float
    back: float
    infinite: bool


def shape() -> Shape:
    """Computed, not drawn."""
    turns = tanh_landmarks()
    x = np.linspace(0, 1, 1001)
    y = double_logistic(x)
    # Four times as high whenever a hundred times nearer, so without a bound.
    near = np.array([1e-4, 1e-6, 1e-8, 1e-10])
    toward = [density(near), density(1 - near), density(near - 1)]
    return Shape(
        best_curvature(),
        turns,
        float(tanh_density(turns.mode)) / float(tanh_density(0.0)),
        float(y[-1]),
        float(np.abs(double_logistic_inverse(y) - x).max()),
        all(bool((p[1:] > 4 * p[:-1]).all()) for p in toward),
    )


def filters(how: How, n: int = 8) -> list[Filter]:
    """The filter for the first attributes, made from T alone, applied to T + D at alpha = 0.01."""
    rng = np.random.default_rng([how.seed, 201])
    found = []
    for w in (n - 1, (n + 1) // 2):
        matrix = matrix_of(n, n - w, rng)
        T = matrix.matrix
        # The one direction that w - 1 columns leave free among w.
        weights = np.linalg.svd(T[:, n - w + 1 :].T)[2][-1]
        seen = np.square(weights @ private_matrix(participant(matrix, 0.01, rng)))
        left = int((np.square(weights @ T) > 1e-20).sum())
        found.append(Filter(n, w, left, float(seen[:left].sum() / seen.sum())))
    return found


def numbers(errors: Guesses, found: Shape) -> list[Number]:
    """The few numbers that the text of the paper prints."""
    turn = found.turns.convex_until
    median = np.median(errors.drawn, axis=1)
    made = [
        Number(
            "Section 3.2", "curvature nearest to the identity", CURVATURE, found.curvature,
            note="" if abs(found.curvature - CURVATURE) < 0.01 else "unexplained",
        ),
        Number(
            "Section 5.1", "density of tanh convex up to |y| =", TANH_CONVEX, turn,
            note="the paper rounds down" if 0 <= turn - TANH_CONVEX < 0.1 else "unexplained",
        ),
        _drawn(
            "Section 5.1", "median error of a random guess, in alphas", "(2 - sqrt 2) alpha",
            MEDIAN_ERROR, float(np.median(errors.drawn)), median,
        ),
        Number(
            "Section 5.1", "the same for the best guess, T itself", None,
            float(np.median(errors.best)), *_ends(np.median(errors.best, axis=1)),
            note="the paper counts the random guess only; exactly, it is half an alpha",
        ),
    ]  # fmt: skip
    for d in (0.1, 0.5, 1.0, 1.5):
        shares = (errors.drawn >= d).mean(axis=1)
        made.append(
            _drawn(
                "Lemma 1", f"P(error >= {d:g} alpha), random guess",
                "(2 alpha - d)^2 / (4 alpha^2)", guess_error_tail(d, 1.0, guess="random"),
                float(shares.mean()), shares,
            )
        )  # fmt: skip
    return made


def _drawn(
    where: str, what: str, formula: str, printed: float, ours: float, by_matrix: Array
) -> Number:
    """A number that the paper gives as a formula; the spread of ours is over private matrices."""
    low, high = _ends(by_matrix)
    note = f"the printed formula {formula} gives {printed:.4g}"
    if not low <= printed <= high:
        note += "; that ours differs is unexplained"
    return Number(where, what, printed, ours, low, high, note)


def _ends(values: Array) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def figures(errors: Guesses, how: How) -> list[Figure]:
    """Lemma 1, and the densities of Section 5.1."""
    return [_lemma(errors), _densities(how)]


def _lemma(errors: Guesses) -> Figure:
    rows: list[Row] = []
    for d in np.linspace(0, 2, 21):
        for guess, name, drawn in (
            ("random", "random guess", errors.drawn),
            ("best", "best guess: T", errors.best),
        ):
            exact = guess_error_tail(float(d), 1.0, guess=guess)  # type: ignore[arg-type]
            tail = float((drawn >= d).mean())
            rows.append({"d": float(d), "tail": exact, "guess": name, "drawn": tail})
    return Figure(
        "lemma-1",
        "Lemma 1: how far off a guess of a private entry is",
        "Closed forms; the column `drawn` of the CSV holds the same from matrices that "
        f"participants drew, {float(_farthest(rows)):.4f} away at most. The lemma is about the "
        "upper line; nobody has to guess at random.",
        tuple(rows),
        draw.picture(
            "line", "d", "tail", color="guess",
            titles={"d": "d (in alphas)", "tail": "P(error of an entry >= d)", "guess": ""},
        ),
    )  # fmt: skip


def _farthest(rows: list[Row]) -> float:
    return max(abs(float(row["tail"]) - float(row["drawn"])) for row in rows)


def _densities(how: How) -> Figure:
    rng = np.random.default_rng([how.seed, 202])
    x = rng.normal(size=how.pick(200_000, 2_000_000))
    edges = np.linspace(-1, 1, 41)
    middle = (edges[1:] + edges[:-1]) / 2
    rows: list[Row] = []
    curves = (
        ("double logistic", double_logistic(x), density(middle)),
        ("tanh", np.tanh(x), tanh_density(middle)),
        ("no transformation", x, norm.pdf(middle)),
    )
    for name, values, exact in curves:
        counted = np.histogram(values, edges)[0] / len(x) / np.diff(edges)
        rows += [
            {"y": float(y), "density": float(p), "counted": float(c), "function": name}
            for y, p, c in zip(middle, exact, counted, strict=True)
        ]
    top = float(double_logistic(np.ones(1))[0])
    beyond = 2 * (0.5 - interval_mass(0.0, top))
    return Figure(
        "densities",
        "Section 5.1: densities of a transformed standard normal value",
        "At the middle of forty intervals; the column `counted` of the CSV is a histogram of drawn "
        "values. The double logistic's density is infinite at -1, 0 and 1; a normal value comes "
        f"beyond f(1) = {top:.3f} with probability {beyond:.2f}, one that was brought to [0, 1] "
        "never.",
        tuple(rows),
        draw.picture(
            "line", "y", "density", color="function",
            titles={"y": "transformed value y", "density": "density", "function": ""},
        ),
    )  # fmt: skip
