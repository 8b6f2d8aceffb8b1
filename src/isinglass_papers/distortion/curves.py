"""Figures 3, 5 and 6: the nonlinearity, the bound, and the linear case."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, sqrt

import numpy as np

from isinglass import theory
from isinglass.activations import ACTIVATIONS
from isinglass.progress import Progress
from isinglass_papers.core.draw import Row, picture
from isinglass_papers.core.result import Claim, Figure, How, Number
from isinglass_papers.distortion.lemmas import printed_bound
from isinglass_papers.distortion.rules import CHANCE, verdict_by_count
from isinglass_papers.distortion.setting import Array, ExperimentPart, network, seeds

_NORMS = (0.1, 1.0, 10.0)
#: A bound is tight where it exceeds what it bounds by no more than this share of itself.
TIGHT = 0.1


def curves(how: How, tell: Progress) -> ExperimentPart:
    """The three figures that need no table."""
    part = ExperimentPart()
    tell("curves", 0, 3)
    part.figures.append(_nonlinearity())
    tell("curves", 1, 3)
    _bound(how, part)
    tell("curves", 2, 3)
    _linear(how, part)
    return part


def _nonlinearity() -> Figure:
    z = np.linspace(-3, 3, 61)
    drawn: dict[str, Array] = {f"tanh, slope {s:g}": np.tanh(s * z) for s in (0.5, 1, 3)}
    drawn["clip to [-1, 1]"] = np.clip(z, -1, 1)
    drawn["step"] = ACTIVATIONS["sign"].function(z)
    rows: list[Row] = [
        {"z": round(float(a), 2), "f": round(float(b), 5), "curve": name}
        for name, values in drawn.items()
        for a, b in zip(z, values, strict=True)
    ]
    spec = picture("line", "z", "f", color="curve", titles={"f": "f(z)", "curve": ""})
    spec["layer"][0]["mark"]["point"] = False
    return Figure(
        "figure-03",
        "Figure 3: tanh, its slope, its limit, and the clipped line that bounds it",
        "Every tanh of finite slope is strictly increasing, and so has an inverse; only the step "
        "has none.",
        tuple(rows),
        spec,
    )


def _bound(how: How, part: ExperimentPart) -> None:
    """Figure 5, and how often what is printed is exceeded."""
    grid = np.geomspace(0.05, 50, how.pick(13, 31)).tolist()
    rows = []
    for t in _NORMS:
        for s in grid:
            for what, value in (
                ("value at correlation 1", theory.expected_product("tanh", s, t, s * t)),
                ("bound", theory.tanh_bound(s, t)),
                ("bound as printed", printed_bound(s, t)),
            ):
                rows.append({"s": s, "value": value, "what": what, "panel": f"|y| = {t:g}"})
    part.figures.append(
        Figure(
            "figure-05",
            "Figure 5: the bound on |E tanh(X) tanh(Y)|",
            "By the norm of x, for three norms of y. The printed bound lacks a term and a root: it "
            "lies below the value for small norms and grows without limit for large ones.",
            tuple(rows),
            picture(
                "line",
                "s",
                "value",
                color="what",
                panel="panel",
                log="xy",
                titles={"s": "|x|", "value": "bound", "what": ""},
            ),
        )
    )
    values = np.array([[theory.expected_product("tanh", s, t, s * t) for t in grid] for s in grid])
    corrected = np.array([[theory.tanh_bound(s, t) for t in grid] for s in grid])
    as_printed = np.array([[printed_bound(s, t) for t in grid] for s in grid])
    part.claims.append(bound_claim((grid[0], grid[-1]), values, corrected, as_printed))


def bound_claim(
    norms: tuple[float, float], values: Array, corrected: Array, as_printed: Array
) -> Claim:
    """A bound on `values` within (0, 1) that grows along both norms: as printed, or corrected."""

    def as_said(bound: Array) -> bool:
        grows = (np.diff(bound, axis=0) > 0).all() and (np.diff(bound, axis=1) > 0).all()
        bounds = (values <= bound * (1 + 1e-12)).all()
        return bool(grows and bounds and bound.min() > 0 and bound.max() < 1)

    found = {"corrected bound": corrected, "printed bound": as_printed}
    said = [name for name, bound in found.items() if as_said(bound)]
    return Claim(
        "Figure 5",
        "The bound on |E tanh(X) tanh(Y)| lies between 0 and 1 and grows with the norms.",
        verdict_by_count(len(said), len(found), none="does not hold"),
        f"True of {' and '.join(f'the {name}' for name in said) or 'neither bound'}. On norms "
        f"{norms[0]:g} to {norms[1]:g} "
        + "; ".join(
            f"the {name} lies between {bound.min():.2g} and {bound.max():,.4g} and is exceeded by "
            f"{100 * float((values > bound * (1 + 1e-12)).mean()):.0f} % of the values"
            for name, bound in found.items()
        )
        + ".",
    )


def _linear(how: How, part: ExperimentPart) -> None:
    """Figure 6: x*.y* by the angle, in closed form, bounded, and measured."""
    size, keys = 60, seeds(how, 71, how.pick(10, 100))
    angles = np.linspace(-2 * pi, 2 * pi, how.pick(17, 33))
    setting = theory.Setting(
        n_hidden=size, n_components=size, sigma_a=0.0, sigma_q=1 / size, sigma_b=0.0
    )
    rows: list[Row] = []
    gaps, worst, errors = {}, 0.0, 0.0
    for norm in _NORMS:
        x = np.array([norm, 0.0])
        others = norm * np.column_stack([np.cos(angles), np.sin(angles)])
        network_of = {"reach": norm, "size": size, "sigma_a": 0.0, "sigma_q": 1 / size}
        found = []
        for key in keys:
            made = network("identity", seed=key, **network_of)  # type: ignore[arg-type]
            released = made.fit_transform(np.vstack([x, others]))
            found.append(released[1:] @ released[0])
        measured = np.mean(found, axis=0)
        exact = [theory.expected_inner_product(x, y, "identity", setting) for y in others]
        bound = theory.inner_product_bound(x, x, "identity", setting)
        noise = [
            sqrt(theory.variance_inner_product(x, y, "identity", setting) / len(keys))
            for y in others
        ]
        worst = max(worst, float(np.abs(measured - exact).max() / bound))
        errors = max(errors, float(np.abs((measured - exact) / noise).max()))
        gaps[norm] = (bound - min(exact), bound)
        for angle, e, m in zip(angles, exact, measured, strict=True):
            for what, value in (("expected", e), ("measured", m), ("bound", bound)):
                rows.append(
                    {
                        "angle": round(float(angle), 4),
                        "value": float(value),
                        "what": what,
                        "panel": f"norms {norm:g}",
                    }
                )
    part.figures.append(
        Figure(
            "figure-06",
            "Figure 6: the expected inner product of a linear distortion by the angle",
            f"Closed form, mean of {len(keys)} keys of {size} hidden units, and the bound. The "
            "three panels differ in their axis alone.",
            tuple(rows),
            picture(
                "line",
                "angle",
                "value",
                color="what",
                panel="panel",
                titles={"angle": "angle (radians)", "value": "E x*.y*", "what": ""},
            ),
        )
    )
    judged = "chance" if errors <= CHANCE else "beyond chance; unexplained"
    part.numbers.append(
        Number(
            "Figure 6",
            "largest gap of measured and expected inner product, share of the bound",
            None,
            worst,
            note=f"the paper prints no value; {errors:.1f} standard errors of {len(keys)} keys, "
            f"{judged}",
        )
    )
    part.claims.append(tight_claim(gaps))


def tight_claim(gaps: Mapping[float, tuple[float, float]]) -> Claim:
    """Tight near the origin, as a share of the bound: the gap itself is small there anyway.

    `gaps` holds, by norm, the largest gap and the bound.
    """
    near, far = min(gaps), max(gaps)
    share = {norm: gap / bound for norm, (gap, bound) in gaps.items()}
    tight, tighter = share[near] <= TIGHT, share[near] < share[far] - TIGHT
    return Claim(
        "Figure 6",
        "The bound is tight for vectors near the origin.",
        "holds" if tight else "holds conditionally" if tighter else "does not hold",
        f"The largest gap is {gaps[near][0]:.3g} at norm {near:g} and {gaps[far][0]:.3g} at "
        f"{far:g}; as a share of the bound it is {share[near]:.2f} and {share[far]:.2f}"
        + ("." if tight or tighter else ": as loose near the origin as elsewhere, where all is "
           "small; what decides is the angle."),
    )  # fmt: skip
