"""The papers' small sets have the shapes, shares and spreads the papers give them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from isinglass import datasets

SMALL = [
    lambda seed: datasets.helical_coil(60, random_state=seed),
    lambda seed: datasets.uni_dis(60, n_features=3, random_state=seed),
    lambda seed: datasets.e_gau_dis(60, n_features=3, random_state=seed),
    lambda seed: datasets.v_gau_dis(2, n_rows=60, n_features=3, random_state=seed),
    lambda seed: datasets.o_gau_dis(0.2, n_rows=60, n_features=3, random_state=seed),
    lambda seed: datasets.banana(60, random_state=seed),
    lambda seed: datasets.mixed_gaussian(60, n_features=8, random_state=seed),
]


@pytest.mark.parametrize("make", SMALL)
def test_a_seed_repeats_a_set_and_another_seed_changes_it(make):
    np.testing.assert_array_equal(make(3).X, make(3).X)
    assert not np.array_equal(make(3).X, make(4).X)


@pytest.mark.parametrize("make", SMALL)
def test_facts_about_rows_and_columns_have_their_lengths(make):
    made = make(0)
    assert made.X.shape == (60, len(made.column_names))
    assert len(set(made.column_names)) == len(made.column_names)
    for fact in (made.is_outlier, made.labels):
        assert fact is None or fact.shape == (60,)


def test_printing_a_set_shows_its_shape_and_nothing_else():
    made = datasets.mixed_gaussian(50, n_features=6, random_state=0)
    assert repr(made) == str(made) == "Dataset(50 rows x 6 columns)"


def test_coil_has_two_outliers_farther_from_it_than_its_turns_from_each_other():
    turns = 5
    made = datasets.helical_coil(800, turns=turns, random_state=0)
    assert np.flatnonzero(made.is_outlier).tolist() == [798, 799]
    gaps = cdist(made.X[-2:], made.X[:-2]).min(axis=1)
    height_of_a_turn = 2 / turns
    assert (gaps > 2 * height_of_a_turn).all()


def test_coil_without_noise_lies_on_the_unit_cylinder():
    made = datasets.helical_coil(100, noise=0, random_state=0)
    np.testing.assert_allclose(np.hypot(*made.X[:-2, :2].T), 1, rtol=1e-12)
    np.testing.assert_allclose(np.hypot(*made.X[-2:, :2].T), 2, rtol=1e-12)


@pytest.mark.parametrize("make", SMALL[1:5])
def test_every_column_of_aggarwals_sets_has_unit_variance(make):
    np.testing.assert_allclose(make(0).X.std(axis=0), 1, rtol=1e-12)


def test_uniform_columns_span_the_square_root_of_twelve():
    made = datasets.uni_dis(random_state=0)
    assert made.X.shape == (10_000, 75)
    assert made.is_outlier is None
    np.testing.assert_allclose(np.ptp(made.X, axis=0), np.sqrt(12), rtol=0.03)
    assert made.X.min() >= 0


def test_equal_clusters_have_2000_rows_each_in_random_order():
    made = datasets.e_gau_dis(n_features=2, random_state=0)
    assert np.bincount(made.labels).tolist() == [2000] * 5
    assert len(set(made.labels[:20].tolist())) > 1


@pytest.mark.parametrize(
    ("theta", "sizes"),
    [
        (0, [201, 200, 200, 200, 200]),
        # 1001 / (1 + 1/2 + 1/3 + 1/4 + 1/5) = 438.39; 999 after rounding down
        (1, [438 + 2, 219, 146, 109, 87]),
        # 1001 / (1 + 1/4 + 1/9 + 1/16 + 1/25) = 683.92; 997 after rounding down
        (2, [683 + 4, 170, 75, 42, 27]),
    ],
)
def test_cluster_sizes_follow_zipfs_law_and_the_first_takes_the_remainder(theta, sizes):
    made = datasets.v_gau_dis(theta, n_rows=1001, n_features=2, random_state=0)
    assert np.bincount(made.labels).tolist() == sizes


def test_without_skew_or_outliers_the_clustered_sets_are_one():
    equal = datasets.e_gau_dis(500, n_features=4, random_state=6).X
    no_skew = datasets.v_gau_dis(0, n_rows=500, n_features=4, random_state=6).X
    no_outliers = datasets.o_gau_dis(0, n_rows=500, n_features=4, random_state=6).X
    np.testing.assert_array_equal(equal, no_skew)
    np.testing.assert_array_equal(equal, no_outliers)


def test_cluster_radii_stay_below_a_tenth_of_the_cube():
    made = datasets.o_gau_dis(0.5, n_rows=4000, n_features=5, random_state=0)
    # The outliers fill the unit cube, so their range undoes the division by the sd.
    cube = np.ptp(made.X[made.is_outlier], axis=0)
    for cluster in range(5):
        sd = made.X[made.labels == cluster].std(axis=0) / cube
        assert (sd < 0.1 * 1.1).all()


@pytest.mark.parametrize(("f", "n_outliers"), [(0, 0), (0.1, 100), (0.2504, 250), (1, 1000)])
def test_outliers_take_the_share_f_and_clusters_the_rest(f, n_outliers):
    made = datasets.o_gau_dis(f, n_rows=1000, n_features=3, random_state=0)
    assert made.is_outlier.sum() == n_outliers
    assert (made.labels[made.is_outlier] == -1).all()
    sizes = np.bincount(made.labels[~made.is_outlier], minlength=5)
    assert sizes.sum() == 1000 - n_outliers
    assert sizes[0] - sizes[1] < 5
    assert len(set(sizes[1:].tolist())) == 1


def test_any_two_columns_show_two_bent_bananas_that_do_not_touch():
    made = datasets.banana(600, noise=0.0, random_state=0)
    assert made.X.shape == (600, 8)
    assert 0.4 < made.labels.mean() < 0.6
    for i in range(8):
        for j in range(i):
            pair = made.X[:, [i, j]]
            first, second = pair[made.labels == 0], pair[made.labels == 1]
            assert cdist(first, second).min() > 0.02
            # Bent: no straight line holds a banana.
            assert np.linalg.svd(first - first.mean(axis=0))[1][1] > 1.0


def test_planted_share_and_distance_of_the_mixed_gaussian():
    made = datasets.mixed_gaussian(random_state=0)
    assert made.X.shape == (20_000, 200)
    planted = made.is_outlier.sum()
    assert abs(planted - 200) < 5 * np.sqrt(200)
    reach = np.sqrt(200 / 0.01)
    far = np.abs(made.X[made.is_outlier]).max(axis=1)
    np.testing.assert_allclose(far, reach, atol=0.6)
    assert np.abs(made.X[~made.is_outlier]).max() < 7
    # Five directions, both signs.
    peaks = np.abs(made.X[made.is_outlier]).argmax(axis=1)
    assert len(set(peaks.tolist())) == 5
    assert {-1.0, 1.0} == set(np.sign(made.X[made.is_outlier][np.arange(planted), peaks]))


def test_mixed_gaussian_has_the_covariance_the_mixture_implies():
    made = datasets.mixed_gaussian(60_000, n_features=6, rho=0.1, n_directions=6, random_state=1)
    # E x_j^2 = (1 - rho) + rho sigma^2 + (rho / a)(d / rho) = 0.9 + 0.001 + 1
    np.testing.assert_allclose((made.X**2).mean(axis=0), 1.901, rtol=0.1)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: datasets.helical_coil(2), "n_rows"),
        (lambda: datasets.helical_coil(10, noise=-1), "noise"),
        (lambda: datasets.uni_dis(1), "n_rows"),
        (lambda: datasets.e_gau_dis(10, n_features=0), "n_features"),
        (lambda: datasets.v_gau_dis(-1), "theta"),
        (lambda: datasets.v_gau_dis(float("nan")), "theta"),
        (lambda: datasets.o_gau_dis(1.5), "f"),
        (lambda: datasets.banana(10, n_features=1), "n_features"),
        (lambda: datasets.mixed_gaussian(10, rho=0), "rho"),
        (lambda: datasets.mixed_gaussian(10, n_features=3, n_directions=4), "n_directions"),
    ],
)
def test_bad_settings_are_named(call, name):
    with pytest.raises(ValueError, match=rf"^{name} must .* got "):
        call()
