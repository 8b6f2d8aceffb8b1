"""Confidence bounds that hold at any number of draws: of shares, and of means between 0 and 1."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, betaincinv

Floats = NDArray[np.float64]

_MOST_STAKE = 0.9  # of the capital, so that no draw takes all of it
_HALVINGS = 60


def lowest_share(hits: int, draws: int, error: float) -> float:
    """Clopper and Pearson's lower bound: above the true share with at most this chance."""
    return 0.0 if hits == 0 else float(betaincinv(hits, draws - hits + 1, error))


def highest_share(hits: int, draws: int, error: float) -> float:
    """Clopper and Pearson's upper bound."""
    return 1 - lowest_share(draws - hits, draws, error)


def lowest_mean(values: Floats, error: float, variance: float) -> float:
    """A lower bound of the mean of independent numbers between 0 and 1, by betting on it.

    If the mean were m, a gambler whose capital is multiplied by 1 + stake (x - m) for every draw x
    would gain nothing on average. His capital reaches 1 / error with a chance of at most `error`
    (Markov), so an m at which it does is refuted; so is every smaller one. `variance`, guessed
    from other draws, sets the stake: a wrong guess makes the bound loose, never wrong.
    """
    goal = -math.log(error)
    stake = best_stake(len(values), error, variance)

    def refuted(mean: float) -> bool:
        return float(np.log1p(stake * (values - mean)).sum()) >= goal

    low, high = 0.0, 1.0
    if not refuted(low):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def best_stake(draws: int, error: float, variance: float) -> float:
    """The share of the capital to put on each draw, for the tightest bound of a mean."""
    most = _MOST_STAKE**2 * draws * variance
    return (
        _MOST_STAKE
        if -2 * math.log(error) >= most
        else math.sqrt(-2 * math.log(error) / (draws * variance))
    )


def expected_margin(draws: int, error: float, variance: float) -> float:
    """About how far below the mean of the draws `lowest_mean` lies."""
    stake = best_stake(draws, error, variance)
    return -math.log(error) / (draws * stake) + stake * variance / 2


def share_p_value(hits: int, draws: int, share: float) -> float:
    """The chance, doubled, of so many hits or of fewer, or of more, whichever is rarer."""
    below = float(bdtr(hits, draws, share))
    above = 1.0 if hits == 0 else float(bdtrc(hits - 1, draws, share))
    return min(1.0, 2 * min(below, above))
