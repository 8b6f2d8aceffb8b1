"""Conditions read off a release, and halves of records linked through it."""

import numpy as np
import pytest

from isinglass.attack.knowledge import ColumnStatistics
from isinglass.attack.linking.predicates import halves_meet, predicates
from isinglass.errors import AttackError


def test_every_condition_holds_for_the_one_row_it_was_read_off():
    Z = np.random.default_rng(0).normal(size=(300, 5))
    found = predicates(Z, 3, 500, np.random.default_rng(1))
    assert 50 < len(found) < 500
    for row, columns, values, signs in zip(
        found.rows, found.columns, found.values, found.signs, strict=True
    ):
        assert len(set(columns)) == 3
        np.testing.assert_array_equal(values, Z[row, columns])
        beyond = np.where(signs > 0, Z[:, columns] >= values, Z[:, columns] <= values).all(axis=1)
        assert np.flatnonzero(beyond).tolist() == [row]
    np.testing.assert_array_equal(found.counts(Z), 1)


def test_rows_that_occur_twice_are_no_ground_for_a_condition():
    Z = np.repeat(np.random.default_rng(0).normal(size=(100, 4)), 2, axis=0)
    assert len(predicates(Z, 4, 300, np.random.default_rng(1))) == 0


def test_halves_meet_in_the_row_that_is_the_record():
    rng = np.random.default_rng(0)
    X, strangers = rng.normal(size=(2, 400, 6))
    facts, first = ColumnStatistics.of(X), np.array([0, 3, 4])
    assert halves_meet(X, X, first, facts).all()
    assert halves_meet(X, strangers, first, facts).mean() < 0.2


def test_halves_need_the_tables_columns():
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(AttackError, match="columns"):
        halves_meet(X[:, :3], X, np.array([0]), ColumnStatistics.of(X))
