"""How a release was made: shown by its key, borne out by its numbers, or only said."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import StolenKey
from isinglass.attack.marginals import unit_columns
from isinglass.attack.public_noise import COMMON_SEEDS
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.auditing.made_from import remade
from isinglass.auditing.result import PolicyLine
from isinglass.errors import IsinglassError
from isinglass.release import Facts

Array = NDArray[Any]

ORIGIN = "it is known how the release was made"
SECRET = "the key came from secret randomness"
#: Standard errors by which the noise of a release may look like something else.
_ERRORS = 7.0
#: Columns whose likeness at all lags is looked at, and rows whose neighbors are.
_MOST_COLUMNS, _NEAR_ROWS = 40, 3_000
#: Rows on which noise, and a guessed seed, are looked at.
_MOST_ROWS, _ROWS_OF_SEED = 20_000, 50
#: Methods whose release is a function of the record, but for a little noise; rows and waves to
#: learn it from, and the share of the variance that may be left.
_FUNCTIONS = ("distortion", "rotation", "geometric", "projection", "multiparty")
_FITTED, _WAVES, _LEFT = 4_000, 200, 0.2
#: For so long seeds are tried.
_PATIENCE_S = 3.0


def origin_line(
    facts: Facts | None, table: Array, released: Array, *, shown: bool, aligned: bool
) -> PolicyLine:
    """Whether it is known how a release was made.

    Attacks are chosen by what a release looks like, and nobody can think of all. So a file whose
    making is unknown, or only claimed, may give back more than the attacks listed got. `shown`
    says that the key turns the table into it.
    """
    if shown:
        return PolicyLine(ORIGIN, "the key turns the table into it", met=True)
    if facts is None:
        return PolicyLine(
            ORIGIN,
            'nobody said, and attacks that fit its making may get more (release.origin = "any" in '
            "the policy goes by the attacks listed alone)",
            met=False,
        )
    if aligned and _is_noise(facts, table, released):
        return PolicyLine(ORIGIN, "its noise is what it says", met=True)
    if aligned and facts.method in _FUNCTIONS and _is_smooth(table, released):
        return PolicyLine(ORIGIN, "it is a smooth function of the record, as it says", met=True)
    return PolicyLine(ORIGIN, "only the release says so; --key would show it", met=False)


def secret_line(seeded: bool) -> PolicyLine | None:
    """A demand that is not met where a seed was used; None elsewhere."""
    if not seeded:
        return None
    return PolicyLine(SECRET, "it came from a seed, and whoever guesses it has the key", met=False)


def undone_by_seed(
    facts: Facts, names: Sequence[str], table: Array, released: Array
) -> Array | None:
    """The release undone with the key of a seed that people use; None where none fits."""
    begun = time.monotonic()
    for seed in COMMON_SEEDS:
        if time.monotonic() - begun > _PATIENCE_S:
            return None
        made = remade(facts, names)
        if made is None or not hasattr(made, "random_state"):
            return None
        made.random_state = seed
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a release that is not being made
                made.fit(table)
            again = made.transform_rows(table[:_ROWS_OF_SEED], 0)
            if again.shape != released[:_ROWS_OF_SEED].shape or not np.allclose(
                again, released[:_ROWS_OF_SEED], rtol=1e-4, atol=1e-4 * float(np.abs(again).max())
            ):
                continue
            return np.asarray(StolenKeyAttack().guess(released, StolenKey(made)))
        except (IsinglassError, ValueError, ArithmeticError):
            return None
    return None


def _is_noise(facts: Facts, table: Array, released: Array) -> bool:
    """Whether the difference to the table is noise of the law and size that a release states.

    It must have the stated deviation and law, and be like nothing else: not like the table, nor
    like other columns, nor like the rows before.
    """
    if facts.method != "additive_noise" or table.shape != released.shape or len(table) < 50:
        return False
    X, Z = (np.asarray(m[:_MOST_ROWS], dtype=np.float64) for m in (table, released))
    deviation = table.std(axis=0, ddof=1)
    varies = deviation > 0
    try:
        scale = np.broadcast_to(
            np.asarray(facts.parameters.get("scale", 1.0), dtype=np.float64), deviation.shape
        )
    except (TypeError, ValueError):
        return False
    size = scale * deviation if facts.parameters.get("relative", True) else scale
    if not varies.any() or (size[varies] <= 0).any():
        return False
    noise = ((Z - X) / np.where(size > 0, size, 1.0))[:, varies]
    if not _follows(noise, str(facts.parameters.get("distribution", "gaussian"))):
        return False
    unit, records = unit_columns(noise), unit_columns(X[:, varies])
    sizes = unit_columns(np.abs(unit))
    pairs = ((unit, unit), (unit, unit[::-1]), (unit, records), (unit, records[::-1]))
    alike = [_largest_likeness(a, b, own=a is b) for a, b in (*pairs, (sizes, sizes))]
    return max(alike) < _ERRORS and _rows_are_new(unit, unit) and _rows_are_new(unit, records)


def _largest_likeness(a: Array, b: Array, *, own: bool) -> float:
    """The largest correlation of any columns at any lag, in its standard errors."""
    from scipy.fft import irfft, next_fast_len, rfft

    n = len(a)
    length = next_fast_len(2 * n)
    one, other = (
        rfft(a[:, :_MOST_COLUMNS], length, axis=0),
        rfft(b[:, :_MOST_COLUMNS], length, axis=0),
    )
    terms = np.maximum(n - np.minimum(np.arange(length), length - np.arange(length)), 1.0)
    largest = 0.0
    for j in range(one.shape[1]):
        sums = np.abs(irfft(one[:, [j]] * np.conj(other), length, axis=0))
        if own:
            sums[0, j] = 0.0  # a column is like itself
        # Sums of few terms have no normal tails.
        sums[terms < 30] = 0.0
        largest = max(largest, float((sums / np.sqrt(terms)[:, np.newaxis]).max()))
    return largest


def _rows_are_new(noise: Array, others: Array) -> bool:
    """Whether no row of the noise comes back, and none is a record: distances as by chance.

    Each row's nearest other row, against that of rows whose values were exchanged within columns.
    """
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(0)
    some = noise[:_NEAR_ROWS]
    mixed = np.column_stack([rng.permutation(column) for column in some.T])
    own = others is noise
    found = []
    for rows in (some, mixed):
        table = rows if own else others[:_NEAR_ROWS]
        distance, _ = cKDTree(table).query(rows, k=2 if own else 1)
        found.append(distance[:, 1] if own else distance)
    return bool(np.median(found[0]) > 0.5 * np.median(found[1]))


def _is_smooth(table: Array, released: Array) -> bool:
    """Whether the release can be told from the record: then those who learn from pairs see it all.

    By ridge regression on the record and on random waves in it, learned from half of the rows.
    """
    X, Z = (np.asarray(m[:_FITTED], dtype=np.float64) for m in (table, released))
    if len(X) < 50:
        return False
    rng = np.random.default_rng(0)
    unit = unit_columns(X)
    waves = np.tanh(unit @ rng.normal(size=(X.shape[1], _WAVES)) + rng.normal(size=_WAVES))
    A = np.column_stack([np.ones(len(X)), unit, np.square(unit), waves])
    half = rng.permutation(len(X)) < len(X) // 2
    square, spread = A[half].T @ A[half], Z[~half].var(axis=0)
    varies, center, left = spread > 0, Z[half].mean(axis=0), []
    for penalty in (1e-6, 1e-4, 1e-2, 1e-1):
        held = square + penalty * half.sum() * np.eye(A.shape[1])
        fitted = center + A[~half] @ np.linalg.solve(held, A[half].T @ (Z[half] - center))
        away = np.square(Z[~half] - fitted).mean(axis=0)
        left.append(float((away[varies] / spread[varies]).mean()) if varies.any() else 1.0)
    return min(left) < _LEFT


def _follows(noise: Array, law: str) -> bool:
    """Whether each column has the law's quantiles (Kolmogorov and Smirnov), of deviation one."""
    from scipy.stats import norm, uniform

    laws = {"gaussian": norm(), "uniform": uniform(-np.sqrt(3), 2 * np.sqrt(3))}
    fourth = {"gaussian": 3.0, "uniform": 1.8}
    if law not in laws:
        return False
    n = len(noise)
    # All columns together tell more of the tails: the mean fourth power has this error or less.
    if abs(float((noise**4).mean()) - fourth[law]) > 5.0 * np.sqrt(96.0 / noise.size):
        return False
    shares = np.sort(laws[law].cdf(noise), axis=0)
    places = (np.arange(n)[:, np.newaxis] + 0.5) / n
    # The largest gap passes 2.5 / sqrt(n) less than once in 100,000 columns.
    return bool(np.abs(shares - places).max() < 2.5 / np.sqrt(n) + 0.5 / n)
