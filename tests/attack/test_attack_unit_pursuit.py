"""Hidden units of a distortion are found from known pairs, where there are any."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.activations import ACTIVATIONS
from isinglass.attack.knowledge import (
    ColumnStatistics,
    KnownPairs,
    PopulationSample,
    PublicParameters,
)
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.learning.hidden_units import find_units
from isinglass.attack.unit_pursuit import UnitPursuitAttack
from isinglass.errors import AttackError
from isinglass.perturb.distortion import Distortion
from isinglass.perturb.noise import AdditiveNoise
from isinglass.perturb.rotation import Rotation

pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


def table(n=600, d=6, seed=0):
    """Columns with a long tail that two factors drive."""
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) * 0.5) + rng.random((n, d))


def r2(guess, truth):
    left = np.square(guess - truth).sum(axis=0) / np.square(truth - truth.mean(axis=0)).sum(axis=0)
    return 1 - left.mean()


def compared(veil, records, n_pairs, *, claimed=None, more=None):
    """R² of unknown rows by regression on known pairs, and by units."""
    released = veil.fit_transform(records)
    known = KnownPairs(np.arange(n_pairs), records[:n_pairs]) | ColumnStatistics.of(records)
    if claimed is not None:
        known |= PublicParameters("distortion", claimed)
    if more is not None:
        known |= more
    rest = slice(n_pairs, None)
    guesses = (
        attack.guess(released, known)
        for attack in (KnownInputAttack(random_state=0), UnitPursuitAttack(random_state=0))
    )
    return [r2(guess[rest], records[rest]) for guess in guesses]


@pytest.mark.parametrize(
    ("activation", "setting"),
    [
        ("tanh", {}),
        ("tanh", {"weights": "gaussian", "n_hidden": 8, "n_components": 10}),
        ("sigmoid", {"slope": 3.0}),
        ("erf", {}),
    ],
)
def test_sixty_pairs_undo_a_distortion_without_its_key(activation, setting):
    veil = Distortion(activation, random_state=1, **setting)
    learned, units = compared(veil, table(), 60, claimed={"activation": activation})
    assert learned < 0.99
    assert units > 0.9999


def test_a_steep_distortion_gives_more_to_units_than_to_regression():
    gains = []
    for seed in range(4):
        veil = Distortion(slope=5.0, random_state=seed)
        learned, units = compared(veil, table(seed=seed), 60)
        gains.append(units - learned)
    assert min(gains) > -0.05
    assert np.mean(gains) > 0.2


@pytest.mark.parametrize(
    "claimed",
    [
        {"activation": "square"},
        {"activation": "sign"},
        {"activation": "no such function"},
        {"activation": 10**400, "layers": "many", "slope": None},
        {},
    ],
)
def test_what_the_metadata_claim_of_the_function_decides_nothing(claimed):
    assert compared(Distortion(random_state=1), table(), 60, claimed=claimed)[1] > 0.9999


def test_a_sample_is_read_along():
    sample = PopulationSample(table(100, seed=5))
    assert compared(Distortion(random_state=1), table(), 60, more=sample)[1] > 0.9999


@pytest.mark.parametrize(
    "veil",
    [
        AdditiveNoise(scale=1.0, random_state=1),
        Rotation(optimize=None, random_state=1),
        Distortion(layers=2, random_state=1),
        Distortion(n_hidden=20, random_state=1),
        Distortion("sign", random_state=1),
    ],
    ids=["noise", "rotation", "two layers", "more units than columns", "steps"],
)
def test_where_there_is_no_unit_the_guess_is_that_of_regression(veil):
    # Below zero either has found nothing; by how much depends on the learner.
    learned, units = np.maximum(compared(veil, table(), 60), 0)
    assert units == pytest.approx(learned, abs=0.02)


@pytest.mark.parametrize("f", ["tanh", "square", "erf", "relu"])
def test_fresh_noise_has_no_units(f):
    rng = np.random.default_rng(3)
    X, Z = rng.random((70, 5)), rng.normal(size=(70, 5))
    found = find_units(ACTIVATIONS[f], X[:55], Z[:55], 60, rng)
    assert found is None or found.confirmed(X[55:], Z[55:]) is None


def test_an_unrelated_table_gives_nothing():
    veil = Distortion(random_state=1).fit(table())
    released, records = veil.transform(table(600)), table(600, seed=9)
    known = KnownPairs(np.arange(60), records[:60]) | ColumnStatistics.of(records)
    guess = UnitPursuitAttack(random_state=0).guess(released, known)
    assert r2(guess[60:], records[60:]) < 0.05


def test_units_are_those_of_the_key():
    X = np.random.default_rng(4).random((90, 4))
    veil = Distortion(bounds="scaled", center=0.0, random_state=2)
    Z = veil.fit_transform(X)
    found = find_units(ACTIVATIONS["tanh"], X, Z, 150, np.random.default_rng(0))
    assert found.weights.shape == (4, 4)
    key = np.column_stack([veil._key.first, veil._key.shifts[0]])
    for unit in np.column_stack([found.weights, found.shifts]):
        off = np.minimum(np.abs(key - unit).max(axis=1), np.abs(key + unit).max(axis=1))
        assert off.min() < 1e-6
    np.testing.assert_allclose(found.inner(Z), X @ found.weights.T + found.shifts, atol=1e-6)


def test_few_pairs_are_an_error_that_says_how_many_it_takes():
    records = table()
    released = Distortion(random_state=1).fit_transform(records)
    with pytest.raises(AttackError, match="at least 21 known pairs, got 12"):
        UnitPursuitAttack().guess(released, KnownPairs(np.arange(12), records[:12]))
    with pytest.raises(ValueError, match="n_starts"):
        UnitPursuitAttack(0)


def test_the_same_seed_guesses_the_same():
    records = table()
    released = Distortion(slope=5.0, random_state=1).fit_transform(records)
    known = KnownPairs(np.arange(60), records[:60])
    one, other = (UnitPursuitAttack(random_state=3).guess(released, known) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[:60], records[:60])
