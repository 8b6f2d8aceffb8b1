"""Singling out by conditions and linking by halves: what the release adds, and nothing else."""

import numpy as np
import pytest

import isinglass as ig
from isinglass.auditing.findings import Detection, Findings, Linkage, Privacy
from isinglass.auditing.report.risks import linkability
from isinglass.auditing.scene import Scene
from isinglass.auditing.singling_out import halves_linked, singled_out
from isinglass.auditing.split import all_rows


def test_records_that_left_unchanged_are_singled_out():
    X = np.random.default_rng(0).normal(size=(500, 6))
    assert singled_out(X, X, np.random.default_rng(1)) == 1.0


def test_a_fresh_table_singles_nobody_out_beyond_chance():
    X, fresh = np.random.default_rng(0).normal(size=(2, 500, 6))
    assert singled_out(X, fresh, np.random.default_rng(1)) < 0.04


def test_means_of_five_single_out_as_often_as_with_fresh_records_for_control():
    # Independent check: conditions counted by hand on the table and on as many fresh records.
    rng = np.random.default_rng(3)
    X, fresh = np.exp(rng.normal(size=(2, 600, 4)))
    order = np.argsort(X[:, 0])
    Z = np.empty_like(X)
    for group in order.reshape(-1, 3):
        Z[group] = X[group].mean(axis=0)
    found = singled_out(X, Z, np.random.default_rng(1))
    middle, distinct = np.median(np.unique(Z, axis=0), axis=0), np.unique(Z, axis=0)
    shares = []
    for n in (2, 3, 4):
        single = np.zeros(2)
        kept = 0
        for _ in range(1500):
            row, columns = distinct[rng.integers(len(distinct))], rng.permutation(4)[:n]
            up = row[columns] > middle[columns]

            def holds(records, row=row, columns=columns, up=up):
                values = records[:, columns]
                return np.where(up, values >= row[columns], values <= row[columns]).all(axis=1)

            if holds(distinct).sum() == 1:
                kept += 1
                single += [holds(X).sum() == 1, holds(fresh).sum() == 1]
        shares.append((single[0] - single[1]) / (kept - single[1]))
    assert found == pytest.approx(max(shares), abs=0.06)


def test_no_share_is_told_of_other_columns():
    X = np.random.default_rng(0).normal(size=(200, 6))
    assert singled_out(X, X[:, :5], np.random.default_rng(1)) is None


def _scene(X, Z):
    return Scene(X, Z, all_rows(len(X), np.arange(5)))


def test_halves_of_released_records_are_linked_and_those_of_a_fresh_table_are_not():
    rng = np.random.default_rng(0)
    X, held_out, fresh = rng.normal(size=(3, 400, 6))
    near = X + 0.05 * rng.normal(size=X.shape)
    assert halves_linked(_scene(X, near), held_out, rng) > 0.8
    assert halves_linked(_scene(X, fresh), held_out, rng) < 0.02


def test_condensation_of_pairs_is_linked_by_halves_and_of_many_is_not():
    rng = np.random.default_rng(0)
    X, held_out = rng.normal(size=(2, 400, 6)) + 4 * rng.integers(0, 2, size=(2, 400, 1))
    found = {
        k: halves_linked(
            _scene(X, ig.Condensation(k, random_state=1).fit_transform(X)), held_out, rng
        )
        for k in (2, 50)
    }
    assert found[2] > 0.03 > found[50] >= 0.0


def _findings(halves, singled):
    link = Linkage(9.0, 1.0, None, 0.1, 100, reidentification=0.2, reidentification_high=0.3)
    return Findings(
        100, 3, "unknown", "heuristic", Detection(None, None, None, 10), (), (), Privacy(1, 1),
        link, "recovered", halves=halves, singled=singled, n_attacked=100,
    )  # fmt: skip


def test_the_larger_figure_is_the_risk_for_whoever_holds_as_much():
    more = _findings(0.6, 0.4)
    assert (more.risks().linkability, more.risks().singling_out) == (0.6, 0.4)
    assert more.risks("outsider").linkability is None
    assert more.risks("outsider").singling_out == 0.4
    assert more.risks().reidentification_mean == 0.2
    risk = linkability(more, "insider")
    assert risk.low < risk.value == 0.6 < risk.high
    less = _findings(0.1, 0.05)
    assert (less.risks().linkability, less.risks().singling_out) == (0.2, 0.1)
    assert linkability(less, "insider").high == pytest.approx(0.3)
