"""Rows that come back after a period, and columns of two values, tell more than noise hides."""

import numpy as np

from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.order.periods import by_phase, period_of
from isinglass.attack.views.column_views import two_values_read


def test_a_period_is_found_and_none_where_there_is_none():
    rng = np.random.default_rng(3)
    persons = rng.normal(size=(40, 3))
    waves = np.tile(persons, (10, 1)) + 0.5 * rng.normal(size=(400, 3))
    assert period_of(waves) == 40
    assert period_of(rng.permutation(waves)) is None
    assert period_of(np.cumsum(rng.normal(size=(400, 3)), axis=0)) is None  # neighbors, no period
    assert period_of(rng.normal(size=(5, 2))) is None


def test_rows_of_one_phase_stand_side_by_side():
    positions = by_phase(11, 4)
    order = np.argsort(positions)
    np.testing.assert_array_equal(order, [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7])


def test_two_values_under_noise_are_read_by_their_odds():
    """The mean of a value given what was released, by Bayes' rule, cell by cell."""
    rng = np.random.default_rng(4)
    X = np.column_stack([(rng.random(4000) < 0.02) * 7.0 + 3, rng.normal(size=4000)])
    sd = X.std(axis=0)
    Z = X + 2 * sd * rng.normal(size=X.shape)
    found = two_values_read(Z, ColumnStatistics.of(X))
    np.testing.assert_array_equal(found[:, 1], Z[:, 1])
    share, size = (X[:, 0] > 5).mean(), 2 * sd[0]
    high, low = (np.exp(-(((Z[:, 0] - v) / size) ** 2) / 2) for v in (10.0, 3.0))
    exact = 3 + 7 * share * high / (share * high + (1 - share) * low)
    # The size of the noise is known from the release's variance only.
    np.testing.assert_allclose(found[:, 0], exact, atol=0.3)


def test_a_choice_is_read_from_all_its_columns():
    rng = np.random.default_rng(5)
    X = np.eye(12)[rng.integers(0, 12, size=3000)]
    Z = X + 1.5 * X.std(axis=0) * rng.normal(size=X.shape)
    found = two_values_read(Z, ColumnStatistics.of(X))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    one_by_one = two_values_read(Z[:, :11], ColumnStatistics.of(X[:, :11]))
    right = (found.argmax(axis=1) == X.argmax(axis=1)).mean()
    errors = [np.square(g - X[:, :11]).mean() for g in (found[:, :11], one_by_one)]
    assert errors[0] < 0.9 * errors[1]
    assert right > 0.55
