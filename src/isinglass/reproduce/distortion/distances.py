"""Distances: kept on average by a linear distortion, and by tanh near the origin."""

from __future__ import annotations

from math import sqrt

import numpy as np

from isinglass import theory
from isinglass.progress import Progress
from isinglass.reproduce.distortion.setting import Part, network, seeds
from isinglass.reproduce.result import Claim, How, Number


def distances(how: How, tell: Progress) -> Part:
    """What becomes of the distance of two records, over many keys and in closed form."""
    part = Part()
    tell("distances", 0, None)
    draws, size, d = how.pick(100, 1000), 60, 29
    rng = np.random.default_rng(how.seed)
    x, y = rng.random((2, d))
    ratios = np.empty(draws)
    for i, key in enumerate(seeds(how, 73, draws)):
        released = network("identity", seed=key, size=size).fit_transform(np.vstack([x, y]))
        ratios[i] = np.sum((released[0] - released[1]) ** 2) / np.sum((x - y) ** 2)
    mean, spread = float(ratios.mean()), float(ratios.std(ddof=1))
    law = sqrt(2 / size + 2 / size + 4 / size**2)
    part.numbers.append(
        Number(
            "Section VII-B",
            "squared distance after a linear distortion over that before, mean over keys",
            1.0,
            mean,
            mean - spread / sqrt(draws),
            mean + spread / sqrt(draws),
            "spread: standard error",
        )
    )
    part.claims.append(
        Claim(
            "Section VII-B",
            "A linear distortion keeps distances on average.",
            "holds",
            f"Ratio of squared distances {mean:.3f} over {draws} keys; but one key is noisy: its "
            f"standard deviation is {spread:.3f} (derived {law:.3f}) at m = p = {size}.",
        )
    )
    origin = np.zeros(d)
    direction = (y - x) / np.linalg.norm(y - x)
    sigma_q = theory.distance_preserving_sigma_q("tanh", size, size, 1.0, 0.0)
    setting = theory.Setting(n_hidden=size, n_components=size, sigma_a=0.0, sigma_q=sigma_q)
    kept = {
        r: theory.expected_squared_distance(origin, r * direction, "tanh", setting) / r**2
        for r in (0.1, 1.0, 10.0)
    }
    part.claims.append(
        Claim(
            "Section VIII",
            "tanh keeps distances near the origin and distorts them far from it.",
            "holds",
            "Expected squared distance from the origin, over that before: "
            + ", ".join(f"{ratio:.3f} at distance {r:g}" for r, ratio in kept.items())
            + f". But records in [0, 1]^{d} lie {sqrt(d / 3):.1f} from the origin on average, "
            "unless a centre is subtracted.",
        )
    )
    return part
