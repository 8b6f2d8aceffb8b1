"""Log-likelihoods of records given released rows, under gaussian noise."""

from __future__ import annotations

import math

import numpy as np

from isinglass.kernels.gaussian_tiles import TIE
from isinglass.kernels.jit import kernel


@kernel
def gaussian_fits(Z, begin, end, X, inverse, constant, fits):
    """Log-density of every released row around every record, by subtraction."""
    for i in range(begin, end):
        for j in range(X.shape[0]):
            total = 0.0
            for c in range(X.shape[1]):
                step = (Z[i, c] - X[j, c]) * inverse[c]
                total += step * step
            fits[i, j] = constant - 0.5 * total


@kernel
def uniform_fits(Z, half, begin, end, X, constant, fits):
    """`constant` where a record lies within `half` of a released row in every column, else -inf."""
    for i in range(begin, end):
        for j in range(X.shape[0]):
            fits[i, j] = constant
            for c in range(X.shape[1]):
                if not abs(Z[i, c] - X[j, c]) <= half[i, c]:
                    fits[i, j] = -np.inf
                    break


@kernel
def factor_fits(Z, begin, end, inverse, own, precision, reach, fits):
    """Log-density of rows that are records times factors cut to 1 +- `reach`; -inf beyond.

    `inverse` holds 1 / x', and 0 for values of 0, which stay 0.
    """
    for i in range(begin, end):
        for j in range(inverse.shape[0]):
            total = own[j]
            for c in range(inverse.shape[1]):
                z, over = Z[i, c], inverse[j, c]
                if z == 0.0 or over == 0.0:
                    if z == 0.0 and over == 0.0:
                        continue
                    total = -np.inf
                    break
                away = z * over - 1.0
                if not abs(away) <= reach:
                    total = -np.inf
                    break
                total -= precision * away * away
            fits[i, j] = total


@kernel
def own_scale_levels(X, Z, sigmas, begin, end, levels):
    """Levels where each record has gaussian noise of its own size, and the attacker knows which.

    F(z, x') = -d log s(x') - |z - x'|² / (2 s(x')²).
    """
    n, width = X.shape
    price, weight = width * np.log(sigmas), 0.5 / (sigmas * sigmas)
    for i in range(begin, end):
        own = 0.0
        for c in range(width):
            step = Z[i, c] - X[i, c]
            own += step * step
        own *= weight[i]
        limit, size = own + price[i], own + abs(price[i])
        for j in range(n):
            square = 0.0
            for c in range(width):
                step = Z[i, c] - X[j, c]
                square += step * step
            far = square * weight[j]
            slack = TIE * (size + far + abs(price[j]))
            levels[i] += far + price[j] <= limit + slack


@kernel
def drawn_levels(U, shadows, lengths, sigmas, rows, begin, end, near, members, means, errors):
    """Mean level of records over common draws of the noise, and the standard error of each mean.

    `shadows[i]` holds g.x_i for every draw g, `lengths` |g|²: with z = x_i + s_i g,
    |z - x'|² = s_i² |g|² + 2 s_i (g.x_i - g.x') + |x_i - x'|², so that a draw costs one step a
    candidate whatever the number of columns. Candidates are `near[i]` and those `members` that
    have the scale of i; candidates left out could only add to the level.
    """
    n_draws, width = lengths.shape[0], U.shape[1]
    count = np.empty(n_draws, np.int32)
    others = np.empty(near.shape[1] + members.shape[0], np.int64)
    for place in range(begin, end):
        i = rows[place]
        own, mine, n = sigmas[i], shadows[i], 0
        for j in members:
            if j != i and sigmas[j] == own:
                others[n] = j
                n += 1
        grouped = n > 0  # then all records of this scale are members
        for j in near[i]:
            if not (grouped and sigmas[j] == own):
                others[n] = j
                n += 1
        count[:] = 1
        for p in range(n):
            j = others[p]
            square = 0.0
            for c in range(width):
                step = U[i, c] - U[j, c]
                square += step * step
            theirs, other = shadows[j], sigmas[j] * sigmas[j]
            gain = 2 * width * math.log(own / sigmas[j])
            for g in range(n_draws):
                far = (own * own) * lengths[g] + (2 * own * (mine[g] - theirs[g]) + square)
                fits = far <= other * (lengths[g] + gain)
                count[g] = np.int32(count[g] + np.int32(fits))
        total, squares = 0.0, 0.0
        for g in range(n_draws):
            total += count[g]
            squares += np.float64(count[g]) * count[g]
        mean = total / n_draws
        means[place] = mean
        errors[place] = math.sqrt(max(squares / n_draws - mean * mean, 0.0) / (n_draws - 1))
