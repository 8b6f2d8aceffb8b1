"""Collusion: a shared key gives everyone away, and tables and shared records give much."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.collusion import CollusionAttack
from isinglass.attack.knowledge import (
    Colluders,
    Knowledge,
    KnownPairs,
    PopulationSample,
    PublicParameters,
)
from isinglass.attack.map_estimate import MAPAttack
from isinglass.errors import AttackError
from isinglass.perturb.distortion import Distortion
from isinglass.perturb.multiparty import MultipartyPerturbation
from isinglass.perturb.public_matrix import public_matrix


def explained(guess, truth):
    return 1 - ((guess - truth) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum()


def table(rows, seed, n=8):
    """Three factors behind n columns, the same for all participants."""
    loads = np.random.default_rng(99).normal(size=(3, n))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)) @ loads + 0.5 * rng.normal(size=(rows, n))
    return np.clip(0.5 + X / 12, 0, 1)


def test_a_shared_key_held_by_one_colluder_gives_everyones_records():
    key = Distortion("tanh", bounds="scaled", random_state=0).fit(table(100, 0))
    for victim in (1, 2, 3):
        X = table(300, victim)
        guess = CollusionAttack().guess(key.transform(X), Colluders((), key=key))
        assert np.abs(guess - X).max() < 1e-6


class OneWay:
    """A shared key that can be applied, but offers no way back."""

    def __init__(self, seed):
        self._turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(8, 8)))[0]

    def transform(self, X):
        return X @ self._turn + 3.0


def test_a_shared_key_without_a_way_back_makes_pairs_of_the_colluders_records():
    own, X, key = table(60, 0), table(300, 1), OneWay(2)
    known = Colluders((own[:30], own[30:]), key=key)
    guess = CollusionAttack(random_state=0).guess(key.transform(X), known)
    np.testing.assert_allclose(guess, X, atol=1e-6)


def test_a_key_whose_function_has_no_inverse_still_makes_pairs():
    own, X = table(400, 0), table(300, 1)
    key = Distortion("square", bounds="scaled", random_state=0).fit(own)
    guess = CollusionAttack(random_state=0).guess(key.transform(X), Colluders((own,), key=key))
    assert explained(guess, X) > 0.5


def test_a_shared_key_with_more_units_than_released_columns_gives_every_record():
    own, X = table(100, 0), table(300, 1)
    key = Distortion(n_hidden=24, n_components=10, bounds="scaled", random_state=0).fit(own)
    guess = CollusionAttack(random_state=0).guess(key.transform(X), Colluders((own,), key=key))
    assert np.abs(guess - X).max() < 1e-6


def scene(alpha, seed):
    X = table(2000, 10 + seed)
    matrix = public_matrix(8, study="s", seed=f"{seed:02x}")
    veil = MultipartyPerturbation(matrix, alpha=alpha, bounds="scaled", random_state=seed)
    Z = veil.fit_transform(X)
    facts = PublicParameters("multiparty", {"alpha": alpha}, np.zeros(8), np.ones(8), matrix.matrix)
    return X, Z, facts


def test_colluders_tables_and_shared_records_give_more_than_the_public_matrix():
    alone, tables, shared = [], [], []
    for seed in range(4):
        X, Z, facts = scene(0.3, seed)
        theirs = table(300, 50 + seed), table(200, 60 + seed)
        pairs = KnownPairs(np.arange(8), X[:8])
        alone.append(explained(MAPAttack().guess(Z, facts | PopulationSample(theirs[0])), X))
        attack = CollusionAttack(random_state=0)
        tables.append(explained(attack.guess(Z, facts | Colluders(theirs)), X))
        guess = attack.guess(Z, facts | Colluders(theirs, shared=pairs))
        shared.append(explained(guess[8:], X[8:]))
    assert np.mean(tables) > np.mean(alone) + 0.05
    assert np.mean(shared) > np.mean(tables) + 0.02
    assert np.mean(shared) > np.mean(alone) + 0.2


def test_pairs_and_samples_known_otherwise_are_used_too():
    X, Z, facts = scene(0.3, 0)
    theirs = table(400, 50)
    attack = CollusionAttack(random_state=0)
    whole = Colluders((theirs,), shared=KnownPairs(np.arange(8), X[:8]))
    split = Knowledge(
        facts,
        Colluders((theirs[:200],), shared=KnownPairs(np.arange(4), X[:4])),
        PopulationSample(theirs[200:]),
        KnownPairs(np.arange(4, 8), X[4:8]),
    )
    np.testing.assert_allclose(attack.guess(Z, split), attack.guess(Z, facts | whole), atol=1e-6)


def test_under_other_methods_shared_records_are_known_pairs():
    X = table(500, 0)
    Z = X @ np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    known = Colluders((table(50, 1),), shared=KnownPairs(np.arange(12), X[:12]))
    guess = CollusionAttack(random_state=0).guess(Z, known)
    np.testing.assert_allclose(guess, X, atol=1e-6)


def test_what_is_missing_is_named():
    with pytest.raises(AttackError, match="Colluders"):
        CollusionAttack().guess(np.ones((3, 2)), PublicParameters("rotation"))
    with pytest.raises(AttackError, match="shared key or shared records"):
        CollusionAttack().guess(np.ones((3, 2)), Colluders((np.ones((4, 2)),)))
    with pytest.raises(AttackError, match="needs PopulationSample"):
        CollusionAttack().guess(np.ones((3, 2)), Colluders((), key=object()))
