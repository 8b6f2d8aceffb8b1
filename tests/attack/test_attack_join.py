"""Kept columns in linkage: who is unique on what left as it was is named."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.kept.join import Groups, JoinedFit, joined
from isinglass.attack.knowledge import (
    KeptColumns,
    KnownPairs,
    PublicParameters,
    PublicTable,
)
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.linking.record_fit import gaussian
from isinglass.auditing import linkage as link
from isinglass.errors import AttackError


@pytest.fixture(scope="module")
def records():
    return np.random.default_rng(0).normal(size=(500, 4))


def test_rows_that_are_unique_on_kept_columns_are_named_without_a_pair(records):
    rng = np.random.default_rng(1)
    released, kept = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    order = rng.permutation(500)
    # In any order, and rounded on the way.
    known = PublicTable(records, kept) | KeptColumns(kept[order].astype(np.float32))
    links = LinkageAttack().link(released, known)
    np.testing.assert_array_equal(links.best, order)
    np.testing.assert_array_equal(links.posterior_best, 1.0)
    np.testing.assert_array_equal(LinkageAttack().guess(released, known), records[order])


def test_missing_values_are_alike():
    kept = np.array([[np.nan, 1.0], [np.nan, 2.0], [3.0, np.nan]])
    records = np.arange(6.0).reshape(3, 2)
    links = LinkageAttack().link(records, PublicTable(records, kept) | KeptColumns(kept[::-1]))
    np.testing.assert_array_equal(links.best, [2, 1, 0])


def test_records_of_a_group_are_alike_where_nothing_else_is_known(records):
    group = np.repeat(np.arange(100.0), 5)[:, np.newaxis]
    known = PublicTable(records, group) | KeptColumns(group, [True])
    links = LinkageAttack().link(np.zeros((500, 1)), known)
    np.testing.assert_allclose(links.posterior_best, 0.2)
    np.testing.assert_array_equal(links.best // 5, np.arange(500) // 5)
    assert links.ambiguous.all()


def test_noise_is_compared_within_the_group(records):
    rng = np.random.default_rng(2)
    group = rng.integers(0, 40, size=(500, 1)).astype(float)
    released = records + rng.normal(size=records.shape)
    said = PublicParameters("additive_noise", {"scale": 1.0, "relative": False})
    alone = LinkageAttack().link(released, PublicTable(records) | said)
    known = PublicTable(records, group) | said | KeptColumns(group, [True])
    within = LinkageAttack().link(released, known)
    fits = np.vstack([block for _, block in LinkageAttack().fits(released, known)])
    assert (np.isfinite(fits) == (group == group.T)).all()
    np.testing.assert_array_equal(within.best, fits.argmax(axis=1))
    weights = np.exp(fits - fits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(within.posterior_best, 1 / weights.sum(axis=1), rtol=1e-9)
    truth = np.arange(500)
    assert (within.best == truth).mean() > 3 * (alone.best == truth).mean()


def test_pairs_are_learned_from_within_groups_too(records):
    group = np.random.default_rng(3).integers(0, 40, size=(500, 1)).astype(float)
    released = np.sin(records @ np.random.default_rng(4).normal(size=(4, 1)))
    known = KnownPairs(np.arange(60), records[:60]) | PublicTable(records, group)
    attack = LinkageAttack(random_state=0)
    apart = attack.link(released, known).best[60:]
    both = attack.link(released, known | KeptColumns(group, [True])).best[60:]
    truth = np.arange(60, 500)
    assert (both == truth).mean() > 4 * (apart == truth).mean()


def test_a_row_whose_kept_values_nobody_has_may_be_anybody(records):
    kept = np.arange(500.0)[:, np.newaxis]
    seen = kept.copy()
    seen[7] = -1.0
    known = PublicTable(records, kept) | KeptColumns(seen)
    known |= PublicParameters("additive_noise", {"scale": 0.0})
    links = LinkageAttack().link(records, known)
    np.testing.assert_array_equal(links.best, np.arange(500))
    assert links.defined.all()


def test_levels_by_groups_are_those_of_all_fits(records):
    rng = np.random.default_rng(5)
    group = rng.integers(0, 60, size=500).astype(np.intp)
    released = records + rng.normal(size=records.shape)
    fit = joined(gaussian(released, records, np.ones(4)), Groups(group, group))
    truth = np.arange(500)
    truth[3] = np.flatnonzero(group != group[3])[0]  # impossible, so that all fit as well
    fits = fit.block(slice(0, 500))
    expected = (fits >= fits[np.arange(500), truth][:, np.newaxis]).sum(axis=1)
    np.testing.assert_array_equal(link._joined_levels(fit, truth), expected)
    assert expected[3] == 500
    assert expected[np.arange(500) != 3].max() <= np.bincount(group).max()


def test_a_join_compares_no_more_than_the_groups_hold():
    n = 20_000
    numbers = np.random.default_rng(6).permutation(n)
    fit = joined(None, Groups(numbers[:1000], np.arange(n)))
    assert isinstance(fit, JoinedFit)
    assert sum(fits.size for _, _, fits in fit.parts()) == 1000
    best, share = fit.best()
    np.testing.assert_array_equal(best, numbers[:1000])
    np.testing.assert_array_equal(share, 1.0)


def test_kept_columns_that_cannot_be_joined_are_said_so(records):
    for kept, public, text in (
        (np.zeros((500, 2)), np.zeros((500, 1)), "must have the 2 kept columns"),
        (np.zeros((3, 1)), np.zeros((500, 1)), "the release's 500 rows"),
    ):
        with pytest.raises(AttackError, match=text):
            LinkageAttack().link(records, PublicTable(records, public) | KeptColumns(kept))
