"""Views of a release: each undoes what it is named after, exactly where nothing was lost."""

import numpy as np
import pandas as pd
import pytest
from scipy.fft import dct, dst, idct
from scipy.fftpack import rfft
from scipy.linalg import hadamard
from sklearn.neighbors import kneighbors_graph

from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.views import column_views
from isinglass.attack.views.row_graph import row_numbers
from isinglass.attack.views.views import file_views, group_views, views

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


def _haar(rows, first, second):
    out = rows.copy()
    out[first], out[second] = rows[first] + rows[second], rows[first] - rows[second]
    return out


EVEN, ODD, FRONT, BACK = slice(0, 400, 2), slice(1, 400, 2), slice(0, 200), slice(200, 400)
POSITIVE = np.exp((X - X.mean(axis=0)) / 100)
KEY = RNG.integers(0, 2**16, size=X.shape)
WHOLE = np.round(np.abs(X) * 100)


@pytest.mark.parametrize(
    ("name", "released", "truth"),
    [
        ("differences of differences of rows", np.cumsum(np.cumsum(X, axis=0), axis=0), X),
        ("running sums of running sums", np.diff(np.diff(X, axis=0, prepend=0 * X[:1]), axis=0,
                                                  prepend=0 * X[:1]), X),
        ("ratios of neighboring rows", np.cumprod(POSITIVE, axis=0), POSITIVE),
        ("sums and differences of neighbors", _haar(X, EVEN, ODD), X),
        ("sums and differences of the file's halves", _haar(X, FRONT, BACK), X),
        ("sums of columns half a row apart", np.hstack([KEY, X - KEY]), X),
        ("differing bits of columns half a row apart",
         np.hstack([WHOLE.astype(int) ^ KEY, KEY]), WHOLE),
        ("quotients of columns half a row apart", np.hstack([X * (KEY + 1), KEY + 1]), X),
    ],
)  # fmt: skip
def test_what_was_put_together_is_taken_apart(name, released, truth):
    np.testing.assert_allclose(seen(name, released)[2:], truth[2:], rtol=1e-6, atol=1e-6)


H = hadamard(512)
CHANGES = np.argsort((np.diff(np.sign(H), axis=1) != 0).sum(axis=1), kind="stable")
LONGER = RNG.normal(size=(512, 4))


@pytest.mark.parametrize(
    ("name", "released", "truth"),
    [
        ("waves along the rows undone", dct(X, axis=0, norm="ortho"), X),
        ("waves along the rows", idct(X, axis=0, norm="ortho"), X),
        ("sine waves along the rows undone", dst(X, axis=0, norm="ortho"), X),
        ("frequencies along the rows undone", rfft(X, axis=0), X),
        ("signs along the rows", H @ LONGER / np.sqrt(512), LONGER),
        ("signs along the rows in the order of their changes", H[CHANGES] @ LONGER / np.sqrt(512),
         LONGER),
    ],
)  # fmt: skip
def test_a_transform_along_all_rows_is_undone(name, released, truth):
    found = {view.name: view for view in file_views(released)}
    np.testing.assert_allclose(found[name].turn(released, KNOWN), truth, atol=1e-7)


def test_transforms_that_a_file_cannot_have_are_not_tried():
    assert not any("signs" in view.name for view in file_views(X))  # 400 rows
    assert not any("graph" in view.name for view in file_views(LONGER))


@pytest.mark.parametrize("first", [0, 1])
def test_lists_of_near_rows_are_read_as_a_graph(first):
    ring = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    place = RNG.permutation(400)
    points = np.column_stack([np.cos(ring), np.sin(ring)])[place]
    near = kneighbors_graph(points, 6).indices.reshape(400, 6) + first
    assert (row_numbers(near.astype(float)) == near - first).all()
    (graph,) = (view for view in file_views(near.astype(float)) if "graph" in view.name)
    slow = graph.turn(near.astype(float), KNOWN)
    rest = points - slow @ np.linalg.lstsq(slow, points, rcond=None)[0]
    assert np.square(rest).mean() < 0.01 * points.var()


@pytest.mark.parametrize(
    "column",
    [RNG.permutation(400), RNG.integers(0, 30, 400), np.arange(400) / 2, RNG.integers(0, 900, 400)],
    ids=["an order", "labels", "halves", "larger numbers"],
)
def test_numbers_that_name_no_rows_are_no_graph(column):
    assert row_numbers(np.asarray(column, dtype=float)[:, np.newaxis]) is None


def test_products_of_neighbors_are_told_up_to_a_factor():
    chain = POSITIVE.copy()
    chain[1:] *= POSITIVE[:-1]
    found = seen("ratios of rows in turn", chain) / POSITIVE
    for first in (0, 1):
        np.testing.assert_allclose(found[first::2], np.tile(found[first], (200, 1)), rtol=1e-6)


def test_sums_that_wrap_round_are_undone():
    chain = np.mod(np.cumsum(X - KNOWN.low, axis=0), 1.0001 * (KNOWN.high - KNOWN.low))
    found = seen("differences within the known range", chain)
    assert (np.abs(found - X) < 0.02 * np.ptp(X, axis=0)).mean() > 0.97


def test_columns_that_noise_makes_alike_are_put_together():
    noise = 50 * RNG.normal(size=X.shape)
    mixed = np.column_stack([X + noise, noise])[:, [0, 5, 2, 7, 4, 1, 6, 3]]
    found = column_views.without_partners(mixed, KNOWN)
    assert found.shape == X.shape
    likeness = np.abs(np.corrcoef(found.T, X.T)[:4, 4:]).max(axis=0)
    assert (likeness > 0.999).all()


def test_noise_of_a_group_is_taken_off_with_its_mean():
    groups = RNG.integers(0, 8, size=400)
    noisy = X + 9 * KNOWN.deviation * RNG.normal(size=(8, 4))[groups]
    (view,) = group_views([groups, np.arange(400), np.zeros(400)])
    left = np.square(view.turn(noisy, KNOWN) - X).mean(axis=0) / X.var(axis=0)
    assert (left < 0.05).all()


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
