"""Linkage by the release as a function of the record: what few pairs tell, and what none do."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.activations import double_logistic
from isinglass.attack.knowledge import (
    Knowledge,
    KnownPairs,
    PublicParameters,
    PublicTable,
)
from isinglass.attack.learning import forward, forward_map
from isinglass.attack.linkage import LinkageAttack

D = 6


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    return rng.normal(size=(800, 2)) @ rng.normal(size=(2, D)) + rng.gamma(1.0, size=(800, D))


def linked(released, records, n_pairs, *facts, seed=0):
    """Share of rows outside the pairs that are named right."""
    rows = np.random.default_rng(seed).choice(len(released), n_pairs, replace=False)
    known = PublicTable(records) | KnownPairs(rows, records[rows])
    for fact in facts:
        known |= fact
    best = LinkageAttack(random_state=seed).link(released, known).best
    others = np.setdiff1d(np.arange(len(released)), rows)
    return float((best[others] == others).mean())


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_projection_is_linked_by_one_pair_more_than_columns(records, n_columns, dtype):
    matrix = np.random.default_rng(1).normal(size=(D, n_columns))
    released = (records @ matrix + 3.0).astype(dtype)
    # In single precision some of 800 values on one line lie closer than they are rounded.
    assert linked(released, records, D + 1) > (0.99 if dtype is np.float64 else 0.9)
    assert linked(released, records, D - 2) < 0.3


def test_squares_are_linked_once_pairs_outnumber_products(records):
    hidden = np.random.default_rng(2).normal(size=(2, D, 5))
    released = np.stack([np.square(records @ h).sum(axis=1) for h in hidden], axis=1)
    assert linked(released, records, 40) == 1.0
    assert linked(released, records, D + 1) < 0.3


@pytest.mark.parametrize("claim", ["multiparty", "rotation"])
def test_a_multiparty_release_is_linked_whatever_it_says_of_itself(records, claim):
    low, high = records.min(axis=0), records.max(axis=0)
    scaled = double_logistic((records - low) / (high - low), 4.0)
    released = scaled @ np.random.default_rng(3).normal(size=(D, 2))
    said = PublicParameters(claim, {"curvature": 4.0}, low=low, high=high)
    assert linked(released, records, D + 1, said) == 1.0


def test_a_claim_of_noise_is_held_against_the_pairs(records):
    turned = records @ np.linalg.qr(np.random.default_rng(4).normal(size=(D, D)))[0]
    said = PublicParameters("additive_noise", {"scale": 0.5})
    assert linked(turned, records, 2 * D, said) == 1.0
    # A true claim is used: no map learned from pairs knows the noise better.
    noise = 0.1 * records.std(axis=0) * np.random.default_rng(5).normal(size=records.shape)
    true = PublicParameters("additive_noise", {"scale": 0.1})
    known = PublicTable(records) | KnownPairs(np.arange(30), records[:30])
    linker = LinkageAttack(random_state=0).linker(records + noise, known | true)
    assert linker.inner.__class__.__name__ == "LinkFits"


@pytest.mark.parametrize("scale", ["much", -1.0, [1.0, 2.0], float("nan"), None])
def test_an_odd_claim_is_no_crash(records, scale):
    said = PublicParameters("additive_noise", {"scale": scale})
    released = records @ np.random.default_rng(6).normal(size=(D, D))
    assert linked(released, records, 2 * D, said) == 1.0


@pytest.mark.parametrize("n_pairs", [D + 1, 60, 200])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_fresh_noise_links_nobody(records, n_pairs, n_columns):
    released = np.random.default_rng(7).normal(size=(len(records), n_columns))
    assert linked(released, records, n_pairs) < 0.02


def test_links_that_are_sure_teach_what_too_few_pairs_leave_open(monkeypatch):
    rng = np.random.default_rng(8)
    table = rng.normal(size=(800, 4)) @ rng.normal(size=(4, 16)) + 0.3 * rng.gamma(1, 1, (800, 16))
    released = table @ rng.normal(size=(16, 16))
    assert linked(released, table, 7) == 1.0
    monkeypatch.setattr(forward, "_ROUNDS", 0)
    assert linked(released, table, 7) < 0.9


def test_noise_in_a_narrow_release_leaves_doubt(records):
    rng = np.random.default_rng(9)
    clean = records @ rng.normal(size=(D, 2))
    noisy = clean + 0.3 * clean.std(axis=0) * rng.normal(size=clean.shape)
    known = PublicTable(records) | KnownPairs(np.arange(100), records[:100])
    links = LinkageAttack(random_state=0).link(noisy, known)
    named = (links.best == np.arange(len(records)))[100:]
    # As sure as it is right.
    assert abs(named.mean() - links.posterior_best[100:].mean()) < 0.02
    assert links.ambiguous.mean() > 0.9


def test_twins_are_no_link(records):
    twice = np.vstack([records, records])
    released = records @ np.random.default_rng(10).normal(size=(D, 2))
    known = PublicTable(twice) | KnownPairs(np.arange(20), records[:20])
    links = LinkageAttack(random_state=0).link(released, known)
    assert links.ambiguous.all()
    np.testing.assert_allclose(links.posterior_best, 0.5, atol=1e-3)


def test_a_public_table_of_fewer_columns_links_fewer(records):
    released = records @ np.random.default_rng(11).normal(size=(D, 1))
    known = PublicTable(records) | KnownPairs(np.arange(30), records[:30])
    linker = LinkageAttack(random_state=0).linker(released, known)
    named = [
        (linker.fit(np.arange(800), n).best()[0] == np.arange(800)).mean() for n in (1, 4, D, None)
    ]
    assert named[0] < 0.1
    assert named[1] < named[2] == named[3] == 1.0


def test_a_wrong_map_through_all_pairs_explains_nothing(records):
    rng = np.random.default_rng(12)
    right = records @ rng.normal(size=(D, 2))
    for released, exact in ((right, True), (np.sort(right, axis=0), False)):
        pairs = forward_map.Pairs.of(records[: D + 1], released[: D + 1], records, Knowledge())
        found = forward_map.exact_map(pairs, released[D + 1 :], np.random.default_rng(0))
        assert (found is not None) is exact
