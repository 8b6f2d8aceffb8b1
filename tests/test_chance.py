"""Keys come from the operating system; a row's noise depends on its number alone."""

import os
import struct

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isinglass import chance


def test_without_a_seed_two_generators_differ_and_urandom_is_asked(monkeypatch):
    asked = []

    def urandom(n):
        asked.append(n)
        return bytes(range(n))

    assert chance.generator().random() != chance.generator().random()
    monkeypatch.setattr(os, "urandom", urandom)
    first, second = chance.generator().random(), chance.generator().random()
    assert asked == [32, 32]
    assert first == second  # the key decides everything


@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_a_seed_repeats(seed):
    assert chance.generator(seed).random() == chance.generator(seed).random()


def test_generators_are_taken_as_they_are():
    rng = np.random.default_rng(1)
    assert chance.generator(rng) is rng
    a, b = (chance.generator(np.random.RandomState(3)).random() for _ in range(2))
    assert a == b


@pytest.mark.parametrize("bad", [-1, "seed", 1.5])
def test_other_seeds_are_refused(bad):
    with pytest.raises(ValueError, match="random_state must be"):
        chance.generator(bad)


def test_the_stream_is_chacha20_as_openssl_computes_it():
    key = np.arange(4, dtype=np.uint64) + 5
    cipher = Cipher(algorithms.ChaCha20(key.tobytes(), struct.pack("<QQ", 0, 0)), mode=None)
    expected = np.frombuffer(cipher.encryptor().update(bytes(800)), dtype=np.uint64)
    np.testing.assert_array_equal(chance.Stream(key).words(0, 100)[:, 0], expected)


@given(
    first=st.integers(0, 2**50),
    cut=st.integers(0, 30),
    width=st.integers(1, 9),
)
def test_a_rows_words_do_not_depend_on_the_batch(first, cut, width):
    stream = chance.Stream(np.array([1, 2, 3, 4], dtype=np.uint64))
    whole = stream.words(first, 30, width)
    parts = np.vstack([stream.words(first, cut, width), stream.words(first + cut, 30 - cut, width)])
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "law"), [("uniform", stats.uniform()), ("normal", stats.norm())])
def test_the_stream_has_the_law_it_claims(draw, law):
    stream = chance.Stream(np.array([9, 8, 7, 6], dtype=np.uint64))
    values = getattr(stream, draw)(0, 100_000, 3)
    assert stats.kstest(values.ravel(), law.cdf).pvalue > 1e-6
    assert np.isfinite(values).all()
    # Neighboring rows and columns are unrelated: |r| below five standard errors.
    for a, b in [(values[:-1, 0], values[1:, 0]), (values[:, 0], values[:, 1])]:
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(len(a))


def test_uniform_stays_inside_the_open_interval():
    class Extreme(chance.Stream):
        __slots__ = ()

        def words(self, first_row, n_rows, width=1):
            return np.array([[0, 2**64 - 1]], dtype=np.uint64)

    extreme = Extreme(np.zeros(4, np.uint64))
    low, high = extreme.uniform(0, 1, 2)[0]
    assert 0 < low < high < 1
    assert np.abs(extreme.normal(0, 1, 2)).max() < 8.21


def test_haar_is_orthogonal_and_its_sign_is_fair():
    rng = chance.generator(0)
    q = chance.haar(rng, 6)
    np.testing.assert_allclose(q @ q.T, np.eye(6), atol=1e-14)
    # QR without Mezzadri's correction gives a biased first entry; the mean must be near zero.
    corner = [chance.haar(rng, 3)[0, 0] for _ in range(4000)]
    assert abs(np.mean(corner)) < 5 * np.sqrt(1 / 3 / 4000)


def test_a_stream_does_not_print_its_key():
    assert "123456789" not in repr(chance.Stream(np.full(4, 123456789, dtype=np.uint64)))


def test_some_rows_of_a_haar_matrix_cost_only_themselves():
    rows = chance.haar(chance.generator(1), 2000, 3)
    assert rows.shape == (3, 2000)
    np.testing.assert_allclose(rows @ rows.T, np.eye(3), atol=1e-13)
    corner = [chance.haar(chance.generator(s), 3, 1)[0, 0] for s in range(4000)]
    assert abs(np.mean(corner)) < 5 * np.sqrt(1 / 3 / 4000)
