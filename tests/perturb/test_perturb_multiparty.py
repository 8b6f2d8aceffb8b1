"""Random multiparty perturbation: a matrix anyone can expand again, and what it gives away."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.activations import BEST_CURVATURE, double_logistic
from isinglass.errors import PrivacyWarning, ReleaseError
from isinglass.perturb.multiparty import MultipartyPerturbation, public_transform
from isinglass.perturb.public_matrix import PublicMatrix, public_matrix
from isinglass.perturb.registry import load_key

TABLE = np.random.default_rng(13).random((400, 8))
SEED = "00112233445566778899aabbccddeeff"
MATRIX = public_matrix(8, study="flights", seed=SEED)
GOLDEN_FINGERPRINT = "c6ffbc9f6650e8eb7aee754205e380a70241940ced06a1fd3904312805a9a3cd"
GOLDEN_ENTRIES = ["0x1.865ab717b9392p-2", "0x1.500f5595b1818p-1", "0x1.25f83789b39b0p-4"]


def multiparty(matrix=MATRIX, alpha=0.1, **settings):
    settings = {"bounds": "scaled", "random_state": 0} | settings
    return MultipartyPerturbation(matrix, alpha=alpha, **settings)


# The public matrix.


def test_the_matrix_is_read_off_shake_256():
    def part(data):
        return len(data).to_bytes(8, "big") + data

    text = part(b"isinglass-public-matrix-1") + part(b"flights")
    text += part((8).to_bytes(8, "big")) + part((4).to_bytes(8, "big")) + part(bytes.fromhex(SEED))
    stream = hashlib.shake_256(text).digest(8 * 4 * 8)
    words = [int.from_bytes(stream[i : i + 8], "big") >> 11 for i in range(0, len(stream), 8)]
    expected = np.array([w / 2**53 for w in words]).reshape(4, 8)
    np.testing.assert_array_equal(MATRIX.matrix, expected)
    assert MATRIX.fingerprint == hashlib.sha256(text).hexdigest()


def test_the_same_facts_give_the_same_matrix_for_ever():
    assert MATRIX.fingerprint == GOLDEN_FINGERPRINT
    assert [x.hex() for x in MATRIX.matrix.ravel()[[0, 1, -1]]] == GOLDEN_ENTRIES


def test_entries_are_uniform():
    entries = public_matrix(200, seed=SEED).matrix.ravel()
    assert 0 <= entries.min() < 1e-3
    assert 1 - 1e-3 < entries.max() < 1
    assert entries.mean() == pytest.approx(0.5, abs=0.01)
    assert entries.var() == pytest.approx(1 / 12, rel=0.03)


@pytest.mark.parametrize(
    "other",
    [
        PublicMatrix(8, 4, "flight", SEED),
        PublicMatrix(8, 4, "flights", SEED + "00"),
        PublicMatrix(8, 4, "flights", "01" + SEED[2:]),
        PublicMatrix(8, 3, "flights", SEED),
        PublicMatrix(9, 4, "flights", SEED),
    ],
)
def test_any_other_fact_gives_another_matrix(other):
    assert other.fingerprint != MATRIX.fingerprint
    shared = min(other.n_features, 8)
    assert (other.matrix[0, :shared] != MATRIX.matrix[0, :shared]).all()


def test_seeds_are_drawn_fresh():
    assert public_matrix(8).seed != public_matrix(8).seed
    assert len(public_matrix(8).seed) == 64


@pytest.mark.parametrize(("n", "w"), [(2, 1), (3, 2), (8, 4), (9, 5)])
def test_half_of_the_columns_is_the_default_and_the_most(n, w):
    assert public_matrix(n).matrix.shape == (w, n)
    assert public_matrix(n, preset="paper").n_components == n - 1
    if w + 1 < n:
        with pytest.raises(ValueError, match="most of the variance"):
            public_matrix(n, w + 1)
        assert public_matrix(n, w + 1, force=True).n_components == w + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_features": 1}, "n_features=1"),
        ({"n_features": 4, "n_components": 0}, "n_components must be >= 1"),
        ({"n_features": 4, "n_components": 4, "force": True}, "n_components must be >= 1 and <"),
        ({"n_features": 4, "preset": "fast"}, "preset must be"),
        ({"n_features": 4, "preset": "paper", "n_components": 2}, "leave it out"),
        ({"n_features": 4, "seed": "xyz"}, "hexadecimal"),
        ({"n_features": 4, "seed": ""}, "hexadecimal"),
        ({"n_features": 4, "seed": "abc"}, "hexadecimal"),
    ],
)
def test_bad_facts_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        public_matrix(**arguments)


def test_a_matrix_goes_through_json_and_a_file(tmp_path):
    assert PublicMatrix.from_json(json.loads(json.dumps(MATRIX.to_json()))) == MATRIX
    path = tmp_path / "study.json"
    MATRIX.save(path)
    assert PublicMatrix.load(path) == MATRIX
    assert stat.S_IMODE(os.stat(path).st_mode) & 0o444 == 0o444  # public
    with pytest.raises(ReleaseError, match="exists"):
        MATRIX.save(path)


def test_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "study.json"
    facts = MATRIX.to_json()
    for change, message in [
        ({"seed": "ff" * 16}, "fingerprint"),
        ({"n_components": 7}, "fingerprint"),
        ({"format": "other"}, "format"),
        ({"n_features": "8"}, "whole number"),
        ({"n_features": True}, "whole number"),
    ]:
        path.write_text(json.dumps(facts | change))
        with pytest.raises(ReleaseError, match=message):
            PublicMatrix.load(path)
    path.write_text(json.dumps({k: v for k, v in facts.items() if k != "seed"}))
    with pytest.raises(ReleaseError, match="lacks seed"):
        PublicMatrix.load(path)
    for text in ("{", "[1]", "\xff"):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(ReleaseError, match=r"JSON|format"):
            PublicMatrix.load(path)
    with pytest.raises(ReleaseError, match="cannot be read"):
        PublicMatrix.load(tmp_path / "none.json")


# The perturbation.


def test_golden_values_of_the_double_logistic():
    assert pytest.approx(2.81242909, abs=1e-6) == BEST_CURVATURE
    f = double_logistic(np.array([0.5, 1.0]))
    np.testing.assert_allclose(f, [0.50495533, 0.93994107], atol=1e-7)
    row = public_transform([[0.5, 1.0]], PublicMatrix(2, 1, "", "00"), bounds="scaled")
    np.testing.assert_allclose(row[0], PublicMatrix(2, 1, "", "00").matrix @ f, rtol=1e-12)


def test_the_release_is_the_double_logistic_times_the_private_matrix():
    veil = multiparty(curvature=1.7, bounds=(-1.0, 3.0))
    released = veil.fit_transform(TABLE)
    x = (TABLE + 1) / 4
    private = MATRIX.matrix + veil._key.shift
    np.testing.assert_allclose(released, (1 - np.exp(-1.7 * x**2)) @ private.T, rtol=1e-12)
    assert released.shape == (400, 4)


def test_the_shift_is_uniform_within_alpha():
    matrix = public_matrix(120, seed=SEED)
    veil = multiparty(matrix, alpha=0.3).fit(np.random.default_rng(0).random((9, 120)))
    shift = veil._key.shift
    assert 0.299 < np.abs(shift).max() < 0.3
    assert shift.mean() == pytest.approx(0, abs=0.01)
    assert shift.std() == pytest.approx(0.3 / np.sqrt(3), rel=0.03)
    # The best guess of the private matrix is the public one: off by alpha / 2 in the median.
    assert np.median(np.abs(shift)) == pytest.approx(0.15, rel=0.05)


def test_participants_of_a_study_share_the_matrix_and_not_the_shift():
    one, two = (multiparty(random_state=None).fit(TABLE) for _ in range(2))
    assert one.public_matrix_ == two.public_matrix_
    assert (one._key.shift != two._key.shift).all()
    np.testing.assert_array_equal(one.public_transform(TABLE), two.public_transform(TABLE))


def test_the_shift_is_drawn_once_for_all_records():
    veil = multiparty().fit(TABLE)
    np.testing.assert_array_equal(veil.transform(TABLE), veil.transform(TABLE))


def test_end_users_need_the_public_facts_alone():
    veil = multiparty(bounds=([-1.0] * 8, [2.0] * 8)).fit(TABLE)
    facts = json.loads(json.dumps(veil.public_parameters()))
    matrix = PublicMatrix.from_json(facts["public_matrix"])
    bounds = veil.declared_bounds()
    found = public_transform(TABLE, matrix, bounds=bounds, curvature=facts["curvature"])
    np.testing.assert_array_equal(found, veil.public_transform(TABLE))


def test_a_vanishing_alpha_is_the_public_transform():
    released = multiparty(alpha=1e-300).fit_transform(TABLE)
    np.testing.assert_array_equal(released, public_transform(TABLE, MATRIX, bounds="scaled"))


def test_values_beyond_the_bounds_are_moved_to_them():
    low, high = np.full((1, 8), -7.0), np.full((1, 8), 9.0)
    edges = np.vstack([np.zeros(8), np.ones(8)])
    veil = multiparty().fit(TABLE)
    beyond = np.vstack([low, high])
    np.testing.assert_array_equal(veil.transform(beyond), veil.transform(edges))
    np.testing.assert_array_equal(
        public_transform(beyond, MATRIX, bounds="scaled"),
        public_transform(edges, MATRIX, bounds="scaled"),
    )
    with pytest.raises(ValueError, match="outside the bounds"):
        multiparty(clip=False).fit(TABLE).transform(beyond)


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(1, 399), max_size=6, unique=True))
def test_batches_do_not_change_a_byte(cuts):
    veil = multiparty().fit(TABLE)
    for table in (TABLE, TABLE.astype(np.float32)):
        whole = veil.transform(table)
        assert whole.dtype == table.dtype
        pairs = itertools.pairwise([0, *sorted(cuts), 400])
        parts = [veil.transform(table[a:b]) for a, b in pairs]
        np.testing.assert_array_equal(np.vstack(parts), whole)


@pytest.mark.parametrize("matrix", [None, MATRIX])
def test_a_saved_key_gives_the_same_bytes(matrix, tmp_path):
    veil = multiparty(matrix).fit(TABLE)
    veil.save_key(tmp_path / "m.key")
    found = load_key(tmp_path / "m.key")
    assert found.public_matrix_ == veil.public_matrix_
    np.testing.assert_array_equal(found.transform(TABLE), veil.transform(TABLE))
    np.testing.assert_array_equal(found.public_transform(TABLE), veil.public_transform(TABLE))


def test_without_a_matrix_fit_makes_one_as_wide_as_the_table():
    veil = multiparty(None).fit(TABLE)
    assert (veil.public_matrix_.n_features, veil.public_matrix_.n_components) == (8, 4)
    assert veil.public_parameters()["public_matrix"] == veil.public_matrix_.to_json()
    assert PublicMatrix.from_json(json.loads(veil.public_file())) == veil.public_matrix_
    assert multiparty(MATRIX).fit(TABLE).public_file() is None
    assert veil.fit(TABLE[:, :5]).public_matrix_.n_features == 5
    fresh = multiparty(None, random_state=None)
    assert fresh.fit(TABLE).public_matrix_ != fresh.fit(TABLE).public_matrix_


def test_the_key_does_not_print_and_its_size_is_known():
    veil = multiparty().fit(TABLE)
    assert "array" not in repr(veil._key)
    assert veil.key_bytes(8) == veil._key.shift.nbytes


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": None}, "alpha must be given"),
        ({"alpha": 0.0}, "alpha must be > 0 and < 1"),
        ({"alpha": 1.0}, "alpha must be > 0 and < 1"),
        ({"alpha": np.nan}, "alpha must be > 0 and < 1"),
        ({"curvature": 0.0}, "curvature must be"),
        ({"public_matrix": "T"}, "public_matrix must be a PublicMatrix"),
        ({"public_matrix": public_matrix(5)}, "for 5 columns, the table has 8"),
    ],
)
def test_bad_settings_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        multiparty().set_params(**parameters).fit(TABLE)


@pytest.mark.parametrize("bounds", [None, "unit", (0,)])
def test_end_users_must_give_the_studys_bounds(bounds):
    with pytest.raises(ValueError, match="bounds must be"):
        public_transform(TABLE, MATRIX, bounds=bounds)
    with pytest.raises(ValueError, match="for 8 columns"):
        public_transform(TABLE[:, :3], MATRIX, bounds="scaled")


# What it gives away. The attacker knows the two moments of Y, as from a sample like the table.


def recovered(released, weights, table, noise=0.0):
    """Share of the variance of Y that the best linear estimate gets back (Erfani's eq. 5)."""
    y = double_logistic(table)
    mu, s = y.mean(axis=0), np.cov(y.T)
    inner = weights @ s @ weights.T + noise * np.eye(len(weights))
    guess = mu + (released - mu @ weights.T) @ np.linalg.solve(inner, weights @ s)
    return 1 - ((guess - y) ** 2).sum() / ((y - mu) ** 2).sum()


def blur(alpha, table):
    """What the unknown shift adds to the attacker's covariance: alpha² / 3 E |y|²."""
    return alpha**2 / 3 * (double_logistic(table) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize(("n", "w"), [(8, 4), (8, 2), (20, 10)])
def test_whoever_has_the_key_recovers_w_nths_of_independent_columns(n, w):
    table = np.random.default_rng(0).random((20_000, n))
    matrix = public_matrix(n, w, seed=SEED)
    veil = multiparty(matrix, alpha=0.2).fit(table)
    weights = matrix.matrix + veil._key.shift
    share = recovered(veil.transform(table), weights, table)
    assert share == pytest.approx(w / n, abs=0.02)


def test_the_published_settings_give_most_away_to_the_public_matrix_alone():
    table = np.random.default_rng(0).random((4000, 8))
    shares = []
    for seed in range(10):
        matrix = public_matrix(8, preset="paper", seed=f"{seed:02x}")
        with pytest.warns(PrivacyWarning, match="most of the variance"):
            veil = multiparty(matrix, alpha=0.01, random_state=seed).fit(table)
        released = veil.transform(table)
        shares.append(recovered(released, matrix.matrix, table, blur(0.01, table)))
    assert np.mean(shares) == pytest.approx(0.85, abs=0.04)


def test_two_releases_of_one_table_give_nearly_all_away():
    table = np.random.default_rng(0).random((4000, 8))
    one, both = [], []
    for seed in range(20):
        matrices = [public_matrix(8, study=study, seed=f"{seed:02x}") for study in "ab"]
        veils = [multiparty(m, alpha=0.01, random_state=seed) for m in matrices]
        released = [veil.fit_transform(table) for veil in veils]
        noise = blur(0.01, table)
        one.append(recovered(released[0], matrices[0].matrix, table, noise))
        stacked = np.vstack([m.matrix for m in matrices])
        both.append(recovered(np.hstack(released), stacked, table, noise))
    assert np.mean(one) == pytest.approx(0.50, abs=0.03)
    assert np.mean(both) == pytest.approx(0.96, abs=0.04)


def test_undo_with_a_sample_recovers_the_share_of_rows_of_the_matrix():
    records = np.random.default_rng(21).random((4000, 8))
    veil = multiparty(random_state=3)
    found = double_logistic(
        veil.inverse_transform(veil.fit_transform(records), sample=records[:2000])
    )
    truth = double_logistic(records)
    left = np.square(found - truth).sum() / np.square(truth - truth.mean(axis=0)).sum()
    # Independent columns alike: w / n = 4 / 8 of the variance, a little more within bounds.
    assert 0.47 < 1 - left < 0.58


def test_undo_knows_nearly_all_of_columns_that_go_together():
    rng = np.random.default_rng(22)
    records = rng.random((1000, 2)) @ rng.random((2, 8)) / 2
    veil = multiparty(random_state=3)
    found = veil.inverse_transform(veil.fit_transform(records), sample=records[:300])
    left = np.square(found - records).sum() / np.square(records - records.mean(axis=0)).sum()
    assert left < 0.02
    blind = veil.inverse_transform(veil.transform(records))
    assert ((blind >= 0) & (blind <= 1)).all()
