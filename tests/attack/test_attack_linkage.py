"""Which public record is behind each released row: goldens, limits and known truths."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.knowledge import (
    KeptColumns,
    KnownPairs,
    OtherReleases,
    PublicParameters,
    PublicTable,
)
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.linking.record_fit import (
    BLOCK,
    GaussianFit,
    blocks,
    gaussian,
    per_record,
)
from isinglass.errors import AttackError
from isinglass.measure.randomization import levels_from_fits, posterior, potential_fit

X = np.array([[0.0], [1.0], [2.0], [5.0]])
Z = np.array([[0.4], [1.6], [1.9], [4.0]])
GAUSSIAN = PublicParameters("additive_noise", {"scale": 1.0, "relative": False})
UNIFORM = PublicParameters(
    "additive_noise", {"scale": 3 / 12**0.5, "relative": False, "distribution": "uniform"}
)


def all_fits(released, knowledge):
    return np.vstack([fits for _, fits in LinkageAttack().fits(released, knowledge)])


def softmax(fits):
    weights = np.exp(fits - fits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def table(n=600, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.gamma(1.0, size=(n, d))


def test_posterior_and_levels_are_the_golden_ones():
    known = PublicTable(X) | GAUSSIAN
    fits = all_fits(Z, known)
    shares = softmax(fits)
    expected = [
        [0.4532969991, 0.4101600863, 0.1365304324, 0.0000124822],
        [0.1363253672, 0.4095440363, 0.4526161585, 0.0015144380],
    ]
    np.testing.assert_allclose(shares[:2], expected, atol=1e-9)
    np.testing.assert_array_equal(levels_from_fits(fits, np.arange(4)), [1, 2, 1, 1])
    links = LinkageAttack().link(Z, known)
    np.testing.assert_array_equal(links.best, [0, 2, 2, 3])
    # The exponentials of the sum are float32.
    np.testing.assert_allclose(links.posterior_best, shares.max(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(links.ambiguous, [True, True, False, False])


def test_uniform_noise_leaves_those_within_reach_alike():
    known = PublicTable(X) | UNIFORM
    np.testing.assert_array_equal(levels_from_fits(all_fits(Z, known), np.arange(4)), [2, 2, 2, 1])
    links = LinkageAttack().link(Z, known)
    np.testing.assert_allclose(links.posterior_best, [0.5, 0.5, 0.5, 1.0])
    np.testing.assert_array_equal(links.ambiguous, [True, True, True, False])


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_fits_are_the_likelihoods_that_the_metric_counts(distribution):
    records = table()
    rng = np.random.default_rng(1)
    scale = 0.7 * records.std(axis=0, ddof=1)
    draw = rng.normal if distribution == "gaussian" else lambda size: rng.uniform(-1, 1, size)
    factor = 1.0 if distribution == "gaussian" else 3**0.5
    released = records[:50] + factor * scale * draw(size=(50, 6))
    said = PublicParameters("additive_noise", {"scale": 0.7, "distribution": distribution})
    expected = potential_fit(released, records, scale=scale, distribution=distribution)
    np.testing.assert_allclose(all_fits(released, PublicTable(records) | said), expected)
    shares, defined = posterior(released, records, scale=scale, distribution=distribution)
    links = LinkageAttack().link(released, PublicTable(records) | said)
    np.testing.assert_allclose(links.posterior_best, shares.max(axis=1), rtol=1e-5)
    assert defined.all()
    assert links.defined.all()


def test_without_noise_every_row_is_linked():
    records = table()
    order = np.random.default_rng(2).permutation(len(records))
    for said in ({"scale": 0.0}, {"scale": 1e-9}, {"scale": 0.0, "distribution": "uniform"}):
        known = PublicTable(records) | PublicParameters("additive_noise", said)
        links = LinkageAttack().link(records[order], known)
        np.testing.assert_array_equal(links.best, order)
        assert links.posterior_best.min() > 0.999
    np.testing.assert_array_equal(LinkageAttack().guess(records[order], known), records[order])


def test_huge_noise_leaves_a_flat_posterior():
    records = table(400)
    noise = 1e4 * records.std(axis=0) * np.random.default_rng(3).normal(size=records.shape)
    known = PublicTable(records) | PublicParameters("additive_noise", {"scale": 1e4})
    links = LinkageAttack().link(records + noise, known)
    assert links.posterior_best.max() < 1.01 / 400
    assert links.ambiguous.all()


def test_a_row_whose_record_is_not_public_is_said_to_be_undefined():
    records = table(300)
    known = PublicTable(records) | PublicParameters(
        "additive_noise", {"scale": 0.01, "distribution": "uniform"}
    )
    stranger = records.max(axis=0) + 10 * records.std(axis=0)
    links = LinkageAttack().link(np.vstack([records[:3], stranger]), known)
    np.testing.assert_array_equal(links.defined, [True, True, True, False])
    assert links.posterior_best[3] == 0
    fits = all_fits(stranger[np.newaxis], known)
    assert np.isneginf(fits).all()
    assert np.isfinite(LinkageAttack().guess(stranger[np.newaxis], known)).all()


def test_a_rotation_is_linked_through_twice_as_many_pairs_as_columns():
    records = table(800)
    scaled = (records - records.min(axis=0)) / np.ptp(records, axis=0)
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(6, 6)))[0]
    pairs = KnownPairs(np.arange(12), records[:12])
    known = PublicTable(records) | pairs | PublicParameters("rotation")
    links = LinkageAttack(random_state=0).link(scaled @ turn, known)
    assert (links.best == np.arange(800)).mean() >= 0.95
    assert np.median(links.posterior_best) > 0.99


def test_kept_columns_and_other_releases_help_to_link():
    records = table(800)
    rng = np.random.default_rng(11)
    noise = rng.normal(scale=1.5, size=(2, 800, 3))
    narrow, other = (records @ rng.normal(size=(6, 3)) + part for part in noise)
    known = PublicTable(records) | KnownPairs(np.arange(40), records[:40])
    attack = LinkageAttack(random_state=0)
    alone = (attack.link(narrow, known).best == np.arange(800)).mean()
    both = attack.link(narrow, known | OtherReleases((other,)))
    kept = attack.link(narrow, known | KeptColumns(records[:, :3]))
    assert alone < 0.2
    assert (both.best == np.arange(800)).mean() > 2 * alone
    assert (kept.best == np.arange(800)).mean() > 0.95


def test_twins_in_the_public_table_are_ambiguous():
    records = np.vstack([table(50), table(50)])
    known = PublicTable(records) | PublicParameters("additive_noise", {"scale": 0.0})
    links = LinkageAttack().link(records[:50], known)
    assert links.ambiguous.all()
    np.testing.assert_allclose(links.posterior_best, 0.5)


def test_per_record_fits_agree_with_their_formula():
    rng = np.random.default_rng(5)
    released, records = rng.normal(size=(7, 3)), rng.normal(size=(9, 3)) + 4
    units, sigmas = np.array([1.0, 2.0, 0.5]), rng.uniform(0.5, 2, size=9)
    gaps = (released[:, np.newaxis] - records) / units
    constant = -1.5 * np.log(2 * np.pi) - np.log(units).sum()
    expected = constant - 3 * np.log(sigmas) - np.square(gaps).sum(axis=2) / (2 * sigmas**2)
    found = per_record(released, records, units, sigmas).block(slice(0, 7))
    np.testing.assert_allclose(found, expected)


def test_noise_by_a_rule_is_linked_with_the_sizes_at_each_public_record():
    records = table(300)
    units = records.std(axis=0)
    sigmas = np.random.default_rng(6).uniform(0.05, 3, size=300)
    noise = np.random.default_rng(7).normal(size=records.shape)
    released = records + noise * units * sigmas[:, np.newaxis]
    said = PublicParameters("adaptive_noise", {"k": 5, "sigmas": sigmas, "units": units})
    knows = (
        LinkageAttack().link(released, PublicTable(records) | said).best == np.arange(300)
    ).mean()
    flat = PublicParameters("additive_noise", {"scale": float(sigmas.mean())})
    guesses = (
        LinkageAttack().link(released, PublicTable(records) | flat).best == np.arange(300)
    ).mean()
    assert knows > guesses


def test_multiplicative_noise_is_linked_by_its_factors():
    records = np.exp(np.random.default_rng(8).normal(size=(400, 8)))
    factors = 1 + 0.1 * np.random.default_rng(9).normal(size=records.shape).clip(-3, 3)
    known = PublicTable(records) | PublicParameters("multiplicative_noise", {"scale": 0.1})
    links = LinkageAttack().link(records * factors, known)
    assert (links.best == np.arange(400)).mean() > 0.99


def test_condensed_records_go_to_the_nearest():
    records = table(200)
    known = PublicTable(records) | PublicParameters("condensation", {"k": 5})
    near = records + 1e-4 * records.std(axis=0)
    np.testing.assert_array_equal(LinkageAttack().link(near, known).best, np.arange(200))


def test_without_pairs_and_parameters_the_attack_says_what_it_lacks():
    with pytest.raises(AttackError, match=r"known pairs .* or columns that left"):
        LinkageAttack().link(Z, PublicTable(X))
    with pytest.raises(AttackError, match="at least 2 known pairs"):
        LinkageAttack().link(Z, PublicTable(X) | KnownPairs(np.array([0]), X[:1]))
    with pytest.raises(AttackError, match="PublicTable"):
        LinkageAttack().guess(Z, GAUSSIAN)


def test_the_running_sum_equals_the_whole_one_over_many_tiles():
    rng = np.random.default_rng(10)
    released, records = rng.normal(size=(300, 4)), rng.normal(size=(3000, 4))
    for scale in (0.01, 1.0, 50.0):
        fit = gaussian(released, records, np.full(4, scale))
        best, share = fit.best()
        fits = fit.block(slice(0, 300))
        np.testing.assert_array_equal(best, fits.argmax(axis=1))
        np.testing.assert_allclose(share, softmax(fits).max(axis=1), rtol=1e-5)


def test_blocks_are_small_and_cover_all_rows():
    fit = GaussianFit(np.ones((500, 1)), np.ones((100_000, 1)))
    seen = 0
    for rows, fits in blocks(fit):
        assert rows.start == seen
        assert fits.nbytes <= BLOCK
        assert fits.shape == (rows.stop - rows.start, 100_000)
        seen = rows.stop
    assert seen == 500
