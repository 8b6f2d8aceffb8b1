"""Choosing beta and r: against brute force on ties and copies, and as a radius to ask with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isinglass.curate.planning.choose import Chosen, anomalies_wanted, choose_beta_r
from isinglass.curate.space import Space
from isinglass.datasets import load
from isinglass.detect.metric import declare
from isinglass.detect.radius import RadiusOutliers

METRICS = [
    ("euclidean", None, False),
    ("euclidean", None, True),
    ("manhattan", None, False),
    ("chebyshev", None, True),
    ("minkowski", 3.0, True),
    ("hamming", None, True),
]


def kth_distances(table, beta, metric):
    """d_beta of every record, pair by pair with the one scalar distance."""
    found = []
    for i, a in enumerate(table):
        others = [metric.distance(a, b) for j, b in enumerate(table) if j != i]
        found.append(sorted(others)[beta - 1])
    return np.array(found)


def best_by_labels(kth, truth):
    """Every candidate tried; the largest radius of the best F1."""
    tried = []
    for r in {*kth.tolist(), 0.0}:
        flagged = kth > r
        tried.append((2 * int(truth[flagged].sum()) / int(truth.sum() + flagged.sum()), r))
    return max(tried)


def some_table(seed, n, kind):
    rng = np.random.default_rng(seed)
    if kind == "ties":  # whole numbers in few places: copies, and ties everywhere
        table = rng.integers(0, 4, size=(n, 2)).astype(float)
        table[::9] *= 5
        return table
    return rng.normal(size=(n, 3)) ** 3


@pytest.mark.parametrize(("name", "p", "weighted"), METRICS)
@pytest.mark.parametrize("kind", ["ties", "distinct"])
def test_the_radius_is_the_next_largest_distance_after_the_share(name, p, weighted, kind):
    for seed in range(4):
        table = some_table(seed, 37, kind)
        weights = np.linspace(0.3, 1.7, table.shape[1]) if weighted else None
        metric = declare(name, p, weights, table.shape[1])
        for beta in (1, 3, 36):
            kth = kth_distances(table, beta, metric)
            for share in ("0", "0.05", "0.5", "0.97"):
                most = anomalies_wanted(share, 37)
                found = choose_beta_r(
                    table, outlier_fraction=share, beta=beta, metric=name, p=p, weights=weights
                )
                assert found.r == np.sort(kth)[::-1][most]  # the (M+1)-th largest, to the last bit
                assert found.flagged == int((kth > found.r).sum()) <= most


@pytest.mark.parametrize(("name", "p", "weighted"), METRICS)
@pytest.mark.parametrize("kind", ["ties", "distinct"])
def test_labels_choose_the_best_f1_and_the_largest_of_equal_radii(name, p, weighted, kind):
    for seed in range(6):
        table = some_table(seed, 31, kind)
        weights = np.linspace(0.3, 1.7, table.shape[1]) if weighted else None
        metric = declare(name, p, weights, table.shape[1])
        rng = np.random.default_rng(100 + seed)
        for beta in (1, 4):
            kth = kth_distances(table, beta, metric)
            # Labels that follow the distances, and labels that have nothing to do with them.
            for truth in (kth >= np.sort(kth)[-5], rng.random(31) < 0.2):
                if not truth.any():
                    continue
                f1, r = best_by_labels(kth, truth)
                found = choose_beta_r(
                    table, labels=truth, beta=beta, metric=name, p=p, weights=weights
                )
                assert (found.f1, found.r) == (f1, r)
                flagged = kth > r
                assert found.flagged == int(flagged.sum())
                assert found.recall == truth[flagged].sum() / truth.sum()
                assert found.precision == (truth[flagged].mean() if flagged.any() else 0.0)


@given(
    st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=3, max_size=14),
    st.integers(1, 2),
    st.lists(st.booleans(), min_size=14, max_size=14),
)
def test_labels_agree_with_trying_every_radius(table, beta, labels):
    table, truth = np.array(table, dtype=float), np.array(labels[: len(table)])
    if not truth.any():
        truth[0] = True
    kth = kth_distances(table, beta, declare("euclidean", None, None, 2))
    found = choose_beta_r(table, labels=truth, beta=beta)
    assert (found.f1, found.r) == best_by_labels(kth, truth)


def test_the_radius_means_the_same_to_the_detector():
    # Roots of sums do not come out even: a radius off by one bit would flag the record itself.
    table = np.random.default_rng(5).normal(size=(400, 7)) * 1e3
    for beta in (1, 7, 40):
        found = choose_beta_r(table, outlier_fraction="0.05", beta=beta)
        at = RadiusOutliers(beta=beta, r=found.r).fit(table)
        below = RadiusOutliers(beta=beta, r=float(np.nextafter(found.r, 0))).fit(table)
        assert len(at.outliers_) == found.flagged == 20
        assert len(below.outliers_) == 21


def test_a_short_radius_flags_the_same_records():
    table = np.random.default_rng(5).normal(size=(400, 7)) * 1e3
    truth = np.arange(400) % 9 == 0
    for how in ({"outlier_fraction": "0.05"}, {"labels": truth}):
        exact = choose_beta_r(table, beta=7, **how)
        short = choose_beta_r(table, beta=7, short=True, **how)
        assert short == replace(exact, r=short.r)
        assert exact.r < short.r < exact.r * 1.01
        assert len(repr(short.r)) < len(repr(exact.r)) - 6
        flagged = (RadiusOutliers(beta=7, r=r).fit(table).outliers_ for r in (short.r, exact.r))
        assert len({tuple(sorted(rows)) for rows in flagged}) == 1
    # Two records apart by the last bit only: no shorter radius tells them from each other.
    pair = np.array([[0.0], [1.1], [-np.nextafter(1.1, 2)]])
    exact = choose_beta_r(pair, outlier_fraction="0.3", beta=1)
    assert choose_beta_r(pair, outlier_fraction="0.3", beta=1, short=True) == exact
    assert choose_beta_r([[0.0], [0.0]], outlier_fraction="0", beta=1, short=True).r == 0.0


def test_a_hand_made_table():
    # On a line; distances to the nearest other: 1, 1, 1, 2, 20.
    table = np.array([[0.0], [1.0], [2.0], [4.0], [24.0]])
    assert choose_beta_r(table, outlier_fraction=0.2, beta=1) == Chosen(1, 2.0, 1)
    assert choose_beta_r(table, outlier_fraction=0.4, beta=1) == Chosen(1, 1.0, 2)
    # The third largest of 20, 2, 1, 1, 1 ties: asking for three gives two.
    assert choose_beta_r(table, outlier_fraction=0.6, beta=1) == Chosen(1, 1.0, 2)
    by_labels = choose_beta_r(table, labels=[0, 0, 0, 0, 1], beta=1)
    assert by_labels == Chosen(1, 2.0, 1, precision=1.0, recall=1.0, f1=1.0)
    # Nothing tells the first apart, so flagging all is best, and 0 does that.
    assert choose_beta_r(table, labels=[1, 1, 1, 1, 1], beta=1).r == 0.0


def test_copies_alone_leave_radius_zero():
    table = np.ones((10, 2))
    assert choose_beta_r(table, outlier_fraction=0.1, beta=3) == Chosen(3, 0.0, 0)
    assert choose_beta_r(table, labels=np.arange(10) == 0, beta=3).f1 == 0.0


@pytest.mark.parametrize(("n", "beta"), [(2, 1), (199, 1), (399, 1), (400, 2), (3772, 18)])
def test_beta_is_a_two_hundredth_of_the_records(n, beta):
    table = np.arange(n, dtype=float).reshape(-1, 1) ** 1.01
    assert choose_beta_r(table, outlier_fraction=0.01).beta == beta


def test_the_share_is_read_as_a_decimal():
    assert 0.07 * 100 > 7
    assert anomalies_wanted(0.07, 100) == 7
    assert anomalies_wanted("0.0701", 100) == 8
    assert anomalies_wanted(0, 100) == 0


def test_distances_no_radius_reaches_are_refused_and_tiny_ones_rounded_up():
    far = np.array([[0.0], [1e160], [2e160]])
    with pytest.raises(ValueError, match="less than 1e150 apart"):
        choose_beta_r(far, outlier_fraction=0.1, beta=1)
    # 1e-155 is no radius to ask with; the least one that is does the same.
    close = np.array([[0.0], [1e-155], [1.0]])
    assert choose_beta_r(close, outlier_fraction=0.4, beta=1, metric="manhattan").r == 1e-150


def test_a_space_scales_before_distances_are_taken():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": 1000 * rng.normal(size=50)})
    space = Space.declare(("a", "b"), bounds=([-1, -1000], [1, 1000]), metric="manhattan")
    found = choose_beta_r(frame, outlier_fraction=0.1, beta=2, space=space)
    places = space.places(frame)
    assert found == choose_beta_r(places, outlier_fraction=0.1, beta=2, metric="manhattan")
    with pytest.raises(ValueError, match="left out where space says them"):
        choose_beta_r(frame, outlier_fraction=0.1, space=space, metric="manhattan")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "one of outlier_fraction and labels must be given"),
        ({"outlier_fraction": 0.1, "labels": [0, 1, 0]}, "and not both"),
        ({"outlier_fraction": 1}, "outlier_fraction must be >= 0 and < 1, got 1"),
        ({"outlier_fraction": -0.1}, "outlier_fraction must be >= 0 and < 1, got -0.1"),
        ({"outlier_fraction": "x"}, "outlier_fraction must be >= 0 and < 1, got 'x'"),
        ({"outlier_fraction": 0.9}, "leave at least one record that is no anomaly"),
        ({"outlier_fraction": 0.1, "beta": 3}, "beta must be less than the number of records"),
        ({"outlier_fraction": 0.1, "beta": 0}, "beta must be >= 1 and finite, got 0"),
        ({"outlier_fraction": 0.1, "beta": "x"}, "beta must be >= 1 and finite, got x"),
        ({"labels": [0, 1]}, "labels must be one for each of the 3 records"),
        ({"labels": [0, 0, 0]}, "labels must mark at least one record"),
        ({"labels": [0, 2, 1]}, "labels must be True or False"),
        ({"outlier_fraction": 0.1, "metric": "cosine"}, "metric must be one of"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(settings, words):
    with pytest.raises(ValueError, match=words):
        choose_beta_r([[0.0], [1.0], [3.0]], **settings)


def test_bad_tables_are_refused_without_their_values():
    for table in ([1.0, 2.0], [["secretvalue"]], [[np.nan], [0.0]], np.empty((0, 2))):
        with pytest.raises(ValueError) as refused:
            choose_beta_r(table, outlier_fraction=0.1)
        assert "secretvalue" not in str(refused.value)


@pytest.mark.parametrize(("name", "n_kept"), [("thyroid", 600), ("mammography", 700)])
def test_real_tables_agree_with_brute_force(real_data, name, n_kept):
    data = load(name)
    rows = np.r_[np.flatnonzero(data.is_outlier)[:40], np.flatnonzero(~data.is_outlier)[:n_kept]]
    table, truth = data.X[rows].astype(float), data.is_outlier[rows]
    beta = max(1, len(table) // 200)
    # numpy's sums of six squares, column by column, round as the scalar distance does.
    squares = np.zeros((len(table), len(table)))
    for column in table.T:
        squares += (column[:, None] - column) ** 2
    np.fill_diagonal(squares, np.inf)
    kth = np.sort(np.sqrt(squares), axis=1)[:, beta - 1]
    assert (
        choose_beta_r(table, outlier_fraction=0.03).r
        == np.sort(kth)[::-1][anomalies_wanted(0.03, len(table))]
    )
    found = choose_beta_r(table, labels=truth)
    assert (found.f1, found.r) == best_by_labels(kth, truth)


def test_published_radii_are_of_the_size_labels_choose(real_data):
    # Asif et al. print (18, .1) for thyroid and (55, 1.7) for mammography, without a recipe.
    thyroid, mammography = load("thyroid"), load("mammography")
    first = choose_beta_r(thyroid.X, labels=thyroid.is_outlier)
    second = choose_beta_r(mammography.X, labels=mammography.is_outlier)
    assert (first.beta, round(first.r, 3)) == (18, 0.147)
    assert (second.beta, round(second.r, 3)) == (55, 1.686)
