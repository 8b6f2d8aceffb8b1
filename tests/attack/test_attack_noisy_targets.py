"""Releases of different kinds: the one with noise is explained by the others."""

from __future__ import annotations

import numpy as np
import pytest

import isinglass as ig
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KeptColumns,
    KnownPairs,
    OtherReleases,
    PublicParameters,
    PublicTable,
)
from isinglass.attack.learning.noisy_targets import WAYS
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.naive import NaiveAttack
from isinglass.attack.noise.size import others_sorted, releases_averaged
from isinglass.attack.spectral import SpectralAttack
from isinglass.errors import AttackError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(800, 3)) @ RNG.normal(size=(3, 8)) + 0.3 * RNG.normal(size=(800, 8))
X = X * np.arange(1, 9) + 20
KNOWN = ColumnStatistics.of(X)
NOISY = X + 4 * X.std(axis=0) * RNG.normal(size=X.shape)
TURNED = X / X.std(axis=0) @ np.linalg.qr(RNG.normal(size=(8, 8)))[0]


def explained(guess, truth=X):
    return float((1 - np.square(guess - truth).mean(axis=0) / truth.var(axis=0)).mean())


def regressed(way, *others, released=NOISY, known=KNOWN):
    attack = ig.attacks.KeptColumnsAttack(regress=way, random_state=0)
    return attack.guess(released, known | OtherReleases(others))


def test_a_rotation_takes_the_noise_out_of_another_release():
    assert explained(NaiveAttack().guess(NOISY, KNOWN)) < 0.1
    inputs = np.column_stack([TURNED, np.ones(800)])
    weights, *_ = np.linalg.lstsq(inputs, NOISY, rcond=None)
    assert explained(regressed("line", TURNED)) > explained(inputs @ weights) - 0.01 > 0.8


@pytest.mark.parametrize("way", WAYS)
def test_numbers_that_mean_nothing_explain_nothing(way):
    fresh = RNG.normal(size=(800, 5))
    alone = explained(NaiveAttack().guess(NOISY, KNOWN))
    assert explained(regressed(way, fresh)) < alone + 0.02


def test_what_bends_is_told_by_curves():
    side = RNG.normal(size=(800, 1))
    bent = np.square(side) + 0.1 * RNG.normal(size=side.shape)
    noisy = bent + 3 * bent.std() * RNG.normal(size=side.shape)
    known = ColumnStatistics.of(bent)
    line, *curves = (
        explained(regressed(way, side, released=noisy, known=known), bent) for way in WAYS
    )
    assert all(curve > line + 0.3 for curve in curves)


def test_known_pairs_are_targets_without_noise():
    rows = np.arange(60)
    pairs = KnownPairs(rows, X[rows])
    guess = regressed("line", TURNED, known=KNOWN | pairs)
    np.testing.assert_array_equal(guess[rows], X[rows])
    assert explained(guess[60:], X[60:]) > explained(regressed("line", TURNED)[60:], X[60:])


def test_kept_categories_are_read_along():
    group = RNG.integers(0, 5, 800)
    truth = np.column_stack([group * 10.0, X[:, 0]])
    noisy = truth + 4 * truth.std(axis=0) * RNG.normal(size=truth.shape)
    known = ColumnStatistics.of(truth) | KeptColumns(group[:, np.newaxis], np.array([True]))
    guess = regressed("line", X[:, :1] ** 3, released=noisy, known=known)
    assert explained(guess[:, :1], truth[:, :1]) > 0.7


def test_what_is_not_explained_is_read_from_the_row():
    """One column of eight is told by the other release; little noise leaves the rest readable."""
    free = RNG.normal(size=(800, 8))
    noisy = free + RNG.normal(size=free.shape)
    known = ColumnStatistics.of(free)
    alone = explained(NaiveAttack().guess(noisy, known), free)
    assert explained(regressed("line", free[:, :1], released=noisy, known=known), free) > alone


def test_releases_of_another_kind_are_not_averaged_with_noise():
    said = PublicParameters("additive_noise", {"scale": 4.0})
    known = KNOWN | said
    both = known | OtherReleases((TURNED,))
    for attack in (NaiveAttack(), SpectralAttack()):
        np.testing.assert_array_equal(attack.guess(NOISY, both), attack.guess(NOISY, known))
    np.testing.assert_array_equal(releases_averaged(NOISY, both), NOISY)
    assert [same for _, same in others_sorted(TURNED, KNOWN | OtherReleases((NOISY,)))] == [False]


@pytest.mark.parametrize("attack", [NaiveAttack(), SpectralAttack()])
def test_strong_noise_beside_weak_noise_hides_nothing(attack):
    weak, strong = (X + s * X.std(axis=0) * RNG.normal(size=X.shape) for s in (0.5, 20.0))
    alone = explained(attack.guess(weak, KNOWN))
    for first, other in ((weak, strong), (strong, weak)):
        assert explained(attack.guess(first, KNOWN | OtherReleases((other,)))) > alone - 0.01


def test_weak_and_strong_noise_are_linked_as_well_as_weak_noise():
    few = X[:200]
    weak, strong = (few + s * few.std(axis=0) * RNG.normal(size=few.shape) for s in (0.2, 20.0))
    said = {s: PublicParameters("additive_noise", {"scale": s}) for s in (0.2, 20.0)}
    table, shares = PublicTable(few), []
    for first, scale, *others in ((weak, 0.2), (weak, 0.2, strong), (strong, 20.0, weak)):
        known = said[scale] | table | OtherReleases(tuple(others))
        guess = LinkageAttack(random_state=0).guess(first, known)
        shares.append((guess == few).all(axis=1).mean())
    assert min(shares) > shares[0] - 0.05
    assert shares[0] > 0.7


def test_records_are_linked_by_another_release_whatever_the_noise_of_this_one_tells():
    few, rows = X[:200], np.arange(60)
    noisy = few + 4 * few.std(axis=0) * RNG.normal(size=few.shape)
    known = PublicParameters("additive_noise", {"scale": 4.0}) | PublicTable(few)
    known |= KnownPairs(rows, few[rows]) | OtherReleases((TURNED[:200, :2],))
    guess = LinkageAttack(random_state=0).guess(noisy, known)
    assert (guess == few).all(axis=1)[60:].mean() > 0.9


def test_it_says_what_it_lacks():
    with pytest.raises(AttackError, match="another kind of release"):
        regressed("line", NOISY + 1e-3)
    with pytest.raises(AttackError, match="table's own columns"):
        regressed("line", NOISY, released=TURNED)
    with pytest.raises(ValueError, match="regress must be"):
        ig.attacks.KeptColumnsAttack(regress="spline")
