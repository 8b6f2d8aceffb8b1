"""Limits of an area under the curve."""

from __future__ import annotations

import math

import numpy as np


def area_limits(areas: list[float], known: int, others: int) -> tuple[float, float]:
    """95 % limits of the mean of areas under the curve, of so many known anomalies and others.

    The interval covers the few known anomalies, by the error of Hanley and McNeil (Radiology
    1982), and the areas themselves.
    """
    mean = float(np.mean(areas))
    half = 1.96 * _area_error(mean, known, others)
    return max(0.0, min(mean - half, *areas)), min(1.0, max(mean + half, *areas))


def _area_error(area: float, known: int, others: int) -> float:
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area)
    variance += (known - 1) * (first - area**2) + (others - 1) * (second - area**2)
    return math.sqrt(max(0.0, variance) / (known * others))
