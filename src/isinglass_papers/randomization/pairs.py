"""Section 3's probabilities for a pair of records, and what a level says of one record."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from isinglass.chance import generator
from isinglass.errors import PrivacyWarning
from isinglass.measure.randomization import (
    average_level,
    expected_randomization_level,
    posterior,
    potential_fit,
    randomization_level,
)
from isinglass.perturb.noise import AdditiveNoise
from isinglass.plots.palette import INK
from isinglass.progress import Progress
from isinglass_papers.core.draw import picture
from isinglass_papers.core.result import Claim, Figure, How, Number, Verdict
from isinglass_papers.randomization import printed
from isinglass_papers.randomization.levels import (
    LAWS,
    Array,
    PaperPart,
    Row,
    base_set,
    deviations,
    levels,
    seed_of,
    short,
)

WIDTHS = (1, 2, 5, 50)
# The largest of sixty differences is beyond so many standard errors in one run of 2,500.
CHANCE = 4.5
# Below this chance one record practically does not count.
PRACTICALLY = 0.01
DISTANCES = (0.5, 1.0, 2.0, 4.0, 6.0, 9.0, 12.0, 16.0, 25.0, 36.0)


def pairs(how: How, tell: Progress) -> PaperPart:
    """Check the formulas for two records by drawing noise, and the reading of a level."""
    tell("pairs of records", 0, 3)
    rows, off = _gaussian(how)
    tell("pairs of records", 1, 3)
    uniform_off, least, most = _uniform(how)
    tell("pairs of records", 2, 3)
    return PaperPart(
        tuple(_numbers(rows)),
        (
            _approximation(off, how),
            _chebyshev(rows),
            _far(_gaussian_chance),
            _product(uniform_off, least, most, how),
            _indistinguishable(how),
        ),
        (_figure(rows),),
    )


def _confused(x: Array, other: Array, scale: Array, law: str, n: int, seed: int) -> float:
    """How often another record fits a released row at least as well as its own, over n draws."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        noise = AdditiveNoise(law, scale=scale, relative=False, random_state=seed)
        Z = noise.fit_transform(np.tile(x, (n, 1)))
    fits = potential_fit(Z, np.array([x, other]), scale=scale, distribution=law)
    return float((fits[:, 1] >= fits[:, 0]).mean())


def _chance(x: Array, other: Array, scale: Array, law: str) -> float:
    """The same in closed form, by the product: a table of two records."""
    both = np.array([x, other])
    return float(expected_randomization_level(both, scale=scale, distribution=law)[0] - 1)


def _gaussian_chance(S: float) -> float:
    """The same for a record at squared distance S, in units of the noise."""
    return _chance(np.zeros(1), np.array([math.sqrt(S)]), np.ones(1), "gaussian")


def _gaussian(how: How) -> tuple[list[Row], float]:
    n = how.pick(20_000, 200_000)
    rng = generator(seed_of(how.seed, 31))
    rows: list[Row] = []
    worst = 0.0
    for d in WIDTHS:
        for i, S in enumerate(DISTANCES):
            scale = rng.uniform(0.5, 2.0, size=d)
            way = rng.normal(size=d)
            other = math.sqrt(S) * way / np.linalg.norm(way) * scale
            chance = _chance(np.zeros(d), other, scale, "gaussian")
            drawn = _confused(np.zeros(d), other, scale, "gaussian", n, seed_of(how.seed, 32, d, i))
            error = math.sqrt(chance * (1 - chance) / n)
            worst = max(worst, abs(drawn - chance) / error)
            rows.append({"S": S, "columns": d, "chance": chance, "drawn": drawn, "bound": 4 / S})
    return rows, worst


def _uniform(how: How) -> tuple[float, float, float]:
    """Theorem 3.3 against draws, in standard errors; corollary 3.1 over it, least and most."""
    n = how.pick(20_000, 200_000)
    rng = generator(seed_of(how.seed, 33))
    worst, loose = 0.0, []
    for d in WIDTHS:
        for i in range(5):
            scale = rng.uniform(0.5, 2.0, size=d)
            share = rng.uniform(0.0, min(1.0, 4.0 / d), size=d)  # of the noise's width
            other = share * math.sqrt(12) * scale * rng.choice((-1.0, 1.0), size=d)
            chance = _chance(np.zeros(d), other, scale, "uniform")
            drawn = _confused(np.zeros(d), other, scale, "uniform", n, seed_of(how.seed, 34, d, i))
            worst = max(worst, abs(drawn - chance) / math.sqrt(chance * (1 - chance) / n))
            bound = (1 - share.mean()) ** d
            loose.append(float(bound / chance))
    return worst, min(loose), max(loose)


def _approximation(off: float, how: How) -> Claim:
    n, holds = how.pick(20_000, 200_000), off < CHANCE
    return Claim(
        "approximation 3.1",
        "The chance that another record fits as well is 1 - Phi(sqrt(S) / 2), approximately and "
        "for many columns",
        "holds" if holds else "does not hold",
        f"{'exactly, in any number of columns: ' if holds else ''}over "
        f"{len(WIDTHS) * len(DISTANCES)} pairs in {', '.join(map(str, WIDTHS))} columns, {n:,} "
        f"draws each, the largest difference is {off:.1f} standard errors",
    )


def _chebyshev(rows: list[Row]) -> Claim:
    at = next(row for row in rows if row["S"] == 9.0)
    valid = all(float(row["chance"]) <= float(row["bound"]) for row in rows)
    return Claim(
        "theorem 3.1",
        "That chance is at most 4 / S",
        "holds" if valid else "does not hold",
        "but says nothing up to S = 4, and is weak beyond: at S = 9 the chance is "
        f"{float(at['chance']):.3f}, the bound {float(at['bound']):.3f}, half of exp(-S/8) "
        f"{0.5 * math.exp(-9 / 8):.3f}",
    )


def _far(chance: Callable[[float], float]) -> Claim:
    one, others = chance(printed.FAR), printed.RECORDS - 1
    crowd = 1 + others * one
    lone = next((s for s in range(int(printed.FAR), 200) if chance(s) * others < 1), None)
    verdict: Verdict = "does not hold"
    if one < PRACTICALLY:
        verdict = "holds" if lone == printed.FAR else "holds conditionally"
    told = "never" if lone is None else f"only from S = {lone} on"
    return Claim(
        "section 3.1",
        "Records with S above 36 have practically no chance to count",
        verdict,
        f"one has a chance of {one:.2g}; 10,000 of them make an expected level of {crowd:.1f}"
        + ("" if verdict == "holds" else f", and count for less than one record {told}"),
    )


def _product(off: float, least: float, most: float, how: How) -> Claim:
    # A bound equals the chance where all factors are equal, but for rounding.
    bounded = least >= 1 - 1e-12
    return Claim(
        "theorem 3.3, corollary 3.1",
        "Under uniform noise the chance is the product of 1 - |delta_i| / a_i, and at most the "
        "mean of these factors to the power d",
        "holds" if off < CHANCE and bounded else "does not hold",
        f"{5 * len(WIDTHS)} pairs, {how.pick(20_000, 200_000):,} draws each: largest difference "
        f"{off:.1f} standard errors; the bound is {least:.3g} to {most:.3g} times the chance. "
        "Factors must be cut at 0 where noise is narrower than the data",
    )


def _indistinguishable(how: How) -> Claim:
    """What holds is the posterior's bound; a second draw or release is another matter."""
    n = how.pick(1000, 4000)
    X = np.ascontiguousarray(base_set("UniDis", n, seed_of(how.seed, 35)).X[:, :50])
    scale = printed.RATIO * deviations(X)
    largest = 0.0
    for i, law in enumerate(LAWS):
        Z = AdditiveNoise(law, scale=printed.RATIO, random_state=seed_of(how.seed, 36, i))
        released = Z.fit_transform(X)
        found = randomization_level(X, released, scale=scale, distribution=law)
        own = np.diagonal(posterior(released, X, scale=scale, distribution=law)[0])
        largest = max(largest, float((own * found).max()))
    draws = [levels(X, "gaussian", printed.RATIO, seed_of(how.seed, 37, i)) for i in range(2)]
    high = draws[0] >= n / 5
    lost = float((draws[1][high] <= n / 100).mean())
    # Two releases of one table are their mean, with noise smaller by the root of two.
    twice = levels(X, "gaussian", printed.RATIO / math.sqrt(2), seed_of(how.seed, 38))
    return _told_apart(n, largest, lost, average_level(draws[0]), average_level(twice))


def _told_apart(n: int, largest: float, lost: float, once: float, twice: float) -> Claim:
    """`largest` posterior times level; share of levels `lost` in another draw; AR of releases."""
    bounded = largest <= 1 + 1e-9
    verdict: Verdict = "does not hold"
    if bounded:
        verdict = "holds conditionally" if lost > 0 or twice < once else "holds"
    return Claim(
        "definition 2.3",
        "A k-randomized record cannot be told from k others, whatever public table there is",
        verdict,
        f"given this table, this release and equal priors its posterior is "
        f"{'at most' if bounded else 'not always at most'} 1 / k (largest product of the two over "
        f"{2 * n:,} records: {largest:.3f}). The level belongs to a draw: of the records with at "
        f"least {n // 5:,}, {100 * lost:.1f} % have {n // 100} or less in the next; and with two "
        f"releases AR is {short(twice)} in place of {short(once)}",
    )


def _numbers(rows: list[Row]) -> list[Number]:
    far = next(row for row in rows if row["S"] == printed.FAR)
    return [
        Number(
            "section 3.1", "chance that a record at S = 36 fits as well", None,
            float(far["chance"]), note="the paper says in words: nearly zero; see the claim",
        )
    ]  # fmt: skip


def _figure(rows: list[Row]) -> Figure:
    shown: list[Row] = [
        {"S": row["S"], "columns": str(row["columns"]), "drawn": row["drawn"]}
        for row in rows
        if float(row["drawn"]) > 0
    ]
    for S in np.linspace(0.5, 36, 72):
        curve: Row = {"S": float(S), "formula": _gaussian_chance(float(S))}
        if S >= 4:
            curve["bound"] = float(4 / S)
        shown.append(curve)
    spec = picture(
        "point", "S", "drawn", color="columns", log="y",
        titles={"S": "S, squared distance in units of the noise", "drawn": "chance to fit as well",
                "columns": "drawn in so many columns"},
    )  # fmt: skip
    first = spec["layer"][0]
    first["transform"] = [{"filter": "isValid(datum.drawn)"}]
    first["mark"] |= {"size": 45}
    for name, dash in (("formula", [1, 0]), ("bound", [5, 4])):
        line = {
            "mark": {"type": "line", "color": INK, "strokeWidth": 1, "strokeDash": dash},
            "transform": [{"filter": f"isValid(datum.{name})"}],
            "encoding": {
                "x": first["encoding"]["x"], "y": first["encoding"]["y"] | {"field": name}
            },
        }  # fmt: skip
        spec["layer"].insert(0, line)
    return Figure(
        "approximation-3-1",
        "Approximation 3.1 beside draws, in few and in many columns",
        "The chance that a record at squared distance S fits a released row at least as well as "
        "its own: points are drawn, the line is the formula, dashes are theorem 3.1's bound 4 / S.",
        tuple(shown),
        spec,
    )
