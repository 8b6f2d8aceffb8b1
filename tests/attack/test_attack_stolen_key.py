"""What a stolen key gives back, and what stays lost even then."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.knowledge import ColumnStatistics, PopulationSample, StolenKey
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.errors import AttackError
from isinglass.perturb.condensation import Condensation
from isinglass.perturb.distortion import Distortion
from isinglass.perturb.geometric import GeometricPerturbation
from isinglass.perturb.multiparty import MultipartyPerturbation
from isinglass.perturb.noise import AdditiveNoise, MultiplicativeNoise
from isinglass.perturb.projection import RandomProjection
from isinglass.perturb.rotation import Rotation

pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


def table(n=500, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.gamma(1.0, size=(n, d)) + 3


def r2(guess, truth):
    return 1 - np.square(guess - truth).sum() / np.square(truth - truth.mean(axis=0)).sum()


@pytest.mark.parametrize(
    "perturbation",
    [
        Rotation(optimize=None, random_state=1),
        GeometricPerturbation(0.3, random_state=1),
        AdditiveNoise(scale=8.0, random_state=1),
        MultiplicativeNoise(0.2, random_state=1),
        Distortion(random_state=1),
        RandomProjection(6, random_state=1),
    ],
    ids=lambda p: p.method,
)
def test_a_key_undoes_all_that_has_an_inverse(perturbation):
    records = table()
    released = perturbation.fit_transform(records)
    guess = StolenKeyAttack().guess(released, StolenKey(perturbation))
    assert np.abs(guess - records).max() < 1e-4 * np.ptp(records, axis=0).min()


@pytest.mark.parametrize("n_hidden", [29, 60])
def test_tanh_hides_nothing_from_a_key_holder(n_hidden):
    # Records in [0, 1]^29 with the paper's gaussian weights and no center.
    records = np.random.default_rng(0).random((300, 29))
    veil = Distortion(
        n_hidden=n_hidden,
        n_components=n_hidden,
        weights="gaussian",
        center=0.0,
        bounds="scaled",
        random_state=0,
    )
    released = veil.fit_transform(records)
    guess = StolenKeyAttack().guess(released, StolenKey(veil))
    median = np.median(np.abs(guess - records))
    assert median < (1e-7 if n_hidden == 29 else 1e-12)


@pytest.mark.parametrize("lost", [{"n_hidden": 14}, {"n_components": 14}, {"slope": 60.0}])
def test_narrow_or_saturated_networks_lose_values_for_good(lost):
    records = np.random.default_rng(1).random((200, 29))
    veil = Distortion(weights="gaussian", bounds="scaled", random_state=0, **lost)
    guess = StolenKeyAttack(400).guess(veil.fit_transform(records), StolenKey(veil))
    assert np.isfinite(guess).all()
    assert np.median(np.abs(guess - records)) > 0.05


@pytest.mark.parametrize("kind", [AdditiveNoise, GeometricPerturbation])
def test_rows_in_any_order_get_their_own_noise_back(kind):
    records = table()
    perturbation = kind(random_state=2)
    released = perturbation.fit_transform(records)
    rows = np.random.default_rng(3).permutation(len(records))[:200]
    attack = StolenKeyAttack()
    guess = attack.guess(released[rows], StolenKey(perturbation, rows=rows))
    np.testing.assert_allclose(guess, records[rows], atol=1e-4)
    guess = attack.guess(released[40:], StolenKey(perturbation, first_row=40))
    np.testing.assert_allclose(guess, records[40:], atol=1e-4)
    with pytest.raises(AttackError, match="one for each released row"):
        attack.guess(released, StolenKey(perturbation, rows=rows))


def test_a_sample_helps_where_columns_were_dropped():
    records = table(800)
    veil = MultipartyPerturbation(alpha=0.1, random_state=4)
    released = veil.fit_transform(records)
    key = StolenKey(veil)
    blind = StolenKeyAttack(400).guess(released, key)
    informed = StolenKeyAttack(400).guess(released, key | PopulationSample(records[:200]))
    assert r2(informed, records) > max(0.5, r2(blind, records))


@pytest.mark.parametrize("activation", ["square", "relu", "sign", np.sin])
def test_without_an_inverse_the_key_makes_pairs_to_learn_from(activation):
    records = table()
    veil = Distortion(activation, n_hidden=24, n_components=24, random_state=5)
    released = veil.fit_transform(records)
    known = StolenKey(veil) | PopulationSample(table(seed=0)[:250])
    attack = StolenKeyAttack(n_simulated=600, random_state=0)
    guess = attack.guess(released[250:], known)
    assert r2(guess, records[250:]) > 0.6
    np.testing.assert_array_equal(guess, attack.guess(released[250:], known))


def test_without_a_sample_records_are_drawn_within_the_keys_bounds():
    records = np.random.default_rng(6).random((400, 4))
    veil = Distortion("relu", n_hidden=16, n_components=16, bounds="scaled", random_state=5)
    released = veil.fit_transform(records)
    guess = StolenKeyAttack(600, random_state=0).guess(released, StolenKey(veil))
    assert r2(guess, records) > 0.8


def test_condensed_records_are_guessed_by_their_group():
    records = table(300)
    veil = Condensation(10, random_state=6).fit(records)
    released = veil.transform_rows(records, 0)
    known = StolenKey(veil) | ColumnStatistics.of(records)
    guess = StolenKeyAttack(400, random_state=0).guess(released, known)
    assert guess.shape == records.shape
    assert np.isfinite(guess).all()


def by_a_few_factors(n=600, d=8, seed=8):
    """Columns with a long tail that three factors drive."""
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) * 0.4) + rng.random((n, d))


@pytest.mark.parametrize(
    ("activation", "setting"),
    [
        ("tanh", {"n_hidden": 24, "n_components": 10}),
        ("tanh", {"n_hidden": 24, "n_components": 12, "weights": "gaussian"}),
        ("tanh", {"n_hidden": 20, "n_components": 12, "layers": 2}),
        ("square", {"n_hidden": 24, "n_components": 24}),
        ("relu", {"n_hidden": 40, "n_components": 40}),
    ],
)
def test_the_key_inverts_the_whole_map_at_once(activation, setting):
    records = by_a_few_factors()
    veil = Distortion(activation, random_state=1, **setting)
    released = veil.fit_transform(records)
    known = StolenKey(veil) | PopulationSample(records[:60]) | ColumnStatistics.of(records)
    guess = StolenKeyAttack(600, random_state=0).guess(released, known)
    assert r2(guess, records) > 0.999


@pytest.mark.parametrize(
    ("activation", "setting"),
    [
        ("tanh", {"n_components": 2}),
        ("tanh", {"slope": 60.0}),
        ("tanh", {"slope": 60.0, "n_hidden": 12, "n_components": 3, "layers": 2}),
        ("double_logistic", {"slope": 20.0}),
        ("sign", {"n_components": 1}),
        (np.floor, {"slope": 3.0, "sigma_q": 1.0}),
    ],
)
def test_a_key_holder_does_no_worse_than_the_mean(activation, setting):
    records = by_a_few_factors()
    veil = Distortion(activation, weights="gaussian", random_state=1, **setting)
    released = veil.fit_transform(records)
    known = StolenKey(veil) | PopulationSample(records[:60]) | ColumnStatistics.of(records)
    guess = StolenKeyAttack(600, random_state=0).guess(released, known)
    column = 1 - np.square(guess - records).mean(axis=0) / records.var(axis=0)
    assert column.min() > -0.1  # chance: the mean is left on the word of twenty records
    assert column.mean() > 0


def test_a_projection_of_a_curved_table_is_more_than_its_best_linear_estimate():
    angle = np.random.default_rng(9).random(900) * 5
    columns = [np.sin(angle), np.cos(angle), np.sin(2 * angle), np.cos(3 * angle), angle]
    records = np.column_stack(columns)
    veil = RandomProjection(2, random_state=2)
    released = veil.fit_transform(records)
    sample = records[:150]
    guess = StolenKeyAttack(random_state=0).guess(
        released, StolenKey(veil) | PopulationSample(sample)
    )
    linear = veil.inverse_transform(released, sample=sample)
    assert r2(guess, records) > r2(linear, records) + 0.1


class Doubled:
    """Somebody's own perturbation: any object with a `transform` will do."""

    def transform(self, records):
        return 2 * np.asarray(records)


def test_a_perturbation_is_whatever_transforms():
    records = table()
    attack = StolenKeyAttack(200, random_state=0)
    known = StolenKey(Doubled()) | ColumnStatistics.of(records)
    np.testing.assert_allclose(attack.guess(2 * records, known), records, atol=1e-6)
    with pytest.raises(AttackError, match="no inverse"):
        attack.guess(2 * records, StolenKey(Doubled()))
    with pytest.raises(AttackError, match="releases of 6 columns"):
        attack.guess(records[:, :5], known)
