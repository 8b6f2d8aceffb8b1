"""The paper's analysis in numbers: Lemma 1, densities, and what a linear filter isolates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from isinglass.activations import double_logistic
from isinglass.reproduce import draw
from isinglass.reproduce.multiparty.attacks import private_matrix
from isinglass.reproduce.multiparty.printed import CURVATURE, MEDIAN_ERROR, TANH_CONVEX
from isinglass.reproduce.multiparty.protocol import matrix_of, participant
from isinglass.reproduce.result import Figure, How, Number
from isinglass.theory.double_logistic import (
    TanhLandmarks,
    best_curvature,
    density,
    guess_error_tail,
    interval_mass,
    tanh_density,
)

Array = NDArray[Any]
Row = dict[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Guesses:
    """Errors of guessed entries of private matrices, in alphas: drawn at random, and T itself."""

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
    return Guesses(np.concatenate(drawn), np.concatenate(best))


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


def numbers(errors: Guesses, turns: TanhLandmarks) -> list[Number]:
    """The few numbers that the text of the paper prints."""
    found = [
        Number("Section 3.2", "curvature nearest to the identity", CURVATURE, best_curvature()),
        Number(
            "Section 5.1", "density of tanh convex up to |y| =", TANH_CONVEX, turns.convex_until,
            note="the paper rounds down",
        ),
        Number(
            "Section 5.1", "median error of a random guess, in alphas", MEDIAN_ERROR,
            float(np.median(errors.drawn)),
            note=_sampling(MEDIAN_ERROR, float(np.median(errors.drawn))),
        ),
        Number(
            "Section 5.1", "the same for the best guess, T itself", None,
            float(np.median(errors.best)),
            note="the paper counts the random guess only; exactly, it is half an alpha",
        ),
    ]  # fmt: skip
    for d in (0.1, 0.5, 1.0, 1.5):
        exact = guess_error_tail(d, 1.0, guess="random")
        ours = float((errors.drawn >= d).mean())
        found.append(
            Number(
                "Lemma 1", f"P(error >= {d:g} alpha), random guess", exact, ours,
                note=_sampling(exact, ours),
            )
        )  # fmt: skip
    return found


def _sampling(exact: float, ours: float) -> str:
    return "" if f"{exact:.4g}" == f"{ours:.4g}" else "drawn; the difference is chance"


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
    beyond = 2 * (0.5 - interval_mass(0.0, float(double_logistic(np.ones(1))[0])))
    return Figure(
        "densities",
        "Section 5.1: densities of a transformed standard normal value",
        "At the middle of forty intervals; the column `counted` of the CSV is a histogram of drawn "
        "values. The double logistic's density is infinite at -1, 0 and 1; a normal value comes "
        f"beyond f(1) = 0.940 with probability {beyond:.2f}, a value that was brought to [0, 1] "
        "never.",
        tuple(rows),
        draw.picture(
            "line", "y", "density", color="function",
            titles={"y": "transformed value y", "density": "density", "function": ""},
        ),
    )  # fmt: skip
