"""Distortion: what it keeps, how it saturates, and that the key undoes it."""

import itertools

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

import isinglass as ig
from isinglass import chance
from isinglass.activations import ACTIVATIONS
from isinglass.theory import (
    Setting,
    distance_preserving_sigma_q,
    expected_squared_distance,
)

RNG = np.random.default_rng(5)
TABLE = RNG.random((300, 7))


INVERTIBLE = ["identity", "tanh", "sigmoid", "erf"]


def distances(X):
    return np.linalg.norm(X[:, None] - X[None], axis=2)


def by_hand(veil, X, f):
    """B + Q f(slope (A + W (x - c))), one record at a time."""
    key = veil._key
    rows = []
    for x in X:
        hidden = f(veil.slope * (key.shifts[0] + key.first @ (x - veil.center)))
        rows.append(key.offset + key.last @ hidden)
    return np.array(rows)


@pytest.mark.parametrize("name", list(ACTIVATIONS))
@pytest.mark.parametrize("slope", [1.0, 2.5])
def test_transform_is_the_formula(name, slope):
    veil = ig.Distortion(
        name, slope=slope, n_hidden=9, n_components=4, sigma_b=0.3, sigma_q=0.7,
        bounds="scaled", random_state=3,
    )  # fmt: skip
    released = veil.fit_transform(TABLE)
    expected = by_hand(veil, TABLE, ACTIVATIONS[name].function)
    np.testing.assert_allclose(released, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("multiple", [1, 2, 3])
def test_the_identity_with_orthogonal_weights_keeps_every_distance(multiple):
    veil = ig.Distortion(
        "identity", n_hidden=7 * multiple, n_components=7 * multiple, bounds="scaled"
    )
    np.testing.assert_allclose(
        distances(veil.fit_transform(TABLE)), distances(TABLE), rtol=1e-10, atol=1e-12
    )


def test_tanh_keeps_small_distances_and_presses_large_ones():
    near = 0.5 + 1e-4 * RNG.normal(size=(60, 40))
    pairs = np.triu_indices(60, 1)
    squared = []
    for seed in range(40):
        veil = ig.Distortion("tanh", bounds="scaled", random_state=seed)
        ratio = distances(veil.fit_transform(near))[pairs] / distances(near)[pairs]
        squared.append(np.mean(ratio**2))
    assert abs(np.mean(squared) - 1) < 5 * np.std(squared) / np.sqrt(40)
    far = np.vstack([np.zeros(40), np.ones(40)])
    assert distances(veil.transform(far))[0, 1] < 0.75 * distances(far)[0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["identity", "tanh", "square", "sign", "relu"])
def test_gaussian_weights_give_the_expected_squared_distance(activation):
    x, y = np.array([0.3, -0.2, 0.9]), np.array([0.5, 0.4, -0.1])
    setting = Setting(n_hidden=3, n_components=2, sigma_w=1.0, sigma_a=0.5, sigma_q=1.0)
    expected = expected_squared_distance(x, y, activation, setting)
    squared = []
    rng = chance.generator(0)
    # Bounds one apart and their middle as center leave a record as it is; halving the records
    # and doubling sigma_w keeps them inside.
    pair = np.vstack([x, y]) / 2
    for _ in range(3000):
        veil = ig.Distortion(
            activation, n_hidden=3, n_components=2, weights="gaussian", sigma_w=2.0, sigma_a=0.5,
            sigma_q=1.0, bounds=(-0.5, 0.5), random_state=rng,
        )  # fmt: skip
        a, b = veil.fit_transform(pair)
        squared.append(((a - b) ** 2).sum())
    squared = np.array(squared)
    assert abs(squared.mean() - expected) < 5 * squared.std() / np.sqrt(len(squared))


@pytest.mark.parametrize(
    ("name", "size", "layers"),
    # Flat at 0 and soon saturated, two layers of the double logistic lose too many digits.
    [(f, n, 1) for f in [*INVERTIBLE, "double_logistic"] for n in (29, 60)]
    + [(f, 29, 2) for f in INVERTIBLE],
)
@pytest.mark.parametrize("weights", ["orthogonal", "gaussian"])
def test_whoever_has_the_key_undoes_it(name, size, layers, weights):
    """Bhaduri et al. call tanh irreversible; with the key it is a matter of two least squares."""
    table = RNG.random((50, 29)) * 30 - 7
    veil = ig.Distortion(
        name, n_hidden=size, n_components=size, layers=layers, weights=weights, sigma_w=0.3,
        bounds=(-7, 23), sigma_b=1.0, random_state=1,
    )  # fmt: skip
    back = veil.inverse_transform(veil.fit_transform(table))
    assert np.median(np.abs(back - table)) < 1e-6


@pytest.mark.parametrize("n_components", [9, 12])
def test_fewer_released_columns_than_units_lose_nothing(n_components):
    """Layer by layer the last map has no inverse; the whole network has one."""
    table = np.random.default_rng(6).random((200, 8)) * 30 - 7
    veil = ig.Distortion(n_hidden=24, n_components=n_components, bounds=(-7, 23), random_state=1)
    back = veil.inverse_transform(veil.fit_transform(table))
    assert (np.abs(back - table).max(axis=1) < 1e-8).mean() > 0.98


def test_as_many_released_columns_as_the_table_has_leave_several_records_where_units_are_more():
    table = np.random.default_rng(6).random((200, 8))
    veil = ig.Distortion(n_hidden=24, n_components=8, bounds="scaled", random_state=1)
    released = veil.fit_transform(table)
    back = veil.inverse_transform(released)
    explained = np.abs(veil.transform(back) - released).max(axis=1) < 1e-8
    other = np.abs(back - table).max(axis=1) > 1e-3
    assert 0.05 < (explained & other).mean() < 0.3
    assert explained.mean() > 0.97


@pytest.mark.parametrize("name", ["square", "relu", np.sin])
def test_functions_that_fold_come_back_with_units_to_spare(name):
    veil = ig.Distortion(name, n_hidden=21, n_components=21, bounds="scaled", random_state=1)
    back = veil.inverse_transform(veil.fit_transform(TABLE))
    assert (np.abs(back - TABLE).max(axis=1) < 1e-8).mean() > 0.98


@pytest.mark.parametrize("name", ["square", "relu"])
def test_functions_that_fold_lose_values_with_as_many_units_as_columns(name):
    veil = ig.Distortion(name, bounds="scaled", random_state=1)
    back = veil.inverse_transform(veil.fit_transform(TABLE))
    assert np.median(np.abs(back - TABLE)) > 0.01


def test_a_sample_or_a_start_tells_which_of_several_records_it_was():
    table = np.random.default_rng(7).normal(0.2, 0.04, size=(300, 7))
    veil = ig.Distortion("square", bounds=(0, 1), clip=True, random_state=2)
    released = veil.fit_transform(table)

    def lost(**known):
        return np.median(np.abs(veil.inverse_transform(released, **known) - table))

    assert lost() > 0.05
    assert lost(sample=table[:100]) < 1e-8
    assert lost(start=table + 0.01) < 1e-8


def test_a_step_function_has_no_way_back():
    veil = ig.Distortion("sign", bounds="scaled").fit(TABLE)
    with pytest.raises(ValueError, match="no way back is known"):
        veil.inverse_transform(veil.transform(TABLE))


def test_single_precision_comes_back_to_its_own_digits():
    table = TABLE.astype(np.float32)
    veil = ig.Distortion(n_hidden=24, n_components=12, bounds="scaled", random_state=1)
    assert np.abs(veil.inverse_transform(veil.fit_transform(table)) - table).max() < 1e-4


def test_fewer_components_than_columns_lose_values():
    veil = ig.Distortion("tanh", n_components=4, bounds="scaled", random_state=0)
    back = veil.inverse_transform(veil.fit_transform(TABLE))
    assert np.median(np.abs(back - TABLE)) > 0.05


def test_saturated_outliers_do_not_collapse_onto_one_point():
    """Two far records at a right angle stay about as far apart as their corners."""
    m = 20_000
    veil = ig.Distortion(
        "tanh", n_hidden=m, n_components=1, weights="gaussian", center=0.0, sigma_a=0.0,
        sigma_q=1.0, bounds=(0, 1), clip=False, random_state=0,
    )  # fmt: skip
    far = np.array([[1.0, 0.0], [0.0, 1.0]])
    key = veil.fit(far)._key
    hidden = np.tanh(1e6 * far @ key.first.T)
    assert abs(((hidden[0] - hidden[1]) ** 2).sum() / m - 2) < 0.1


def test_detection_falls_from_identity_to_tanh_to_steeper_slopes():
    data = ig.datasets.flights(4000, n_outliers=80, random_state=2)
    X = data.X.astype(float)
    X = (X - X.min(0)) / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1)

    def top(Z):
        near, _ = NearestNeighbors(n_neighbors=6).fit(Z).kneighbors(Z)
        return set(np.argsort(-near[:, 1:].mean(axis=1), kind="stable")[:100])

    def found(**settings):
        veil = ig.Distortion(bounds="scaled", random_state=0, **settings)
        return len(top(veil.fit_transform(X)) & top(X)) / 100

    assert found(activation="identity") == 1.0
    rates = [found(activation="tanh", slope=s) for s in (1, 4, 16)] + [found(activation="sign")]
    assert rates[0] > 0.6
    assert rates[0] > rates[2]
    assert all(a >= b - 0.05 for a, b in itertools.pairwise(rates))


def test_a_second_layer_is_a_second_layer():
    veil = ig.Distortion("tanh", layers=2, n_hidden=5, bounds="scaled", random_state=0)
    released, key = veil.fit_transform(TABLE), veil._key
    hidden = np.tanh((TABLE - 0.5) @ key.first.T + key.shifts[0])
    hidden = np.tanh(hidden @ key.deep[0].T + key.shifts[1])
    np.testing.assert_allclose(released, hidden @ key.last.T + key.offset, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"n_hidden": 0}, "n_hidden must be"),
        ({"n_components": 1.5}, "n_components must be"),
        ({"layers": 0}, "layers must be"),
        ({"weights": "uniform"}, "weights must be"),
        ({"slope": 0}, "slope must be"),
        ({"sigma_w": 0}, "sigma_w must be"),
        ({"sigma_a": -1}, "sigma_a must be"),
        ({"sigma_q": np.inf}, "sigma_q must be"),
        ({"center": [1, 2]}, "center must be"),
        ({"activation": "softmax"}, "activation must be"),
        ({"activation": "square", "sigma_a": 0}, "sigma_q"),
        ({"bounds": "other"}, "bounds must be"),
        ({"bounds": (1, 0)}, "low <= high"),
        ({"bounds": ([0, 0], [1, 1])}, "bounds must be"),
    ],
)
def test_bad_settings_are_named(settings, says):
    with pytest.raises(ValueError, match=says):
        ig.Distortion(**({"bounds": "scaled"} | settings)).fit(TABLE)


def test_values_outside_the_bounds_are_counted_never_shown():
    table = TABLE.copy()
    table[3:5, 2] = 123.456
    veil = ig.Distortion(bounds="scaled")
    with pytest.raises(ValueError, match=r"2 \(2\)") as error:
        veil.fit(TABLE).transform(table)
    assert "123" not in str(error.value)
    veil = ig.Distortion(bounds="scaled", clip=True).fit(TABLE)
    clipped = np.clip(table, 0, 1)
    np.testing.assert_array_equal(veil.transform(table), veil.transform(clipped))


def test_learned_bounds_warn_and_declared_ones_do_not(recwarn):
    ig.Distortion(bounds=(0, 1)).fit(TABLE)
    assert not [w for w in recwarn if issubclass(w.category, ig.PrivacyWarning)]
    with pytest.warns(ig.PrivacyWarning, match="bounds were learned"):
        ig.Distortion().fit(TABLE)


def stand_in(n, seed):
    """Smooth phases of flight mixed into 29 columns, noise of varying size, 2 % of rows shifted."""
    rng = np.random.default_rng(seed)
    t = rng.random(n)
    climb = np.clip(4 * t, 0, 1) * np.clip(4 * (1 - t), 0, 1)
    phases = np.column_stack([climb, np.sin(np.pi * t), t, np.cos(2 * np.pi * t)])
    X = np.tanh(phases @ rng.normal(size=(4, 29)))
    X += 0.05 * rng.normal(size=(n, 29)) * rng.gamma(1, 1, size=(n, 1))
    rows = rng.random(n) < 0.02
    X[rows] += 0.4 * rng.standard_t(3, size=(rows.sum(), 29)) * (rng.random((rows.sum(), 29)) < 0.3)
    return (X - X.min(0)) / np.ptp(X, axis=0)


@pytest.mark.slow
def test_orthogonal_weights_and_a_center_find_more_than_the_papers_choice():
    """Detection of the top 200 of 4,000: identity 100 %, tanh well above gaussian weights."""
    X = stand_in(4000, 0)

    def top(Z):
        near, _ = NearestNeighbors(n_neighbors=6, algorithm="brute").fit(Z).kneighbors(Z)
        return set(np.argsort(-near[:, 1:].mean(axis=1), kind="stable")[:200])

    truth = top(X)

    def found(activation, weights, **settings):
        rates = [
            len(
                top(
                    ig.Distortion(
                        activation, weights=weights, bounds="scaled", random_state=seed, **settings
                    ).fit_transform(X)
                )
                & truth
            )
            / 200
            for seed in range(4)
        ]
        return np.mean(rates)

    assert found("identity", "orthogonal") == 1.0
    gaussian = {f: found(f, "gaussian", center=0.0) for f in ("identity", "square", "tanh")}
    assert gaussian["identity"] > gaussian["square"]
    assert gaussian["identity"] > gaussian["tanh"]
    assert 0.7 < gaussian["identity"] < 0.95
    centered = found("tanh", "orthogonal", center=X.mean(axis=0))
    assert centered > gaussian["tanh"] + 0.03
    assert found("tanh", "orthogonal") > gaussian["tanh"]


@pytest.mark.slow
def test_the_gaussian_formula_holds_for_orthogonal_weights_up_to_a_few_per_cent():
    d = 29
    rng = np.random.default_rng(2)
    x, y = rng.random((2, d)) - 0.5
    squared = [
        np.square(np.subtract(*ig.Distortion("tanh", bounds=(-0.5, 0.5), random_state=s)
                              .fit_transform(np.vstack([x, y])))).sum()
        for s in range(1500)
    ]  # fmt: skip
    sigma_q = distance_preserving_sigma_q("tanh", d, d, 1.0, 1.0)
    setting = Setting(n_hidden=d, n_components=d, sigma_q=sigma_q)
    expected = expected_squared_distance(x, y, "tanh", setting)
    assert abs(np.mean(squared) / expected - 1) < 0.06
