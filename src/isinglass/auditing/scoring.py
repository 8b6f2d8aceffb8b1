"""Scores of a guess: three measures of success, baseline, control and interval."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

Array = NDArray[Any]

#: A value counts as recovered within this share of its column's range (`WITHIN`), or of its
#: deviation (`NEAR`), which one far value cannot stretch.
WITHIN, NEAR = 0.1, 0.1
_LEAST_LEFT = 0.05
_BLOCK = 1 << 22  # entries of a distance matrix held at once


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What counts as close, column by column, from the whole table; constant columns are out."""

    varies: NDArray[np.bool_] = field(repr=False)
    span: Array = field(repr=False)
    deviation: Array = field(repr=False)

    @classmethod
    def of(cls, low: Array, high: Array, deviation: Array) -> Yardstick:
        varies = (high > low) & (deviation > 0)
        return cls(varies, (high - low)[varies], deviation[varies])

    def widths(self, reading: str) -> Array:
        return WITHIN * self.span if reading == "within" else NEAR * self.deviation


@dataclass(frozen=True, slots=True)
class Score:
    """One guess, compared; arrays hold one entry for each column that varies."""

    n_records: int
    success: Array = field(repr=False)
    baseline: Array = field(repr=False)
    near: Array = field(repr=False)
    near_baseline: Array = field(repr=False)
    r2: Array = field(repr=False)
    error: Array = field(repr=False)
    r2_baseline: Array = field(repr=False)  # 0 for constants, which explain nothing
    r2_error: float = 0.0  # standard error of the mean of `r2`, over records
    control: float | None = None
    outliers: float | None = None
    outliers_baseline: float | None = None
    rest: float | None = None
    scored_by: str = "row"
    #: Where records are matched with guesses: the share that a guess comes ten times nearer to
    #: than any other record does. Then it can be nobody else.
    shown: float = 0.0
    shown_baseline: float = 0.0
    exact: float = 0.0  # share of records of which every value was guessed, to the last digits

    def gains(self) -> Array:
        """Per column, the largest of the three readings as a share of what the baseline leaves."""
        readings = [
            over_baseline(self.success, self.baseline),
            over_baseline(self.near, self.near_baseline),
            over_baseline(self.r2, self.r2_baseline),
        ]
        return np.asarray(np.max(readings, axis=0))

    def gain(self) -> float:
        """The largest of the three readings, each averaged over the columns."""
        return float(
            max(
                over_baseline(self.success.mean(), self.baseline.mean()),
                over_baseline(self.near.mean(), self.near_baseline.mean()),
                over_baseline(self.r2.mean(), self.r2_baseline.mean()),
                over_baseline(self.shown, self.shown_baseline),
            )
        )


def gain_interval(first: Score, again: list[Score]) -> tuple[float, float]:
    """Limits of `Score.gain`: of each reading, over records and keys; the largest ones count."""
    all_scores = [first, *again]
    limits = []
    for reading in ("success", "near"):
        shares = [float(getattr(s, reading).mean()) for s in all_scores]
        blind = first.baseline if reading == "success" else first.near_baseline
        edges = over_trials(shares, first.n_records)
        limits.append([float(over_baseline(edge, blind.mean())) for edge in edges])
    explained = [float(s.r2.mean()) for s in all_scores]
    half = 1.96 * first.r2_error
    low, high = min(explained[0] - half, *explained), max(explained[0] + half, *explained)
    blind = first.r2_baseline.mean()
    limits.append([float(over_baseline(edge, blind)) for edge in (low, high)])
    if first.shown:
        edges = wilson(first.shown, first.n_records)
        limits.append([float(over_baseline(edge, first.shown_baseline)) for edge in edges])
    return max(low for low, _ in limits), max(high for _, high in limits)


def over_baseline(success: Any, baseline: Any) -> Any:
    """How much of what the baseline leaves was taken: 0 … 1.

    Where it leaves next to nothing, chance would decide; there at most a part counts, and the
    other readings tell.
    """
    left = np.maximum(1.0 - np.asarray(baseline), _LEAST_LEFT)
    return np.clip((np.asarray(success) - baseline) / left, 0.0, 1.0)


def constants(records: Array, widths: Array) -> Array:
    """Three constants for each column, of which the best will be the baseline: (3, columns).

    The value that has most of the records within `widths` of it, the median and the mean; from a
    handful of records the last two are often the better ones.
    """
    middles = [np.median(records, axis=0), records.mean(axis=0)]
    return np.stack([best_constant(records, widths), *middles])


def best_constant(records: Array, widths: Array) -> Array:
    """For each column the value that has most of the records within `widths` of it."""
    best = np.empty(records.shape[1])
    for j, width in enumerate(widths):
        values = np.sort(records[:, j])
        # A window begins at a value; it holds all up to two widths further on.
        ends = np.searchsorted(values, values + 2 * width, side="right")
        start = int(np.argmax(ends - np.arange(len(values))))
        best[j] = (values[start] + values[ends[start] - 1]) / 2
    return best


def score_rows(
    guess: Array,
    truth: Array,
    yard: Yardstick,
    blind: dict[str, Array],
    *,
    outlier: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
    others: Array | None,
    rng: np.random.Generator,
    scored_by: str = "row",
) -> Score:
    """Compare a guess with the truth, row by row.

    `chosen` marks a random choice of records, on which all figures rest but those of the
    `outlier` records, which are attacked in full. `blind` holds several constants a column, the
    best of which counts, or a whole table guessed blind. `others` are records that are not behind
    these guesses, for the control.
    """
    hits = {r: np.abs(guess - truth) <= yard.widths(r) for r in ("within", "near")}
    baseline_hits = {r: _hits_blindly(blind[r], truth, yard.widths(r), chosen) for r in hits}
    difference = (guess - truth)[chosen]
    spread = truth[chosen].var(axis=0)
    lost = difference**2 / np.where(spread > 0, spread, np.inf)
    per_record = lost.mean(axis=1)
    control = None
    if others is not None and len(others):
        other = others[rng.integers(0, len(others), size=int(chosen.sum()))]
        control = float((np.abs(guess[chosen] - other) <= yard.widths("within")).mean())
    rest = chosen & ~outlier
    return Score(
        n_records=int(chosen.sum()),
        success=hits["within"][chosen].mean(axis=0),
        baseline=baseline_hits["within"][chosen].mean(axis=0),
        near=hits["near"][chosen].mean(axis=0),
        near_baseline=baseline_hits["near"][chosen].mean(axis=0),
        r2=np.where(spread > 0, 1.0 - lost.mean(axis=0), 0.0),
        r2_baseline=_explained_blindly(blind["within"], truth, chosen),
        r2_error=float(per_record.std() / np.sqrt(len(per_record))),
        error=difference.std(axis=0, ddof=1 if len(difference) > 1 else 0) / yard.span,
        control=control,
        outliers=float(hits["within"][outlier].mean()) if outlier.any() else None,
        outliers_baseline=float(baseline_hits["within"][outlier].mean()) if outlier.any() else None,
        rest=float(hits["within"][rest].mean()) if rest.any() else None,
        scored_by=scored_by,
        exact=_exact_share(difference, truth[chosen], yard),
    )


def _exact_share(difference: Array, truth: Array, yard: Yardstick) -> float:
    """Share of records guessed whole; none where naming the commonest record would do as well."""
    exact = float((np.abs(difference) <= 1e-6 * yard.deviation).all(axis=1).mean())
    if not exact:
        return 0.0
    commonest = int(np.unique(truth, axis=0, return_counts=True)[1].max()) / len(truth)
    return exact if exact > 2 * commonest else 0.0


def _hits_blindly(
    blind: Array, truth: Array, widths: Array, chosen: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Hits of a table guessed blind, or of the best of several constants for each column."""
    if blind.shape == truth.shape:
        return np.asarray(np.abs(blind - truth) <= widths)
    tried = np.stack([np.abs(constant - truth) <= widths for constant in blind])
    best = tried[:, chosen].mean(axis=1).argmax(axis=0)
    return np.asarray(np.take_along_axis(tried, best[np.newaxis, np.newaxis], axis=0)[0])


def above_chance(score: Score, blind: Score) -> Score:
    """A score whose baseline is at least what the same freedom gave a blind guess."""
    return replace(
        score,
        baseline=np.maximum(score.baseline, blind.success),
        near_baseline=np.maximum(score.near_baseline, blind.near),
        r2_baseline=np.clip(np.maximum(score.r2_baseline, blind.r2), 0.0, 1.0),
        outliers_baseline=_larger(score.outliers_baseline, blind.outliers),
    )


def _larger(a: float | None, b: float | None) -> float | None:
    return a if b is None else b if a is None else max(a, b)


def _explained_blindly(blind: Array, truth: Array, chosen: NDArray[np.bool_]) -> Array:
    """Share of variance that a whole table guessed blind explains; constants explain none."""
    if blind.shape != truth.shape:
        return np.zeros(truth.shape[1])
    spread = truth[chosen].var(axis=0)
    lost = ((blind - truth)[chosen] ** 2).mean(axis=0) / np.where(spread > 0, spread, np.inf)
    return np.asarray(np.clip(1.0 - lost, 0.0, 1.0))


def nearest_others(table: Array, records: Array, span: Array) -> Array:
    """For each of the table's records the nearest that is not the same: what a sample would show.

    Copies of a record are the record itself.
    """
    distinct, where = np.unique(np.vstack([records, table]), axis=0, return_inverse=True)
    return nearest_guesses(distinct, records, span, but=where.ravel()[: len(records)])


def nearest_guesses(
    guess: Array, truth: Array, span: Array, *, but: NDArray[np.intp] | None = None
) -> Array:
    """For every record the guess that comes nearest to it, with columns counted by their range.

    Where rows do not correspond, a record is given away by whichever released row shows it.
    """
    return np.asarray(guess[nearest_indices(guess, truth, span, but=but)])


def nearest_indices(
    guess: Array, truth: Array, span: Array, *, but: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """For every record the index of the guess that comes nearest to it.

    `but` is the index of one guess for each record that does not count.
    """
    G, T = (np.asarray(m / span, dtype=np.float32) for m in (guess, truth))
    G_centered = G - G.mean(axis=0)
    T_centered = T - G.mean(axis=0)
    half = 0.5 * np.einsum("ij,ij->i", G_centered, G_centered)
    found = np.empty(len(T), dtype=np.intp)
    step = max(1, _BLOCK // max(len(G), 1))
    for a in range(0, len(T), step):
        away = half - T_centered[a : a + step] @ G_centered.T
        if but is not None:
            away[np.arange(len(away)), but[a : a + step]] = np.inf
        found[a : a + step] = away.argmin(axis=1)
    return found


def wilson(share: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a share of n independent trials.

    A record's share of recovered values varies no more than a coin of the same mean, so with n
    records (not values, which go together) the interval is, if anything, too wide.
    """
    if n < 1:
        return 0.0, 1.0
    z = float(ndtri(0.5 + confidence / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Rounding must not leave the share itself outside.
    return max(0.0, min(float(middle - half), share)), min(1.0, max(float(middle + half), share))


def over_trials(values: list[float], n: int, confidence: float = 0.95) -> tuple[float, float]:
    """An interval around the first value that also covers what other keys would have given.

    The union of Wilson's interval of the first (few records) and Student's for the mean of the
    others (few keys): the release at hand is one draw of many.
    """
    low, high = wilson(values[0], n, confidence)
    if len(values) > 2:
        redrawn = np.asarray(values[1:])
        t = float(stdtrit(len(redrawn) - 1, 0.5 + confidence / 2))
        half = t * float(redrawn.std(ddof=1)) / np.sqrt(len(redrawn))
        low, high = min(low, float(redrawn.mean()) - half), max(high, float(redrawn.mean()) + half)
    elif len(values) == 2:
        low, high = min(low, values[1]), max(high, values[1])
    return max(0.0, low), min(1.0, high)
