"""What noise leaves as it was counts as kept, whoever calls it noise."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import isinglass as ig
from isinglass.attack.knowledge import KeptColumns
from isinglass.auditing.aggregate import unique_share
from isinglass.auditing.files.left_as_is import (
    combinations,
    largest_noise,
    silent_columns,
    values_left,
)
from isinglass.auditing.files.origin import noise_line
from isinglass.auditing.scene import Scene
from isinglass.auditing.split import all_rows

RNG = np.random.default_rng(918274)
N = 400
CODE = RNG.integers(0, 5, N).astype(float)
X = np.column_stack([CODE, RNG.normal(size=(N, 2)), np.full(N, 7.0)])


def fitted(veil, table=X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that get no noise
        return veil, veil.fit_transform(table)


@pytest.mark.parametrize(
    ("veil", "met"),
    [
        (ig.AdditiveNoise(scale=3, random_state=0), True),
        (ig.AdditiveNoise("uniform", scale=3, random_state=0), True),
        (ig.AdditiveNoise(scale=[3, 1, 2, 0], random_state=0), True),  # what does not vary is known
        (ig.AdditiveNoise(scale=[0, 3, 3, 3], random_state=0), False),
        (ig.AdditiveNoise(scale=0, random_state=0), False),
        (ig.AdaptiveNoise(k=5, random_state=0), True),
        (ig.MultiplicativeNoise(scale=1, random_state=0), False),
        (ig.GeometricPerturbation(noise=1, random_state=0), False),
        (ig.Condensation(k=10, random_state=0), False),
        (
            ig.Rotation(optimize=None, bounds=(X.min(axis=0), X.max(axis=0) + 1), random_state=0),
            False,
        ),
    ],
    ids=repr,
)
def test_only_noise_added_to_every_column_hides_records(veil, met):
    for when in ("before", "fitted"):
        silent = silent_columns(veil, X)
        assert noise_line(draws_noise=veil.draws_noise, silent=silent).met is met, when
        fitted(veil)


@pytest.mark.parametrize(
    ("veil", "least", "most"),
    [
        (ig.AdditiveNoise(scale=4, random_state=0), 1, 1),
        (ig.AdditiveNoise(scale=[0, 4, 4, 4], random_state=0), 5, 5),
        # Nearly none beside much: codes can be told apart all the same.
        (ig.AdditiveNoise(scale=[0.01, 4, 4, 4], random_state=0), 5, 5),
        (ig.AdditiveNoise(scale=[2, 4, 4, 4], random_state=0), 1, 1),
        # Zeros of the code, and the signs of two columns around zero.
        (ig.MultiplicativeNoise(scale=1, random_state=0), 8, 8),
    ],
    ids=repr,
)
def test_what_noise_leaves_is_counted_as_kept(veil, least, most):
    made, released = fitted(veil)
    left = values_left(X, released, made, aligned=True)
    assert least <= combinations(None, left) <= most
    assert not values_left(X, released[::-1], made, aligned=False).shape[1]
    pair = KeptColumns(RNG.integers(0, 2, (N, 1)).astype(float), np.array([True]))
    assert combinations(pair, left) == 2 * combinations(None, left)


def test_the_noisiest_column_says_how_much_is_unread():
    _, released = fitted(ig.AdditiveNoise(scale=[0, 1, 6, 1], random_state=0))
    assert 30 < largest_noise(X, released) < 45


def test_rows_alone_in_columns_without_noise_are_counted():
    table = np.column_stack([np.arange(N, dtype=float), X])
    for scale, unique in (([0, 4, 4, 4, 4], 1.0), ([4, 4, 4, 4, 4], None)):
        _, released = fitted(ig.AdditiveNoise(scale=scale, random_state=0), table)
        scene = Scene(table, released, all_rows(N, np.arange(5)), rows_correspond=True)
        assert unique_share(scene) == unique
        assert unique_share(replace(scene, rows_correspond=False)) is None
