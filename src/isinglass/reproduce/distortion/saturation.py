"""Where saturated records land, and whether the paper's index of saturation says anything."""

from __future__ import annotations

from collections.abc import Sequence
from math import asin, pi, sqrt

import numpy as np

from isinglass import theory
from isinglass.attack.knowledge import KnownPairs
from isinglass.attack.known_input import KnownInputAttack
from isinglass.progress import Progress
from isinglass.reproduce.distortion import printed
from isinglass.reproduce.distortion.inversion import undone
from isinglass.reproduce.distortion.lemmas import printed_square
from isinglass.reproduce.distortion.setting import SIZE, Part, network, seeds
from isinglass.reproduce.draw import Row, picture
from isinglass.reproduce.result import Claim, Figure, How, Number
from isinglass.reproduce.variance import explained

_D = printed.ARCHIVE_COLUMNS
_FAR = 1000.0  # how far outliers lie from the origin, where records lie within 1
_PAIRS = 400
_LARGE = 200  # hidden units of the second network
_COSINES = (-1.0, -0.5, 0.0, 0.5, 0.9, 0.99)


def saturation(how: How, tell: Progress) -> Part:
    """Outliers on the corners of a cube, and Figure 10(c)."""
    part = Part()
    tell("saturation", 0, 2)
    _corners(how, part)
    tell("saturation", 1, 2)
    _index(how, part)
    return part


def _corners(how: How, part: Part) -> None:
    """Outliers far from the origin: corners of a cube, chosen by direction."""
    m, keys = 200, seeds(how, 82, how.pick(40, 200))
    rng = np.random.default_rng(how.seed + 2)
    others = np.zeros((len(_COSINES), _D))
    others[:, 0] = _COSINES
    others[:, 1] = np.sqrt(1 - np.square(_COSINES))
    first = np.eye(1, _D)
    crowd = rng.normal(size=(50, _D))
    crowd /= np.linalg.norm(crowd, axis=1, keepdims=True)
    far = _FAR * np.vstack([first, others, crowd])
    found, nearest = [], []
    for key in keys:
        made = network("tanh", seed=key, size=m, reach=_FAR, sigma_q=1 / m)
        released = made.fit_transform(far)
        found.append(np.square(released[1 : 1 + len(others)] - released[0]).sum(axis=1))
        apart = np.square(released[-50:, np.newaxis] - released[-50:]).sum(axis=2)
        nearest.append(apart[~np.eye(50, dtype=bool)].min())
    measured = np.mean(found, axis=0)
    limit = [2 - 4 / pi * asin(c) for c in _COSINES]
    rows: list[Row] = [
        {"cosine": c, "distance": float(v), "what": what}
        for what, values in (
            ("measured", measured),
            ("2 - (4/π) asin", limit),
            ("paper: 0", [0.0] * 6),
        )
        for c, v in zip(_COSINES, values, strict=True)
    ]
    part.figures.append(
        Figure(
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
    )
    for c in (-1.0, 0.0, 0.99):
        at = _COSINES.index(c)
        part.numbers.append(
            Number(
                "Section VIII, case 3",
                f"squared distance of two released outliers at cosine {c:g}, per hidden unit",
                0.0,
                float(measured[at]),
                note=f"the limit is {limit[at]:.3f}: each lands on the corner it points to",
            )
        )
    part.claims.append(
        Claim(
            "Section VIII, case 3",
            "All outliers are mapped to the same point, so their mutual distance is about 0.",
            "does not hold",
            "A saturated record lands on a corner chosen by its direction. Squared distance per "
            "hidden unit: "
            + ", ".join(
                f"{measured[_COSINES.index(c)]:.2f} at cosine {c:g}" for c in (-1.0, 0.0, 0.99)
            )
            + f"; among 50 outliers in random directions no two are nearer "
            f"than {min(nearest):.2f}.",
        )
    )


def _index(how: How, part: Part) -> None:
    """Figure 10(c): the bound by the range of the data, and what attackers get there."""
    ranges = how.pick((0.1, 1.0, 3.0), (0.03, 0.1, 0.3, 1.0, 3.0, 10.0))
    rows: list[Row] = []
    for range_ in np.geomspace(0.01, 10, 31).tolist():
        for sigma_a in (0.0, 1.0):
            index = theory.saturation_index(range_, _D, 1.0, sigma_a)
            what = f"index, sigma_a = {sigma_a:g}"
            rows.append({"range": round(range_, 5), "value": index, "what": what})
    snoop, holder = _attacked(how, ranges)
    for size in (SIZE, _LARGE):
        for range_ in ranges:
            what = f"{_PAIRS} pairs, m = p = {size}"
            rows.append({"range": range_, "value": snoop[size, range_], "what": what})
    for range_ in ranges:
        what = f"the key, m = p = {SIZE}"
        rows.append({"range": range_, "value": max(0.0, holder[SIZE, range_]), "what": what})
    part.figures.append(
        Figure(
            "figure-10c",
            "Figure 10(c): the bound by the range of the data, and what attackers get",
            f"The paper's measure of privacy, corrected, for data in [0, range]^{_D}; beside it "
            "the share of variance that a snoop with known pairs and a holder of the key explain "
            "(random records, sigma_a = 0, one key). The index knows nothing of m and p, which "
            "decide what a snoop gets.",
            tuple(rows),
            picture(
                "line",
                "range",
                "value",
                color="what",
                log="x",
                titles={
                    "range": "range of the data",
                    "value": "index, share of variance",
                    "what": "",
                },
            ),
        )
    )

    def index_at(range_: float, sigma_a: float = 0.0) -> float:
        return theory.saturation_index(range_, _D, 1.0, sigma_a)

    part.numbers += [
        Number(
            "Figure 10(c)",
            f"index at range {range_:g}, sigma_a = 0",
            None,
            index_at(range_),
            note="the paper prints no value; it is a saturation index, not a probability",
        )
        for range_ in (printed.NEAR_ORIGIN, 10.0)
    ]
    wrong = printed_square(10 * sqrt(_D / 3))
    low, high = printed.NEAR_ORIGIN, 3.0
    part.claims += [
        Claim(
            "Figure 10(c)",
            "The bound is very low for data within 0.1 of the origin and grows with their range.",
            "holds conditionally",
            f"{index_at(low):.3f} at range 0.1 and {index_at(10):.3f} at 10 if sigma_a = 0; with "
            f"sigma_a = 1 it starts at {index_at(low, 1.0):.3f}, and as printed it would reach "
            f"{wrong:,.0f}.",
        ),
        Claim(
            "Section VII-A, Figure 10(c)",
            "The bound is proportional to the chance of a successful attack, and near 1 it means "
            "high privacy.",
            "does not hold",
            f"The two readings contradict each other. From range {low:g} to {high:g} the index "
            f"rises from {index_at(low):.2f} to {index_at(high):.2f}, while {_PAIRS} known pairs "
            f"explain less, {snoop[SIZE, low]:.2f} and {snoop[SIZE, high]:.2f} of the variance; "
            f"but at the same index {snoop[_LARGE, high]:.2f} if m = p = {_LARGE}, and the key's "
            f"holder explains {holder[SIZE, low]:.2f} and {holder[SIZE, high]:.2f}. We report it "
            "as a saturation index.",
        ),
    ]


def _attacked(
    how: How, ranges: Sequence[float]
) -> tuple[dict[tuple[int, float], float], dict[tuple[int, float], float]]:
    """What known pairs, and the key, explain of random records, by size and range."""
    rng = np.random.default_rng(how.seed + 3)
    key, cube = seeds(how, 83, 1)[0], rng.random((how.pick(900, 2000), _D))
    snoop, holder = {}, {}
    for size in (SIZE, _LARGE):
        for range_ in ranges:
            # Records in [0, range]^d under weights of deviation 1 are those in the unit cube
            # under weights of deviation `range`.
            made = network("tanh", seed=key, size=size, sigma_w=range_, sigma_a=0.0)
            released = made.fit_transform(cube)
            known = KnownPairs(np.arange(_PAIRS), cube[:_PAIRS])
            guess = KnownInputAttack("ridge").guess(released, known)[_PAIRS:]
            snoop[size, range_] = explained(guess, cube[_PAIRS:])
            holder[size, range_] = explained(undone(made, cube[:100]), cube[:100])
    return snoop, holder
