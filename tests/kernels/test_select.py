"""Selection: what comes to the front, and that no order of the keys makes it slow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isinglass.kernels.select import select


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=200), st.integers(0, 199))
def test_the_smallest_come_to_the_front(values, middle):
    middle %= len(values)
    key, index = np.array(values, dtype=np.float32), np.arange(len(values), dtype=np.int32)
    select(key, index, middle)
    ascending = np.sort(np.array(values, dtype=np.float32))
    np.testing.assert_array_equal(np.sort(key[:middle]), ascending[:middle])
    assert key[middle] == ascending[middle]
    np.testing.assert_array_equal(np.array(values, dtype=np.float32)[index], key)
    np.testing.assert_array_equal(np.sort(index), np.arange(len(values)))


class Counted:
    """Keys that count how often one is looked at."""

    def __init__(self, values):
        self.values, self.looks, self.shape = list(values), 0, (len(values),)

    def __getitem__(self, i):
        self.looks += 1
        return self.values[i]

    def __setitem__(self, i, value):
        self.values[i] = value


N = 4000
RISING = list(range(N))
ORDERS = {
    "rising": RISING,
    "falling": RISING[::-1],
    "up and down": RISING[::2] + RISING[::2][::-1],
    "down and up": RISING[::2][::-1] + RISING[::2],
    "sawtooth": RISING[::4] * 4,
    "equal": [0] * N,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("middle", [0, N // 4, N // 2, N - 1])
def test_no_order_makes_it_slow(order, middle):
    key = Counted(ORDERS[order])
    with np.errstate(over="ignore"):
        getattr(select, "py_func", select)(key, np.arange(N), middle)
    # Some 3 to 5 looks a key, once more where swapped; a square would be thousands.
    assert key.looks < 40 * N
