"""Random projections keep squared distances on average, with the spread they claim."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.perturb.projection import RandomProjection
from isinglass.perturb.registry import load_key

TABLE = np.random.default_rng(5).random((500, 12))


def ratios(n_components, weights, draws=800):
    """Squared distance of two fixed records after projection, over the one before."""
    pair = TABLE[:2]
    before = ((pair[0] - pair[1]) ** 2).sum()
    found = []
    for seed in range(draws):
        veil = RandomProjection(n_components, weights=weights, bounds="scaled", random_state=seed)
        a, b = veil.fit_transform(pair)
        found.append(((a - b) ** 2).sum() / before)
    return np.array(found)


def test_gaussian_weights_keep_squared_distances_on_average():
    found = ratios(5, "gaussian")
    spread = np.sqrt(2 / 5)
    assert found.mean() == pytest.approx(1, abs=4 * spread / np.sqrt(len(found)))
    assert found.std() == pytest.approx(spread, rel=0.1)


def test_orthogonal_weights_keep_squared_distances_on_average_and_better():
    found = ratios(5, "orthogonal")
    spread = np.sqrt(2 * (12 - 5) / (5 * (12 + 2)))
    assert found.mean() == pytest.approx(1, abs=4 * spread / np.sqrt(len(found)))
    assert found.std() == pytest.approx(spread, rel=0.1)


def test_orthogonal_weights_as_wide_as_the_table_are_a_rotation():
    veil = RandomProjection(12, weights="orthogonal", bounds="scaled", random_state=0).fit(TABLE)
    np.testing.assert_allclose(
        np.linalg.norm(veil.transform(TABLE), axis=1), np.linalg.norm(TABLE, axis=1), rtol=1e-13
    )


def test_the_release_is_the_scaled_table_times_the_key():
    low, high = np.full(12, -3.0), np.full(12, 5.0)
    veil = RandomProjection(4, bounds=(low, high), random_state=0).fit(TABLE)
    expected = (TABLE - low) / (high - low) @ veil._key.projection.T
    np.testing.assert_allclose(veil.transform(TABLE), expected, rtol=1e-12)


@pytest.mark.parametrize(("columns", "released"), [(1, 1), (2, 1), (3, 2), (12, 6)])
def test_half_of_the_columns_leave_by_default(columns, released):
    veil = RandomProjection(bounds="scaled", random_state=0)
    assert veil.fit_transform(TABLE[:, :columns]).shape == (500, released)
    assert list(veil.get_feature_names_out()) == [f"z{i}" for i in range(released)]
    assert veil.key_bytes(columns) == veil._key.projection.nbytes


@pytest.mark.parametrize("weights", ["gaussian", "orthogonal"])
@settings(max_examples=30)
@given(cuts=st.lists(st.integers(1, 499), max_size=6, unique=True))
def test_batches_do_not_change_a_byte(weights, cuts):
    veil = RandomProjection(7, weights=weights, bounds="scaled", random_state=0)
    for table in (TABLE, TABLE.astype(np.float32)):
        whole = veil.fit_transform(table)
        assert whole.dtype == table.dtype
        edges = [0, *sorted(cuts), 500]
        parts = [veil.transform(table[a:b]) for a, b in itertools.pairwise(edges)]
        np.testing.assert_array_equal(np.vstack(parts), whole)


def test_a_saved_key_gives_the_same_bytes(tmp_path):
    veil = RandomProjection(5, bounds=(-1, 2), random_state=0).fit(TABLE)
    veil.save_key(tmp_path / "p.key", passphrase="open")
    found = load_key(tmp_path / "p.key", passphrase="open")
    np.testing.assert_array_equal(found.transform(TABLE), veil.transform(TABLE))


def test_twelve_recognized_records_give_the_projection_away():
    veil = RandomProjection(6, bounds="scaled", random_state=0).fit(TABLE)
    released = veil.transform(TABLE)
    guess, *_ = np.linalg.lstsq(TABLE[:12], released[:12], rcond=None)
    np.testing.assert_allclose(guess.T, veil._key.projection, atol=1e-9)


@pytest.mark.parametrize(
    ("veil", "message"),
    [
        (RandomProjection(0), "n_components must be"),
        (RandomProjection(2.5), "n_components must be"),
        (RandomProjection(weights="sparse"), "weights must be"),
        (RandomProjection(13, weights="orthogonal"), "<= the table's 12 columns"),
    ],
)
def test_bad_settings_are_named(veil, message):
    with pytest.raises(ValueError, match=message):
        veil.set_params(bounds="scaled").fit(TABLE)


def share_recovered(table, guess):
    return 1 - np.square(guess - table).sum() / np.square(table - table.mean(axis=0)).sum()


@pytest.mark.parametrize(("n_components", "weights"), [(12, "gaussian"), (15, "gaussian")])
def test_undo_is_exact_with_as_many_columns_released(n_components, weights):
    veil = RandomProjection(n_components, weights=weights, bounds="scaled", random_state=0)
    np.testing.assert_allclose(veil.inverse_transform(veil.fit_transform(TABLE)), TABLE, atol=1e-10)


def test_undo_of_independent_columns_recovers_the_share_of_columns_released():
    records = np.random.default_rng(8).random((4000, 12))
    veil = RandomProjection(6, weights="orthogonal", bounds="scaled", random_state=0)
    found = veil.inverse_transform(veil.fit_transform(records), sample=records[:2000])
    # Half of the variance is in sight; that values lie in [0, 1] adds a little.
    assert 0.48 < share_recovered(records, found) < 0.56


def test_undo_with_a_sample_uses_that_columns_go_together():
    rng = np.random.default_rng(9)
    records = rng.random((1000, 3)) @ rng.random((3, 12)) / 3 + 0.02 * rng.random((1000, 12))
    veil = RandomProjection(6, bounds=(0, 1.1), random_state=0)
    released = veil.fit_transform(records)
    blind = share_recovered(records, veil.inverse_transform(released))
    informed = share_recovered(records, veil.inverse_transform(released, sample=records[:300]))
    assert informed > 0.98
    assert informed > blind + 0.2
