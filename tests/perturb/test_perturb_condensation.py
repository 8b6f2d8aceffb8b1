"""Condensation replaces groups by new records with the same mean and covariance."""

from __future__ import annotations

import dataclasses
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial import cKDTree

from isinglass.errors import PrivacyWarning, ReleaseError
from isinglass.perturb.condensation import Condensation, group_records
from isinglass.perturb.registry import load_key

TABLE = np.random.default_rng(11).normal(size=(203, 4)) * [1, 50, 0.01, 3] + [0, 1000, 5, -2]


def group_records_plain(X, k, rng):
    """The definition, one record after the other."""
    labels = np.full(len(X), -1)
    group = 0
    for pick in rng.permutation(len(X)):
        free = np.flatnonzero(labels < 0)
        if len(free) < k:
            break
        if labels[pick] >= 0:
            continue
        distance = ((X[free] - X[pick]) ** 2).sum(axis=1)
        labels[free[np.argsort(distance)[:k]]] = group
        group += 1
    means = np.array([X[labels == g].mean(axis=0) for g in range(group)])
    for row in np.flatnonzero(labels < 0):
        labels[row] = ((means - X[row]) ** 2).sum(axis=1).argmin()
    return labels


@pytest.mark.parametrize("k", [2, 3, 10, 150, 203])
def test_groups_are_those_of_the_definition(k):
    expected = group_records_plain(TABLE, k, np.random.default_rng(1))
    np.testing.assert_array_equal(group_records(TABLE, k, np.random.default_rng(1)), expected)


@given(n=st.integers(2, 60), k=st.integers(2, 12), seed=st.integers(0, 99))
@settings(max_examples=50)
def test_every_record_is_in_a_group_of_k_to_2k_minus_1(n, k, seed):
    rng = np.random.default_rng(seed)
    # Whole numbers: duplicates and ties must not break the count.
    table = rng.integers(0, 3, size=(max(n, k), 2)).astype(float)
    sizes = np.bincount(group_records(table, k, rng))
    assert sizes.sum() == len(table)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


def test_every_group_emits_as_many_records_as_it_has_members():
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [100, 0], [0, 100]])
    members = np.repeat([0, 1, 2], [20, 50, 30])
    table = centers[members] + rng.random((100, 2))
    released = Condensation(10, random_state=0).fit_transform(table)
    nearest = cKDTree(centers).query(released)[1]
    assert np.bincount(nearest).tolist() == [20, 50, 30]
    # Nor does the row say which: the groups arrive in no order.
    assert abs(stats.spearmanr(nearest, members).statistic) < 0.3


def test_the_table_is_forgotten_after_fit():
    veil = Condensation(5, random_state=0)
    with pytest.raises(ValueError, match="needs at least"):
        veil.fit(TABLE[:3])
    assert "_table" not in vars(veil)
    assert "_table" not in vars(veil.fit(TABLE))


def test_new_records_have_the_mean_and_covariance_of_their_group():
    table = np.random.default_rng(0).normal(size=(12, 3)) @ [[2, 1, 0], [0, 1, 5], [0, 0, 0.1]]
    veil = Condensation(12, random_state=0).fit(table)
    drawn = veil.transform(np.repeat(table[:1], 100_000, axis=0))
    covariance = np.cov(table.T, ddof=0)
    deviation = np.sqrt(np.diag(covariance))
    error = (drawn.mean(axis=0) - table.mean(axis=0)) / deviation
    assert np.abs(error).max() < 5 / np.sqrt(len(drawn))
    relative = (np.cov(drawn.T) - covariance) / np.outer(deviation, deviation)
    assert np.abs(relative).max() < 0.02


def test_new_records_reach_sqrt_3_deviations_and_no_farther():
    table = np.random.default_rng(0).normal(size=(40, 1))
    drawn = Condensation(40, random_state=0).fit(table).transform(np.zeros((5000, 1)))
    reach = np.abs(drawn - table.mean()).max() / table.std()
    assert 1.7 < reach <= np.sqrt(3) * (1 + 1e-12)


def test_a_pair_does_not_give_its_line_away():
    table = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    released = Condensation(2, random_state=0).fit_transform(table)
    assert np.abs(released - released[:, :1] * [1, 2, 3]).max(axis=1).min() > 0.1


def test_columns_keep_units_names_and_constants():
    frame = pd.DataFrame(TABLE, columns=list("abcd")).assign(c=0.1)
    veil = Condensation(5, random_state=0).set_output(transform="pandas")
    released = veil.fit_transform(frame)
    assert list(released.columns) == list("abcd")
    assert (released["c"] == 0.1).all()
    np.testing.assert_allclose(released["b"].mean(), frame["b"].mean(), rtol=0.01)


def test_a_records_release_is_its_own_group_even_far_outside_the_table():
    table = np.array([[0.0, 0], [1, 0], [100, 100], [101, 100]])
    veil = Condensation(2, random_state=0).fit(table)
    released = veil.transform(np.array([[-50.0, -50], [500, 500]]))
    assert (released[0] < 3).all()
    assert (released[1] > 90).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=30)
@given(cuts=st.lists(st.integers(1, 202), max_size=6, unique=True))
def test_batches_do_not_change_a_byte(dtype, cuts):
    table = TABLE.astype(dtype)
    veil = Condensation(6, random_state=0).fit(table)
    whole = veil.transform_rows(table, 0)
    assert whole.dtype == dtype
    pairs = list(itertools.pairwise([0, *sorted(cuts), 203]))
    for a, b in reversed(pairs):
        np.testing.assert_array_equal(veil.transform_rows(table[a:b], a), whole[a:b])
    in_order = [veil.fit(table).transform(table[: pairs[0][1]])]
    in_order += [veil.transform(table[a:b]) for a, b in pairs[1:]]
    np.testing.assert_array_equal(np.vstack(in_order), whole)


def test_fit_transform_uses_up_its_rows_of_the_stream():
    veil = Condensation(203, random_state=0)  # one group, so equal draws would be equal records
    releases = np.vstack([veil.fit_transform(TABLE), veil.transform(TABLE), veil.transform(TABLE)])
    assert len(np.unique(releases, axis=0)) == 3 * 203


def test_a_pickled_copy_asks_for_row_numbers():
    veil = Condensation(5, random_state=0).fit(TABLE)
    with pytest.warns(PrivacyWarning, match="pickled"):
        copy = pickle.loads(pickle.dumps(veil))
    with pytest.raises(ReleaseError, match="transform_rows"):
        copy.transform(TABLE)


def test_a_saved_key_gives_the_same_bytes(tmp_path):
    veil = Condensation(5).fit(TABLE)
    released = veil.transform(TABLE)
    veil.save_key(tmp_path / "c.key")
    found = load_key(tmp_path / "c.key")
    np.testing.assert_array_equal(found.transform_rows(TABLE[3:], 3), released[3:])


def test_the_key_does_not_print_and_its_size_is_within_the_estimate():
    veil = Condensation(5, random_state=0).fit(TABLE)
    key = veil._key
    assert "array" not in repr(key)
    groups = key.means.nbytes + key.axes.nbytes + key.sizes.nbytes + key.floor.nbytes
    assert veil.key_bytes(4) == sum(getattr(key, n).nbytes for n in key.__slots__) - groups
    assert groups < veil.table_bytes(203, 4)


def test_the_groups_of_a_wide_table_stay_as_small_as_the_table():
    table = np.random.default_rng(0).random((400, 300))
    key = Condensation(10, random_state=0).fit(table)._key
    assert key.axes.nbytes + key.means.nbytes <= 2 * table.nbytes


def privacy(table, k, seed):
    """New record minus nearest original, deviation per column in shares of the range."""
    low, span = table.min(axis=0), np.ptp(table, axis=0)
    released = (Condensation(k, fill=False, random_state=seed).fit_transform(table) - low) / span
    scaled = (table - low) / span
    gap = released - scaled[cKDTree(scaled).query(released)[1]]
    found = gap.std(axis=0, ddof=1)
    return found.min(), found.mean()


@pytest.mark.parametrize(
    ("name", "k", "least", "mean"),
    [
        ("iris", 2, 0.013, 0.016),
        ("iris", 10, 0.039, 0.044),
        ("iris", 50, 0.054, 0.063),
        ("wine", 10, 0.070, 0.092),
    ],
)
def test_new_records_lie_this_near_to_old_ones(real_data, name, k, least, mean):
    frame = pd.read_parquet(real_data / f"{name}.parquet").select_dtypes("number")
    table = frame.drop(columns=["label", "target", "class"], errors="ignore").to_numpy(float)
    found = np.mean([privacy(table, k, seed) for seed in range(20)], axis=0)
    # The figures are of one draw each; at k = 50 draws on Iris spread by a fifth of their mean.
    np.testing.assert_allclose(found, [least, mean], rtol=0.35)


@pytest.mark.parametrize("k", [0, 1, 2.5])
def test_a_bad_k_is_named(k):
    with pytest.raises(ValueError, match="k must be a whole number >= 2"):
        Condensation(k).fit(TABLE)


def test_too_few_records_are_counted():
    with pytest.raises(ValueError, match="k=10 needs at least 10 records, got n_samples=9"):
        Condensation(10).fit(TABLE[:9])
    assert Condensation(9, random_state=0).fit_transform(TABLE[:9]).shape == (9, 4)


def test_a_survey_is_not_enough():
    from isinglass.table.survey import survey

    with pytest.raises(ReleaseError, match="whole table"):
        Condensation().fit_survey(survey(TABLE))


# Groups of no more members than columns.


def flat_distances(rows, records):
    """How far each record is off the nearest flat that a released row and its neighbors span."""
    best = np.full(len(records), np.inf)
    for row in rows:
        near = rows[np.argsort(((rows - row) ** 2).sum(axis=1))[:5]]
        base = np.linalg.svd(near - near.mean(axis=0), full_matrices=False)[2][:4]
        off = records - near.mean(axis=0)
        best = np.minimum(best, np.linalg.norm(off - off @ base.T @ base, axis=1))
    return best


def test_draws_of_a_small_group_leave_the_flat_of_its_members():
    rng = np.random.default_rng(5)
    table = rng.normal(size=(60, 12)) + 40 * np.arange(12)[rng.integers(12, size=60), np.newaxis]
    members, strangers = table[:30], table[30:]
    released = Condensation(k=5, random_state=1).fit_transform(members)
    mine, theirs = flat_distances(released, members), flat_distances(released, strangers)
    # Without the floor every member is on a flat to the last digits, and no stranger is.
    assert mine.min() > 1e-3
    old = Condensation(k=5, random_state=1).fit(members)
    bare = dataclasses.replace(old._key, floor=None)
    old._key = dataclasses.replace(bare, axes=old._key.axes)
    groups = np.repeat(np.arange(len(bare.sizes)), bare.sizes)
    on_flats = flat_distances(old._emit(groups, 0, np.float64), members)
    assert np.median(on_flats) < 1e-9 < np.median(theirs)


def test_the_floor_keeps_a_groups_total_variance():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(8, 20))
    key = Condensation(k=8, random_state=0).fit(table)._key
    units = (table - key.low) / key.span
    total = units.var(axis=0).sum()
    drawn = (key.axes[0] ** 2).sum() / 3 + 20 * key.floor[0] ** 2 / 3
    assert drawn == pytest.approx(total)
    assert key.floor[0] > 0


def test_groups_of_more_members_than_columns_are_drawn_as_published():
    table = np.random.default_rng(2).normal(size=(40, 3))
    assert not Condensation(k=10, random_state=0).fit(table)._key.floor.any()


def test_a_key_of_an_earlier_version_has_no_floor_and_still_opens(tmp_path):
    table = np.random.default_rng(2).normal(size=(40, 3))
    veil = Condensation(k=10, random_state=0).fit(table)
    new = veil.transform_rows(table, 0)
    veil._key = dataclasses.replace(veil._key, floor=None)
    veil.save_key(tmp_path / "old.key")
    again = load_key(tmp_path / "old.key")
    np.testing.assert_array_equal(again.transform_rows(table, 0), new)
