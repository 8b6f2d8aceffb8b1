"""The order of the rows gives noise away, and gains nothing where rows have none."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from isinglass.attack.knowledge import (
    ColumnStatistics,
    KnownPairs,
    OtherReleases,
    PopulationSample,
    PublicParameters,
    PublicTable,
    RowOrder,
)
from isinglass.attack.noise.band_filter import filter_rows
from isinglass.attack.row_order import RowOrderAttack
from isinglass.attack.spectral import SpectralAttack
from isinglass.errors import AttackError


def explained(guess, truth):
    return float((1 - ((guess - truth) ** 2).mean(axis=0) / truth.var(axis=0)).mean())


def waves(rows=1200, seed=0):
    rng = np.random.default_rng(seed)
    time = np.arange(rows)[:, np.newaxis]
    swings = np.sin(2 * np.pi * rng.uniform(0.002, 0.02, 3) * time + rng.uniform(0, 6, 3))
    return swings @ rng.normal(size=(3, 8)) + 0.1 * rng.normal(size=(rows, 8)) + 50


def noisy(table, scale, seed=1):
    noise = np.random.default_rng(seed).normal(size=table.shape)
    return table + scale * table.std(axis=0) * noise


def known_of(table):
    return RowOrder(np.arange(len(table))) | ColumnStatistics.of(table)


def test_waves_come_out_of_three_times_their_noise():
    table = waves()
    released = noisy(table, 3)
    guess = RowOrderAttack().guess(released, known_of(table))
    assert explained(guess, table) > 0.85
    assert explained(SpectralAttack().guess(released, ColumnStatistics.of(table)), table) < 0.35


def test_jumps_are_not_smeared():
    rng = np.random.default_rng(2)
    table = np.repeat(rng.normal(size=(5, 6))[rng.integers(0, 5, 30)], 40, axis=0)
    released = noisy(table, 2)
    found = RowOrderAttack().guess(released, known_of(table))
    width = np.ones(9) / 9
    average = np.stack([np.convolve(c, width, "same") for c in released.T], axis=1)
    assert explained(found, table) > explained(average, table) + 0.1


def test_engines_in_the_order_of_their_flights(real_data):
    data = pq.read_table(real_data / "cmapss_fd003_train.parquet").slice(0, 2000)
    table = np.column_stack(
        [data[n].to_numpy() for n in data.column_names if n.startswith("sensor")]
    ).astype(np.float64)
    table = table[:, table.std(axis=0) > 1e-6]
    released = noisy(table, 6)
    known = known_of(table)
    assert explained(RowOrderAttack().guess(released, known), table) > 0.45
    # 60 records more say what smoothing cannot.
    rows = np.random.default_rng(3).choice(2000, 60, replace=False)
    pairs = known | KnownPairs(rows, table[rows])
    guess = RowOrderAttack(random_state=0).guess(released, pairs)
    others = np.setdiff1d(np.arange(2000), rows)
    assert explained(guess[others], table[others]) > 0.55
    np.testing.assert_array_equal(guess[rows], table[rows])


def test_shuffled_rows_gain_nothing():
    table = np.random.default_rng(4).permutation(waves())
    released = noisy(table, 3)
    statistics = ColumnStatistics.of(table)
    alone = explained(SpectralAttack().guess(released, statistics), table)
    found = explained(RowOrderAttack().guess(released, known_of(table)), table)
    assert abs(found - alone) < 0.05


def test_the_file_tells_the_order_and_not_the_rows_number():
    table = waves()
    released = noisy(table, 3)
    mixed = np.random.default_rng(5).permutation(len(table))
    plain = RowOrderAttack().guess(released, known_of(table))
    order = RowOrder(mixed) | ColumnStatistics.of(table)
    np.testing.assert_allclose(
        RowOrderAttack().guess(released[mixed], order), plain[mixed], rtol=1e-9
    )


@pytest.mark.parametrize("seed", range(3))
def test_noise_alone_is_filtered_to_nothing(seed):
    white = np.random.default_rng(seed).normal(size=(1000, 7))
    assert np.square(filter_rows(white)).mean() < 0.002


def test_a_fresh_table_unrelated_to_the_records_gains_nothing():
    table, other = waves(), waves(seed=9)
    fresh = other[np.random.default_rng(6).permutation(len(other))]
    guess = RowOrderAttack().guess(noisy(fresh, 1), known_of(table))
    assert explained(guess, table) < 0.05


def test_a_sample_tells_the_directions():
    table = waves(seed=7)
    released = noisy(table, 8)
    known = known_of(table)
    rows = np.random.default_rng(7).choice(len(table), 120, replace=False)
    with_sample = RowOrderAttack().guess(released, known | PopulationSample(table[rows]))
    assert (
        explained(with_sample, table)
        > explained(RowOrderAttack().guess(released, known), table) + 0.03
    )


def test_known_records_are_interpolated_whatever_the_method():
    table = waves(seed=8)
    rng = np.random.default_rng(8)
    released = noisy(table, 2) @ rng.normal(size=(8, 3))  # columns that mean nothing by themselves
    rows = rng.choice(len(table), 200, replace=False)
    known = known_of(table) | KnownPairs(rows, table[rows])
    guess = RowOrderAttack(random_state=0).guess(released, known)
    others = np.setdiff1d(np.arange(len(table)), rows)
    assert explained(guess[others], table[others]) > 0.7


def skewed_table(rows=1500):
    return np.random.default_rng(10).gamma(1.0, size=(rows, 5))


@pytest.mark.parametrize("scale", [1.0, 3.0, 10.0])
def test_noise_shared_by_blocks_of_rows_is_taken_off(scale):
    table = skewed_table()
    draws = np.random.default_rng(11).normal(size=(30, 5))
    released = table + scale * table.std(axis=0) * np.repeat(draws, 50, axis=0)
    assert explained(RowOrderAttack().guess(released, known_of(table)), table) > 0.95
    # One known record of a block tells its noise, and so the rest of the block.
    rows = np.arange(0, 1500, 50)
    known = known_of(table) | KnownPairs(rows, table[rows])
    np.testing.assert_allclose(RowOrderAttack().guess(released, known), table, atol=1e-9)


def test_the_same_noise_again_for_every_block_is_taken_off():
    table = skewed_table()
    draws = np.random.default_rng(12).normal(size=(100, 5))
    released = table + 3 * table.std(axis=0) * np.tile(draws, (15, 1))
    assert explained(RowOrderAttack().guess(released, known_of(table)), table) > 0.85


def test_noise_of_each_rows_own_is_not_taken_for_shared():
    table = skewed_table()
    released = noisy(table, 1)
    found = explained(RowOrderAttack().guess(released, known_of(table)), table)
    assert found > 0.45  # half of the variance is in the release; less would be a wrong idea


def test_releases_are_averaged_first():
    table = waves(seed=13)
    first, second = noisy(table, 6, 1), noisy(table, 6, 2)
    one = RowOrderAttack().guess(first, known_of(table))
    both = RowOrderAttack().guess(first, known_of(table) | OtherReleases((second,)))
    assert explained(both, table) > explained(one, table) + 0.02


@pytest.mark.parametrize(
    "parameters",
    [{"scale": "3"}, {"scale": [1, 2]}, {"scale": float("nan")}, {"scale": None}, {"scale": -1}],
)
def test_odd_parameters_are_a_hint_at_most(parameters):
    table = waves()
    released = noisy(table, 3)
    said = PublicParameters("additive_noise", parameters) | RowOrder(np.arange(len(table)))
    assert explained(RowOrderAttack().guess(released, said), table) > 0.8


def test_what_cannot_begin_says_so():
    table = waves()
    with pytest.raises(AttackError, match="needs RowOrder"):
        RowOrderAttack().guess(table, ColumnStatistics.of(table))
    with pytest.raises(AttackError, match="known pairs"):
        RowOrderAttack().guess(table[:, :3], RowOrder(np.arange(len(table))))
    with pytest.raises(AttackError, match="one position"):
        RowOrderAttack().guess(table, RowOrder(np.arange(3)) | ColumnStatistics.of(table))
    # Columns of another kind, and nothing known about rows: the mean is all there is.
    guess = RowOrderAttack().guess(table[:, :3], known_of(table))
    np.testing.assert_allclose(guess, np.tile(table.mean(axis=0), (len(table), 1)))


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_a_handful_of_rows_is_guessed_without_failing(rows):
    table = waves()[:rows]
    guess = RowOrderAttack().guess(table + 1.0, known_of(table))
    assert guess.shape == table.shape
    assert np.isfinite(guess).all()


def test_rows_that_share_noise_are_moved_on_to_the_records_of_a_public_table():
    rng = np.random.default_rng(31)
    X = rng.normal(size=(600, 5))
    Z = X + np.repeat(8 * rng.normal(size=(20, 5)), 30, axis=0)
    known = RowOrder(np.arange(600)) | ColumnStatistics.of(X)
    found = RowOrderAttack().guess(Z, known | PublicTable(rng.permutation(X)))
    assert (found == X).all(axis=1).mean() > 0.95
    # Noise of each row's own is nobody else's: then nothing is claimed.
    alone = RowOrderAttack().guess(X + 8 * rng.normal(size=X.shape), known | PublicTable(X))
    np.testing.assert_allclose(alone, np.tile(X.mean(axis=0), (600, 1)))


def test_ends_of_uniform_noise_add_up_along_the_rows():
    table = waves()
    noise = np.random.default_rng(1).uniform(-1, 1, size=table.shape) * np.sqrt(3)
    released = table + 12 * table.std(axis=0, ddof=1) * noise
    said = PublicParameters("additive_noise", {"scale": 12.0, "distribution": "uniform"})
    known = known_of(table) | said
    by_law = explained(RowOrderAttack(by_law=True).guess(released, known), table)
    assert by_law > explained(RowOrderAttack().guess(released, known), table) + 0.15
    assert by_law > 0.5
    shuffled = np.random.default_rng(2).permutation(released)
    assert explained(RowOrderAttack(by_law=True).guess(shuffled, known), table) < 0.02
