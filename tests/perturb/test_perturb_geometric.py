"""A geometric perturbation is a rigid motion plus noise that belongs to the row."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import pdist

from isinglass.errors import PrivacyWarning, ReleaseError
from isinglass.perturb.geometric import GeometricPerturbation
from isinglass.perturb.registry import load_key

TABLE = np.random.default_rng(7).random((600, 6))


def geometric(noise=0.05, **settings):
    return GeometricPerturbation(noise, bounds="scaled", random_state=0, **settings)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_distances_survive_without_noise(dtype, tolerance):
    table = TABLE.astype(dtype)
    released = geometric(0.0).fit_transform(table)
    assert released.dtype == dtype
    np.testing.assert_allclose(pdist(released), pdist(table), rtol=tolerance)


def test_the_key_is_a_rotation_and_a_shift_inside_the_cube():
    key = geometric().fit(TABLE)._key
    np.testing.assert_allclose(key.rotation @ key.rotation.T, np.eye(6), atol=1e-14)
    assert ((key.translation >= 0) & (key.translation < 1)).all()
    assert "array" not in repr(key)


def test_noise_is_normal_with_the_deviation_asked_for():
    table = np.random.default_rng(0).random((5000, 6))
    noise = geometric(0.3).fit_transform(table) - geometric(0.0).fit_transform(table)
    assert stats.kstest(noise.ravel() / 0.3, "norm").pvalue > 0.01
    assert np.abs(np.corrcoef(noise.T) - np.eye(6)).max() < 5 / np.sqrt(5000)


def test_squared_distances_grow_by_the_noise():
    released = geometric(0.2).fit_transform(TABLE)
    growth = (pdist(released) ** 2 - pdist(TABLE) ** 2).mean()
    assert growth == pytest.approx(2 * 6 * 0.2**2, rel=0.05)


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(1, 599), max_size=6, unique=True))
def test_batches_do_not_change_a_byte(cuts):
    edges = [0, *sorted(cuts), 600]
    for table in (TABLE, TABLE.astype(np.float32)):
        whole = geometric().fit(table).transform(table)
        in_order, by_number = geometric().fit(table), geometric().fit(table)
        parts = [in_order.transform(table[a:b]) for a, b in itertools.pairwise(edges)]
        np.testing.assert_array_equal(np.vstack(parts), whole)
        for a, b in reversed(list(itertools.pairwise(edges))):
            np.testing.assert_array_equal(by_number.transform_rows(table[a:b], a), whole[a:b])


def test_no_row_of_noise_is_used_twice():
    veil = geometric().fit(TABLE)
    releases = np.vstack([veil.transform(TABLE[:1].repeat(n, axis=0)) for n in (1, 50, 7)])
    assert len(np.unique(releases, axis=0)) == 58


def test_only_noise_makes_the_key_a_pad():
    noisy, quiet = geometric(0.05).fit(TABLE), geometric(0.0).fit(TABLE)
    assert (noisy.draws_noise, quiet.draws_noise) == (True, False)
    with pytest.warns(PrivacyWarning):
        noisy, quiet = pickle.loads(pickle.dumps((noisy, quiet)))
    with pytest.raises(ReleaseError, match="transform_rows"):
        noisy.transform(TABLE)
    np.testing.assert_array_equal(quiet.transform(TABLE), geometric(0.0).fit_transform(TABLE))


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_saved_key_gives_the_same_bytes(noise, tmp_path):
    with pytest.warns(PrivacyWarning, match="learned"):
        veil = GeometricPerturbation(noise).fit(TABLE)
    released = veil.transform(TABLE)
    veil.save_key(tmp_path / "g.key")
    found = load_key(tmp_path / "g.key")
    assert found.bounds is None  # learned bounds stay in the key
    np.testing.assert_array_equal(found.transform_rows(TABLE[9:], 9), released[9:])


def test_recognized_records_leave_the_noise_alone_to_hide_the_rest():
    released = geometric(0.05).fit_transform(TABLE)
    known = 200
    forward, *_ = np.linalg.lstsq(
        np.column_stack([released[:known], np.ones(known)]), TABLE[:known], rcond=None
    )
    guess = np.column_stack([released, np.ones(600)]) @ forward
    error = (guess - TABLE)[known:].std()
    assert 0.04 < error < 0.06


def test_one_column_is_moved_too():
    released = geometric(0.0).fit_transform(TABLE[:, :1])
    np.testing.assert_allclose(np.ptp(released), np.ptp(TABLE[:, 0]), rtol=1e-12)


def test_the_size_of_the_key_is_known():
    veil = geometric().fit(TABLE)
    key = veil._key
    assert veil.key_bytes(6) == sum(getattr(key, name).nbytes for name in key.__slots__)


@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf])
def test_bad_noise_is_named(noise):
    with pytest.raises(ValueError, match="noise must be >= 0 and finite"):
        geometric(noise).fit(TABLE)


@pytest.mark.parametrize("noise", [0.0, 0.05, 3.0])
def test_undo_takes_the_noise_of_the_right_rows_out(noise):
    veil = geometric(noise)
    released = veil.fit_transform(TABLE)
    room = 1e-13 + noise * np.sqrt(TABLE.shape[1]) / 2**18  # the release is rounded
    np.testing.assert_allclose(veil.inverse_transform(released), TABLE, atol=room)
    np.testing.assert_allclose(
        veil.inverse_transform(released[100:], first_row=100), TABLE[100:], atol=room
    )
    if noise:  # noise of other rows does not subtract out
        assert (veil.inverse_transform(released[100:]) - TABLE[100:]).std() > noise
