"""Generated flights: the same whatever the batches, as many anomalies as asked, findable."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from isinglass import datasets


@pytest.mark.parametrize("batch_rows", [613, 16_000, 20_001, 35_000, 10**6])
def test_batches_joined_are_the_flights_bit_for_bit(batch_rows):
    settings = {"n_features": 12, "n_discrete": 3, "n_outliers": 77, "random_state": 5}
    whole = datasets.flights(35_000, **settings)
    batches = list(datasets.flight_batches(35_000, batch_rows=batch_rows, **settings))
    assert all(len(batch.X) == batch_rows for batch in batches[:-1])
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), whole.X)
    masks = np.concatenate([batch.is_outlier for batch in batches])
    np.testing.assert_array_equal(masks, whole.is_outlier)
    assert {batch.column_names for batch in batches} == {whole.column_names}


def test_the_smallest_batches_hold_one_row():
    whole = datasets.flights(40, random_state=5)
    rows = [batch.X[0] for batch in datasets.flight_batches(40, batch_rows=1, random_state=5)]
    np.testing.assert_array_equal(rows, whole.X)


@pytest.mark.parametrize(
    ("n_rows", "n_outliers"),
    [(1, 0), (1, 1), (7, 3), (200, 200), (33_000, 0), (33_000, 1), (33_000, 50), (50_001, 1051)],
)
def test_exactly_as_many_rows_are_planted_as_asked(n_rows, n_outliers):
    made = datasets.flights(n_rows, n_features=2, n_outliers=n_outliers, random_state=2)
    assert made.is_outlier.sum() == n_outliers
    assert np.isfinite(made.X).all()


@pytest.mark.parametrize(("n_rows", "n_outliers"), [(49, 0), (8000, 160), (100_000, 1100)])
def test_by_default_1000_and_one_in_a_thousand_but_at_most_one_in_fifty(n_rows, n_outliers):
    assert datasets.flights(n_rows, n_features=2, random_state=0).is_outlier.sum() == n_outliers


def test_outliers_are_spread_evenly():
    mask = datasets.flights(64_000, n_features=2, n_outliers=400, random_state=0).is_outlier
    assert mask.reshape(4, -1).sum(axis=1).tolist() == [100] * 4


def test_planting_moves_the_planted_rows_and_no_other():
    clean = datasets.flights(20_000, n_outliers=0, random_state=8)
    planted = datasets.flights(20_000, n_outliers=300, random_state=8)
    moved = (clean.X != planted.X).any(axis=1)
    np.testing.assert_array_equal(moved, planted.is_outlier)


def test_a_seed_repeats_the_flights_and_no_seed_never_does():
    first, again, other = (datasets.flights(500, random_state=seed).X for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(datasets.flights(500).X, datasets.flights(500).X)


def test_no_row_comes_twice():
    X = datasets.flights(64_000, n_outliers=0, random_state=0).X
    assert len(np.unique(X, axis=0)) == 64_000


@pytest.mark.parametrize(
    ("settings", "share"),
    [
        ({}, 0.85),
        ({"carrier": "B"}, 0.85),
        ({"n_outliers": 50}, 0.8),
        # Switches set ordinary rows apart, too; over seeds this one ranges from 0.77 to 0.88.
        ({"n_features": 46, "n_discrete": 7}, 0.7),
    ],
)
def test_five_nearest_neighbors_rank_most_planted_rows_on_top_but_not_all(settings, share):
    made = datasets.flights(8000, random_state=1, **settings)
    score = _five_neighbor_score(made.X)
    top = np.argsort(-score)[: made.is_outlier.sum()]
    assert made.is_outlier[top].mean() >= share
    # Graded: the weakest planted row is less strange than the strangest ordinary one.
    assert score[made.is_outlier].min() < score[~made.is_outlier].max()


def test_ordinary_rows_lie_near_a_low_dimensional_surface():
    X = datasets.flights(20_000, n_outliers=0, random_state=0).X.astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    variances = np.linalg.svd(X, compute_uv=False) ** 2
    assert variances[:10].sum() / variances.sum() > 0.97


def test_a_flight_climbs_cruises_and_descends_in_a_few_hundred_rows():
    made = datasets.flights(32_000, n_features=36, n_discrete=7, n_outliers=0, random_state=3)
    on_ground = made.X[:, made.column_names.index("ground_contact")]
    takeoffs = np.flatnonzero(np.diff(on_ground) == -1)
    landings = np.flatnonzero(np.diff(on_ground) == 1)
    assert len(takeoffs) == len(landings) == 50
    assert (takeoffs < landings).all()
    lengths = np.diff(takeoffs)
    assert lengths.min() > 300
    assert lengths.max() < 1100
    altitude = made.X[:, made.column_names.index("altitude")]
    for takeoff, landing in zip(takeoffs, landings, strict=True):
        middle = (takeoff + landing) // 2
        assert altitude[middle] > 25_000
        assert max(altitude[takeoff], altitude[landing]) < 3000


def test_coded_columns_are_the_last_ones_and_whole_numbers():
    made = datasets.flights(9000, n_features=20, n_discrete=9, n_outliers=200, random_state=0)
    codes = made.X[:, -9:]
    np.testing.assert_array_equal(codes, np.rint(codes))
    assert codes.min() == 0
    assert codes.max() == 3
    assert (np.ptp(codes, axis=0) > 0).all()
    assert made.column_names[11:14] == ("flap_position", "landing_gear", "autopilot_mode")
    assert made.column_names[-1] == "status_9"
    assert not np.array_equal(made.X[:, :11], np.rint(made.X[:, :11]))


def test_columns_have_distinct_names_and_numbers_after_the_29th():
    names = datasets.flights(10, n_features=31, random_state=0).column_names
    assert len(set(names)) == 31
    assert names[0] == "altitude"
    assert names[29:] == ("sensor_30", "sensor_31")
    assert not any(name.startswith("sensor_") for name in names[:29])


def test_double_width_holds_the_same_values():
    single = datasets.flights(300, random_state=0)
    double = datasets.flights(300, dtype="float64", random_state=0)
    assert (single.X.dtype, double.X.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(single.X, double.X)


def test_a_carrier_differs_from_the_others_more_than_from_itself():
    def means(carrier, seed):
        X = datasets.flights(60_000, carrier=carrier, n_outliers=0, random_state=seed).X
        return X.mean(axis=0)

    unit = datasets.flights(60_000, n_outliers=0, random_state=0).X.std(axis=0)
    own = np.linalg.norm((means("A", 0) - means("A", 1)) / unit)
    for one, other in [("A", "B"), ("A", "C"), ("B", "C")]:
        assert np.linalg.norm((means(one, 0) - means(other, 0)) / unit) > 2 * own


def test_a_letter_names_the_carrier_of_that_number():
    letter, number, first = (
        datasets.flights(100, carrier=carrier, random_state=0).X for carrier in ("C", 2, 0)
    )
    np.testing.assert_array_equal(letter, number)
    assert not np.array_equal(letter, first)


def test_memory_does_not_grow_with_the_number_of_rows():
    def peak(n_rows):
        tracemalloc.start()
        try:
            for _ in datasets.flight_batches(n_rows, batch_rows=10_000, random_state=0):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(400_000) < 1.1 * peak(80_000)


def test_the_function_is_found_even_when_its_file_was_imported_first():
    code = "import isinglass.datasets.flights; from isinglass import datasets; datasets.flights(3)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"n_rows": 0}, "n_rows"),
        ({"n_features": 0}, "n_features"),
        ({"n_discrete": 29}, "n_discrete"),
        ({"n_discrete": -1}, "n_discrete"),
        ({"n_outliers": 11}, "n_outliers"),
        ({"n_outliers": -1}, "n_outliers"),
        ({"carrier": -1}, "carrier"),
        ({"carrier": "airline"}, "carrier"),
        ({"dtype": "int32"}, "dtype"),
        ({"batch_rows": 0}, "batch_rows"),
    ],
)
def test_bad_settings_are_named_before_any_row_is_made(settings, name):
    with pytest.raises(ValueError, match=rf"^{name} must .* got "):
        datasets.flight_batches(settings.pop("n_rows", 10), **settings)


def _five_neighbor_score(X):
    X = X.astype(float)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    distances, _ = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(X).kneighbors()
    return distances.mean(axis=1)
