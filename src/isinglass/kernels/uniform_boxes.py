"""Randomization levels under uniform noise: counts of records in boxes."""

from __future__ import annotations

import numpy as np

from isinglass.kernels.jit import kernel

#: Sets of records held for every column; set b has the records below edge b.
SETS = 64
_ONE = np.uint64(1)


@kernel
def below(edges, value):
    """How many edges, in ascending order, are <= value."""
    low, high = 0, edges.shape[0]
    while low < high:
        middle = (low + high) // 2
        if edges[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def make_sets(X, edges, sets):
    """Fill `sets[c, b]` with the records, one bit each, whose column c is below edge b.

    Edges count from 1: set 0 is empty and the last one, b = SETS, has all records.
    """
    n, width = X.shape
    for c in range(width):
        for i in range(n):
            b = below(edges[c], X[i, c]) + 1
            sets[c, b, i >> 6] |= _ONE << np.uint64(i & 63)
        for b in range(1, SETS + 1):
            for w in range(sets.shape[2]):
                sets[c, b, w] |= sets[c, b - 1, w]


@kernel
def ones(word):
    """How many bits of a word are set."""
    word -= (word >> _ONE) & np.uint64(0x5555555555555555)
    two = np.uint64(0x3333333333333333)
    word = (word & two) + ((word >> np.uint64(2)) & two)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def count_boxes(Z, half, begin, end, X, edges, sets, levels):
    """Add, for each released row, how many records lie within `half` of it in every column.

    The sets give two answers: records that may be inside, and those that are for certain. Only
    records that are in the one and not in the other are looked at.
    """
    width, words = X.shape[1], sets.shape[2]
    inside, outside = np.empty(words, np.uint64), np.empty(words, np.uint64)
    cut = np.empty(width, np.int64)
    last = edges.shape[1]
    for i in range(begin, end):
        inside[:] = sets[0, SETS]
        outside[:] = sets[0, SETS]
        cuts = 0
        for c in range(width):
            z, h = Z[i, c], half[i, c]
            # z - h and |z - x'| round apart by less than this.
            blur = 4 * 2.2e-16 * (abs(z) + h)
            under, over = z - h, z + h
            if under + blur <= edges[c, 0] and over - blur >= edges[c, last - 1]:
                continue  # all records are inside
            cut[cuts] = c
            cuts += 1
            # Below an edge that is <= under: outside. From an edge that is >= under on: inside.
            a = sets[c, below(edges[c], under - blur)]
            b = sets[c, min(below(edges[c], under + blur) + 1, SETS)]
            # From an edge that is > over on: outside. Below an edge that is <= over: inside.
            e = sets[c, min(below(edges[c], over + blur) + 1, SETS)]
            f = sets[c, below(edges[c], over - blur)]
            some = np.uint64(0)
            for w in range(words):
                outside[w] &= e[w] & ~a[w]
                inside[w] &= f[w] & ~b[w]
                some |= outside[w]
            if some == 0:
                break
        found = 0
        for w in range(words):
            found += ones(inside[w])
        for w in range(words):
            unsure = outside[w] & ~inside[w]
            while unsure != 0:
                lowest = unsure & (~unsure + _ONE)
                j = 64 * w + ones(lowest - _ONE)
                unsure ^= lowest
                fits = 1
                for s in range(cuts):
                    c = cut[s]
                    if not abs(Z[i, c] - X[j, c]) <= half[i, c]:
                        fits = 0
                        break
                found += fits
        levels[i] += found


@kernel
def add_overlaps(U, turned, first, stop, second, row_sums, column_sums):
    """Add prod_j max(0, 1 - |u_j - u'_j|) of the pairs of two blocks to the sums of both.

    `turned` holds the records from `second` on, column by column. In a block with itself only
    pairs i < j are taken.
    """
    width, size = turned.shape
    held = np.empty(size)
    for i in range(first, stop):
        begin = i + 1 - second if first == second else 0
        # Loops that count from 0 over slices are those the compiler turns into vectors.
        n = size - begin
        product, sums = held[:n], column_sums[second + begin : second + size]
        for j in range(n):
            product[j] = 1.0
        for c in range(width):
            own, there = U[i, c], turned[c, begin:]
            for j in range(n):
                product[j] *= max(1.0 - abs(there[j] - own), 0.0)
            if c % 16 == 15 and not product.any():
                break
        total = 0.0
        for j in range(n):
            total += product[j]
            sums[j] += product[j]
        row_sums[i] += total
