"""Noise has the law it claims, and a row gets its own noise whoever asks for it."""

from __future__ import annotations

import itertools
import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from isinglass import chance
from isinglass.errors import PrivacyWarning, ReleaseError
from isinglass.perturb.noise import AdditiveNoise, MultiplicativeNoise, row_chunks
from isinglass.perturb.registry import load_key

TABLE = np.random.default_rng(3).gamma(2.0, size=(4000, 5)) * [1, 10, 0.1, 1e4, 3] + [
    0,
    5,
    0,
    0,
    -9,
]
KINDS = {
    "gaussian": lambda: AdditiveNoise(scale=0.5, random_state=1),
    "uniform": lambda: AdditiveNoise(
        "uniform", scale=[1, 2, 3, 4, 5], relative=False, random_state=2
    ),
    "multiplicative": lambda: MultiplicativeNoise(0.2, random_state=3),
}


@pytest.fixture(params=KINDS, ids=list(KINDS))
def kind(request):
    return KINDS[request.param]


def test_gaussian_noise_is_normal_with_the_columns_deviation_times_scale():
    noise = AdditiveNoise(scale=2.0, random_state=0).fit_transform(TABLE) - TABLE
    standard = noise / (2.0 * TABLE.std(axis=0, ddof=1))
    assert stats.kstest(standard.ravel(), "norm").pvalue > 0.01
    for column in standard.T:
        assert stats.kstest(column, "norm").pvalue > 0.001


def test_uniform_noise_is_centered_and_has_the_deviation_asked_for():
    noise = AdditiveNoise("uniform", scale=0.7, relative=False, random_state=0).fit_transform(TABLE)
    noise -= TABLE
    half = np.sqrt(3) * 0.7
    assert np.abs(noise).max() <= half * (1 + 1e-9)
    assert stats.kstest(noise.ravel(), stats.uniform(-half, 2 * half).cdf).pvalue > 0.01
    assert noise.std() == pytest.approx(0.7, rel=0.02)


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_noise_of_different_entries_is_unrelated(distribution):
    z = AdditiveNoise(distribution, relative=False, random_state=0).fit_transform(
        np.zeros((20_000, 4))
    )
    beside = np.column_stack([z[1:], z[:-1]])
    off = np.corrcoef(beside.T) - np.eye(8)
    assert np.abs(off).max() < 5 / np.sqrt(len(beside))


def test_a_constant_column_gets_no_relative_noise_and_says_so():
    table = TABLE.copy()
    table[:, 2] = 7.25
    with pytest.warns(PrivacyWarning, match="1 of 5 columns get no noise"):
        released = AdditiveNoise(random_state=0).fit_transform(table)
    np.testing.assert_array_equal(released[:, 2], table[:, 2])
    assert (released[:, [0, 1, 3, 4]] != table[:, [0, 1, 3, 4]]).all()


@pytest.mark.parametrize("veil", [AdditiveNoise(scale=0.0), MultiplicativeNoise(0.0)])
def test_no_noise_is_the_table_itself_and_a_warning(veil):
    with pytest.warns(PrivacyWarning, match="as they are|as it is"):
        released = veil.fit_transform(TABLE)
    np.testing.assert_array_equal(released, TABLE)


def test_absolute_scales_go_column_by_column():
    scales = np.array([0.1, 1.0, 10.0, 100.0, 0.5])
    veil = AdditiveNoise(scale=scales, relative=False, random_state=0)
    found = (veil.fit_transform(TABLE) - TABLE).std(axis=0)
    np.testing.assert_allclose(found, scales, rtol=0.05)


@pytest.mark.parametrize("scale", [0.05, 1 / 3, 0.5, 1.0])
def test_factors_follow_a_normal_law_cut_evenly_around_one(scale):
    factors = MultiplicativeNoise(scale, random_state=0).fit_transform(np.ones((20_000, 2))).ravel()
    cut = min(1, 3 * scale) / scale
    law = stats.truncnorm(-cut, cut, loc=1, scale=scale)
    assert stats.kstest(factors, law.cdf).pvalue > 0.01
    assert factors.mean() == pytest.approx(1, abs=5 * law.std() / np.sqrt(len(factors)))
    assert factors.min() >= 0
    assert factors.max() <= 2


def test_the_deviation_of_factors_is_what_the_docstring_says():
    assert stats.truncnorm(-3, 3).std() == pytest.approx(0.987, abs=5e-4)
    assert stats.truncnorm(-1, 1).std() == pytest.approx(0.540, abs=5e-4)


def test_factors_keep_zeros_and_signs():
    table = TABLE - TABLE.mean(axis=0)
    table[::7, 1] = 0.0
    released = MultiplicativeNoise(1.0, random_state=0).fit_transform(table)
    np.testing.assert_array_equal(np.sign(released), np.sign(table))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_noise_is_added_in_double_precision_and_leaves_as_it_came(dtype):
    table = TABLE.astype(dtype)
    veil = AdditiveNoise(scale=3.0, relative=False, random_state=0)
    released = veil.fit_transform(table)
    assert released.dtype == dtype
    noise = 3.0 * chance.Stream(veil._key.stream).normal(0, *table.shape)
    grid = 2.0**-17  # at most 3 / 2**18
    expected = np.round((table + noise) / grid) * grid
    np.testing.assert_array_equal(released, expected.astype(dtype))


def test_a_table_larger_than_a_chunk_gets_one_unbroken_stream():
    table = np.zeros((2**18 // 3 + 1000, 3))
    assert len(list(row_chunks(*table.shape))) == 2
    veil = AdditiveNoise(relative=False, random_state=0).fit(table)
    noise = chance.Stream(veil._key.stream).normal(0, *table.shape)
    np.testing.assert_array_equal(veil.transform(table), np.round(noise * 2**18) / 2**18)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=30)
@given(cuts=st.lists(st.integers(1, 299), max_size=6, unique=True))
def test_batches_do_not_change_a_byte(dtype, cuts):
    table = TABLE[:300].astype(dtype)
    edges = [0, *sorted(cuts), 300]
    for make in KINDS.values():
        whole = make().fit(table).transform(table)
        one_by_one, by_number = make().fit(table), make().fit(table)
        in_order = [one_by_one.transform(table[a:b]) for a, b in itertools.pairwise(edges)]
        np.testing.assert_array_equal(np.vstack(in_order), whole)
        for a, b in reversed(list(itertools.pairwise(edges))):
            np.testing.assert_array_equal(by_number.transform_rows(table[a:b], a), whole[a:b])


def test_no_row_of_noise_is_used_twice(kind):
    veil = kind().fit(TABLE)
    record = TABLE[:1]
    releases = np.vstack([veil.transform(record.repeat(n, axis=0)) for n in (1, 40, 3, 100)])
    for column in releases.T:
        assert len(np.unique(column)) == 144


def test_refitting_draws_another_pad(kind):
    veil = kind().set_params(random_state=None)
    assert (veil.fit_transform(TABLE) != veil.fit_transform(TABLE)).all()


def test_a_pickled_copy_asks_for_row_numbers(kind):
    veil = kind().fit(TABLE)
    with pytest.warns(PrivacyWarning, match="pickled"):
        copy = pickle.loads(pickle.dumps(veil))
    with pytest.raises(ReleaseError, match="transform_rows"):
        copy.transform(TABLE)
    np.testing.assert_array_equal(copy.transform_rows(TABLE, 0), veil.transform(TABLE))


def test_a_forked_copy_asks_for_row_numbers(kind, monkeypatch):
    veil = kind().fit(TABLE)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ReleaseError, match="another process"):
        veil.transform(TABLE)


def test_a_saved_key_gives_the_same_bytes_by_row_number(kind, tmp_path):
    veil = kind().fit(TABLE)
    released = veil.transform(TABLE)
    veil.save_key(tmp_path / "pad.key")
    for found in (load_key(tmp_path / "pad.key"), type(veil).from_key(tmp_path / "pad.key")):
        assert type(found) is type(veil)
        with pytest.raises(ReleaseError, match="transform_rows"):
            found.transform(TABLE)
        np.testing.assert_array_equal(found.transform_rows(TABLE[17:], 17), released[17:])


def test_columns_keep_their_names():
    frame = pd.DataFrame(TABLE, columns=list("abcde"))
    veil = AdditiveNoise(random_state=0).set_output(transform="pandas").fit(frame)
    assert list(veil.transform(frame).columns) == list("abcde")


def test_the_key_does_not_print_and_its_size_is_known(kind):
    veil = kind().fit(TABLE)
    key = veil._key
    assert "array" not in repr(key)
    arrays = [getattr(key, name) for name in key.__slots__]
    assert veil.key_bytes(5) == sum(a.nbytes for a in arrays)


@pytest.mark.parametrize(
    ("veil", "message"),
    [
        (AdditiveNoise("laplace"), "distribution must be"),
        (AdditiveNoise(scale=-1.0), "scale must be >= 0"),
        (AdditiveNoise(scale=np.nan), "scale must be >= 0"),
        (AdditiveNoise(scale=np.inf), "scale must be >= 0"),
        (AdditiveNoise(scale=[1.0, 2.0]), "one for each of the 5 columns"),
        (MultiplicativeNoise(-0.1), "scale must be >= 0 and <= 1"),
        (MultiplicativeNoise(1.5), "scale must be >= 0 and <= 1"),
        (MultiplicativeNoise(np.nan), "scale must be >= 0 and <= 1"),
    ],
)
def test_bad_settings_are_named(veil, message):
    with pytest.raises(ValueError, match=message):
        veil.fit(TABLE)


def test_ordinary_settings_do_not_warn(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind().fit_transform(TABLE)


def test_undo_draws_the_same_noise_again_and_takes_it_out(kind):
    noise = kind().fit(TABLE)
    released = noise.transform_rows(TABLE, 0)
    reach = np.abs(released).max(axis=0) + np.abs(TABLE).max(axis=0)
    room = 2.0**-18 * reach  # releases are rounded
    assert (np.abs(noise.inverse_transform(released) - TABLE) <= room).all()
    later = noise.inverse_transform(released[1000:1010], first_row=1000)
    assert (np.abs(later - TABLE[1000:1010]) <= room).all()
    # Noise of other rows adds to what is there.
    assert (np.abs(noise.inverse_transform(released[1:]) - TABLE[1:]) > 4 * room).mean() > 0.9


def test_undo_leaves_what_a_factor_of_zero_took(monkeypatch):
    noise = MultiplicativeNoise(1.0, random_state=3).fit(TABLE)
    monkeypatch.setattr(noise, "_factors", lambda *_: np.array([[0.0, 2.0, 0.5, 1.0, 1.0]]))
    released = noise.transform_rows(TABLE[:1], 0)
    np.testing.assert_allclose(noise.inverse_transform(released)[0, 1:], TABLE[0, 1:], rtol=1e-5)
    assert noise.inverse_transform(released)[0, 0] == 0


def test_undo_of_no_factors_is_a_copy():
    noise = MultiplicativeNoise(0.0, random_state=3)
    with pytest.warns(PrivacyWarning, match="leaves as it is"):
        noise.fit(TABLE)
    np.testing.assert_array_equal(noise.inverse_transform(TABLE), TABLE)
