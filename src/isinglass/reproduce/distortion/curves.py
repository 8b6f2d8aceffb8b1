"""Figures 2, 3, 5 and 6: projections, the nonlinearity, the bound and the linear case."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from isinglass import chance, theory
from isinglass.activations import ACTIVATIONS
from isinglass.perturb.projection import RandomProjection
from isinglass.progress import Progress
from isinglass.reproduce.distortion import printed
from isinglass.reproduce.distortion.lemmas import printed_bound
from isinglass.reproduce.distortion.setting import Array, Part, network, seeds
from isinglass.reproduce.draw import Row, picture
from isinglass.reproduce.result import Claim, Figure, How, Number

_NORMS = (0.1, 1.0, 10.0)


def curves(how: How, tell: Progress) -> Part:
    """The four figures that need no table."""
    part = Part()
    tell("curves", 0, 4)
    _projected(how, part)
    tell("curves", 1, 4)
    part.figures.append(_nonlinearity())
    tell("curves", 2, 4)
    _bound(how, part)
    tell("curves", 3, 4)
    _linear(how, part)
    return part


def _projected(how: How, part: Part) -> None:
    """Figure 2. The text plots |x1.x1 - y1.y1|, the caption says two vectors: both are drawn."""
    low, high = printed.PROJECTED_TO
    sizes = np.arange(low, high + 1, how.pick(19, 5))
    trials = how.pick(20, printed.PROJECTED_TRIALS)
    pair = chance.generator(how.seed).random((2, printed.PROJECTED))
    own, cross = float(pair[0] @ pair[0]), float(pair[0] @ pair[1])
    rows, wide, norm = [], [], sqrt(own)
    for size in sizes.tolist():
        errors = []
        for key in seeds(how, 70, trials):
            made = RandomProjection(int(size), bounds="scaled", random_state=key)
            projected = made.fit_transform(pair)
            y, unscaled = np.tanh(projected), np.tanh(projected * sqrt(size))
            errors.append(
                (
                    abs(own - y[0] @ y[0]),
                    abs(cross - y[0] @ y[1]),
                    abs(own - unscaled[0] @ unscaled[0]),
                )
            )
        means = np.mean(errors, axis=0)
        theirs = own - size * theory.expected_square("tanh", norm / sqrt(size))
        wide.append(float(means[2]))
        for what, error in (
            ("a vector with itself", float(means[0])),
            ("two vectors", float(means[1])),
            ("with itself, expected", theirs),
        ):
            rows.append({"size": size, "error": error, "of": what})
    first, last = rows[0]["error"], rows[-3]["error"]
    part.figures.append(
        Figure(
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
    )
    part.numbers += [
        Number(
            "Figure 2",
            f"error of x1.x1 at m = {size}, where x1.x1 = {own:.1f}",
            None,
            float(value),
            note="the paper prints neither its vectors nor a value",
        )
        for size, value in ((sizes[0], first), (sizes[-1], last))
    ]
    part.claims.append(
        Claim(
            "Figure 2",
            "A larger output dimension makes the error of the inner product smaller.",
            "holds conditionally",
            f"With entries of variance 1/m it falls from {first:.2f} at m = {sizes[0]} to "
            f"{last:.2f} at {sizes[-1]}; with unit variance it is {wide[0]:.2f} and "
            f"{wide[-1]:.2f}, so the claim needs a scale that the paper does not state.",
        )
    )


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


def _bound(how: How, part: Part) -> None:
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
    values = [theory.tanh_bound(s, t) for s in grid for t in grid]
    top = max(printed_bound(s, t) for s in grid for t in grid)
    part.claims.append(
        Claim(
            "Figure 5",
            "The bound on |E tanh(X) tanh(Y)| lies between 0 and 1 and grows with the norms.",
            "holds conditionally",
            f"Corrected, it lies between {min(values):.4f} and {max(values):.4f} on norms 0.05 to "
            f"50; as printed it reaches {top:,.0f} there.",
        )
    )


def _linear(how: How, part: Part) -> None:
    """Figure 6: x*.y* by the angle, in closed form, bounded, and measured."""
    size, keys = 60, seeds(how, 71, how.pick(10, 100))
    angles = np.linspace(-2 * pi, 2 * pi, how.pick(17, 33))
    setting = theory.Setting(
        n_hidden=size, n_components=size, sigma_a=0.0, sigma_q=1 / size, sigma_b=0.0
    )
    rows: list[Row] = []
    gaps, worst = {}, 0.0
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
        worst = max(worst, float(np.abs(measured - exact).max() / bound))
        gaps[norm] = bound - min(exact)
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
    part.numbers.append(
        Number(
            "Figure 6",
            "largest gap of measured and expected inner product, share of the bound",
            0.0,
            worst,
            note=f"chance of {len(keys)} keys",
        )
    )
    part.claims.append(
        Claim(
            "Figure 6",
            "The bound is tight for vectors near the origin.",
            "holds conditionally",
            f"Only in absolute terms: the largest gap is {gaps[_NORMS[0]]:.3g} at norm "
            f"{_NORMS[0]:g} and {gaps[_NORMS[-1]]:.3g} at {_NORMS[-1]:g}, but as a share of the "
            f"bound it is {gaps[_NORMS[0]] / _NORMS[0] ** 2:.2f} and "
            f"{gaps[_NORMS[-1]] / _NORMS[-1] ** 2:.2f}: what decides is the angle.",
        )
    )
