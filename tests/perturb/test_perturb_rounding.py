"""Facts about the rounding of noisy numbers."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import isinglass as ig
from isinglass.perturb.registry import METHODS, class_named
from isinglass.perturb.rounding import RoundedNoise, noise_grid, round_factors, round_to_grid

TABLE = np.random.default_rng(5).normal(50, 10, size=(2_000, 3)).round(3)


def attainable(released, candidates, deviation, uniform):
    """Whether some number of the noise takes each candidate to what was released, to the bit.

    Noise is one of 2**52 numbers; those next to the one that would fit are tried.
    """
    away = (released - candidates) / deviation
    place = (away / np.sqrt(3) + 1) / 2 if uniform else ndtr(away)
    found = np.zeros(released.shape, dtype=bool)
    for step in range(-3, 4):
        u = (np.floor(place * 2.0**52) + step + 0.5) / 2.0**52
        noise = (2 * u - 1) * np.sqrt(3) if uniform else ndtri(u)
        found |= candidates + noise * deviation == released
    return found


@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_last_digits_do_not_tell_which_record_lies_beneath(law):
    veil = ig.AdditiveNoise(law, scale=20.0, random_state=1).fit(TABLE)
    deviation = veil._key.scales
    wrong = np.random.default_rng(2).permutation(TABLE)

    def shares():
        released = veil.transform_rows(TABLE, 0)
        return [attainable(released, X, deviation, law == "uniform").mean() for X in (TABLE, wrong)]

    veil.rounds_noise = False
    right, other = shares()
    assert right == 1
    assert other < 0.3  # eight columns of this leave one candidate in 2,000
    veil.rounds_noise = True
    # Of a point of the grid, each candidate is a multiple or not, whatever lies beneath.
    right, other = shares()
    assert abs(right - other) < 0.02


@pytest.mark.parametrize(
    ("veil", "deviation"),
    [
        (ig.AdditiveNoise(scale=3.0, relative=False, random_state=1), 3.0),
        (ig.AdditiveNoise("uniform", scale=1e-3, relative=False, random_state=1), 1e-3),
        (ig.GeometricPerturbation(0.3, bounds=(0, 100), random_state=1), 0.3),
    ],
    ids=lambda v: getattr(v, "method", ""),
)
def test_releases_lie_on_a_grid_that_says_nothing_but_the_size_of_the_noise(veil, deviation):
    released = veil.fit_transform(TABLE)
    grid = 2.0 ** np.floor(np.log2(deviation)) / 2**18
    assert (released / grid == np.round(released / grid)).all()
    assert not (released / (2 * grid) == np.round(released / (2 * grid))).all()


def test_adaptive_noise_has_one_grid_for_all_rows():
    table = np.random.default_rng(3).normal(size=(60, 2))
    veil = ig.AdaptiveNoise(k=3, random_state=1)
    released = veil.fit_transform(table)
    scales, units = veil.key_scales()
    steps = released / noise_grid(scales.min() * units)
    assert (steps == np.round(steps)).all()


def test_factors_leave_few_digits():
    released = ig.MultiplicativeNoise(0.1, random_state=1).fit_transform(TABLE)
    mantissa, _ = np.frexp(released)
    assert (mantissa * 2**22 == np.round(mantissa * 2**22)).all()
    values = np.array([0.0, -3.0, 1e-300, 1 / 3, np.inf, np.nan])
    round_factors(values, 1.0)
    np.testing.assert_allclose(values, [0, -3, 1e-300, 1 / 3, np.inf, np.nan], rtol=2**-17)
    exact = np.array([1 / 3])
    round_factors(exact, 2.0**-40)  # so small that all digits are needed
    assert exact[0] == 1 / 3


def test_what_float64_cannot_say_finer_stays_as_it_is():
    values = np.array([[1e300, np.nan, 5.3], [-np.inf, 0.0, 5.3]])
    before = values.copy()
    round_to_grid(values, np.array([1e-300, 1.0, 0.0]))
    np.testing.assert_array_equal(values, before)
    assert noise_grid([0.0, 1.0, 1.5, 2.0]).tolist() == [0, 2**-18, 2**-18, 2**-17]


def test_older_keys_make_what_they_made():
    veil = ig.AdditiveNoise(scale=3.0, random_state=1).fit(TABLE)
    stored = veil.key_file()
    assert stored.facts.pop("rounded") is True
    older = ig.AdditiveNoise.from_key_file(stored, "old.key")
    assert not older.rounds_noise
    again = older.transform_rows(TABLE, 0)
    assert not np.array_equal(again, veil.transform_rows(TABLE, 0))
    np.testing.assert_allclose(again, veil.transform_rows(TABLE, 0), atol=1e-3)
    assert older.key_file().facts["rounded"] is False


def test_whatever_draws_noise_row_by_row_rounds_it():
    kinds = {class_named(name) for name in METHODS}
    drawing = {kind for kind in kinds if kind.draws_noise is not False and kind.keeps_rows}
    assert len(drawing) == 4
    assert all(issubclass(kind, RoundedNoise) for kind in drawing)
