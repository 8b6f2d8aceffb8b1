"""Moments after distortion: golden values, limits, and simulation of the whole mechanism."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass import theory
from isinglass.activations import ACTIVATIONS, Activation
from isinglass.chance import generator
from isinglass.theory import Setting
from isinglass.theory.moments import moments_of
from isinglass.theory.quadrature import Pair

X, Y = (0.3, -0.2, 0.9), (0.5, 0.4, -0.1)
SMALL = Setting(n_hidden=3, n_components=2, sigma_a=0.5, sigma_b=0.7)
FOUR = (
    theory.expected_inner_product,
    theory.variance_inner_product,
    theory.expected_squared_distance,
    theory.variance_squared_distance,
)
NAMES = sorted(ACTIVATIONS)
quick = settings(deadline=None, derandomize=True, max_examples=50)
norms = st.floats(1e-3, 1e4)
correlations = st.floats(-1, 1)


def product(name, s, t, rho):
    return theory.expected_product(name, s, t, rho * s * t)


@pytest.mark.parametrize(
    ("name", "s", "t", "rho", "value"),
    [
        ("square", 1, 1, 0.5, 1.5),
        ("sign", 1, 1, 0.5, 0.3333333333),
        ("erf", 1, 1, 0.5, 0.2163468959),
        ("relu", 1, 1, 0.5, 0.3044988905),
        (np.sin, 1, 1, 0.5, 0.1917002498),
        ("tanh", 1, 1, 0.5, 0.1863244132),
        ("sigmoid", 1, 1, 0.5, 0.2714283256),
        ("square", 2, 1, -0.3, 4.72),
        ("sign", 2, 1, -0.3, -0.1939733680),
        ("erf", 2, 1, -0.3, -0.1483602903),
        ("tanh", 2, 1, -0.3, -0.1335815107),
        ("tanh", 0.5, 3, 0.9, 0.2964925607),
        ("sign", 100, 100, 0.999, 0.9715271252),
        ("tanh", 100, 100, 0.999, 0.9703845825),
        ("tanh", 10, 10, 0.9999, 0.920007894593),
        ("tanh", 5, 5, 1, 0.842961759563),
        ("tanh", 50, 50, -1, -0.984044932813),
    ],
)
def test_expected_product_golden(name, s, t, rho, value):
    assert product(name, s, t, rho) == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize(
    ("s", "t", "rho", "value"),
    [(1, 1, 0.5, 0.2343628554), (2, 1, -0.3, -0.1567812076), (0.5, 3, 0.9, 0.3271857863)],
)
def test_double_logistic_product_golden(s, t, rho, value):
    # The golden values were computed at a curvature rounded to six decimals.
    def rounded(z):
        return np.sign(z) * -np.expm1(-2.812429 * z**2)

    assert product(rounded, s, t, rho) == pytest.approx(value, abs=1e-9)
    assert product("double_logistic", s, t, rho) == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize(
    ("s", "value"),
    [(0.1, 0.00980547), (0.5, 0.17351614), (1, 0.39429449), (2, 0.63526123), (10, 0.92053686)],
)
def test_expected_square_of_tanh_golden(s, value):
    assert theory.expected_square("tanh", s) == pytest.approx(value, abs=1e-8)


def test_the_small_example_has_the_stated_hidden_pair():
    pair = SMALL.pair(X, Y)
    assert (pair.s**2, pair.t**2, pair.c) == pytest.approx((1.19, 0.67, 0.23), abs=1e-15)


@pytest.mark.parametrize(
    ("name", "setting", "four", "tolerance"),
    [
        ("identity", SMALL, (2.36, 39.0232, 8.4, 164.64), 1e-9),
        ("square", SMALL, (6.3986, 303.176644, 22.7328, 4010.699735), 1e-5),
        ("tanh", SMALL, (1.518276, 8.744844, 3.417003, 23.999879), 2e-6),
        (
            "tanh",
            Setting(n_hidden=2, n_components=5, sigma_a=0, sigma_b=0.4, sigma_w=1.3, sigma_q=0.6),
            (0.757685, 2.362331, 3.006577, 11.429769),
            2e-6,
        ),
    ],
)
def test_mean_and_variance_golden(name, setting, four, tolerance):
    assert [f(X, Y, name, setting) for f in FOUR] == pytest.approx(four, abs=tolerance)


def distort(activation, setting, draws, seed):
    """x* and y* under `draws` independent keys; the mechanism, written out."""
    rng = generator(seed)
    m, p, f = setting.n_hidden, setting.n_components, ACTIVATIONS[activation].function
    w = rng.normal(scale=setting.sigma_w, size=(draws, m, len(X)))
    a = rng.normal(scale=setting.sigma_a, size=(draws, m))
    q = rng.normal(scale=setting.sigma_q, size=(draws, p, m))
    b = rng.normal(scale=setting.sigma_b, size=(draws, p))
    hidden = (f(setting.slope * (a + w @ np.array(record))) for record in (X, Y))
    return [b + np.einsum("npm,nm->np", q, h) for h in hidden]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_mean_and_variance_agree_with_simulation(name):
    setting = Setting(
        n_hidden=3,
        n_components=2,
        sigma_w=0.8,
        sigma_a=0.5,
        sigma_q=0.6,
        sigma_b=0.4,
        slope=1.3,
    )
    draws = 200_000
    x, y = distort(name, setting, draws, seed=20)
    inner, distance = (x * y).sum(axis=1), np.square(x - y).sum(axis=1)
    for sample, mean, variance in ((inner, *FOUR[:2]), (distance, *FOUR[2:])):
        expected = mean(X, Y, name, setting)
        assert abs(sample.mean() - expected) < 5 * sample.std() / np.sqrt(draws)
        squares = np.square(sample - expected)
        assert abs(squares.mean() - variance(X, Y, name, setting)) < 5 * squares.std() / np.sqrt(
            draws
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("s", "t", "rho"), [(0.7, 1.6, -0.4), (30.0, 2.0, 0.95)])
def test_hidden_moments_agree_with_simulation(name, s, t, rho):
    draws = 400_000
    u, v = generator(21).normal(size=(2, draws))
    f = ACTIVATIONS[name].function
    fx, fy = f(s * u), f(t * (rho * u + np.sqrt(1 - rho**2) * v))
    h = theory.hidden_moments(name, s, t, rho * s * t)
    for value, sample in [
        (h.mu_x, fx**2),
        (h.mu_y, fy**2),
        (h.c_f, fx * fy),
        (h.kappa, fx**2 * fy**2),
        (h.h2, (fx - fy) ** 2),
        (h.h4, (fx - fy) ** 4),
    ]:
        assert abs(sample.mean() - value) <= 5 * sample.std() / np.sqrt(draws) + 1e-9


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rho", [-1.0, 1.0])
def test_perfect_correlation_leaves_one_variable(name, rho):
    h = theory.hidden_moments(name, 1.5, 1.5, rho * 2.25)
    if rho == 1:
        assert (h.h2, h.h4) == pytest.approx((0, 0), abs=1e-12)
        assert h.c_f == pytest.approx(h.mu_x, rel=1e-10)
    elif name in ("identity", "tanh", "erf", "sign", "double_logistic"):
        assert h.c_f == pytest.approx(-h.mu_x, rel=1e-10)
    elif name == "relu":
        assert h.c_f == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_a_record_at_the_origin_without_offset_maps_to_f_of_zero(name):
    f = ACTIVATIONS[name].function
    origin = float(f(np.zeros(1))[0])
    h = theory.hidden_moments(name, 0.0, 2.0, 0.0)
    assert h.mu_x == pytest.approx(origin**2, abs=1e-14)
    assert h.mu_y == pytest.approx(theory.expected_square(name, 2.0), rel=1e-12)
    assert h.kappa == pytest.approx(origin**2 * h.mu_y, abs=1e-12)
    assert h.h2 == pytest.approx(h.mu_x + h.mu_y - 2 * h.c_f, rel=1e-9)
    both = theory.hidden_moments(name, 0.0, 0.0, 0.0)
    assert (both.h2, both.h4) == (0, 0)
    assert both.c_f == pytest.approx(origin**2, abs=1e-14)


@pytest.mark.parametrize(
    ("r", "share"), [(0.1, 0.98055), (0.5, 0.69406), (1, 0.39429), (3, 0.08280), (10, 0.00921)]
)
def test_tanh_shrinks_the_distance_to_the_origin(r, share):
    setting = Setting(n_hidden=7, n_components=5, sigma_a=0, sigma_q=1 / np.sqrt(35))
    kept = theory.expected_squared_distance([0, 0], [r, 0], "tanh", setting) / r**2
    assert kept == pytest.approx(share, abs=5e-6)


@pytest.mark.parametrize("name", ["tanh", "erf", "sigmoid", "double_logistic", "relu", "identity"])
@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9])
def test_close_records_keep_their_digits(name, step):
    x, across = np.array([0.4, -0.7, 1.1]), np.array([0.7, 0.4, 0.0])
    setting = Setting(n_hidden=1, n_components=1)
    got = theory.expected_squared_distance(x, x + step * across, name, setting)
    # A step across x is independent of X, the hidden sum at x: the limit is |step|^2 E f'(X)^2.
    limit = step**2 * (across @ across) * theory.mean_squared_slope(name, np.sqrt(1 + x @ x))
    assert got == pytest.approx(limit, rel=step + 1e-6, abs=0)


def test_signs_of_close_records_differ_in_proportion_to_their_angle():
    setting = Setting(n_hidden=1, n_components=1, sigma_a=0)
    got = theory.expected_squared_distance([1, 0], [1, 1e-9], "sign", setting)
    assert got == pytest.approx(4 / np.pi * 1e-9, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_huge_records_stay_finite_and_saturate(name):
    setting = Setting(n_hidden=4, n_components=3, sigma_q=0.5)
    x, y = np.full(9, 1e4), np.r_[np.full(8, 1e4), -1e4]
    values = [f(x, y, name, setting) for f in FOUR]
    assert np.isfinite(values).all()
    if name in ("tanh", "erf", "double_logistic"):
        signs = [f(x, y, "sign", setting) for f in FOUR]
        assert values == pytest.approx(signs, rel=1e-3)


@quick
@given(norms, norms, correlations, st.sampled_from(NAMES))
def test_moments_are_consistent(s, t, rho, name):
    pair = Pair.of_moments(s, t, rho * s * t)
    h = moments_of(ACTIVATIONS[name], pair)
    top = max(h.mu_x, h.mu_y)
    assert abs(h.c_f) <= np.sqrt(h.mu_x * h.mu_y) * (1 + 1e-9)
    assert h.h2 == pytest.approx(h.mu_x + h.mu_y - 2 * h.c_f, abs=1e-9 * top + 3e-11)
    assert h.h2**2 <= h.h4 * (1 + 1e-6) + 1e-12 * top**2
    mirrored = moments_of(ACTIVATIONS[name], Pair.of_moments(t, s, rho * s * t))
    assert mirrored.c_f == pytest.approx(h.c_f, abs=1e-9 * top)
    assert mirrored.kappa == pytest.approx(h.kappa, rel=1e-8, abs=1e-12 * top**2)
    assert mirrored.h4 == pytest.approx(h.h4, rel=1e-7, abs=1e-12 * top**2)


@quick
@given(st.floats(0.1, 10), st.floats(0.01, 30), st.floats(0.01, 30), correlations)
def test_slope_is_a_change_of_scale(slope, s, t, rho):
    c = rho * s * t
    sloped = theory.expected_product("tanh", s, t, c, slope=slope)
    scaled = theory.expected_product("tanh", slope * s, slope * t, slope**2 * c)
    assert sloped == pytest.approx(scaled, rel=1e-12, abs=1e-15)


def test_relu_kappa_is_the_arc_cosine_kernel_of_degree_two():
    s, t, rho = 1.3, 0.6, -0.45
    angle = np.arccos(rho)
    kernel = 3 * np.sin(angle) * rho + (np.pi - angle) * (1 + 2 * rho**2)
    h = theory.hidden_moments("relu", s, t, rho * s * t)
    assert h.kappa == pytest.approx((s * t) ** 2 * kernel / (2 * np.pi), rel=1e-12)


def test_distances_far_out_depend_on_direction():
    # Two saturated records at angle acos(rho): 2 - (4 / pi) asin(rho) a hidden coordinate.
    for rho, value in [(0.0, 2.0), (-1.0, 4.0), (0.99, 0.18)]:
        h = theory.hidden_moments("tanh", 1e4, 1e4, rho * 1e8)
        assert h.h2 == pytest.approx(value, abs=2e-3)


@pytest.mark.parametrize(
    ("sigma_a", "value"),
    [(0, 1), (0.1, 0.98067), (0.5, 0.71738), (1, 0.46440), (2, 0.25595), (5, 0.10571)],
)
def test_mean_squared_slope_of_tanh_golden(sigma_a, value):
    assert theory.mean_squared_slope("tanh", sigma_a) == pytest.approx(value, abs=5e-6)
    sloped = theory.mean_squared_slope("tanh", sigma_a / 3, slope=3)
    assert sloped == pytest.approx(9 * value, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "sigma_a", "slope", "value"),
    [
        ("identity", 0.7, 2, 4),
        ("square", 0.7, 2, 4 * 2**4 * 0.7**2),
        ("relu", 0.7, 2, 2),
        ("relu", 0, 1, 0.5),
        ("erf", 0.7, 2, 4 * 4 / np.pi / np.sqrt(1 + 4 * 1.4**2)),
        ("erf", 1e4, 1, 4 / np.pi / np.sqrt(1 + 4e8)),
        ("sigmoid", 0, 1, 1 / 16),
        ("double_logistic", 0, 1, 0),
    ],
)
def test_mean_squared_slope_closed_forms(name, sigma_a, slope, value):
    got = theory.mean_squared_slope(name, sigma_a, slope)
    assert got == pytest.approx(value, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "sign"])
@pytest.mark.parametrize("sigma_a", [0.0, 0.3, 4.0])
def test_a_users_function_is_differentiated_numerically(name, sigma_a):
    own = Activation("own", ACTIVATIONS[name].function)
    expected = theory.mean_squared_slope(name, sigma_a, 1.4)
    assert theory.mean_squared_slope(own, sigma_a, 1.4) == pytest.approx(
        expected, rel=1e-7, abs=1e-8
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in NAMES if n != "sign"])
def test_mean_squared_slope_agrees_with_simulation(name):
    z = generator(22).normal(scale=0.9, size=400_000)
    sample = (1.5 * ACTIVATIONS[name].derivative(1.5 * z)) ** 2
    slack = 5 * sample.std() / np.sqrt(len(z)) + 1e-9
    assert abs(sample.mean() - theory.mean_squared_slope(name, 0.9, 1.5)) < slack


@pytest.mark.parametrize("f", ["sign", np.sign])
def test_a_jump_has_no_slope(f):
    with pytest.raises(ValueError, match="activation must"):
        theory.mean_squared_slope(f, 0.0)


@pytest.mark.parametrize("name", ["tanh", "erf", "sigmoid", "identity", "relu", "double_logistic"])
def test_the_chosen_sigma_q_keeps_small_distances_near_the_origin(name):
    sigma_q = theory.distance_preserving_sigma_q(name, 6, 4, 0.8, 0.9, slope=1.2)
    setting = Setting(
        n_hidden=6, n_components=4, sigma_w=0.8, sigma_a=0.9, sigma_q=sigma_q, slope=1.2
    )
    x, y = np.array([0.001, 0]), np.array([0, 0.001])
    got = theory.expected_squared_distance(x, y, name, setting)
    assert got == pytest.approx(2e-6, rel=2e-3)


def test_the_identity_keeps_every_distance_on_average_with_the_stated_spread():
    m, p = 60, 29
    sigma_q = theory.distance_preserving_sigma_q("identity", m, p, 2.0, 1.0)
    setting = Setting(n_hidden=m, n_components=p, sigma_w=2.0, sigma_q=sigma_q)
    x, y = np.array([3.0, 4.0]), np.array([-1.0, 1.0])
    assert theory.expected_squared_distance(x, y, "identity", setting) == pytest.approx(25)
    spread = np.sqrt(theory.variance_squared_distance(x, y, "identity", setting)) / 25
    assert spread == pytest.approx(np.sqrt(2 / m + 2 / p + 4 / (p * m)))


def test_sigma_q_where_there_is_no_linear_regime():
    assert theory.distance_preserving_sigma_q("sign", 9, 4, 3.0, 1.0) == pytest.approx(1 / 6)
    assert theory.distance_preserving_sigma_q("square", 1, 1, 1.0, 0.5) == pytest.approx(1)
    for name in ("square", "double_logistic"):
        with pytest.raises(ValueError, match="sigma_q must be given"):
            theory.distance_preserving_sigma_q(name, 9, 4, 3.0, 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Setting(n_hidden=0, n_components=1), "n_hidden must be >= 1"),
        (lambda: Setting(n_hidden=1, n_components=1, sigma_w=0), "sigma_w must be finite and > 0"),
        (lambda: Setting(n_hidden=1, n_components=1, sigma_b=-1), "sigma_b must be finite and >="),
        (lambda: theory.expected_product("tanh", 1, 1, 1.1), "must be <= s t"),
        (lambda: theory.expected_product("tanh", -1, 1, 0), "s must be finite"),
        (lambda: theory.expected_product("tanh", 1, np.nan, 0), "t must be finite"),
        (lambda: theory.expected_product("tanh", 1, 1, 0, slope=0), "slope must be"),
        (lambda: theory.expected_product("wave", 1, 1, 0), "activation must be one of"),
        (lambda: theory.expected_inner_product([1], [1, 2], "tanh", SMALL), "one length"),
        (lambda: theory.expected_inner_product([np.nan], [1], "tanh", SMALL), "finite"),
        (lambda: theory.mean_squared_slope("tanh", -1), "sigma_a must be"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
