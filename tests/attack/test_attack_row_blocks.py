"""Rows that belong together, one after the other: their cells are read as one."""

import numpy as np
import pytest

from isinglass.attack.knowledge import ColumnStatistics, PublicParameters, RowOrder
from isinglass.attack.order.row_blocks import block_of, known_of_blocks, stacked, unstacked
from isinglass.attack.row_order import RowOrderAttack

RNG = np.random.default_rng(5)
HOUSEHOLDS = np.repeat(RNG.normal(size=(200, 1)), 5, axis=0) + 0.1 * RNG.normal(size=(1000, 40))


def explained(guess, table):
    left = np.square(guess - table).mean(axis=0) / table.var(axis=0)
    return np.maximum(0, 1 - left).mean()


def test_the_length_of_blocks_is_found_and_none_where_there_is_none():
    assert block_of(HOUSEHOLDS) == 5
    assert block_of(RNG.permutation(HOUSEHOLDS)) is None
    assert block_of(np.cumsum(RNG.normal(size=(1000, 3)), axis=0)) is None
    assert block_of(RNG.normal(size=(9, 2))) is None


def test_blocks_are_rows_beside_one_another_and_back():
    rows = np.arange(22.0).reshape(11, 2)
    blocks = stacked(rows, 3)
    np.testing.assert_array_equal(blocks[1], rows[3:6].ravel())
    np.testing.assert_array_equal(unstacked(blocks, 3), rows[:9])
    known = ColumnStatistics.of(rows) | PublicParameters("additive_noise", {"scale": [1.0, 2.0]})
    repeated = known_of_blocks(known, 3)
    assert repeated.need(PublicParameters).parameters["scale"].tolist() == [1, 2, 1, 2, 1, 2]
    assert repeated.need(ColumnStatistics).low.tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(("scale", "least"), [(20.0, 0.9), (120.0, 0.35)])
def test_uniform_noise_on_households_is_read_block_by_block(scale, least):
    table, length = HOUSEHOLDS[:998], 5  # the last household is not whole
    reach = scale * table.std(axis=0) * np.sqrt(3)
    released = table + reach * RNG.uniform(-1, 1, size=table.shape)
    said = PublicParameters("additive_noise", {"scale": scale, "distribution": "uniform"})
    known = ColumnStatistics.of(table) | said | RowOrder(np.arange(len(table)))
    found, alone = (
        explained(
            RowOrderAttack(by_law=True, block=b, random_state=0).guess(released, known), table
        )
        for b in (length, None)
    )
    assert found > max(least, alone + 0.1)
    nothing = RNG.permutation(released)
    guess = RowOrderAttack(by_law=True, block=length, random_state=0).guess(nothing, known)
    assert explained(guess, table) < 0.05
