"""What can be computed about a perturbation before a single record is touched."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isinglass.theory.bounds import (
        expected_clipped_square,
        inner_product_bound,
        saturation_index,
        tanh_bound,
    )
    from isinglass.theory.double_logistic import (
        best_curvature,
        density,
        guess_error_tail,
        interval_mass,
    )
    from isinglass.theory.hidden import HiddenMoments
    from isinglass.theory.moments import (
        Setting,
        distance_preserving_sigma_q,
        expected_inner_product,
        expected_product,
        expected_square,
        expected_squared_distance,
        hidden_moments,
        mean_squared_slope,
        variance_inner_product,
        variance_squared_distance,
    )

# Where each public name lives; a module loads when one of its names is first used.
_HOMES = {
    "expected_clipped_square": "bounds",
    "inner_product_bound": "bounds",
    "saturation_index": "bounds",
    "tanh_bound": "bounds",
    "best_curvature": "double_logistic",
    "density": "double_logistic",
    "guess_error_tail": "double_logistic",
    "interval_mass": "double_logistic",
    "HiddenMoments": "hidden",
    "Setting": "moments",
    "distance_preserving_sigma_q": "moments",
    "expected_inner_product": "moments",
    "expected_product": "moments",
    "expected_square": "moments",
    "expected_squared_distance": "moments",
    "hidden_moments": "moments",
    "mean_squared_slope": "moments",
    "variance_inner_product": "moments",
    "variance_squared_distance": "moments",
}

__all__ = [
    "HiddenMoments",
    "Setting",
    "best_curvature",
    "density",
    "distance_preserving_sigma_q",
    "expected_clipped_square",
    "expected_inner_product",
    "expected_product",
    "expected_square",
    "expected_squared_distance",
    "guess_error_tail",
    "hidden_moments",
    "inner_product_bound",
    "interval_mass",
    "mean_squared_slope",
    "saturation_index",
    "tanh_bound",
    "variance_inner_product",
    "variance_squared_distance",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
