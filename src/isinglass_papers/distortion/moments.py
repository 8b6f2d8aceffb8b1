"""Lemma 6.3 and Definition 5.1 against keys: the variance of a product, and what sigma is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from isinglass import theory
from isinglass.progress import Progress
from isinglass_papers.core.result import Claim, How, Number, Verdict
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.rules import within_chance
from isinglass_papers.distortion.setting import Array, ExperimentPart, network, seeds

_X, _Y = np.array([0.3, 0.2, 0.9]), np.array([0.9, 0.4, 0.1])
_SIZE, _SCALE = 20, 0.5


def printed_variance(x: Array, y: Array, f: str, setting: theory.Setting) -> float:
    """Lemma 6.3 as it is printed."""
    pair = setting.pair(x, y)
    h = theory.hidden_moments(f, pair.s, pair.t, pair.c)
    p, m = setting.n_components, setting.n_hidden
    b2, q2 = setting.sigma_b**2, setting.sigma_q**2
    own = 3 * p * h.kappa - p * h.c_f**2 + (m - 1) * h.mu_x * h.mu_y
    return 2 * p * b2**2 + p * m * b2 * q2 * (h.mu_x + h.mu_y) + p * m * q2**2 * own


@dataclass(frozen=True, slots=True)
class Settled:
    """A measured number with its standard error, the paper's value for it and the other one."""

    of: str
    measured: float
    error: float
    theirs: float
    derived: float

    def __str__(self) -> str:
        return (
            f"measured {self.measured:.4g} ± {self.error:.2g}, corrected {self.derived:.4g}, "
            f"printed {self.theirs:.4g}"
        )


def settled(every: Sequence[Settled]) -> Verdict:
    """Whose value the measurements are, but for chance: the paper's, the other, or neither."""
    if all(within_chance(s.measured, s.theirs, s.error) for s in every):
        return "holds"
    if all(within_chance(s.measured, s.derived, s.error) for s in every):
        return "does not hold"
    return "not reproduced"


def moments(how: How, tell: Progress) -> ExperimentPart:
    """Mean and variance of x*.y* over keys, and the variance by the number of hidden units."""
    part, draws = ExperimentPart(), how.pick(300, 3000)
    tell("variance of inner products", 0, None)
    setting = theory.Setting(
        n_hidden=_SIZE, n_components=_SIZE, sigma_w=_SCALE, sigma_a=_SCALE, sigma_q=0.1, sigma_b=0.1
    )
    variances = []
    for f in ("identity", "tanh"):
        products = _products(f, seeds(how, 72, draws))
        # of a variance: its own deviation from the fourth moment
        noise = float(np.std((products - products.mean()) ** 2) / sqrt(draws))
        found = Settled(
            printed.KINDS[f],
            float(products.var(ddof=1)),
            noise,
            printed_variance(_X, _Y, f, setting),
            theory.variance_inner_product(_X, _Y, f, setting),
        )
        variances.append(found)
        part.numbers.append(
            Number(
                "Lemma 6.3",
                f"variance of x*.y*, {found.of}, m = p = {_SIZE}, over {draws} keys",
                found.theirs,
                found.measured,
                found.measured - noise,
                found.measured + noise,
                "the printed formula is evaluated by us; the corrected one gives "
                f"{found.derived:.4g}",
            )
        )
        if f == "identity":
            _sigma(part, products, setting)
    part.claims.append(variance_claim(variances, draws))
    by_units = {}
    for m in (1, 10, 100):
        wider = theory.Setting(n_hidden=m, n_components=20, sigma_q=1.0)
        spread = theory.variance_inner_product(_X, _Y, "tanh", wider)
        mean = theory.expected_inner_product(_X, _Y, "tanh", wider)
        by_units[m] = (spread, sqrt(spread) / mean)
    part.claims.append(units_claim(by_units))
    return part


def _products(f: str, keys: Sequence[int]) -> Array:
    options = {"size": _SIZE, "sigma_w": _SCALE, "sigma_a": _SCALE, "sigma_q": 0.1, "sigma_b": 0.1}
    products = np.empty(len(keys))
    for i, key in enumerate(keys):
        released = network(f, seed=key, **options).fit_transform(np.vstack([_X, _Y]))  # type: ignore[arg-type]
        products[i] = released[0] @ released[1]
    return products


def variance_claim(variances: Sequence[Settled], draws: int) -> Claim:
    """Settled by the keys, for linear and tanh."""
    return Claim(
        "Lemma 6.3",
        "The variance of x*.y* is as printed.",
        settled(variances),
        "; ".join(f"{found.of}: {found}" for found in variances) + f", over {draws} keys.",
    )


def units_claim(by_units: Mapping[int, tuple[float, float]]) -> Claim:
    """Variance, and deviation over the mean, by hidden units: both grow, the first, or neither."""
    grows = all(a < b for (a, _), (b, _) in pairwise(by_units.values()))
    relative = all(a < b for (_, a), (_, b) in pairwise(by_units.values()))
    return Claim(
        "Section VI-A",
        "The variance of x*.y* grows with the number of hidden units.",
        "does not hold" if not grows else "holds" if relative else "holds conditionally",
        "Variance "
        + ", ".join(f"{v:,.0f} at m = {m}" for m, (v, _) in by_units.items())
        + "; deviation relative to the mean "
        + ", ".join(f"{r:.2f}" for _, r in by_units.values())
        + ".",
    )


def _sigma(part: ExperimentPart, products: Array, setting: theory.Setting) -> None:
    """Definition 5.1 calls sigma_w and sigma_a variances; Section IV-A deviations."""
    p, m = setting.n_components, setting.n_hidden
    offset = p * setting.sigma_b**2
    # N(0, sigma^2) was drawn; were sigma the variance, c would be sigma x.y + sigma.
    as_variance = offset + p * m * setting.sigma_q**2 * setting.sigma_w * float(_X @ _Y + 1)
    as_deviation = theory.expected_inner_product(_X, _Y, "identity", setting)
    mean, noise = float(products.mean()), float(products.std() / sqrt(len(products)))
    found = Settled("linear", mean, noise, as_variance, as_deviation)
    part.numbers.append(
        Number(
            "Definition 5.1",
            "E x*.y*, identity, with sigma_w = sigma_a = 1/2",
            as_variance,
            mean,
            mean - noise,
            mean + noise,
            "the printed formula, evaluated by us with sigma read as a variance; as a deviation "
            f"it gives {as_deviation:.4g}",
        )
    )
    part.claims.append(sigma_claim(found))


def sigma_claim(found: Settled) -> Claim:
    """Settled by the mean over keys: entries of deviation 1/2 were drawn."""
    verdict = settled([found])
    return Claim(
        "Definition 5.1",
        "sigma_w and sigma_a are the variances of W and A.",
        verdict,
        ("A misprint: with" if verdict == "does not hold" else "With")
        + f" entries of deviation 1/2 the mean of x*.y* is {found.measured:.3f} ± "
        f"{found.error:.3f}; eq. (5) gives {found.derived:.3f} if they are deviations, as Section "
        f"IV-A says, and {found.theirs:.3f} if they are variances.",
    )
