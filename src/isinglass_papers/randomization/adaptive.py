"""Noise that follows the density, which the paper asks for at its end, beside noise of one size."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from isinglass.detect.distance import DistanceOutliers
from isinglass.errors import PrivacyWarning
from isinglass.measure.randomization import adaptive_level, average_level, worst_level
from isinglass.perturb.adaptive import AdaptiveNoise
from isinglass.perturb.noise import AdditiveNoise
from isinglass.progress import Progress
from isinglass_papers.core.draw import picture
from isinglass_papers.core.result import Claim, Figure, How, Number, Verdict
from isinglass_papers.randomization.levels import (
    Array,
    PaperPart,
    Row,
    base_set,
    expected,
    levels,
    seed_of,
)

K = 10
SHARE = 0.05  # of outliers
ADAPTIVE, SAME_MEAN = "adaptive", "one size, same mean"
ONE_SIZE = "one size, same lowest level"


def adaptive(how: How, tell: Progress) -> PaperPart:
    """Both kinds of noise with every record's expected level at ten or more."""
    n = how.pick(400, 1000)
    dims: Sequence[int] = how.pick((2, 10), (2, 5, 10, 20, 40, 75))
    made = base_set("OGauDis", n, seed_of(how.seed, 51), f=SHARE)
    assert made.is_outlier is not None
    rows: list[Row] = []
    for i, d in enumerate(dims):
        tell("adaptive noise", i, len(dims))
        X = np.ascontiguousarray(made.X[:, :d])
        rows += _compared(X, made.is_outlier, d, seed_of(how.seed, 52, d))
    return PaperPart(tuple(_numbers(rows)), (_claim(rows, n),), (_figure(rows, n),))


def _compared(X: Array, strange: np.ndarray, d: int, seed: int) -> list[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        veil = AdaptiveNoise(K, random_state=seed).fit(X)
        Z = veil.transform(X)
    sizes, units = veil.key_scales()
    size = least_size(X, veil.level_)
    found = {
        ADAPTIVE: (adaptive_level(X, Z, sizes, units), Z, sizes, veil.level_),
        ONE_SIZE: _plain(X, size, seed),
        SAME_MEAN: _plain(X, float(sizes.mean()), seed),
    }
    return [
        {
            "columns": d, "noise": name, "size": float(np.mean(used)),
            "size_of_outliers": float(np.mean(used[strange])),
            "size_of_others": float(np.mean(used[~strange])),
            "average": average_level(counted), "worst": worst_level(counted),
            "lowest_expected": lowest, "outliers_found": _kept(released, strange),
        }
        for name, (counted, released, used, lowest) in found.items()
    ]  # fmt: skip


def _plain(X: Array, size: float, seed: int) -> tuple[Array, Array, Array, float]:
    Z = AdditiveNoise("gaussian", scale=size, random_state=seed).fit_transform(X)
    counted = np.asarray(levels(X, "gaussian", size, seed), dtype=np.float64)
    return counted, Z, np.full(len(X), size), float(expected(X, "gaussian", size).min())


def least_size(X: Array, k: float) -> float:
    """The smallest noise of one size at which every record's expected level is k."""
    low, high = 2.0**-10, 2.0**10
    while high / low > 1.005:
        middle = float(np.sqrt(low * high))
        reached = expected(X, "gaussian", middle).min() >= k
        low, high = (low, middle) if reached else (middle, high)
    return high


def _kept(released: Array, strange: np.ndarray) -> float:
    """Share of the planted outliers among as many rows that lie furthest out in the release."""
    n = int(strange.sum())
    found = DistanceOutliers(n_outliers=n, n_neighbors=5, n_jobs=-1).fit(released).outliers_
    return float(strange[found].mean())


def _numbers(rows: list[Row]) -> list[Number]:
    return [
        Number(
            "beyond the paper", f"{what}, {row['noise']}, {row['columns']} columns", None,
            float(row[key]), note="not in the paper",
        )
        for row in rows
        for what, key in (
            ("mean size of the noise", "size"), ("lowest expected level", "lowest_expected"),
            ("share of planted outliers found", "outliers_found"),
        )
    ]  # fmt: skip


def _claim(rows: list[Row], n: int) -> Claim:
    by = {(str(r["noise"]), int(r["columns"])): r for r in rows}
    dims = sorted({d for _, d in by})
    ratios = {d: float(by[ADAPTIVE, d]["size"]) / float(by[ONE_SIZE, d]["size"]) for d in dims}
    reached = all(float(by[ADAPTIVE, d]["lowest_expected"]) >= K for d in dims)
    spared = [d for d in dims if ratios[d] < 1]
    verdict: Verdict = "does not hold"
    if reached and spared:
        verdict = "holds" if len(spared) == len(dims) else "holds conditionally"
    return Claim(
        "section 5",
        "Noise that follows the local density can do what noise of one size cannot: keep the "
        "worst level without drowning dense regions",
        verdict,
        f"{n:,} records, {100 * SHARE:.0f} % outliers, asked for expected levels of {K}, which "
        f"{'all' if reached else 'not all'} have: the mean size of adaptive noise over that of one "
        "size with as high a lowest level is "
        + ", ".join(f"{ratios[d]:.2f} ({d} columns)" for d in dims)
        + "; noise of one size with the same mean leaves a lowest expected level of "
        + ", ".join(f"{float(by[SAME_MEAN, d]['lowest_expected']):.3g} ({d})" for d in dims),
    )


def _figure(rows: list[Row], n: int) -> Figure:
    shown = [
        {"columns": r["columns"], "noise": r["noise"], "measure": panel, "value": r[key]}
        for panel, key in (
            ("mean size of the noise, in deviations", "size"),
            ("lowest expected level, records", "lowest_expected"),
            ("planted outliers still found, share", "outliers_found"),
        )
        for r in rows
    ]
    spec = picture(
        "line", "columns", "value", color="noise", panel="measure", log="x", columns=3,
        titles={"value": "", "noise": ""},
    )  # fmt: skip
    return Figure(
        "adaptive-noise",
        "Noise that follows the density, beside noise of one size (OGauDis)",
        f"{n:,} records, {100 * SHARE:.0f} % of them outliers. Adaptive noise was asked to bring "
        f"every record's expected level to {K}; one noise of one size brings the lowest to where "
        "adaptive noise brought it, the other has the adaptive one's mean size.",
        tuple(shown),
        spec,
    )
