"""MAP estimation: equal to the conditional mean, and what each further fact is worth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from isinglass.activations import BEST_CURVATURE, double_logistic, double_logistic_inverse
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KnownPairs,
    PopulationSample,
    PublicParameters,
)
from isinglass.attack.learning.gaussian import Moments, linear_estimate, square_root
from isinglass.attack.learning.mixing import Mixing, fit_moments, log_likelihood
from isinglass.attack.learning.priors import _mixture_estimate, laplace_estimate, sample_estimate
from isinglass.attack.map_estimate import MAPAttack
from isinglass.errors import AttackError
from isinglass.perturb.multiparty import MultipartyPerturbation
from isinglass.perturb.public_matrix import public_matrix


def explained(guess, truth):
    return 1 - ((guess - truth) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum()


def public(T, alpha, low=0.0, high=1.0, **more):
    n = T.shape[1]
    bounds = np.broadcast_to(low, n), np.broadcast_to(high, n)
    return PublicParameters("multiparty", {"alpha": alpha, **more}, *bounds, T)


def scene(X, w, alpha, seed):
    """T, T + D and the release of a table in [0, 1]."""
    rng = np.random.default_rng(seed)
    T = rng.random((w, X.shape[1]))
    private = T + rng.uniform(-alpha, alpha, T.shape)
    return T, private, double_logistic(X) @ private.T


def independent(n, rows, seed):
    return np.random.default_rng(seed).random((rows, n))


def factors(n, rows, seed):
    """Three factors behind n columns, each brought to [0, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, n)) + 0.3 * rng.normal(size=(rows, n))
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


def clusters(n, rows, seed):
    rng = np.random.default_rng(seed)
    centers = rng.random((6, n))
    X = centers[rng.integers(0, 6, rows)] + 0.05 * rng.normal(size=(rows, n))
    return np.clip(X, 0, 1)


# The estimate itself.


@pytest.mark.parametrize(("mean", "expected"), [((0, 0), (1, 1)), ((1, 0), (1.5, 0.5))])
def test_two_numbers_of_which_the_sum_is_known(mean, expected):
    moments = Moments(np.array(mean, dtype=float), np.eye(2))
    found = linear_estimate([[2.0]], np.ones((1, 2)), moments)
    np.testing.assert_allclose(found, [expected], atol=1e-12)


def test_the_estimate_is_the_conditional_mean_of_the_joint_normal_law():
    rng = np.random.default_rng(0)
    n, w, noise = 6, 4, 0.3
    root, mu, T = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=(w, n))
    S, Z = root @ root.T, rng.normal(size=(9, w))
    # Twin: the precision of (y, z) together gives E[y | z] without any formula for the gain.
    joint = np.block([[S, S @ T.T], [T @ S, T @ S @ T.T + noise * np.eye(w)]])
    P = np.linalg.inv(joint)
    expected = mu - (Z - T @ mu) @ P[n:, :n] @ np.linalg.inv(P[:n, :n])
    found = linear_estimate(Z, T, Moments(mu, S), noise)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_the_attack_is_that_estimate_and_the_inverse_of_f(alpha):
    table = independent(8, 900, 1)
    matrix = public_matrix(8, seed="0a")
    low, high = np.full(8, -3.0), np.full(8, 5.0)
    veil = MultipartyPerturbation(matrix, alpha=alpha, bounds=(-3.0, 5.0), random_state=0)
    released = veil.fit_transform(-3 + 8 * table)
    known = public(matrix.matrix, alpha, low, high) | PopulationSample(-3 + 8 * table[:300])
    guess = MAPAttack().guess(released, known)
    # Written out: eq. 5 with the public T, and alpha^2 / 3 E|y|^2 for the unknown shift.
    y, T = double_logistic(table[:300]), matrix.matrix
    mu, S = y.mean(axis=0), np.cov(y.T)
    noise = alpha**2 / 3 * (mu @ mu + np.trace(S))
    gain = np.linalg.solve(T @ S @ T.T + noise * np.eye(4), T @ S)
    best = np.clip(mu + (released - T @ mu) @ gain, 0, double_logistic(np.array(1.0)))
    expected = -3 + 8 * double_logistic_inverse(best)
    np.testing.assert_allclose(guess, expected, atol=1e-10)


@pytest.mark.parametrize(("n", "w"), [(8, 2), (8, 4), (20, 10)])
def test_whoever_has_the_matrix_recovers_w_nths_of_columns_alike(n, w):
    X = independent(n, 20_000, 2)
    _, private, Z = scene(X, w, 0.2, 3)
    moments = Moments.of(double_logistic(X))
    share = explained(linear_estimate(Z, private, moments), double_logistic(X))
    assert share == pytest.approx(w / n, abs=0.02)
    known = public(private, 0.2) | PopulationSample(X)
    guess = MAPAttack(matrix="known").guess(Z, known)
    clipped = np.clip(linear_estimate(Z, private, moments), 0, double_logistic(np.array(1.0)))
    np.testing.assert_allclose(double_logistic(guess), clipped, atol=1e-10)


def test_a_matrix_as_wide_as_the_table_gives_every_record_back():
    X = independent(5, 200, 0)
    _, private, Z = scene(X, 5, 0.2, 1)
    guess = MAPAttack(matrix="known").guess(Z, public(private, 0.2) | PopulationSample(X[:100]))
    np.testing.assert_allclose(guess, X, atol=1e-6)
    # A row that says what another one says already is no obstacle.
    twice = np.vstack([private, private[:1]])
    known = public(twice, 0.2) | PopulationSample(X[:100])
    guess = MAPAttack(matrix="known").guess(np.column_stack([Z, Z[:, :1]]), known)
    np.testing.assert_allclose(guess, X, atol=1e-4)


@pytest.mark.parametrize(
    ("make", "n", "w", "shares"),
    [
        (independent, 8, 7, (0.85, 0.65, 0.50, 0.19)),
        (independent, 8, 4, (0.50, 0.42, 0.33, 0.16)),
        (factors, 8, 7, (0.96, 0.78, 0.60, 0.23)),
        (factors, 50, 49, (0.98, 0.88, 0.80, 0.54)),
        (factors, 50, 25, (0.94, 0.82, 0.76, 0.40)),
    ],
)
def test_what_the_public_matrix_alone_gives_away(make, n, w, shares):
    """Share of the variance of y, and with independent columns the very numbers of the docs."""
    for alpha, expected in zip((0.01, 0.1, 0.2, 0.6), shares, strict=True):
        found = []
        for seed in range(40 if n == 8 else 4):
            X = make(n, 1000, seed)
            T, _, Z = scene(X, w, alpha, 100 + seed)
            guess = MAPAttack().guess(Z, public(T, alpha) | PopulationSample(X))
            found.append(explained(double_logistic(guess), double_logistic(X)))
        # Which factors there are was not published: only the trend is the same.
        assert np.mean(found) == pytest.approx(expected, abs=0.03 if make is independent else 0.15)


# What else is known.


def test_column_statistics_alone_make_independent_columns():
    X = independent(8, 4000, 0)
    T, _, Z = scene(X, 4, 0.05, 1)
    by_sample = MAPAttack().guess(Z, public(T, 0.05) | PopulationSample(X))
    by_statistics = MAPAttack().guess(Z, public(T, 0.05) | ColumnStatistics.of(X))
    assert explained(by_statistics, X) == pytest.approx(explained(by_sample, X), abs=0.01)
    X = factors(8, 4000, 0)
    T, _, Z = scene(X, 4, 0.05, 1)
    by_sample = MAPAttack().guess(Z, public(T, 0.05) | PopulationSample(X))
    by_statistics = MAPAttack().guess(Z, public(T, 0.05) | ColumnStatistics.of(X))
    assert explained(by_sample, X) > explained(by_statistics, X) + 0.1


def test_pairs_bend_the_matrix_by_the_least_that_explains_them():
    rng = np.random.default_rng(0)
    T, D, Y = rng.random((3, 6)), rng.uniform(-0.3, 0.3, (3, 6)), rng.random((4, 6))
    found = Mixing.public(T, np.full(3, 0.3)).with_pairs(Y, Y @ (T + D).T)
    np.testing.assert_allclose(Y @ found.matrix.T, Y @ (T + D).T, atol=1e-12)
    # Twin: conditioning vec(D) ~ N(0, v I) on what the pairs say of it.
    known = np.kron(np.eye(3), Y)
    shift = known.T @ np.linalg.solve(known @ known.T, (Y @ D.T).T.ravel())
    np.testing.assert_allclose(found.matrix - T, shift.reshape(3, 6), atol=1e-10)
    left = np.eye(6) - np.linalg.pinv(Y) @ Y
    moments = Moments(np.full(6, 0.4), np.diag(rng.random(6)))
    expected = 0.3**2 / 3 * np.trace(left @ moments.raw) * np.eye(3)
    np.testing.assert_allclose(found.noise(moments), expected, atol=1e-12)


def test_as_many_pairs_as_columns_tell_the_whole_matrix():
    X = independent(8, 2000, 0)
    T, private, Z = scene(X, 4, 0.4, 1)
    base = public(T, 0.4) | PopulationSample(X[1000:])
    with_matrix = MAPAttack(matrix="known").guess(Z, base | public(private, 0.4))
    shares = []
    for pairs in (0, 2, 4, 8):
        known = base | KnownPairs(np.arange(pairs), X[:pairs]) if pairs else base
        guess = MAPAttack().guess(Z, known)
        shares.append(explained(guess[8:], X[8:]))
    assert (np.diff(shares) > 0.02).all()
    np.testing.assert_allclose(guess, with_matrix, atol=1e-6)


@pytest.mark.parametrize(("make", "gain"), [(independent, 0.08), (factors, 0.08), (clusters, 0.3)])
def test_the_release_itself_tells_of_the_matrix(make, gain):
    """Mean and covariance of the release must be those of (T + D) y: that says much of D."""
    gains = []
    for seed in range(3):
        X = make(8, 6000, seed)
        T, private, Z = scene(X[1000:], 4, 0.3, seed + 50)
        known = public(T, 0.3) | PopulationSample(X[:1000])
        alone = explained(MAPAttack().guess(Z, known), X[1000:])
        joint = explained(MAPAttack(matrix="joint", random_state=0).guess(Z, known), X[1000:])
        most = MAPAttack(matrix="known").guess(Z, known | public(private, 0.3))
        assert joint < explained(most, X[1000:]) + 0.01
        gains.append(joint - alone)
    assert np.mean(gains) > gain


@pytest.mark.parametrize("order", [1, 2, 4])
def test_what_is_left_unknown_of_the_matrix_is_told_truly(order):
    """The noise that a belief states is the error that its matrix makes, on average."""
    stated, made = [], []
    for seed in range(12):
        X = independent(6, 3000, seed)
        Y = double_logistic(X)
        T, private, Z = scene(X[1000:], 3, 0.1, seed + 20)
        rng = np.random.default_rng(seed)
        belief = fit_moments(Mixing.public(T, np.full(3, 0.1)), Z, Y[:1000], order, rng)[-1]
        stated.append(np.trace(belief.noise(Moments.of(Y))))
        made.append(np.square(Y @ (belief.matrix - private).T).sum(axis=1).mean())
    assert np.mean(made) == pytest.approx(np.mean(stated), rel=0.4)
    start = 3 * 0.1**2 / 3 * np.trace(Moments.of(Y).raw)
    assert np.mean(made) < start / 2


def test_of_a_wide_table_the_means_still_tell():
    """60 columns, 30 released: 1,800 unknown entries are not fitted one by one."""
    stated, made, gains = [], [], []
    for seed in range(4):
        X = factors(60, 3000, seed)
        Y = double_logistic(X)
        T, private, Z = scene(X[1000:], 30, 0.3, seed + 20)
        (belief,) = fit_moments(
            Mixing.public(T, np.full(30, 0.3)), Z, Y[:1000], 4, np.random.default_rng(seed)
        )
        stated.append(np.trace(belief.noise(Moments.of(Y))))
        made.append(np.square(Y @ (belief.matrix - private).T).sum(axis=1).mean())
        known = public(T, 0.3) | PopulationSample(X[:1000])
        alone, joint = (
            explained(MAPAttack(matrix=m, random_state=0).guess(Z, known), X[1000:])
            for m in ("public", "joint")
        )
        gains.append(joint - alone)
    assert np.mean(made) == pytest.approx(np.mean(stated), rel=0.4)
    assert np.mean(gains) > 0.05


def test_third_and_fourth_moments_tell_more_where_columns_are_not_normal():
    """Over-complete: 10 columns behind 5; most values at rest, some not."""
    gains = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shape = (5000, 10)
        X = np.where(rng.random(shape) < 0.2, rng.random(shape), 0.1 + 0.02 * rng.random(shape))
        T, _, Z = scene(X[1000:], 5, 0.3, seed + 70)
        known = public(T, 0.3) | PopulationSample(X[:1000])
        joint, ica = (
            explained(MAPAttack(matrix=m, random_state=0).guess(Z, known), X[1000:])
            for m in ("joint", "ica")
        )
        gains.append(ica - joint)
    assert np.mean(gains) > 0.02


def test_the_printed_joint_objective_prefers_the_wrong_matrix_and_the_likelihood_does_not():
    X = independent(8, 4000, 0)
    T, private, Z = scene(X, 4, 0.2, 1)
    moments = Moments.of(double_logistic(X))
    rows = np.full(4, 0.2)

    def printed(matrix):  # eq. 6 at the best Y for this matrix
        inner = matrix @ moments.covariance @ matrix.T
        off = Z - matrix @ moments.mean
        return np.einsum("ij,ji->", off, np.linalg.solve(inner, off.T))

    def likelihood(matrix):
        return log_likelihood(Mixing(matrix, 0 * rows, np.eye(8)), Z, moments)

    # Spread the matrix out around what it does to the mean: eq. 6 likes that, wrongly.
    mean = moments.mean / (moments.mean @ moments.mean)
    straight = np.outer(private @ moments.mean, mean)
    wider = straight + 1.2 * (private - straight)
    assert printed(wider) < printed(private)
    assert likelihood(wider) < likelihood(private)
    assert likelihood(T) < likelihood(private)


# Other priors.


def test_a_sample_as_prior_beats_the_linear_estimate_where_records_come_in_clusters():
    X = clusters(8, 4000, 0)
    T, _, Z = scene(X[1000:], 4, 0.05, 1)
    known = public(T, 0.05) | PopulationSample(X[:1000])
    linear = explained(MAPAttack().guess(Z, known), X[1000:])
    sampled = explained(MAPAttack("sample", random_state=0).guess(Z, known), X[1000:])
    assert linear < 0.8
    assert sampled > 0.9


def test_a_sample_of_normal_records_changes_nothing():
    rng = np.random.default_rng(0)
    Y, T = rng.normal(size=(4000, 6)), rng.random((3, 6))
    moments, noise = Moments(np.zeros(6), np.eye(6)), 0.1 * np.eye(3)
    Z = Y[2000:] @ T.T + rng.normal(scale=np.sqrt(0.1), size=(2000, 3))
    linear = explained(linear_estimate(Z, T, moments, noise), Y[2000:])
    sampled = explained(sample_estimate(Z, T, moments, noise, Y[:2000], rng), Y[2000:])
    assert sampled == pytest.approx(linear, abs=0.01)


def test_the_mixture_is_the_exact_posterior_mean_of_two_normal_laws():
    moments = Moments(np.zeros(1), np.eye(1))
    Y, h = np.array([[-1.0], [1.0]]), 0.5
    z, noise = np.array([[0.3]]), np.array([[0.2]])
    found = _mixture_estimate(z, np.ones((1, 1)), moments, noise, Y, h)
    centers = np.sqrt(1 - h**2) * Y.ravel()
    grid = np.linspace(-6, 6, 200_001)
    prior = sum(np.exp(-((grid - c) ** 2) / (2 * h**2)) for c in centers)
    posterior = prior * np.exp(-((0.3 - grid) ** 2) / 0.4)
    assert found[0, 0] == pytest.approx((grid * posterior).sum() / posterior.sum(), abs=1e-6)


def test_the_laplace_prior_finds_the_smallest_sum_of_coordinates():
    """Without noise it is basis pursuit, which a linear program solves too."""
    rng = np.random.default_rng(0)
    T, mu = rng.random((4, 8)), rng.random(8)
    root = rng.normal(size=(8, 8))
    moments = Moments(mu, root @ root.T / 8)
    Z = rng.random((5, 4))
    found = laplace_estimate(Z, T, moments, np.zeros((4, 4)), n_iter=3000)
    np.testing.assert_allclose(found @ T.T, Z, atol=1e-8)
    half = square_root(moments.covariance)
    B = T @ half
    for y, z in zip(found, Z, strict=True):
        best = linprog(np.ones(16), A_eq=np.hstack([B, -B]), b_eq=z - T @ mu).fun
        assert np.abs(np.linalg.solve(half, y - mu)).sum() == pytest.approx(best, rel=1e-3)


def test_the_laplace_prior_suits_columns_mostly_at_rest():
    rng = np.random.default_rng(0)
    shape = (3000, 20)
    X = np.where(rng.random(shape) < 0.1, rng.random(shape), 0.1)
    T, _, Z = scene(X[1000:], 10, 0.01, 1)
    known = public(T, 0.01) | PopulationSample(X[:1000])
    truth = double_logistic(X[1000:])
    normal, laplace = (
        explained(double_logistic(MAPAttack(prior).guess(Z, known)), truth)
        for prior in ("gaussian", "laplace")
    )
    assert laplace > normal + 0.1


# Manners.


def test_learned_bounds_come_from_statistics_or_else_the_sample():
    X = 40 + 20 * independent(6, 500, 0)
    with pytest.warns(UserWarning, match="learned"):
        veil = MultipartyPerturbation(public_matrix(6), alpha=0.01, random_state=0).fit(X)
    Z = veil.transform(X)
    facts = PublicParameters("multiparty", {"alpha": 0.01}, matrix=veil.public_matrix_.matrix)
    for other in (PopulationSample(X), ColumnStatistics.of(X)):
        guess = MAPAttack().guess(Z, facts | other)
        assert explained(guess, X) > 0.3
        assert (guess >= X.min(axis=0)).all()
        assert (guess <= X.max(axis=0)).all()


@pytest.mark.parametrize("prior", ["gaussian", "sample", "laplace"])
@pytest.mark.parametrize("matrix", ["public", "known", "joint", "ica"])
@pytest.mark.parametrize("rows", [1, 2, 60])
def test_constant_columns_and_few_records_give_a_finite_guess(prior, matrix, rows):
    X = independent(5, 100, 0)
    X[:, 2] = 0.5
    T, _, Z = scene(X[:rows], 3, 0.2, 1)
    low, high = np.zeros(5), np.array([1.0, 1.0, 0.5, 1.0, 1.0])
    low[2] = 0.5
    attack = MAPAttack(prior, matrix, random_state=0)
    for sample in (X[40:], X[40:44], np.full((3, 5), 0.5)):
        guess = attack.guess(Z, public(T, 0.2, low, high) | PopulationSample(sample))
        assert guess.shape == (rows, 5)
        assert np.isfinite(guess).all()
        assert ((guess >= low) & (guess <= high)).all()


def test_the_curvature_is_the_studys():
    X = independent(6, 400, 0)
    T, Z = np.eye(6), double_logistic(X, 1.3)
    known = PopulationSample(X) | public(T, 0.1, curvature=1.3)
    np.testing.assert_allclose(MAPAttack(matrix="known").guess(Z, known), X, atol=1e-6)
    known = known | public(T, 0.1, curvature=None)
    off = np.abs(MAPAttack(matrix="known").guess(Z, known) - X).max()
    assert off > 0.05
    assert BEST_CURVATURE != 1.3


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (PublicParameters("rotation"), "multiparty, not rotation"),
        (PublicParameters("multiparty", {"alpha": 0.1}), "public matrix"),
        (public(np.ones((2, 4)), None) | PopulationSample(np.ones((3, 4))), "alpha"),
        (public(np.ones((2, 4)), 0.1), "PopulationSample or ColumnStatistics"),
        (public(np.ones((3, 4)), 0.1) | PopulationSample(np.ones((3, 4))), "3 rows"),
        (public(np.ones((2, 4)), 0.1) | PopulationSample(np.ones((3, 5))), "4 columns"),
    ],
)
def test_what_is_missing_is_named(known, message):
    with pytest.raises(AttackError, match=message):
        MAPAttack().guess(np.ones((5, 2)), known)


@pytest.mark.parametrize("bad", [{"prior": "flat"}, {"matrix": "T"}, {"n_iter": 0}])
def test_bad_settings_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        MAPAttack(**bad)
