"""Views of a release: each undoes what it is named after, exactly where nothing was lost."""

import numpy as np
import pandas as pd
import pytest

from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.views import views

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 4)) * [1, 5, 0.1, 30] + [3, -2, 0, 100]
KNOWN = ColumnStatistics.of(X)
VIEWS = {view.name: view for view in views(4)}


def seen(name, Z):
    return VIEWS[name].turn(np.asarray(Z, dtype=float), KNOWN)


def test_every_view_has_a_name_of_its_own_and_a_row_for_each_row():
    assert len(VIEWS) == len(list(views(4)))
    for view in VIEWS.values():
        assert len(view.turn(X, KNOWN)) == len(X), view.name


def test_running_sums_are_undone_wherever_they_begin():
    for begin in (0.0, 1e4):
        found = seen("differences of neighboring rows", begin + np.cumsum(X, axis=0))
        np.testing.assert_allclose(found[1:], X[1:], atol=1e-8)
    # A beginning far away is no record.
    assert abs(found[0] - X.mean(axis=0)).max() < 30 * X.std(axis=0).max()


def test_differences_are_added_up_again():
    moved = seen("running sums of rows", np.diff(X, axis=0, prepend=0 * X[:1]))
    for found, column in zip(moved.T, X.T, strict=True):
        assert np.corrcoef(found, column)[0, 1] > 0.999


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_means_that_forget_are_undone(share):
    smooth = pd.DataFrame(X).ewm(alpha=1 - share, adjust=False).mean().to_numpy()
    found = seen(f"rows less {share:g} of the row before", smooth) / (1 - share)
    np.testing.assert_allclose(found[1:], X[1:], atol=1e-8)


@pytest.mark.parametrize("width", [2, 5, 12, 30])
def test_moving_means_are_undone(width):
    short = pd.DataFrame(X).rolling(width, min_periods=1).mean().to_numpy()
    np.testing.assert_allclose(seen(f"means of up to {width} rows undone", short), X, atol=1e-6)
    # Where the first rows are means of unknown ones, all but an error of the mean is told.
    full = pd.DataFrame(np.vstack([RNG.permutation(X), X])).rolling(width).mean()[-400:].to_numpy()
    found = seen(f"moving means of {width} rows undone", full)
    left = np.square(found - X)[width:].mean(axis=0) / X.var(axis=0)
    assert (left < 4 * width / len(X)).all()


@pytest.mark.parametrize(("width", "behind"), [(7, 3), (4, 1), (4, 2)])
def test_centered_means_are_undone(width, behind):
    means = pd.DataFrame(X).rolling(width).mean().shift(-behind).bfill().ffill().to_numpy()
    found = seen(f"means of {width} rows around, {behind} of them behind, undone", means)
    inner = slice(2 * width, -2 * width)
    left = np.square(found - X)[inner].mean(axis=0) / X.var(axis=0)
    assert (left < 8 * width / len(X)).all()


def test_one_number_for_all_columns_of_a_row_is_taken_off():
    """With the noise's covariance known, no linear estimate is nearer."""
    noisy = X + 10 * KNOWN.deviation * RNG.normal(size=(400, 1))
    found = seen("without what all columns of a row share", noisy)
    fitted = np.column_stack([noisy, np.ones(400)])
    best = fitted @ np.linalg.lstsq(fitted, X, rcond=None)[0]
    errors = [np.square(g - X).mean(axis=0) / X.var(axis=0) for g in (found, best)]
    assert (errors[0] < 1.1 * errors[1] + 0.01).all()
    assert errors[0].mean() < 0.3


def test_noise_in_one_direction_is_taken_off():
    direction = np.array([0.6, -0.5, 0.3, 0.55])
    noisy = X + 50 * RNG.normal(size=(400, 1)) * direction * KNOWN.deviation
    unit = direction / np.linalg.norm(direction)
    Y = (X - X.mean(axis=0)) / KNOWN.deviation
    found = seen("without the 1 widest directions", noisy)
    left = np.square(found - (Y - np.outer(Y @ unit, unit))).mean()
    assert left < 0.01


def test_digits_and_bits_behind_noise_are_the_value():
    share = (X - X.min(axis=0)) / np.ptp(X, axis=0) * 0.9
    noise = np.round(6 * RNG.normal(size=X.shape), 2)
    np.testing.assert_allclose(
        seen("the digits after place 2", noise + share / 100), share, atol=1e-9
    )
    bits = np.ascontiguousarray(RNG.normal(size=X.shape)).view(np.uint64)
    bits = (bits >> np.uint64(24) << np.uint64(24)) | (share * 2**24).astype(np.uint64)
    found = seen("the lowest 24 bits of each number", bits.view(np.float64))
    np.testing.assert_allclose(found / 2**24, share, atol=1e-6)


def test_noise_that_drifts_leaves_most_of_each_record():
    noisy = X + np.cumsum(0.2 * KNOWN.deviation * RNG.normal(size=X.shape), axis=0)
    found = seen("without noise that changes slowly", noisy)
    assert (np.square(found - X).mean(axis=0) < 0.3 * X.var(axis=0)).all()


def test_wild_values_are_replaced_and_the_others_stay():
    wild = np.where(RNG.random(X.shape) < 0.3, 1e6, X)
    found = seen("values outside the known range replaced by the mean", wild)
    np.testing.assert_array_equal(found, np.where(wild == 1e6, KNOWN.mean, X))


@pytest.mark.parametrize(
    ("name", "hide"),
    [
        ("exponentials", np.log1p), ("logarithms", np.expm1), ("squares", np.sqrt),
        ("square roots", np.square), ("inverses", lambda size: 1 / size),
    ],
)  # fmt: skip
def test_functions_of_each_value_are_undone(name, hide):
    size = np.abs(X) + 0.5
    np.testing.assert_allclose(seen(name, -hide(size)), -size, rtol=1e-6)


def test_any_growing_function_of_a_column_keeps_its_normal_scores():
    scores = seen("ranks as a normal distribution", X)
    np.testing.assert_allclose(seen("ranks as a normal distribution", np.exp(X / 100)), scores)
    assert min(np.corrcoef(a, b)[0, 1] for a, b in zip(scores.T, X.T, strict=True)) > 0.98
