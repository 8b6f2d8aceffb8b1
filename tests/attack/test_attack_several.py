"""Several multiparty releases of one table: stacked, they are one release with more columns."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.activations import double_logistic
from isinglass.attack.knowledge import (
    KeptColumns,
    Knowledge,
    OtherReleases,
    PopulationSample,
    PublicParameters,
)
from isinglass.attack.map_estimate import MAPAttack
from isinglass.errors import AttackError
from isinglass.perturb.multiparty import MultipartyPerturbation
from isinglass.perturb.public_matrix import public_matrix

TABLE = np.random.default_rng(0).random((2000, 8))


def releases(seed, studies="ab", alpha=0.01):
    matrices = [public_matrix(8, study=study, seed=f"{seed:02x}") for study in studies]
    veils = [
        MultipartyPerturbation(m, alpha=alpha, bounds="scaled", random_state=10 * seed + i)
        for i, m in enumerate(matrices)
    ]
    return [m.matrix for m in matrices], [veil.fit_transform(TABLE) for veil in veils]


def public(matrix, alpha=0.01):
    return PublicParameters("multiparty", {"alpha": alpha, "bounds": "scaled"}, matrix=matrix)


def recovered(guess):
    y = double_logistic(TABLE)
    return 1 - ((double_logistic(guess) - y) ** 2).sum() / ((y - y.mean(axis=0)) ** 2).sum()


def test_two_releases_of_half_the_columns_give_nearly_all_of_them():
    one, both = [], []
    sample = PopulationSample(TABLE[:500])
    for seed in range(20):
        matrices, (first, second) = releases(seed)
        one.append(recovered(MAPAttack().guess(first, public(matrices[0]) | sample)))
        known = Knowledge(public(np.vstack(matrices)), sample, OtherReleases((second,)))
        both.append(recovered(MAPAttack().guess(first, known)))
    assert np.mean(one) == pytest.approx(0.50, abs=0.02)
    assert np.mean(both) >= 0.9


def test_stacking_is_one_release_with_both_matrices():
    matrices, (first, second) = releases(3)
    sample = PopulationSample(TABLE[:500])
    stacked = public(np.vstack(matrices))
    known = Knowledge(stacked, sample, OtherReleases((second,)))
    side_by_side = MAPAttack().guess(np.hstack([first, second]), Knowledge(stacked, sample))
    np.testing.assert_array_equal(MAPAttack().guess(first, known), side_by_side)


def test_kept_columns_and_releases_without_a_matrix_are_left_aside():
    matrices, (first, second) = releases(4)
    sample = PopulationSample(TABLE[:500])
    alone = MAPAttack().guess(first, public(matrices[0]) | sample)
    for extra in (KeptColumns(TABLE[:, :2]), OtherReleases((second,))):
        guess = MAPAttack().guess(first, public(matrices[0]) | sample | extra)
        np.testing.assert_array_equal(guess, alone)
    known = Knowledge(
        public(np.vstack(matrices)), sample, OtherReleases((second,)), KeptColumns(TABLE[:, :1])
    )
    assert recovered(MAPAttack().guess(first, known)) > 0.8


def test_each_study_may_have_an_alpha_of_its_own():
    matrices, (first, _) = releases(5)
    other = MultipartyPerturbation(
        public_matrix(8, study="b", seed="05"), alpha=0.6, bounds="scaled", random_state=1
    ).fit_transform(TABLE)
    sample = PopulationSample(TABLE[:500])
    shares = {}
    for name, alpha in {"own": [0.01] * 4 + [0.6] * 4, "low": 0.01, "high": 0.6}.items():
        known = Knowledge(public(np.vstack(matrices), alpha), sample, OtherReleases((other,)))
        shares[name] = recovered(MAPAttack().guess(first, known))
    assert shares["own"] > max(shares["low"], shares["high"]) + 0.05


def test_releases_must_have_the_same_rows():
    matrices, (first, second) = releases(6)
    known = Knowledge(
        public(np.vstack(matrices)), PopulationSample(TABLE[:500]), OtherReleases((second[1:],))
    )
    with pytest.raises(AttackError, match="2000 rows"):
        MAPAttack().guess(first, known)
