"""Corners of a cube, where saturated records land by their direction."""

from __future__ import annotations

from collections.abc import Mapping
from math import asin, pi

import numpy as np

from isinglass.progress import Progress
from isinglass_papers.core.draw import Row, picture
from isinglass_papers.core.result import Claim, Figure, How, Number
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rules import Repeated
from isinglass_papers.distortion.setting import ExperimentPart, network, seeds

_D = printed.ARCHIVE_COLUMNS
_FAR = 1000.0  # how far outliers lie from the origin, where records lie within 1
_COSINES = (-1.0, -0.5, 0.0, 0.5, 0.9, 0.99)
_TOLD = (-1.0, 0.0, 0.99)
_CROWD = 50
#: Two records are at one point if no further apart than a hundredth of opposite corners, 4.
SAME = 0.04


def corners(how: How, tell: Progress) -> ExperimentPart:
    """How far apart two outliers far from the origin are released, by the angle between them."""
    tell("saturated outliers", 0, None)
    m, keys = 200, seeds(how, 82, how.pick(40, 200))
    rng = np.random.default_rng(how.seed + 2)
    others = np.zeros((len(_COSINES), _D))
    others[:, 0] = _COSINES
    others[:, 1] = np.sqrt(1 - np.square(_COSINES))
    first = np.eye(1, _D)
    crowd = rng.normal(size=(_CROWD, _D))
    crowd /= np.linalg.norm(crowd, axis=1, keepdims=True)
    far = _FAR * np.vstack([first, others, crowd])
    found, nearest = [], []
    for key in keys:
        made = network("tanh", seed=key, size=m, reach=_FAR, sigma_q=1 / m)
        released = made.fit_transform(far)
        found.append(np.square(released[1 : 1 + len(others)] - released[0]).sum(axis=1))
        apart = np.square(released[-_CROWD:, np.newaxis] - released[-_CROWD:]).sum(axis=2)
        nearest.append(float(apart[~np.eye(_CROWD, dtype=bool)].min()))
    measured = {
        c: Repeated.of(values)
        for c, values in zip(_COSINES, np.transpose(found).tolist(), strict=True)
    }
    limit = {c: 2 - 4 / pi * asin(c) for c in _COSINES}
    rows: list[Row] = [
        {"cosine": c, "distance": value, "what": what}
        for what, values in (
            ("measured", {c: r.mean for c, r in measured.items()}),
            ("2 - (4/π) asin", limit),
            ("paper: 0", dict.fromkeys(_COSINES, 0.0)),
        )
        for c, value in values.items()
    ]
    figure = Figure(
        "outliers",
        "How far apart two outliers land, by the angle between them",
        f"Squared distance of two released outliers, {_FAR:g} from the origin, in units of the "
        f"hidden layer's (0: same point, 4: opposite corners); mean of {len(keys)} keys.",
        tuple(rows),
        picture(
            "line",
            "cosine",
            "distance",
            color="what",
            titles={
                "cosine": "cosine of the angle",
                "distance": "squared distance",
                "what": "",
            },
        ),
    )
    numbers = [
        Number(
            "Section VIII, case 3",
            f"squared distance of two released outliers at cosine {c:g}, per hidden unit",
            0.0,
            measured[c].mean,
            measured[c].low,
            measured[c].high,
            f"the paper says about 0; derived, where units saturate, it is {limit[c]:.3f}",
        )
        for c in _TOLD
    ]
    return ExperimentPart(numbers, [corner_claim(measured, min(nearest))], [figure])


def corner_claim(measured: Mapping[float, Repeated], nearest: float) -> Claim:
    """At one point if they are at every angle; apart if they are, beyond chance, at one.

    `nearest` is the least distance among outliers in random directions.
    """
    apart = [c for c, found in measured.items() if found.above(Repeated(SAME, 0.0, 1))]
    together = all(found.mean <= SAME for found in measured.values()) and nearest <= SAME
    return Claim(
        "Section VIII, case 3",
        "All outliers are mapped to the same point, so their mutual distance is about 0.",
        "does not hold" if apart else "holds" if together else "not reproduced",
        ("A saturated record lands on a corner chosen by its direction. " if apart else "")
        + "Squared distance per hidden unit: "
        + ", ".join(f"{measured[c].mean:.2f} at cosine {c:g}" for c in _TOLD)
        + f"; among {_CROWD} outliers in random directions the nearest two lie {nearest:.2f} "
        "apart.",
    )
