"""Distances: kept on average by a linear distortion, and by tanh near the origin."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from isinglass import theory
from isinglass.progress import Progress
from isinglass_papers.core.result import Claim, How, Number
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rules import Repeated, within_chance
from isinglass_papers.distortion.setting import ExperimentPart, network, seeds

_SIZE = 60
_D = printed.ARCHIVE_COLUMNS
#: A squared distance is kept if at least nine tenths of it are left, distorted if less than half.
KEPT, DISTORTED = 0.9, 0.5


def distances(how: How, tell: Progress) -> ExperimentPart:
    """What becomes of the distance of two records, over many keys and in closed form."""
    tell("distances", 0, None)
    rng = np.random.default_rng(how.seed)
    x, y = rng.random((2, _D))
    ratios = []
    for key in seeds(how, 73, how.pick(100, 1000)):
        released = network("identity", seed=key, size=_SIZE).fit_transform(np.vstack([x, y]))
        ratios.append(float(np.sum((released[0] - released[1]) ** 2) / np.sum((x - y) ** 2)))
    ratio = Repeated.of(ratios)
    judged = "chance" if within_chance(ratio.mean, 1.0, ratio.error) else "unexplained"
    number = Number(
        "Section VII-B",
        "squared distance after a linear distortion over that before, mean over keys",
        1.0,
        ratio.mean,
        ratio.mean - ratio.error,
        ratio.mean + ratio.error,
        f"the printed formula gives 1; spread: one standard error of {ratio.keys} keys; {judged}",
    )
    origin = np.zeros(_D)
    direction = (y - x) / np.linalg.norm(y - x)
    sigma_q = theory.distance_preserving_sigma_q("tanh", _SIZE, _SIZE, 1.0, 0.0)
    setting = theory.Setting(n_hidden=_SIZE, n_components=_SIZE, sigma_a=0.0, sigma_q=sigma_q)
    kept = {
        r: theory.expected_squared_distance(origin, r * direction, "tanh", setting) / r**2
        for r in (0.1, 1.0, 10.0)
    }
    return ExperimentPart([number], [linear_claim(ratio), origin_claim(kept)])


def linear_claim(ratio: Repeated) -> Claim:
    """Kept on average: the mean ratio is 1 but for chance."""
    law = sqrt(2 / _SIZE + 2 / _SIZE + 4 / _SIZE**2)
    kept = within_chance(ratio.mean, 1.0, ratio.error)
    return Claim(
        "Section VII-B",
        "A linear distortion keeps distances on average.",
        "holds" if kept else "does not hold",
        f"Ratio of squared distances {ratio.mean:.3f} ± {ratio.error:.3f} over {ratio.keys} keys; "
        f"under one key it has a standard deviation of {ratio.deviation:.3f} (derived {law:.3f}) "
        f"at m = p = {_SIZE}.",
    )


def origin_claim(kept: Mapping[float, float]) -> Claim:
    """Both halves: kept at the least distance from the origin, distorted at the largest."""
    near, far = kept[min(kept)] >= KEPT, kept[max(kept)] < DISTORTED
    return Claim(
        "Section VIII",
        "tanh keeps distances near the origin and distorts them far from it.",
        "holds" if near and far else "holds conditionally" if near else "does not hold",
        "Expected squared distance from the origin, over that before: "
        + ", ".join(f"{ratio:.3f} at distance {r:g}" for r, ratio in kept.items())
        + f". Records in [0, 1]^{_D} lie {sqrt(_D / 3):.1f} from the origin on average, unless a "
        "center is subtracted.",
    )
