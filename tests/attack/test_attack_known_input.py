"""Known pairs: how many undo what, and what happens where they cannot."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

import isinglass as ig
from isinglass import chance
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KeptColumns,
    KnownPairs,
    OtherReleases,
    PopulationSample,
    PublicParameters,
    RowOrder,
)
from isinglass.attack.known_input import MODELS, KnownInputAttack
from isinglass.attack.learning import regression

pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


def rotated(X, rng):
    return (X - rng.random(X.shape[1])) @ chance.haar(rng, X.shape[1]).T


def pairs_of(table, n, seed=0):
    rows = np.random.default_rng(seed).choice(len(table), size=n, replace=False)
    return KnownPairs(rows, table[rows])


def within(guess, table):
    return float((np.abs(guess - table) <= 0.1 * np.ptp(table, axis=0)).mean())


@pytest.fixture(scope="module")
def wine():
    X = load_wine().data
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


@pytest.fixture(scope="module")
def flights():
    return ig.datasets.flights(1500, n_features=6, random_state=1).X.astype(np.float64)


# The nearest rotation is undecided between two mirror images at 13 pairs, and right half the time.
@pytest.mark.parametrize(
    ("model", "n_pairs", "undone"),
    [
        ("auto", 13, False),
        ("auto", 14, True),
        ("linear", 13, False),
        ("linear", 14, True),
        ("rigid", 12, False),
        ("rigid", 14, True),
    ],
)
def test_one_pair_more_than_columns_undoes_a_rotation(wine, model, n_pairs, undone):
    released = rotated(wine, np.random.default_rng(4))
    guess = KnownInputAttack(model).guess(released, pairs_of(wine, n_pairs, seed=4))
    assert np.allclose(guess, wine, atol=1e-8) is undone


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_components", [6, 15])
def test_a_linear_distortion_falls_to_as_many_pairs(flights, n_components, dtype):
    release = ig.Distortion("identity", n_components=n_components, n_hidden=15, random_state=2)
    released = release.fit_transform(flights.astype(dtype))
    guess = KnownInputAttack().guess(released, pairs_of(flights, 7))
    unit = np.ptp(flights, axis=0)
    tolerance = 1e-8 if dtype is np.float64 else 1e-3
    assert np.abs((guess - flights) / unit).max() < tolerance


def test_rigid_maps_get_back_what_covariances_do_not_show(wine):
    """Wine, means over draws; .200, .134, .055, .032 and 0 were measured independently."""
    found = [mean_error(wine, m, "rigid") for m in (4, 8, 12, 13, 14)]
    np.testing.assert_allclose(found, [0.200, 0.134, 0.055, 0.032, 0.0], atol=0.02)
    assert found[-1] < 1e-10


def test_more_pairs_never_get_less_of_a_rotation(wine):
    found = [mean_error(wine, m, "auto") for m in (1, 2, 4, 8, 12, 13, 14, 20)]
    assert found == sorted(found, reverse=True) or np.allclose(found[-2:], 0, atol=1e-10)
    assert (np.diff(found[:-1]) < 0).all()
    assert found[0] == pytest.approx(wine.std(axis=0, ddof=1).mean(), rel=0.01)
    # What the pairs leave open is better guessed at its mean than turned at random.
    assert found[2] < 0.9 * mean_error(wine, 4, "rigid")


def mean_error(table, n_pairs, model, draws=20):
    errors = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        released = rotated(table, rng)
        guess = KnownInputAttack(model).guess(released, pairs_of(table, n_pairs, seed))
        errors.append((guess - table).std(axis=0, ddof=1).mean())
    return np.mean(errors)


def test_a_kernel_gets_more_of_a_distortion_than_a_line():
    # Independent columns: nothing but the map itself can be learned.
    table = np.random.default_rng(3).random((1500, 3))
    released = ig.Distortion(random_state=3).fit_transform(table)
    pairs = pairs_of(table, 300)
    guesses = {m: KnownInputAttack(m, random_state=0).guess(released, pairs) for m in MODELS}
    left = {m: ((g - table) ** 2).mean() / table.var() for m, g in guesses.items()}
    assert left["kernel"] < 0.15 * left["linear"]
    assert left["auto"] < 1.1 * left["kernel"]


@pytest.mark.parametrize("n_pairs", [1, 2, 5, 7, 8, 60])
def test_a_release_of_pure_noise_tells_nothing(flights, n_pairs):
    noise = np.random.default_rng(5).normal(size=flights.shape)
    known = pairs_of(flights, n_pairs)
    mean = np.tile(known.records.mean(axis=0), (len(flights), 1))
    for knowledge in (known, known | ColumnStatistics.of(flights)):
        guess = KnownInputAttack(random_state=0).guess(noise, knowledge)
        assert within(guess, flights) < within(mean, flights) + 0.1
        left = ((guess - flights) ** 2).mean(axis=0) / flights.var(axis=0)
        assert np.median(left) < 2.0 if n_pairs > 5 else True


@pytest.mark.parametrize("model", MODELS)
def test_a_constant_release_is_guessed_at_the_mean(flights, model):
    pairs = pairs_of(flights, 20)
    guess = KnownInputAttack(model).guess(np.full(flights.shape, 0.7), pairs)
    others = np.setdiff1d(np.arange(len(flights)), pairs.rows)
    expected = np.tile(pairs.records.mean(axis=0), (len(others), 1))
    np.testing.assert_allclose(guess[others], expected, rtol=1e-6)
    np.testing.assert_array_equal(guess[pairs.rows], pairs.records)


def test_a_kept_column_that_is_in_the_table_is_used(flights):
    noise = np.random.default_rng(6).normal(size=(len(flights), 4))
    pairs = pairs_of(flights, 30)
    kept = KeptColumns(flights[:, 2:3])
    guess = KnownInputAttack(random_state=0).guess(noise, pairs | kept)
    np.testing.assert_allclose(guess[:, 2], flights[:, 2], rtol=1e-6)


def test_two_narrow_projections_give_what_one_does_not(flights):
    one, two = (
        ig.RandomProjection(n_components=3, random_state=s).fit_transform(flights) for s in (1, 2)
    )
    pairs = pairs_of(flights, 7)
    alone = KnownInputAttack().guess(one, pairs)
    both = KnownInputAttack().guess(one, pairs | OtherReleases((two,)))
    np.testing.assert_allclose(both, flights, rtol=1e-6, atol=1e-6 * np.ptp(flights))
    assert not np.allclose(alone, flights, rtol=0.01)


def test_units_do_not_matter_where_bounds_are_known(wine):
    scale, shift = np.logspace(-3, 3, 13), np.arange(13.0)
    table = wine * scale + shift
    released = rotated(wine, np.random.default_rng(7))
    public = PublicParameters("rotation", low=shift, high=shift + scale)
    pairs = pairs_of(table, 8)
    plain = KnownInputAttack().guess(released, KnownPairs(pairs.rows, wine[pairs.rows]))
    for known in (public, ColumnStatistics.of(table), PopulationSample(table)):
        guess = KnownInputAttack().guess(released, pairs | known)
        np.testing.assert_allclose(
            np.clip((guess - shift) / scale, 0, 1), np.clip(plain, 0, 1), atol=1e-6
        )


def test_awkward_pairs(flights):
    released = rotated(flights, np.random.default_rng(8))
    rows = np.r_[np.arange(10), np.arange(10), np.arange(len(flights))]  # more than rows
    guess = KnownInputAttack().guess(released, KnownPairs(rows, flights[rows]))
    np.testing.assert_array_equal(guess, flights)
    same = np.column_stack([flights, np.full(len(flights), 4.0)])
    guess = KnownInputAttack().guess(released, pairs_of(same, 9))
    np.testing.assert_allclose(guess[:, -1], 4.0)
    assert np.isfinite(guess).all()


def test_pairs_that_cannot_be(flights):
    attack = KnownInputAttack()
    for pairs, text in [
        (KnownPairs([-1], flights[:1]), "rows of the release"),
        (KnownPairs([len(flights)], flights[:1]), "rows of the release"),
        (KnownPairs([], np.empty((0, 6))), "none at all"),
        (KnownPairs([0], np.full((1, 6), np.nan)), "not finite"),
        (pairs_of(flights, 3) | ColumnStatistics.of(flights[:, :2]), "statistics must be of 6"),
    ]:
        with pytest.raises(ig.errors.AttackError, match=text):
            attack.guess(flights, pairs)
    with pytest.raises(ig.errors.AttackError, match="rigid map needs a release of 6"):
        KnownInputAttack("rigid").guess(flights[:, :3], pairs_of(flights, 9))
    with pytest.raises(ValueError, match="model must be one of"):
        KnownInputAttack("oracle")


def explained(guess, table, pairs):
    others = np.setdiff1d(np.arange(len(table)), pairs.rows)
    lost = np.square(guess - table)[others].mean(axis=0) / table[others].var(axis=0)
    return float(1 - lost.mean())


def test_kept_categories_tell_as_categories_and_not_as_numbers():
    rng = np.random.default_rng(12)
    city = rng.integers(0, 50, size=1000)
    table = 2 * rng.normal(size=(50, 3))[city] + 0.5 * rng.normal(size=(1000, 3))
    noise, codes = rng.normal(size=(1000, 3)), city[:, np.newaxis].astype(float)
    sample = PopulationSample(table[-100:], codes[-100:])
    found = {}
    for n in (20, 200):
        pairs = pairs_of(table[:900], n)
        for name, known in (
            ("numbers", pairs | KeptColumns(codes)),
            ("categories", pairs | KeptColumns(codes, [True])),
            ("with sample", pairs | KeptColumns(codes, [True]) | sample),
        ):
            guess = KnownInputAttack(random_state=0).guess(noise, known)
            found[n, name] = explained(guess, table, pairs)
    assert found[200, "numbers"] < 0.1
    assert found[200, "categories"] > 0.75
    assert found[20, "with sample"] > 0.6
    assert found[200, "with sample"] > found[200, "categories"]


def test_categories_of_single_records_tell_nothing():
    rng = np.random.default_rng(13)
    table, names = rng.normal(size=(600, 3)), rng.permutation(600)[:, np.newaxis].astype(float)
    pairs = pairs_of(table, 60)
    known = pairs | KeptColumns(names, [True]) | PopulationSample(table[-60:], names[-60:])
    guess = KnownInputAttack(random_state=0).guess(rng.normal(size=(600, 2)), known)
    assert explained(guess, table, pairs) < 0.05


def test_known_rows_are_interpolated_where_the_order_is_known():
    rng = np.random.default_rng(14)
    waves = np.sin(np.arange(1000)[:, np.newaxis] / np.array([40.0, 60.0, 90.0]))
    released = waves + 3 * rng.normal(size=waves.shape)
    pairs = pairs_of(waves, 60)
    attack = KnownInputAttack(random_state=0)
    assert explained(attack.guess(released, pairs), waves, pairs) < 0.3
    known = pairs | RowOrder(np.arange(1000))
    assert explained(attack.guess(released, known), waves, pairs) > 0.8
    shuffled = pairs | RowOrder(rng.permutation(1000))
    assert explained(attack.guess(released, shuffled), waves, pairs) < 0.3


def test_a_sample_tells_what_a_projection_leaves_open():
    rng = np.random.default_rng(15)
    table = rng.normal(size=(1200, 3)) @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(
        size=(1200, 10)
    )
    released = table @ rng.normal(size=(10, 3))
    pairs = pairs_of(table[:1000], 11)
    attack = KnownInputAttack(random_state=0)
    alone = explained(attack.guess(released, pairs), table, pairs)
    with_sample = attack.guess(released, pairs | PopulationSample(table[1000:]))
    # As good as the best linear estimate from the whole table.
    centered, seen = table - table.mean(axis=0), released - released.mean(axis=0)
    best = seen @ np.linalg.lstsq(seen, centered, rcond=None)[0] + table.mean(axis=0)
    assert explained(with_sample, table, pairs) > explained(best, table, pairs) - 0.03
    assert explained(with_sample, table, pairs) > alone + 0.05


def test_just_enough_pairs_do_not_make_a_wrong_map_believed():
    rng = np.random.default_rng(18)
    table = rng.normal(size=(800, 8))
    table[:2] = [[25.0], [-25.0]]  # far records, between which every guess looks possible
    released = np.square(np.tanh(table @ rng.normal(size=(8, 8)) / 4))
    pairs = pairs_of(table[2:], 9)
    known = KnownPairs(pairs.rows + 2, pairs.records) | ColumnStatistics.of(table)
    guess = KnownInputAttack(random_state=0).guess(released, known)
    assert np.median(np.square(guess - table)[2:].mean(axis=0)) < 5.0


@pytest.mark.parametrize(("m", "p"), [(12, 3), (4, 3), (4, 9), (30, 9)])
def test_leaving_out_in_closed_form_equals_leaving_out(m, p):
    rng = np.random.default_rng(9)
    Z, X = rng.normal(size=(m, p)), rng.normal(size=(m, 2))
    strength = 0.3
    parts = regression._Directions.of(Z, X, 1e-10)
    for alpha, found in (
        (strength, parts.errors(np.array([strength]))[0]),
        (0.0, regression.fit_linear(Z, X).errors),
    ):
        plain = np.empty_like(X)
        for i in range(m):
            z, x = np.delete(Z, i, axis=0), np.delete(X, i, axis=0)
            zc, xc = z - z.mean(axis=0), x - x.mean(axis=0)
            gram = zc.T @ zc + alpha * np.eye(p)
            coefficients = np.linalg.pinv(gram, rcond=1e-10) @ zc.T @ xc
            plain[i] = (Z[i] - z.mean(axis=0)) @ coefficients + x.mean(axis=0) - X[i]
        np.testing.assert_allclose(found, (plain**2).mean(axis=0), rtol=1e-4)


def test_the_kernel_leaves_out_in_closed_form_too():
    rng = np.random.default_rng(10)
    Z, X = rng.normal(size=(25, 3)), rng.normal(size=(25, 2))
    K = regression._kernel(Z, Z, 4.0)
    spectrum = regression._CenteredSpectrum.of(K, X)
    strengths, errors = spectrum.best()
    for j, strength in enumerate(strengths):
        plain = []
        for i in range(25):
            others = np.delete(np.arange(25), i)
            part = regression._CenteredSpectrum.of(K[np.ix_(others, others)], X[others])
            dual = part.dual(np.full(2, strength))[:, j]
            inner = K[np.ix_(others, others)].mean(axis=0) @ dual
            plain.append(K[i, others] @ dual + X[others, j].mean() - inner - X[i, j])
        np.testing.assert_allclose(errors[j], np.mean(np.square(plain)), rtol=1e-6)


def test_the_number_of_a_cluster_is_read_as_its_name():
    """Means of the pairs with the same number, where a line through the numbers tells nothing."""
    rng = np.random.default_rng(4)
    group = rng.integers(0, 20, 900)
    X = 3 * rng.normal(size=(20, 4))[group] + rng.normal(size=(900, 4))
    names = rng.permutation(20)[group].astype(float)[:, np.newaxis]
    guess = KnownInputAttack(random_state=0).guess(names, pairs_of(X, 60))
    explained = 1 - ((guess - X) ** 2).mean(axis=0) / X.var(axis=0)
    assert explained.mean() > 0.6
    # The share of the variance that is between groups bounds it.
    means = np.array([X[group == g].mean(axis=0) for g in range(20)])[group]
    assert explained.mean() < (means.var(axis=0) / X.var(axis=0)).mean()
