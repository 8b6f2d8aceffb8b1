"""Known records are found in a release by the distances between them."""

from __future__ import annotations

import time

import numpy as np
import pytest

from isinglass.attack.distance import DistanceAttack
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KnownRecords,
    PublicParameters,
    PublicTable,
)
from isinglass.attack.linking.constellation import constellation
from isinglass.errors import AttackError


def table(n=2000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.5 * rng.gamma(1.0, size=(n, d))


def rotated(records, seed=1):
    """Columns to [0, 1], then turned about a random point."""
    rng = np.random.default_rng(seed)
    d = records.shape[1]
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    scaled = (records - records.min(axis=0)) / np.ptp(records, axis=0)
    return (scaled - rng.random(d)) @ turn


def pick(records, m, seed=2):
    rows = np.random.default_rng(seed).choice(len(records), m, replace=False)
    return rows, KnownRecords(records[rows])


@pytest.mark.parametrize("m", [3, 7, 20])
def test_records_are_located_behind_a_rotation(m):
    records = table()
    rows, known = pick(records, m)
    bounds = PublicParameters("rotation", low=records.min(axis=0), high=records.max(axis=0))
    found = DistanceAttack(random_state=0).locate(rotated(records), known | bounds)
    np.testing.assert_array_equal(found, rows)


def test_d_plus_one_records_without_rows_undo_a_rotation():
    records = table()
    _, known = pick(records, 7)
    guess = DistanceAttack(random_state=0).guess(
        rotated(records), known | ColumnStatistics.of(records)
    )
    assert np.abs(guess - records).max() < 1e-8 * np.ptp(records, axis=0).max()


def test_a_permuted_copy_is_read_off_without_knowing_any_range():
    records = table()
    order = np.random.default_rng(3).permutation(len(records))
    rows, known = pick(records, 10)
    found = DistanceAttack(random_state=0).locate(records[order], known)
    np.testing.assert_array_equal(order[found], rows)
    guess = DistanceAttack(random_state=0).guess(records[order], known)
    np.testing.assert_allclose(guess, records[order], atol=1e-8)


def test_a_common_factor_is_found():
    records = table()
    rows, known = pick(records, 10)
    released = 3.7 * rotated(records)
    for fact in (ColumnStatistics.of(records), PublicTable(records)):
        found = DistanceAttack(random_state=0).locate(released, known | fact)
        np.testing.assert_array_equal(found, rows)


def test_a_release_with_more_columns_keeps_distances_too():
    records = table()
    rows, known = pick(records, 12)
    wide = np.linalg.qr(np.random.default_rng(4).normal(size=(9, 6)))[0].T
    found = DistanceAttack(random_state=0).locate(
        rotated(records) @ wide, known | ColumnStatistics.of(records)
    )
    np.testing.assert_array_equal(found, rows)


def test_a_little_noise_does_not_hide_them():
    records = table()
    rows, known = pick(records, 30)
    noise = 0.005 * np.random.default_rng(5).normal(size=records.shape)
    said = PublicParameters("geometric", {"noise": 0.005})
    found = DistanceAttack(random_state=0).locate(
        rotated(records) + noise, known | said | ColumnStatistics.of(records)
    )
    # A neighbor nearer than the noise may be taken for one or two of them.
    assert (found == rows).mean() >= 0.9


@pytest.mark.parametrize("with_statistics", [False, True])
def test_in_a_release_of_noise_nobody_is_found(with_statistics):
    records = table(800)
    _, known = pick(records, 20)
    released = np.random.default_rng(6).normal(size=records.shape)
    knowledge = known | ColumnStatistics.of(records) if with_statistics else known
    attack = DistanceAttack(random_state=0)
    np.testing.assert_array_equal(attack.locate(released, knowledge), -1)
    guess = attack.guess(released, knowledge)
    np.testing.assert_array_equal(guess, np.broadcast_to(known.records.mean(axis=0), (800, 6)))


def test_equal_known_records_get_equal_rows():
    records = table(500)
    records[400] = records[7]
    known = KnownRecords(records[[3, 7, 9, 11, 50, 60, 70, 80, 400, 3]])
    found = DistanceAttack(random_state=0).locate(
        rotated(records), known | ColumnStatistics.of(records)
    )
    # Row 3 is once in the release and named twice; rows 7 and 400 are one record twice.
    np.testing.assert_array_equal(found[[0, 2, 3, 4, 5, 6, 7, 9]], [3, 9, 11, 50, 60, 70, 80, 3])
    assert sorted(found[[1, 8]]) == [7, 400]


def test_two_records_are_too_few_to_be_recognized():
    records = table(300)
    attack = DistanceAttack(random_state=0)
    two = KnownRecords(records[:2])
    np.testing.assert_array_equal(attack.locate(records, two), [-1, -1])
    np.testing.assert_allclose(attack.guess(records, two)[0], records[:2].mean(axis=0))
    with pytest.raises(AttackError, match="at least 1"):
        attack.locate(records, KnownRecords(records[:0]))


def test_a_large_release_is_searched_in_bounded_time():
    records = table(12_000, 29)
    rows, known = pick(records, 30)
    start = time.process_time()
    found = DistanceAttack(random_state=0).locate(
        rotated(records), known | ColumnStatistics.of(records)
    )
    assert time.process_time() - start < 5
    np.testing.assert_array_equal(found, rows)


def test_a_constellation_starts_with_the_two_farthest_apart():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [2.0, 2.0]])
    found = constellation(points, np.array([0.0, 0.0]))
    assert set(found.order[:2]) == {0, 2}
    assert list(found.order[2:]) == [3, 1]
    assert found.longest == 5
    np.testing.assert_allclose(found.radius, [0, 1, 5, 8**0.5])
