"""Records of few values are decoded from few released columns, once pairs teach the map."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import isinglass as ig
from isinglass.attack.decoding import DecodingAttack
from isinglass.attack.knowledge import ColumnStatistics, KnownPairs, OtherReleases, PopulationSample
from isinglass.attack.known_input import KnownInputAttack
from isinglass.errors import AttackError
from isinglass.perturb.distortion import Distortion
from isinglass.perturb.projection import RandomProjection

pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


def items(n, d, levels, seed=0):
    return 1.0 + np.random.default_rng(seed).binomial(levels - 1, 0.5, size=(n, d))


def acquainted(table, n_pairs=60):
    """What somebody knows who recognizes the first records and has a sample, the last ones."""
    pairs = KnownPairs(np.arange(n_pairs), table[:n_pairs])
    return pairs | PopulationSample(table[-len(table) // 10 :]) | ColumnStatistics.of(table)


def r2(guess, truth):
    return float(1 - (np.square(guess - truth).mean(axis=0) / truth.var(axis=0)).mean())


def test_one_released_column_gives_away_all_eight():
    table = items(600, 8, 4)
    released = RandomProjection(1, random_state=1).fit_transform(table)
    known = acquainted(table)
    assert np.array_equal(DecodingAttack().guess(released, known), table)
    assert r2(KnownInputAttack(random_state=0).guess(released, known)[60:], table[60:]) < 0.3


def test_products_of_columns_are_decoded():
    table = items(600, 7, 4)
    released = Distortion("square", n_components=1, random_state=1).fit_transform(table)
    assert np.array_equal(DecodingAttack().guess(released, acquainted(table)), table)


def test_any_sum_of_functions_of_single_columns_is_decoded():
    table = items(500, 6, 4)
    bent = np.random.default_rng(1).normal(size=(6, 5))
    released = sum(bent[j][table[:, j].astype(int)] for j in range(6))[:, np.newaxis]
    assert np.array_equal(DecodingAttack().guess(released, acquainted(table)), table)


def test_two_lists_stand_for_more_combinations_than_can_be_listed():
    table = items(600, 10, 7)  # 282 million
    released = RandomProjection(2, random_state=1).fit_transform(table)
    assert np.array_equal(DecodingAttack().guess(released, acquainted(table)), table)


def test_a_value_that_neither_pairs_nor_sample_have_is_found_within_the_known_range():
    table = items(400, 6, 4)
    table[100, 2], table[101, 3] = 7.0, 9.0
    released = RandomProjection(1, random_state=1).fit_transform(table)
    assert np.array_equal(DecodingAttack().guess(released, acquainted(table)), table)


@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_where_several_combinations_fit_the_guess_is_their_mean(noise):
    table = items(300, 3, 3)
    drawn = noise * np.random.default_rng(1).normal(size=(300, 1))
    released = table @ np.array([[1.0], [2.0], [3.0]]) + drawn  # sums that many records share
    guess = DecodingAttack().guess(released, KnownPairs(np.arange(200), table[:200]))
    pairs = np.column_stack([table[:200], np.ones(200)])
    weights, left, *_ = np.linalg.lstsq(pairs, released[:200], rcond=None)
    spread = np.sqrt(max(float(left[0]) / 196, 1e-20))
    common = [[(0.5 + (c == v).sum()) / 201.5 for v in (1, 2, 3)] for c in table[:200].T]
    every = np.array(list(product((1.0, 2.0, 3.0), repeat=3)))
    prior = np.prod([[common[j][int(v) - 1] for j, v in enumerate(r)] for r in every], axis=1)
    off = (released[200:] - (np.column_stack([every, np.ones(27)]) @ weights).T) / spread
    posterior = prior * np.exp(-np.square(off if noise else np.round(off * 1e-6)) / 2)
    expected = posterior @ every / posterior.sum(axis=1, keepdims=True)
    assert np.allclose(guess[200:], expected, atol=1e-6)
    assert len(np.unique(expected[:, 0])) > 3


def test_noise_that_is_small_beside_the_steps_between_values_is_rounded_away():
    table = items(600, 8, 4)
    released = RandomProjection(6, random_state=1).fit_transform(table)
    released = released + 0.03 * np.random.default_rng(2).normal(size=released.shape)
    known = acquainted(table)
    plain = KnownInputAttack(random_state=0).guess(released, known)
    ours = DecodingAttack().guess(released, known)
    assert r2(ours[60:], table[60:]) > 0.9 > r2(plain[60:], table[60:]) + 0.05


def test_other_releases_are_read_along_and_those_that_no_map_explains_are_not():
    table = items(300, 8, 4)
    table[:, 1] = np.where(table[:, 0] > 2, 1.0, 4.0)
    first = np.round(RandomProjection(1, random_state=1).fit_transform(table), 2)
    second = RandomProjection(1, random_state=2).fit_transform(table)
    noise = np.random.default_rng(3).normal(size=(300, 2))
    known = acquainted(table) | OtherReleases((second, noise))
    assert np.array_equal(DecodingAttack().guess(first, known), table)


def test_it_says_why_it_does_not_apply():
    rng = np.random.default_rng(0)
    table, numbers = items(300, 5, 4), rng.normal(size=(300, 5))
    with pytest.raises(AttackError, match="columns of few values"):
        DecodingAttack().guess(numbers @ rng.normal(size=(5, 2)), acquainted(numbers, 200))
    with pytest.raises(AttackError, match="explains known pairs"):
        DecodingAttack().guess(numbers, acquainted(table))
    with pytest.raises(AttackError, match="explains known pairs"):  # as any map would
        DecodingAttack().guess(table @ rng.normal(size=(5, 1)), acquainted(table, 7))
    many = items(300, 33, 2)
    released = np.tile(many @ rng.normal(size=(33, 1)), (20, 1))
    with pytest.raises(AttackError, match="too many combinations"):
        DecodingAttack().guess(released, acquainted(many))


def test_the_audit_decodes_for_the_acquainted_and_skips_it_elsewhere():
    table = items(300, 6, 4)
    released = RandomProjection(1, random_state=1).fit_transform(table)
    asked = {"attacks": ["decoding"], "rows_correspond": True, "random_state": 0}
    found = ig.audit(table, released, **asked).findings
    by_name = {a.name: a.r2 for a in found.attackers}
    assert by_name["acquainted"] == 1.0
    noisy = table + np.random.default_rng(2).normal(size=table.shape)
    for records, left in ((table, noisy), (noisy, released)):
        skipped = ig.audit(records, left, **asked).findings.skipped
        (why,) = [s for s in skipped if s.name == "decoding"]
        assert not why.applicable
    given = KnownPairs(np.arange(60), noisy[:60])
    skipped = ig.audit(noisy, released, knowledge=given, **asked).findings.skipped
    assert not any(s.applicable for s in skipped if s.name == "decoding")
