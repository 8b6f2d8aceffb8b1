"""A public table is put in the order of the file, and nothing is found where there is no order."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.knowledge import (
    KeptColumns,
    KnownPairs,
    PublicParameters,
    PublicTable,
    RowOrder,
)
from isinglass.attack.order.table_walk import is_walk
from isinglass.attack.table_order import TableOrderAttack
from isinglass.errors import AttackError

STRONG = PublicParameters("additive_noise", {"scale": 12.0, "relative": True})


def attacked(table, n_pairs=80, *, public=None, more=STRONG, seed=5, **how):
    """The attack after its guess, the guess, and which rows it did not know."""
    rng = np.random.default_rng(seed)
    released = table + 12 * table.std(axis=0, ddof=1) * rng.normal(size=table.shape)
    rows = rng.choice(len(table), n_pairs, replace=False)
    known = RowOrder(np.arange(len(table))) | KnownPairs(rows, table[rows]) | more
    attack = TableOrderAttack(random_state=0, **how)
    guess = attack.guess(released, known | (PublicTable(table) if public is None else public))
    return attack, guess, np.setdiff1d(np.arange(len(table)), rows)


def linked(attack, rows):
    return float((attack.kept.fit(rows).best()[0] == rows).mean())


def log(rows=700, seed=1):
    draws = np.random.default_rng(seed).normal(size=(rows + 16, 8))
    weights = np.exp(-np.square(np.arange(-8, 9)) / 8.0)
    return np.stack([np.convolve(c, weights, "valid") for c in draws.T], axis=1)


def by_region(rows=600):
    rng = np.random.default_rng(2)
    table = rng.normal(size=(rows, 6))
    table[:, 3] = rng.integers(0, 12, rows)
    return table[np.lexsort((-table[:, 1], table[:, 3]))]


def test_a_table_sorted_by_two_columns_is_sorted_again():
    table = by_region()
    attack, guess, rows = attacked(table, walks=False)
    assert linked(attack, rows) == 1.0
    assert np.allclose(guess, table)


def test_a_table_sorted_by_a_weighted_sum_is_sorted_again():
    table = np.random.default_rng(3).normal(size=(600, 6))
    table = table[np.argsort(table @ [3.0, -2.0, 1.0, 0.5, 0.0, 1.5])]
    attack, _, rows = attacked(table, walks=False)
    assert linked(attack, rows) > 0.7


def test_ties_are_broken_by_the_noise_and_share_their_chance():
    table = by_region()
    table[:, 1] = np.random.default_rng(4).permutation(table[:, 1])
    attack, guess, rows = attacked(table, walks=False)
    chances = np.exp(attack.kept.fit(rows[:5]).block(slice(0, 5)))
    inside = table[rows[:5], 3][:, np.newaxis] == table[:, 3]
    assert ((chances * inside).sum(axis=1) > 0.9).all()
    assert chances.max() < 0.5
    assert np.corrcoef(guess[rows, 3], table[rows, 3])[0, 1] > 0.99


def test_a_long_file_is_sorted_without_holding_all_chances(monkeypatch):
    monkeypatch.setattr("isinglass.attack.table_order.MOST_WALKED", 100)
    table = by_region()
    table[:, 1] = np.floor(4 * table[:, 1])
    table = table[np.lexsort((-table[:, 1], table[:, 3]))]
    attack, guess, rows = attacked(table)
    assert linked(attack, rows) > 0.2
    assert np.allclose(guess[:, [1, 3]], table[:, [1, 3]])


def test_a_kept_column_by_which_the_file_is_sorted_is_a_key():
    rng = np.random.default_rng(6)
    table, region = rng.normal(size=(400, 5)), np.sort(rng.integers(0, 9, (400, 1)), axis=0)
    order = np.lexsort((table[:, 2], region[:, 0]))
    table, kept = table[order], region[order].astype(float)
    public = PublicTable(table, kept)
    attack, _, rows = attacked(table, public=public, more=STRONG | KeptColumns(kept), walks=False)
    assert linked(attack, rows) == 1.0


def test_a_log_is_a_walk_through_the_table():
    table = log()
    attack, guess, rows = attacked(table, 60)
    assert is_walk(table)
    assert linked(attack, rows) > 0.7
    left = np.square(guess - table)[rows].mean(axis=0) / table[rows].var(axis=0)
    assert left.mean() < 0.3


def test_the_order_of_the_public_table_tells_nothing():
    """Shuffled, it gives the same chances, but for which of equal ones comes first."""
    table = log()
    shuffle = np.random.default_rng(7).permutation(len(table))
    _, guess, rows = attacked(table, 60)
    _, again, _ = attacked(table, 60, public=PublicTable(table[shuffle]))
    assert np.allclose(guess[rows], again[rows], atol=0.05)


@pytest.mark.parametrize("make", [log, by_region])
def test_rows_in_no_order_tell_nothing(make):
    table = make()
    table = table[np.random.default_rng(8).permutation(len(table))]
    attack, guess, _ = attacked(table)
    assert attack.kept is None
    assert not is_walk(table)
    assert np.allclose(guess, table.mean(axis=0))


def test_few_values_and_equal_records_make_no_order():
    table = np.random.default_rng(9).integers(0, 2, size=(500, 4)).astype(float)
    attack, _, _ = attacked(table)
    assert attack.kept is None


def test_a_file_that_was_turned_is_a_walk_too():
    """Without parameters, fits are learned from pairs."""
    table = log()
    turned = table @ np.linalg.qr(np.random.default_rng(10).normal(size=(8, 8)))[0]
    rng = np.random.default_rng(11)
    rows = rng.choice(len(table), 60, replace=False)
    released = turned + 6 * turned.std() * rng.normal(size=turned.shape)
    known = RowOrder(np.arange(len(table))) | KnownPairs(rows, table[rows]) | PublicTable(table)
    attack = TableOrderAttack(random_state=0)
    attack.guess(released, known)
    assert linked(attack, np.setdiff1d(np.arange(len(table)), rows)) > 0.7


def test_what_makes_no_sense_is_refused():
    table = log(50)
    with pytest.raises(AttackError, match="one position for each"):
        TableOrderAttack().guess(table, RowOrder(np.arange(3)) | PublicTable(table))
    with pytest.raises(AttackError, match="finite numbers only"):
        TableOrderAttack().guess(table, RowOrder(np.arange(50)) | PublicTable(table * np.nan))
