"""A distortion's own formula, found from known pairs."""

import numpy as np
import pytest

import isinglass as ig
from isinglass.activations import ACTIVATIONS
from isinglass.attack.knowledge import Knowledge, KnownPairs, PublicParameters, PublicTable
from isinglass.attack.learning.own_formula import Formula, fit_formula
from isinglass.attack.linkage import LinkageAttack

RNG = np.random.default_rng(6)
TABLE = RNG.gamma(3.0, size=(400, 20)) @ (np.eye(20) + 0.25 * RNG.normal(size=(20, 20)))
UNIT = (TABLE - TABLE.mean(axis=0)) / TABLE.std(axis=0)


@pytest.mark.parametrize(("name", "size"), [("square", 0.3), ("tanh", 0.5), ("sigmoid", 1.0)])
def test_the_formula_is_found_from_sixty_pairs(name, size):
    f = ACTIVATIONS[name].function
    W, a, Q = size * RNG.normal(size=(2, 20)), RNG.normal(size=2), RNG.normal(size=(2, 2))
    released = f(UNIT @ W.T + a) @ Q + 5.0
    fit = fit_formula(Formula(ACTIVATIONS[name], 2), UNIT[:60], released[:60], RNG)
    assert fit is not None
    np.testing.assert_allclose(fit.predict(UNIT), released, atol=1e-4 * released.std())
    assert np.sqrt(fit.errors).max() < 1e-4 * released.std()


def test_errors_of_pairs_left_out_are_those_of_fits_without_them():
    W, Q = 0.2 * RNG.normal(size=(1, 20)), RNG.normal(size=(1, 3))
    released = np.tanh(UNIT @ W.T) @ Q + 0.01 * RNG.normal(size=(400, 3))
    formula, start = Formula(ACTIVATIONS["tanh"], 1), np.random.default_rng(0)
    fit = fit_formula(formula, UNIT[:60], released[:60], start)
    assert fit is not None
    for i in (3, 17):
        others = np.arange(60) != i
        again = fit_formula(formula, UNIT[:60][others], released[:60][others], start)
        assert again is not None
        without = again.predict(UNIT[i : i + 1])[0] - released[i]
        np.testing.assert_allclose(fit.left_out[i], without, atol=2e-3)


def test_too_few_pairs_and_noise_find_nothing():
    formula = Formula(ACTIVATIONS["tanh"], 2)
    assert fit_formula(formula, UNIT[:20], RNG.normal(size=(20, 2)), RNG) is None
    assert fit_formula(formula, UNIT[:300], RNG.normal(size=(300, 2)), RNG) is None


@pytest.mark.parametrize(
    "said",
    [{"activation": "sign"}, {"activation": "tanh", "layers": 2}, {"activation": "identity"}, {},
     {"activation": "tanh", "n_hidden": 10**9}, {"activation": ["tanh"]}, {"activation": "tanh"}],
)  # fmt: skip
def test_what_cannot_be_fitted_is_no_formula(said):
    known = Knowledge.of(PublicParameters("distortion", said))
    assert Formula.of(known, 20) is None
    assert Formula.of(Knowledge(), 20) is None


def test_two_hidden_units_link_every_record_to_its_row():
    veil = ig.Distortion("square", n_hidden=2, n_components=2, random_state=1)
    released = veil.fit_transform(TABLE)
    said = PublicParameters("distortion", {"activation": "square", "n_hidden": 2})
    rows = np.arange(100)
    known = said | PublicTable(TABLE) | KnownPairs(rows, TABLE[rows])
    guess = LinkageAttack(random_state=0).guess(released, known)
    assert (guess == TABLE).all(axis=1)[100:].mean() > 0.95
