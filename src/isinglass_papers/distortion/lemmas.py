"""The paper's lemmas on expected products, as printed, beside what is derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np

from isinglass import theory
from isinglass.progress import Progress
from isinglass_papers.core.result import Claim, Number
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rules import refuted
from isinglass_papers.distortion.setting import Array, ExperimentPart

_ROUNDING = 1e-12  # what the closed forms may lose


def printed_square(s: float) -> float:
    """E tanh(X)^2 as Section VII-A bounds it, one term missing."""
    from scipy.special import ndtr

    inside = float(ndtr(1 / s) - ndtr(-1 / s))
    return 2 * float(ndtr(-1 / s)) + s * s * inside


def printed_bound(s: float, t: float) -> float:
    """The final bound of Section VII-A: the product, without a root."""
    return printed_square(s) * printed_square(t)


def lemmas(tell: Progress) -> ExperimentPart:
    """Lemmas 5.2, 5.3 and 6.2 and the bounds of Section VII, one by one."""
    part = ExperimentPart()
    tell("lemmas", 0, None)
    _cauchy(part)
    _clipped(part)
    _sign(part)
    return part


@dataclass(frozen=True, slots=True)
class Exceeded:
    """Shares of pairs of norms and correlations whose value lies above a bound."""

    as_printed: float
    without_divisor: float


def _cauchy(part: ExperimentPart) -> None:
    """Lemma 6.2 divides by 2 pi s t once too often."""
    value = theory.expected_product("identity", 1, 1, 0.9)
    bound = 1 / printed.EXTRA_DIVISOR
    exceeded = {}
    grid = list(product((0.1, 0.5, 1, 2, 5), (0.1, 0.5, 1, 2, 5), (-0.9, -0.5, 0.2, 0.5, 0.9)))
    for f in printed.KINDS:
        above = []
        for s, t, rho in grid:
            largest = sqrt(theory.expected_square(f, s) * theory.expected_square(f, t))
            c_f = abs(theory.expected_product(f, s, t, rho * s * t))
            over = largest / (printed.EXTRA_DIVISOR * s * t)
            above.append((c_f > over * (1 + _ROUNDING), c_f > largest * (1 + _ROUNDING)))
        exceeded[f] = Exceeded(*np.mean(above, axis=0).tolist())
    part.numbers.append(
        Number(
            "Lemma 6.2",
            "bound on |E f(X) f(Y)|, identity, norms 1",
            bound,
            theory.expected_square("identity", 1),
            note="the printed formula, evaluated by us, divides by 2 pi |x| |y|; at correlation "
            f"0.9 the value is {value:.3g}",
        )
    )
    part.claims.append(cauchy_claim(value, bound, exceeded, len(grid)))


def cauchy_claim(value: float, bound: float, exceeded: Mapping[str, Exceeded], pairs: int) -> Claim:
    """Refuted by one value above the printed bound."""
    return Claim(
        "Lemma 6.2",
        "|E f(X) f(Y)| is at most the root of the product of squares, over 2 pi |x| |y|.",
        refuted(value > bound),
        f"Identity, norms 1, correlation 0.9: the value is {value:.3f}, the printed bound "
        f"{bound:.3f}. Of {pairs} pairs, {_shares(exceeded, 'as_printed')} exceed it; without the "
        f"divisor, {_shares(exceeded, 'without_divisor')}.",
    )


def _shares(exceeded: Mapping[str, Exceeded], which: str) -> str:
    found = ((printed.KINDS[f], 100 * getattr(share, which)) for f, share in exceeded.items())
    return ", ".join(f"{share:.0f} % ({called})" for called, share in found)


def _clipped(part: ExperimentPart) -> None:
    """Section VII-A: a missing term, then a missing root."""
    s = 10.0
    exact, bound = theory.expected_square("tanh", s), theory.expected_clipped_square(s)
    part.numbers.append(
        Number(
            "Section VII-A",
            "bound on E tanh(X)^2 at norm 10",
            printed_square(s),
            bound,
            note="the printed formula, evaluated by us, lacks the last term of the integral",
        )
    )
    part.claims.append(term_claim(exact, printed_square(s), bound))
    s = 0.5
    value = theory.expected_product("tanh", s, s, s * s)
    squares = theory.expected_square("tanh", s) ** 2
    clipped = theory.expected_clipped_square(s) ** 2
    part.numbers.append(
        Number(
            "Section VII-A",
            "bound on |E tanh(X) tanh(Y)| at norms 1/2",
            clipped,
            theory.tanh_bound(s, s),
            note="the printed formula, its missing term added and evaluated by us, lacks the "
            f"root; at correlation 1 the value is {value:.4f}",
        )
    )
    part.claims.append(root_claim(value, squares, clipped, theory.tanh_bound(s, s)))


def term_claim(exact: float, as_printed: float, bound: float) -> Claim:
    """Refuted at one norm: either no bound there, or not below 1."""
    return Claim(
        "Section VII-A",
        "E tanh(X)^2 has the printed bound, which lies between 0 and 1.",
        refuted(exact > as_printed or not 0 < as_printed < 1),
        f"At norm 10 the value is {exact:.4f} and the printed bound {as_printed:.4g}; with the "
        f"missing term it is {bound:.4f}.",
    )


def root_claim(value: float, squares: float, clipped: float, bound: float) -> Claim:
    """Refuted by one value above the product, with tanh and with the clipped line."""
    return Claim(
        "Section VII-A",
        "|E tanh(X) tanh(Y)| is below the product of the two mean squares.",
        refuted(value > max(squares, clipped)),
        f"Norms 1/2, correlation 1: the value is {value:.4f}, the product {squares:.4f} (with the "
        f"clipped line {clipped:.4f}), its root {bound:.4f}.",
    )


def _sign(part: ExperimentPart) -> None:
    """Lemmas 5.2 and 5.3 need a monotone f."""

    def cubic(z: Array) -> Array:
        return np.asarray(z**3 - 3 * z)

    broken = theory.expected_product(cubic, 0.5, 2, 0.5)
    rising = ("identity", "tanh", "erf", "double_logistic", "sign")
    grid = list(product((0.1, 0.5, 2, 10), (0.1, 0.5, 2, 10), (-0.9, -0.3, 0.3, 0.9)))
    kept = sum(
        theory.expected_product(f, s, t, rho * s * t) * rho > 0
        for f in rising
        for s, t, rho in grid
    )
    part.claims.append(sign_claim(broken, kept, len(rising) * len(grid)))


def sign_claim(broken: float, kept: int, tried: int) -> Claim:
    """`broken`: of an odd f that falls, at a positive correlation; `kept`: of those that rise."""
    every = kept == tried
    return Claim(
        "Lemmas 5.2, 5.3",
        "For every odd f, E f(X) f(Y) has the sign of the inner product.",
        "does not hold" if not every else "holds conditionally" if broken < 0 else "not reproduced",
        f"For five odd f that never fall, {kept} of {tried} pairs keep the sign; z^3 - 3z, which "
        f"does fall, gives {broken:.3f} at norms 1/2 and 2 and correlation 1/2.",
    )
