"""Randomization levels under gaussian noise, from tiles of products."""

from __future__ import annotations

import math

import numpy as np

from isinglass.kernels.jit import kernel

# Nodes a unit of the table of the normal tail, and how far it reaches: beyond, less than 1e-15.
PER_UNIT = 32
REACH = 8
#: A tie between sums of squares: what differs by less than this share counts as equal.
TIE = 1e-12


@kernel
def fits_as_well(X, Z, inverse, i, j):
    """Whether record j fits the release of record i at least as well as record i does.

    2 y.(x' - x) >= |x' - x|² in units of the noise, y = z - x: no large number is subtracted
    from another, and a copy of the record counts for certain.
    """
    total, size = 0.0, 0.0
    for c in range(X.shape[1]):
        step = (X[j, c] - X[i, c]) * inverse[c]
        noise = 2 * ((Z[i, c] - X[i, c]) * inverse[c])
        total += step * (noise - step)
        size += abs(step) * (abs(noise) + abs(step))
    return total >= -TIE * size


@kernel
def count_tile(products, squares, certain, possible, rows, X, Z, inverse, candidates, levels):
    """Add, for each row of a tile, how many candidates fit at least as well as the truth.

    `products` holds -2 z.x' and `squares` |x'|², so that their sum orders candidates by their
    distance from z. Below `certain` one counts, above `possible` it does not; what is between
    the two, or is no number, is decided by `fits_as_well`.
    """
    width = squares.shape[0]
    for r in range(rows.shape[0]):
        low, high = certain[r], possible[r]
        near, far = np.int32(0), np.int32(0)
        for j in range(width):
            value = squares[j] + products[r, j]
            near = np.int32(near + np.int32(value < low))
            far = np.int32(far + np.int32(value > high))
        found = np.int64(near)
        if near + far < width:
            for j in range(width):
                value = squares[j] + products[r, j]
                if not (value < low or value > high):
                    found += fits_as_well(X, Z, inverse, rows[r], candidates[j])
        levels[rows[r]] += found


def tail_table():
    """Taylor coefficients of Phi(-t) around the middles of cells of width 1 / PER_UNIT.

    Five derivatives leave an error below 1e-13: the next one is below 6, and (1/64)^6 / 720 is
    2e-14. One more cell of zeros takes all that is beyond.
    """
    cells = REACH * PER_UNIT
    table = np.zeros((cells + 1, 6))
    for cell in range(cells):
        t = (cell + 0.5) / PER_UNIT
        density = math.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
        # The derivatives of -phi are -phi times Hermite polynomials with alternating signs.
        hermite = (1.0, -t, t**2 - 1, -(t**3) + 3 * t, t**4 - 6 * t**2 + 3)
        table[cell, 0] = 0.5 * math.erfc(t / math.sqrt(2))
        for n in range(5):
            table[cell, n + 1] = -density * hermite[n] / math.factorial(n + 1)
    return table


@kernel
def tail(t, table):
    """Phi(-t) for t >= 0, to 1e-12."""
    place = min(t * PER_UNIT, float(REACH * PER_UNIT))
    cell = int(place)
    h = (place - cell - 0.5) * (1.0 / PER_UNIT)
    a = table[cell]
    return a[0] + h * (a[1] + h * (a[2] + h * (a[3] + h * (a[4] + h * a[5]))))


@kernel
def add_tails(products, U, first, second, squares, blur, table, row_sums, column_sums):
    """Add Phi(-|x - x'| / 2) of the pairs of two blocks of records to the sums of both.

    `products` holds x.x' of the rows from `first` and from `second` on. Squared distances from
    products are off by up to `blur` (|x|² + |x'|²); where that would show in the twelfth decimal
    they are taken by subtraction instead. In a block with itself only pairs i < j are taken.
    """
    rows, width = products.shape
    held, kept = np.empty(width), np.empty(width)
    for r in range(rows):
        i = first + r
        begin = r + 1 if first == second else 0
        # Loops that count from 0 over slices are those the compiler turns into vectors.
        n, there = width - begin, second + begin
        root, close, product = held[:n], kept[:n], products[r, begin:]
        theirs, sums = squares[there : there + n], column_sums[there : there + n]
        own = squares[i]
        for j in range(n):
            both = own + theirs[j]
            square = max(both - 2 * product[j], 0.0)
            # d Phi = phi(t) dt is at most 0.1 dS / sqrt(S), which must stay below 1e-12.
            off = blur * both
            unsure = 1e11 * off
            close[j] = square - off - min(unsure * unsure, 4.0 * REACH * REACH)
            root[j] = 0.5 * np.sqrt(square)
        tight = 0
        for j in range(n):
            tight += close[j] < 0
        if tight > 0:
            for j in range(n):
                if close[j] < 0:
                    square = 0.0
                    for c in range(U.shape[1]):
                        step = U[i, c] - U[there + j, c]
                        square += step * step
                    root[j] = 0.5 * np.sqrt(square)
        total = 0.0
        for j in range(n):
            p = tail(root[j], table)
            total += p
            sums[j] += p
        row_sums[i] += total
