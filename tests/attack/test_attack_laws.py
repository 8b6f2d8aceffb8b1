"""The law of each noise, to the end: fits are what a density written out by hand says."""

import numpy as np
import pytest
from scipy.stats import norm, truncnorm, uniform

import isinglass as ig
from isinglass.attack.knowledge import ColumnStatistics, Knowledge, PublicParameters, PublicTable
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.members.release_ratio import noise_fit
from isinglass.attack.noise.fit import fit_by_parameters
from isinglass.attack.posterior import PosteriorAttack
from isinglass.auditing.kept_linkage import AveragingLinkage, KeepingLinkage

RNG = np.random.default_rng(827364)
X = RNG.normal(size=(40, 4)) + [6, 0, -3, 1]
X[::4, 1] = 0.0  # a zero that factors leave
UNIT = X.std(axis=0, ddof=1)
LAWS = {
    "gaussian": ig.AdditiveNoise(scale=2.0, random_state=1),
    "columns": ig.AdditiveNoise(scale=[0.5, 1, 2, 3], random_state=1),
    "uniform": ig.AdditiveNoise("uniform", scale=1.5, random_state=1),
    "factors": ig.MultiplicativeNoise(scale=1.0, random_state=1),
    "few factors": ig.MultiplicativeNoise(scale=0.1, random_state=1),
    "adaptive": ig.AdaptiveNoise(k=4, random_state=1),
}


def log_density(name, veil, z, x, i):
    """How likely record i with values x gives the row z, column by column."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if name in ("gaussian", "columns"):
            return norm(x, np.asarray(veil.scale) * UNIT).logpdf(z).sum()
        if name == "uniform":
            reach = np.sqrt(3) * veil.scale * UNIT * (1 + 2.0**-18)
            return uniform(x - reach, 2 * reach).logpdf(z).sum()
        if name == "adaptive":
            sigmas, units = veil.key_scales()
            return norm(x, sigmas[i] * units).logpdf(z).sum()
        end = min(1, 3 * veil.scale) / veil.scale
        if (end_of_zeros := (x == 0) != (z == 0)).any():
            assert end_of_zeros.any()
            return -np.inf
        some, half = x != 0, min(1, 3 * veil.scale)
        factor = z[some] / x[some]
        inside = np.clip(factor, 1 - half, 1 + half)  # rounding may carry one over the end
        found = truncnorm(-end, end, 1, veil.scale).logpdf(inside) - np.log(np.abs(x[some]))
        return np.where(np.abs(factor - inside) <= 1e-5, found, -np.inf).sum()


def made(name):
    veil = LAWS[name]
    released = veil.fit_transform(X)
    said = dict(veil.public_parameters())
    if name == "adaptive":
        sigmas, units = veil.key_scales()
        said |= {"sigmas": sigmas, "units": units}
    return veil, released, PublicParameters(veil.method, said)


@pytest.mark.parametrize("name", LAWS)
def test_every_fit_is_the_density_written_out(name):
    veil, Z, public = made(name)
    fit = fit_by_parameters(Z, X, public)
    expected = np.array([[log_density(name, veil, z, x, i) for i, x in enumerate(X)] for z in Z])
    assert np.isfinite(np.diag(expected)).all()  # its own record is possible
    found = fit.block(slice(0, len(Z)))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    possible = np.isfinite(expected)
    assert name in ("gaussian", "columns", "adaptive", "few factors") or not possible.all()
    np.testing.assert_allclose(found[possible], expected[possible], rtol=1e-3, atol=1e-3)
    few = np.array([3]), np.array([3])
    np.testing.assert_allclose(fit.part(*few).block(slice(0, 1))[0, 0], found[3, 3], rtol=1e-9)
    best, share = fit.best()
    weights = np.exp(found - found.max(axis=1, keepdims=True))
    np.testing.assert_allclose(share, 1 / weights.sum(axis=1), rtol=1e-4)
    np.testing.assert_allclose(found[np.arange(len(Z)), best], found.max(axis=1))


@pytest.mark.parametrize("name", LAWS)
def test_all_attacks_read_the_same_law(name):
    _, Z, public = made(name)
    fits = fit_by_parameters(Z, X, public).block(slice(0, len(Z)))
    weights = np.exp(fits - fits.max(axis=1, keepdims=True))
    expected = weights @ X / weights.sum(axis=1, keepdims=True)
    known = Knowledge.of(public) | PublicTable(X)
    attack = KeepingLinkage(random_state=0)
    assert (attack.link(Z, known).best == fits.argmax(axis=1)).all()
    np.testing.assert_allclose(AveragingLinkage(attack).guess(Z, known), expected)
    np.testing.assert_allclose(PosteriorAttack(random_state=0).guess(Z, known), expected)
    if name != "adaptive":  # of a stranger nobody knows how large the noise would be
        told, _ = noise_fit(Z, X, known | ColumnStatistics.of(X))
        np.testing.assert_allclose(told.block(slice(0, len(Z))), fits, rtol=1e-9)


@pytest.mark.parametrize("name", ["uniform", "factors"])
def test_no_true_record_is_ruled_out_and_others_are(name):
    rng = np.random.default_rng(5)
    table = rng.normal(size=(300, 40)) + 5
    veil = LAWS[name].set_params(random_state=2)
    Z = veil.fit_transform(table)
    known = PublicTable(table) | PublicParameters(veil.method, veil.public_parameters())
    fits = np.vstack([f for _, f in LinkageAttack().fits(Z, known)])
    assert np.isfinite(np.diag(fits)).all()
    assert np.isfinite(fits).mean() < 0.5


def test_one_record_alone_is_ruled_out_as_among_many():
    _, Z, public = made("uniform")
    fit = fit_by_parameters(Z, X, public)
    found = fit.block(slice(0, len(Z)))
    i, j = np.argwhere(~np.isfinite(found))[0]
    assert fit.part(np.array([i]), np.array([j])).block(slice(0, 1))[0, 0] == -np.inf


def test_a_large_public_table_is_read_to_its_end():
    rng = np.random.default_rng(6)
    table = rng.normal(size=(5_000, 6))
    Z = table[-20:] + 0.01 * rng.normal(size=(20, 6))
    said = PublicParameters("additive_noise", {"scale": 0.01, "relative": False})
    for known in (
        PublicTable(table) | said,
        PublicTable(table) | said | ColumnStatistics.of(table),
    ):
        guess = PosteriorAttack(random_state=0).guess(Z, known)
        np.testing.assert_allclose(guess, table[-20:], atol=1e-3)
