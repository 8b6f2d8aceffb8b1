"""The private choice of r: its exact law, its privacy by enumeration, and when it is paid."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from isinglass.curate.curator import Curator
from isinglass.curate.planning import private_choice
from isinglass.curate.planning.choose import choose_beta_r
from isinglass.curate.planning.private_choice import (
    _TRIES,
    PrivateChoice,
    choose_r_privately,
    draw_point,
    first_radius,
    misses,
)
from isinglass.curate.space import Space
from isinglass.detect.metric import declare
from isinglass.errors import BudgetError

LINE = declare("euclidean", None, None, 1)


# The draw.


def law(found, epsilon):
    """What the draw must follow."""
    weights = [math.exp(-float(epsilon) * miss / 4) for miss in found]
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize("found", [(3, 1, 1), (2, 0), (5, 5, 5), (4,), (6, 2, 4)])
def test_every_way_the_draw_can_go_adds_up_to_the_law(monkeypatch, found):
    """All proposals and tosses of one round, each with its exact probability."""
    monkeypatch.setattr(private_choice, "_TRIES", 1)
    epsilon = Fraction(6, 5)
    reached: dict[int | None, float] = defaultdict(float)
    tosses = list(itertools.product(itertools.product(range(len(found)), (True, False)),
                                    repeat=len(found)))  # fmt: skip
    for way in tosses:
        points, results = iter([p for p, _ in way]), iter([r for _, r in way])
        chance = 1.0

        def flip(coin, miss, results=results):
            nonlocal chance
            heads, p = next(results), coin.probability(miss)
            chance *= (p if heads else 1 - p) / len(found)
            return heads

        try:
            chosen = draw_point(
                found, epsilon, most=6, below=lambda n, points=points: next(points), flip=flip
            )
        except (StopIteration, RuntimeError):  # nothing accepted: a second round would begin
            chosen = None
        reached[chosen] += chance
    none = reached.pop(None, 0.0)
    assert none + sum(reached.values()) == pytest.approx(1)
    # The next round is drawn like this one, so the law is this round's, given that one accepts.
    got = [reached[point] / (1 - none) for point in range(len(found))]
    np.testing.assert_allclose(got, law(found, epsilon), rtol=1e-12)


def test_drawn_points_follow_the_law_and_not_one_nearby():
    epsilon, found, n = Fraction(1), (4, 0, 2, 6), 1500
    counts = Counter(draw_point(found, epsilon, most=6) for _ in range(n))
    observed = np.array([counts[point] for point in range(4)])

    def distance(expected):
        return ((observed - n * expected) ** 2 / (n * expected)).sum()

    assert distance(law(found, epsilon)) < 40  # chance of more: 1e-8
    assert distance(law(found, 2 * epsilon)) > 60


@pytest.mark.parametrize("found", [(0, 9, 9), (9, 9, 9), (0, 0, 0), (9, 1, 9)])
def test_a_draw_consumes_as_much_chance_whatever_it_finds(found):
    calls = Counter()

    def below(n):
        calls["points"] += 1
        return calls["points"] % n

    def flip(coin, miss):
        calls["tosses"] += 1
        return coin.flip(miss)

    draw_point(found, Fraction(1, 2), most=9, below=below, flip=flip)
    assert calls == {"points": 3 * _TRIES, "tosses": 3 * _TRIES}


def test_a_grid_far_off_ends_at_once():
    # Every block's radius above the grid: unshifted, one proposal in e^100 would be accepted.
    assert draw_point([400] * 3, Fraction(1), most=400) in (0, 1, 2)


# The blocks.


def test_a_block_has_the_radius_that_the_protocol_chooses_on_it():
    rng = np.random.default_rng(4)
    for seed in range(20):
        block = rng.integers(0, 9, size=(12 + seed, 1)).astype(float)
        r = choose_beta_r(block, outlier_fraction="0.2", beta=2).r
        radii = [0.0, 1.0, 2.0, 3.0, 5.0]
        expected = next((g for g, radius in enumerate(radii) if r <= radius), len(radii))
        assert first_radius(block, LINE, 2, radii, "0.2") == expected


def test_blocks_without_enough_records():
    one, radii = np.zeros((1, 1)), [0.0, 1.0]
    assert first_radius(np.empty((0, 1)), LINE, 1, radii, 0) == 0
    assert first_radius(one, LINE, 1, radii, 0) == 2  # alone, it is an anomaly at any radius
    assert first_radius(one, LINE, 1, radii, 0.5) == 0  # one anomaly is allowed


def test_misses_are_twice_the_distance_from_the_middle():
    # Three blocks at the first, second and no radius: c = 1, 2, 2 of 3.
    assert misses([0, 1, 3], 3) == [1, 1, 1]
    assert misses([0, 0, 1, 2], 3) == [0, 2, 4]
    assert misses([5, 5], 3) == [2, 2, 2]


def test_a_grid_too_coarse_for_the_blocks_makes_the_choice_blind():
    # All four radii between the second point and the third: no point has half of them below it.
    assert misses([2, 2, 2, 2], 4) == [4, 4, 4, 4]
    # A finer grid tells them apart.
    assert misses([2, 3, 4, 5], 8) == [4, 4, 2, 0, 2, 4, 4, 4]


# Privacy, by enumeration.

UNIVERSE = (0.0, 1.0, 3.0, 4.0)
RADII = (0.0, 1.0, 2.0, 4.0)
MOST = 5  # records of the largest table


@cache
def first_of(block, beta, share):
    return first_radius(np.array(block).reshape(-1, 1), LINE, beta, RADII, share)


def independent(table, m):
    """Every assignment of records to blocks, all equally likely."""
    for split in itertools.product(range(m), repeat=len(table)):
        yield [tuple(x for x, b in zip(table, split, strict=True) if b == c) for c in range(m)]


def halved(found):
    return [math.exp(-miss / 4) for miss in found]


def unhalved(found):
    """Broken: as if only the weight of the point itself changed, and not their sum."""
    return [math.exp(-miss / 2) for miss in found]


def tables(most):
    for size in range(most):
        yield from itertools.combinations_with_replacement(UNIVERSE, size)


def chances(parts, share, beta, weigh):
    m = len(parts)
    weights = np.array(weigh(misses([first_of(p, beta // m, share) for p in parts], len(RADII))))
    return weights / weights.sum()


def worst_of_mixtures(m, beta, share):
    """The largest |log ratio| of a point's probability over all neighboring tables, epsilon 1."""

    @cache
    def mixture(table):
        return np.mean([chances(s, share, beta, halved) for s in independent(table, m)], axis=0)

    worst = 0.0
    for table in tables(MOST):
        for more in UNIVERSE:
            ratio = np.log(mixture(table)) - np.log(mixture(tuple(sorted((*table, more)))))
            worst = max(worst, float(np.abs(ratio).max()))
    return worst


def worst_of_splits(m, share, *, weigh=halved):
    """The same for every split of the common records by itself, which the derivation needs."""
    worst = 0.0
    for table in tables(MOST):
        for parts in independent(table, m):
            before = chances(parts, share, m, weigh)
            for more, b in itertools.product(UNIVERSE, range(m)):
                larger = [*parts[:b], tuple(sorted((*parts[b], more))), *parts[b + 1 :]]
                after = chances(larger, share, m, weigh)
                worst = max(worst, float(np.abs(np.log(before / after)).max()))
    return worst


@pytest.mark.parametrize("share", ["0", "0.3"])
@pytest.mark.parametrize(("m", "beta"), [(1, 1), (2, 2), (2, 5), (3, 3)])
def test_no_record_changes_a_chance_by_more_than_epsilon(m, beta, share):
    assert worst_of_mixtures(m, beta, share) <= 1 + 1e-12


@pytest.mark.parametrize("share", ["0", "0.3"])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_nor_does_it_for_any_split_of_the_other_records(m, share):
    assert worst_of_splits(m, share) <= 1 + 1e-12


def test_weights_that_forget_the_half_are_caught():
    assert worst_of_splits(2, "0", weigh=unhalved) > 1 + 1e-6


@pytest.mark.parametrize("private_n", [False, True])
def test_a_beta_reckoned_from_the_private_number_of_records_is_caught(private_n):
    # Four blocks with a pair at distance 1, four with one record: 12 records, or 13.
    pair, single = np.array([[0.0], [1.0]]), np.array([[0.0]])
    radii = [*np.linspace(0.0, 0.9, 40), 1.0]
    laws = []
    for last in (single, pair * 50):
        blocks = [*[pair] * 4, *[single] * 3, last]
        beta = 2 if private_n and sum(map(len, blocks)) > 12 else 1
        first = [first_radius(block, LINE, beta, radii, 0) for block in blocks]
        laws.append(law(misses(first, len(radii)), 1))
    loss = float(np.abs(np.log(laws[0] / laws[1])).max())
    assert (loss > 1 + 1e-6) is private_n


# The whole.


class Book:
    """A ledger that only writes down what it is asked."""

    def __init__(self, refuse=False):
        self.spends, self.refuse = [], refuse

    def charge_everywhere(self, micro, reason, *, user="curator"):
        if self.refuse:
            raise BudgetError("no budget left", asked=micro, spent=0, left=0)
        self.spends.append((micro, reason, user))


def asked(table, ledger=None, **settings):
    given = {"beta": 4, "grid": [0.5, 1.0], "epsilon": "0.5", "outlier_fraction": 0.1, "blocks": 2}
    given |= settings
    return choose_r_privately(table, ledger=ledger, **given)


def test_the_price_is_paid_before_the_blocks_are_looked_at(monkeypatch):
    table, book, seen = np.zeros((30, 1)), Book(), []
    found = asked(table, book, user="ann")
    assert isinstance(found, PrivateChoice)
    assert (found.beta, found.micro, found.epsilon) == (4, 500_000, 0.5)
    assert book.spends == [
        (500_000, "r chosen among 2 radii, with beta 4 in 2 blocks", "ann"),
    ]
    monkeypatch.setattr(
        private_choice, "first_radius", lambda *a: seen.append((len(book.spends), a[2]))
    )
    with pytest.raises(TypeError):  # what fails afterwards was paid for
        asked(table, book, beta=7, blocks=3)
    assert seen == [(2, 2)] * 3  # three blocks, each with a third of beta, rounded down
    seen.clear()
    with pytest.raises(BudgetError):
        asked(table, Book(refuse=True))
    assert not seen


def test_bad_settings_are_refused_before_anything_is_paid():
    book = Book()
    for settings, words in [
        ({"blocks": 5}, "blocks must be a whole number from 1 to beta, 4, got 5"),
        ({"blocks": 0}, "blocks must be"),
        ({"blocks": 1.5}, "blocks must be"),
        ({"beta": 0.5}, "beta must be >= 1"),
        ({"epsilon": 0}, "epsilon must be a number > 0"),
        ({"outlier_fraction": 1}, "outlier_fraction must be >= 0 and < 1"),
        ({"grid": []}, "grid must be radii in rising order"),
        ({"grid": [1.0, 1.0]}, "grid must be radii in rising order"),
        ({"grid": [2.0, 1.0]}, "grid must be radii in rising order"),
        ({"grid": [-1.0, 1.0]}, "r must be 0, or between"),
        ({"grid": [1.0, float("inf")]}, "r must be 0, or between"),
        ({"metric": "cosine"}, "metric must be one of"),
    ]:
        with pytest.raises(ValueError, match=words):
            asked(np.zeros((30, 1)), book, **settings)
    assert book.spends == []


def test_a_table_of_any_size_is_answered():
    for n in (0, 1, 2, 5):
        assert asked(np.zeros((n, 2))).r in (0.5, 1.0)


def test_the_choice_lands_where_the_protocol_would():
    table = np.random.default_rng(0).normal(size=(8000, 2)) * [1.0, 100.0]
    space = Space.declare(2, bounds=([0.0, 0.0], [1.0, 100.0]))
    exact = choose_beta_r(table, outlier_fraction=0.02, beta=80, space=space).r
    grid = [exact * 1.02**step for step in range(-60, 61)]
    for _ in range(3):
        found = asked(
            table, beta=80, grid=grid, epsilon=8, outlier_fraction="0.02", blocks=20, space=space
        )
        assert 1 / 1.5 < found.r / exact < 1.5  # the chance of another radius is below 1e-9


def test_the_result_tells_the_radius_and_its_price_and_nothing_of_the_table():
    found = asked(np.zeros((30, 1)))
    assert set(PrivateChoice.__dataclass_fields__) == {"beta", "r", "micro", "charged"}
    assert f"r {found.r:g}" in found.sentence
    assert "epsilon 0.5" in found.sentence
    assert "30" not in repr(found) + found.sentence


def test_the_sentence_says_whether_a_ledger_was_charged():
    free, paid = (asked(np.zeros((30, 1)), book).sentence for book in (None, Book()))
    assert "spent at every place" in paid
    assert "not charged to any ledger" in free
    assert "spent" not in free


def test_a_real_ledger_is_charged_at_every_place(tmp_path):
    table = np.random.default_rng(0).normal(size=(50, 2))
    with Curator(table, 4, 0.5, "1", tmp_path / "spends.db", pad=False) as curator:
        far, near = [1e6, 1e6], [0.0, 0.0]
        before = [price.left for price in curator.price([far, near], epsilon="0.1")]
        asked(table, curator.ledger, epsilon="0.25")
        after = [price.left for price in curator.price([far, near], epsilon="0.1")]
        np.testing.assert_allclose(np.subtract(before, after), 0.25)
        with pytest.raises(BudgetError):
            asked(table, curator.ledger, epsilon="0.8")
        assert curator.ledger.verify().problems == []
