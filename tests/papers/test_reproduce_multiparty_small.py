"""The parts of Erfani et al. again, on tables small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.datasets import Dataset
from isinglass_papers.core.result import How
from isinglass_papers.core.variance import explained
from isinglass_papers.multiparty.attacks import best_match, private_matrix
from isinglass_papers.multiparty.protocol import (
    HeldOutScores,
    ProtocolSetting,
    experiment,
    matrix_of,
    participant,
    unit,
)
from isinglass_papers.multiparty.sources import differs
from isinglass_papers.multiparty.theory import Guesses, filters, numbers, shape

pytest.importorskip("torch", reason="the network needs isinglass[neural]")


def test_a_seed_repeats_and_all_settings_meet_the_same_anomalies():
    table = np.random.default_rng(0).random((120, 5)).astype(np.float32)
    first = experiment(table, ProtocolSetting(0.1, 3), [1, 2])
    again = experiment(table, ProtocolSetting(0.1, 3), [1, 2])
    np.testing.assert_array_equal(first.scores, again.scores)
    raw = experiment(table, ProtocolSetting(None, 3), [1, 2])
    np.testing.assert_array_equal(first.added, raw.added)
    assert len(raw.scores) == 63  # half of 120 records and 6 anomalies
    assert not np.array_equal(
        first.scores, experiment(table, ProtocolSetting(0.1, 3), [1, 3]).scores
    )


@pytest.mark.parametrize("alpha", [None, 0.01])
def test_the_records_that_were_added_are_the_ones_marked(alpha):
    """All others are one and the same, so that whatever differs was added."""
    table = np.full((120, 5), 0.5, dtype=np.float32)
    one = experiment(table, ProtocolSetting(alpha, 60), [4])
    assert one.added.sum() in range(1, 7)
    assert len(np.unique(one.scores[~one.added])) == 1
    assert len(np.unique(one.scores[one.added])) == one.added.sum()


def test_an_outcome_counts_pairs_in_order():
    added = np.array([False, False, False, True, True])
    one = HeldOutScores(added, np.array([0.1, 0.2, 0.6, 0.5, 0.9]), 0.55)
    assert one.auc == pytest.approx(5 / 6)
    assert (one.caught, one.false_alarms) == (0.5, pytest.approx(1 / 3))
    np.testing.assert_allclose(one.roc(np.array([0.0, 1 / 3, 1.0])), [0.5, 1.0, 1.0])


def test_columns_are_brought_to_the_unit_interval_and_constant_ones_to_zero():
    X = np.column_stack([np.arange(1200), np.full(1200, 7.0)])
    scaled = unit(X)
    assert scaled.shape == (1000, 2)
    assert (scaled[0, 0], scaled[-1, 0]) == (0, 1)
    assert not scaled[:, 1].any()


def test_chosen_records_tell_the_private_matrix():
    rng = np.random.default_rng(3)
    matrix = matrix_of(6, 1, rng)
    veil = participant(matrix, 0.2, rng)
    expected = matrix.matrix + veil._key.shift
    np.testing.assert_allclose(private_matrix(veil), expected, atol=1e-12)


def test_a_filter_leaves_what_is_not_cancelled():
    paper, half = filters(How())
    assert (paper.w, paper.left) == (7, 2)
    assert (half.w, half.left) == (4, 5)


def test_shares_of_variance():
    truth = np.random.default_rng(0).normal(size=(500, 3))
    assert explained(truth, truth) == 1
    assert explained(np.tile(truth.mean(axis=0), (500, 1)), truth) == pytest.approx(0)
    # Components in another order, turned round and stretched, show everything.
    np.testing.assert_allclose(best_match(-3 * truth[:, ::-1], truth), 1)
    assert best_match(truth[::-1], truth).max() < 0.05


@pytest.mark.parametrize(
    ("name", "size", "kinds", "said"),
    [
        ("gas_drift", (1000, 168), 6, []),
        ("gas_drift", (1000, 128), 6, ["128 columns here, where the paper prints 168"]),
        ("har_smartphone", (1000, 561), 6, []),
        ("har_smartphone", (1000, 561), 12, ["12 classes, so it is the later version"]),
        ("abalone", (400, 7), 2, ["7 columns", "only 400 records"]),
    ],
)
def test_what_differs_is_read_from_the_file(name, size, kinds, said):
    labels = np.arange(size[0]) % kinds
    names = tuple(f"c{i}" for i in range(size[1]))
    found = differs(name, Dataset(np.zeros(size), None, names, labels))
    assert len(found) == len(said)
    assert all(part in told for part, told in zip(said, found, strict=True))


def test_a_drawn_number_beyond_its_spread_is_said_to_be_unexplained():
    rng = np.random.default_rng(5)
    errors = np.abs(rng.uniform(-1, 1, (20, 1560)) - rng.uniform(-1, 1, (20, 1560)))
    for factor, unexplained in ((1.0, False), (1.3, True)):
        made = numbers(Guesses(factor * errors, errors), shape())
        (median,) = [n for n in made if n.what.startswith("median error")]
        assert median.note.startswith("the printed formula (2 - sqrt 2) alpha gives 0.5858")
        assert ("unexplained" in median.note) is unexplained
