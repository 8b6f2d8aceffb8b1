"""Functions of a row that a release keeps name its record; what keeps none names nobody."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.knowledge import ColumnStatistics, KnownPairs, PublicTable
from isinglass.attack.linking.families import Seen
from isinglass.attack.linking.row_invariants import learned_functions
from isinglass.attack.pattern_linkage import PatternLinkageAttack

N, D, PAIRS = 240, 4, 50
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) @ (np.eye(D) + 0.3 * RNG.normal(size=(D, D))) * [1, 3, 10, 2]
X += 10 * np.arange(D)
U = (X - X.mean(axis=0)) / X.std(axis=0)
ORDER = RNG.permutation(N)
KNOWN, SAMPLE = ORDER[:PAIRS], ORDER[PAIRS : PAIRS + 40]
PAIRED = KnownPairs(KNOWN, X[KNOWN])
ALL = {
    "insider": (PublicTable(X[ORDER]) | PAIRED, ORDER[PAIRS:]),
    "acquainted": (
        ColumnStatistics.of(X) | PublicTable(X[SAMPLE], complete=False) | PAIRED,
        SAMPLE,
    ),
}


def linked(released, who):
    known, rows = ALL[who]
    attack = PatternLinkageAttack(random_state=0)
    guess = attack.guess(released, known)
    return float((guess == X).all(axis=1)[rows].mean())


def released(what, rng):
    noise = 8 * rng.normal(size=X.shape)
    turned = np.stack([np.linalg.qr(rng.normal(size=(D, D)))[0] for _ in range(N)])
    angle = 2 * np.pi * rng.random((N, D // 2))
    pairs = (U[:, ::2] + 1j * U[:, 1::2]) * np.exp(1j * angle)
    mixture = U @ rng.normal(size=(D, D)) + 0.5
    weights = rng.normal(size=D)
    sign, factor = rng.choice([-1, 1], (N, 1)), np.exp(1.5 * rng.normal(size=(N, 1)))
    return {
        "totals": U + noise - noise.mean(axis=1, keepdims=True),
        "totals in the table's units": X + noise - noise.mean(axis=1, keepdims=True),
        "a weighted total": U + noise - np.outer(noise @ weights, weights) / (weights @ weights),
        "a product": np.exp(0.3 * U + noise - noise.mean(axis=1, keepdims=True)),
        "sizes": np.einsum("nij,nj->ni", turned, U),
        "radii": np.hstack([pairs.real, pairs.imag]),
        "a sign and a mixture": sign * mixture,
        "a factor and a mixture": factor * mixture,
        "a sign and a bent mixture": sign * np.tanh(mixture / 4),
        "absolute values of more mixtures": np.abs(U @ rng.normal(size=(D, D + 2)) + 0.3),
    }[what]


@pytest.mark.parametrize("who", ALL)
@pytest.mark.parametrize(
    "what",
    [
        "totals", "totals in the table's units", "a weighted total", "sizes", "radii",
        "a sign and a mixture", "a factor and a mixture", "a sign and a bent mixture",
        "absolute values of more mixtures",
    ],
)  # fmt: skip
def test_a_function_that_is_kept_names_the_record(what, who):
    assert linked(released(what, np.random.default_rng(3)), who) > 0.95


def test_a_product_of_columns_that_is_kept_names_the_record():
    """Of the exponentials of the records, which are what such a release is made of."""
    Z = released("a product", np.random.default_rng(3))
    P = np.exp(0.3 * U)
    attack = PatternLinkageAttack(random_state=0)
    guess = attack.guess(Z, PublicTable(P[ORDER]) | KnownPairs(KNOWN, P[KNOWN]))
    assert (guess == P).all(axis=1)[ORDER[PAIRS:]].mean() > 0.95


@pytest.mark.parametrize("who", ALL)
def test_where_no_function_is_kept_nobody_is_named(who):
    rng = np.random.default_rng(4)
    controls = {
        "noise": rng.normal(size=X.shape),
        "strong noise": U + 8 * rng.normal(size=X.shape),
        "noise in more columns": rng.normal(size=(N, D + 2)),
        "mixtures of others": np.abs(rng.permutation(U) @ rng.normal(size=(D, D + 2))),
        "bent noise": np.tanh(rng.normal(size=X.shape)),
    }
    by_chance = 1 / len(SAMPLE) if who == "acquainted" else 1 / N
    for name, Z in controls.items():
        assert linked(Z, who) < by_chance + 0.1, name


def test_too_few_pairs_teach_nothing():
    """As many functions as there are pairs agree by chance, and none of them counts."""
    rng = np.random.default_rng(5)
    Z, pairs = rng.normal(size=X.shape), np.arange(2 * D)
    seen = Seen(Z[pairs], X[pairs], Z, X)
    for family in learned_functions(Z, X.mean(axis=0), X.std(axis=0)):
        assert family.fit is not None
        features = family.fit(seen)(Z, X)
        if not family.name.startswith("direction"):  # a mixture has fewer unknowns a pair
            assert not features[0].any(), family.name
