"""Rows in any order, and no pair: what a whole class of maps keeps names the record."""

from __future__ import annotations

import numpy as np
import pytest

import isinglass
from isinglass.attack.knowledge import KnownPairs, PublicTable
from isinglass.attack.pattern_linkage import PatternLinkageAttack
from isinglass.attack.rowless_linkage import RowlessLinkageAttack
from isinglass.errors import AttackError

N, D = 240, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) @ (np.eye(D) + 0.3 * RNG.normal(size=(D, D))) * [1, 3, 10, 2]
X += 10 * np.arange(D)
U = (X - X.mean(axis=0)) / X.std(axis=0)
WIDE = RNG.normal(size=(30, 40))


def turned(rng, d=D):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def hidden(what, rng):
    noise = 8 * rng.normal(size=X.shape)
    rows = np.stack([turned(rng) for _ in range(N)])
    return {
        "mixture": X @ rng.normal(size=(D, D)) + 5,
        "mixture to more columns": X @ rng.normal(size=(D, D + 3)),
        "rotation of deviations": 3 * U @ turned(rng),
        "mixture and signs": rng.choice([-1, 1], (N, 1)) * (U @ rng.normal(size=(D, D))),
        "totals": U + noise - noise.mean(axis=1, keepdims=True),
        "sizes": np.einsum("nij,nj->ni", rows, U),
        "factor": X * np.exp(rng.normal(size=(N, 1))),
    }[what]


@pytest.mark.parametrize(
    "what",
    [
        "mixture", "mixture to more columns", "rotation of deviations", "mixture and signs",
        "totals", "sizes", "factor",
    ],
)  # fmt: skip
def test_rows_in_any_order_are_named(what):
    rng = np.random.default_rng(1)
    order = rng.permutation(N)
    attack = RowlessLinkageAttack(random_state=0)
    guess = attack.guess(hidden(what, rng)[order], PublicTable(X))
    assert (guess == X[order]).all(axis=1).mean() > 0.95
    share, by_chance = attack.shown
    assert share > 0.9
    assert by_chance < 0.4


def test_a_rotation_of_more_columns_than_rows_keeps_distances():
    rng = np.random.default_rng(2)
    order = rng.permutation(30)
    attack = RowlessLinkageAttack(random_state=0)
    guess = attack.guess((WIDE @ turned(rng, 40))[order], PublicTable(WIDE))
    assert (guess == WIDE[order]).all(axis=1).mean() > 0.95
    assert attack.shown[0] - attack.shown[1] > 0.3


def test_a_mixture_in_the_tables_order_needs_no_more_pairs():
    """Known pairs too few to learn a mixture still tell that places under any are kept."""
    Z, known = hidden("mixture", np.random.default_rng(3)), np.arange(8)
    attack = PatternLinkageAttack(random_state=0)
    guess = attack.guess(Z, PublicTable(X) | KnownPairs(known, X[known]))
    assert (guess == X).all(axis=1).mean() > 0.95


def test_in_a_large_table_third_moments_tell_records_apart():
    rng = np.random.default_rng(4)
    table = np.exp(0.5 * rng.normal(size=(2500, 3)))
    attack = RowlessLinkageAttack(random_state=0)
    guess = attack.guess((table @ rng.normal(size=(3, 3)))[::-1], PublicTable(table))
    assert (guess == table[::-1]).all(axis=1).mean() > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_releases_of_nobody_show_nobody(seed):
    rng = np.random.default_rng(5 + seed)
    whole = np.round(X / X.std(axis=0) * 2)
    population = rng.multivariate_normal(X.mean(axis=0), np.cov(X.T), size=N)
    controls = {
        "fresh": (population, X),
        "fresh, mixed": (population @ rng.normal(size=(D, D)), X),
        "fresh, fewer": (population[: N // 2], X),
        "strong noise": (X + 6 * X.std(axis=0) * rng.normal(size=X.shape), X),
        "columns mixed": (np.column_stack([rng.permutation(column) for column in X.T]), X),
        "others of whole numbers": (whole[::2], whole[1::2]),
        "few": (population[:20], X[:20]),
        "walks": (np.cumsum(population, axis=0), np.cumsum(X, axis=0)),
        "one column": (population[:, :1], X[:, :1]),
        "flat": (np.zeros((N, D)), X),
    }
    for name, (Z, table) in controls.items():
        attack = RowlessLinkageAttack(random_state=seed)
        guess = attack.guess(Z, PublicTable(table))
        assert guess.shape == (len(Z), table.shape[1]), name
        assert attack.shown[0] - attack.shown[1] < 0.05, name
        if not attack.shown[0]:
            assert np.ptp(guess, axis=0).max() == 0, name


def test_a_public_table_that_is_not_finite_is_refused():
    with pytest.raises(AttackError, match="finite"):
        RowlessLinkageAttack().guess(X, PublicTable(np.where(X == X[0, 0], np.inf, X)))


def test_the_audit_of_rows_in_any_order_names_the_insider():
    rng = np.random.default_rng(9)
    for released, verdict in (
        ((X @ rng.normal(size=(D, D)))[rng.permutation(N)], "recovered"),
        (rng.multivariate_normal(X.mean(axis=0), np.cov(X.T), size=N), "resisted"),
    ):
        found = isinglass.audit(
            X, released, rows_correspond=False, attacks=["naive", "rowless_linkage"],
            random_state=0,
        ).findings  # fmt: skip
        assert found.verdict.startswith(verdict)
