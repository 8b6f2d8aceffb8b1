"""Limits of an area under the curve."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from isinglass.measure.area import area_limits


def test_the_error_of_a_perfect_and_of_a_blind_ranking():
    assert area_limits([1.0], 7, 50) == (1.0, 1.0)
    # Hanley and McNeil at one half, with Q1 = Q2 = 1/3: (m + n + 1) / (12 m n), as in a rank test.
    half = 1.96 * np.sqrt((20 + 80 + 1) / (12 * 20 * 80))
    assert area_limits([0.5], 20, 80) == pytest.approx((0.5 - half, 0.5 + half))


def test_the_limits_hold_what_other_samples_give_about_as_often_as_they_say():
    rng = np.random.default_rng(3)
    marks = np.arange(230) < 30
    areas = [roc_auc_score(marks, rng.normal(size=230) + 1.2 * marks) for _ in range(400)]
    truth = 0.8019  # P(a > b) where means differ by 1.2 deviations: the normal law at 1.2 / sqrt 2
    held = np.mean(
        [low <= truth <= high for low, high in (area_limits([a], 30, 200) for a in areas)]
    )
    assert 0.9 < held < 0.99


def test_limits_reach_every_area_measured():
    low, high = area_limits([0.7, 0.9], 10_000, 10_000)
    assert (low, high) == (0.7, 0.9)
