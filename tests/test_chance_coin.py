"""Exact coins: their chance, to the last digit, and what a flip consumes."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from scipy.stats import binomtest, norm

from isinglass import chance as chance_module
from isinglass.chance import Coin

ONES = b"\xff" * 32


def chance(unit: Fraction, base: Fraction | None, m: int) -> Decimal:
    """The chance of heads to 240 digits, by another library's exponential function."""
    with localcontext() as digits:
        digits.prec = 240
        x = Decimal(unit.numerator) * m / Decimal(unit.denominator)
        if base is None:
            return (-x).exp()
        return (-x).exp() / (1 + (-Decimal(base.numerator) / Decimal(base.denominator)).exp())


def words(*values: int):
    """A source of randomness that hands out these words, and counts what it was asked for."""
    left, asked = list(values), []

    def draw(n: int) -> bytes:
        asked.append(n)
        return left.pop(0).to_bytes(n, "big")

    return draw, asked


def seeded(seed: int):
    return random.Random(seed).randbytes


@pytest.mark.parametrize("micro", [1, 7, 10_000, 100_000, 250_000, 10**6, 2_500_000, 10**8, 10**12])
@pytest.mark.parametrize("kind", ["answer", "quarters", "plain"])
def test_bounds_enclose_the_chance_and_are_two_units_apart_at_most(micro, kind):
    unit = Fraction(micro, 10**6)
    base = {"answer": unit, "quarters": 2 * unit, "plain": None}[kind]
    most = max(3, -(-44_400_000 // micro))
    coin = Coin(unit, base, most=most)
    for m in {0, 1, 2, 3, 63, 64, 65, 4095, 4096, most // 2, most - 1, most}:
        if m > most:
            continue
        for bits in (64, 256, 512):
            low, high = coin.bounds(m, bits)
            with localcontext() as digits:
                digits.prec = 240
                assert low <= chance(unit, base, m) * 2**bits <= high, (m, bits)
            assert high - low <= 2


@pytest.mark.parametrize("unit", ["1/10", "1/7", "2/3", "1", "19/3"])
def test_bounds_enclose_the_chance_without_guard_bits_too(unit, monkeypatch):
    """Guard bits make bounds narrow; that they are bounds rests on rounding down and up alone."""
    monkeypatch.setattr(chance_module, "_GUARD", 0)
    unit = Fraction(unit)
    for base in (unit, None):
        coin = Coin(unit, base, most=200)
        for m, bits in itertools.product(range(0, 201, 9), (8, 40)):
            low, high = coin.bounds(m, bits)
            assert low <= chance(unit, base, m) * 2**bits <= high, (m, bits)


def test_the_exponential_series_is_rounded_outwards_at_every_step(monkeypatch):
    # x < 1 is halved 8 times: so many guard bits fewer, and no digit is spare.
    monkeypatch.setattr(chance_module, "_GUARD", -8)
    for x in (Fraction(n, 1009) for n in range(1, 1000, 2)):
        exact = chance(x, None, 1)
        for bits in (6, 12, 20, 30):
            low, high = chance_module._exp_minus(x, bits)
            assert low <= exact * 2**bits <= high


@pytest.mark.parametrize(("unit", "most"), [("1/10", 8000), ("1/1000000", 10**9), ("100", 9)])
def test_the_probability_is_right_to_the_last_place(unit, most):
    unit = Fraction(unit)
    coin = Coin(unit, unit, most=most)
    for m in [*range(10), most // 7, most // 2, most]:
        if m <= most:
            expected = float(chance(unit, unit, m))
            assert coin.probability(m) == pytest.approx(expected, rel=3e-16, abs=0)


def test_chances_that_are_plain_numbers_come_out_as_such():
    assert Coin(Fraction(1), None, most=5).bounds(0, 256) == (2**256, 2**256)
    assert Coin(Fraction(1), Fraction(0), most=5).bounds(0, 256) == (2**255, 2**255)
    assert Coin(Fraction(1), None, most=0).flip(0, draw=lambda n: ONES)


@pytest.mark.parametrize("m", [1, 2, 5, 100])
def test_words_on_either_side_of_the_chance_decide_at_once(m):
    coin = Coin(Fraction(1, 10), Fraction(1, 10), most=444)
    low, high = coin.bounds(m, 256)
    for word, heads in [(0, True), (low - 1, True), (high, False), (2**256 - 1, False)]:
        draw, asked = words(word)
        assert coin.flip(m, draw=draw) is heads
        assert asked == [32]


@pytest.mark.parametrize("m", [1, 2, 5, 100])
def test_a_word_on_the_chance_itself_is_decided_by_the_next_digits(m):
    coin = Coin(Fraction(1, 10), Fraction(1, 10), most=444)
    digits = coin.bounds(m, 1024)[0]
    first, second, third = (digits >> shift & (2**256 - 1) for shift in (768, 512, 256))
    for more, heads in [
        ([0], True),
        ([second - 1], True),
        ([second + 1], False),
        ([2**256 - 1], False),
        ([second, third - 1], True),
        ([second, third + 1], False),
    ]:
        draw, asked = words(first, *more)
        assert coin.flip(m, draw=draw) is heads
        assert asked == [32] * (1 + len(more))


@pytest.mark.parametrize(
    ("most", "digits"), [(1, 1), (63, 1), (64, 2), (444, 2), (4096, 3), (44_400_000, 5)]
)
def test_a_flip_draws_one_word_and_multiplies_as_often_whatever_is_asked(most, digits):
    class Counted(int):
        n = 0

        def __rmul__(self, other: int) -> int:
            Counted.n += 1
            return int(self) * other

    coin = Coin(Fraction(1, 10), Fraction(1, 10), most=most)
    shift, lows, highs = coin._factors
    coin._factors = shift, [*map(Counted, lows)], [*map(Counted, highs)]
    seen, outcomes, draw = set(), set(), seeded(3)
    for m in [*range(min(most, 300) + 1), most] * 4:
        Counted.n, asked = 0, []
        outcomes.add(coin.flip(m, draw=lambda n, asked=asked: asked.append(n) or draw(n)))
        seen.add((Counted.n, tuple(asked)))
    assert outcomes == {True, False}
    assert seen == {(2 * digits, (32,))}


SETTINGS = [("1/100", 1), ("1/10", 1), ("1/10", 6), ("1/4", 3), ("1", 2), ("5/2", 1)]


@pytest.mark.parametrize(("unit", "m"), SETTINGS)
def test_draws_accept_their_chance_and_reject_one_thirty_percent_off(unit, m):
    unit = Fraction(unit)
    coin, draw = Coin(unit, unit, most=10), seeded(11)
    n, p = 120_000, float(chance(unit, unit, m))
    heads = sum(coin.flip(m, draw=draw) for _ in range(n))
    assert binomtest(heads, n, p).pvalue > 1e-4
    for off in (0.7, 1.3):
        assert binomtest(heads, n, p * off).pvalue < 1e-12


def test_the_operating_system_draws_the_same_chance():
    coin = Coin(Fraction(1, 10), Fraction(1, 10), most=444)
    heads = sum(coin.flip(4) for _ in range(100_000))
    assert binomtest(heads, 100_000, 0.351904073).pvalue > 1e-9


def twin(below, unit: Fraction, m: int) -> bool:
    """The same coin by Canonne, Kamath and Steinke's way: rational coins only, no digits."""

    def exp_unit(g: Fraction) -> bool:
        k = 1
        while below((g / k).denominator) < (g / k).numerator:
            k += 1
        return k % 2 == 1

    def exp(g: Fraction) -> bool:
        while g > 1:
            if not exp_unit(Fraction(1)):
                return False
            g -= 1
        return exp_unit(g)

    if m > 1 and not exp(unit * (m - 1)):
        return False
    while below(2):
        if exp(unit):
            return True
    return False


def _alike(a: int, b: int, n: int) -> float:
    """The p-value of two counts out of n having one chance."""
    pooled = (a + b) / (2 * n)
    return 2 * norm.sf(abs(a - b) / (2 * n * pooled * (1 - pooled)) ** 0.5)


@pytest.mark.parametrize(("unit", "m"), SETTINGS)
def test_an_unlike_exact_sampler_draws_the_same_distribution(unit, m):
    unit, n = Fraction(unit), 20_000
    coin, draw, below = Coin(unit, unit, most=10), seeded(5), random.Random(6).randrange
    ours = sum(coin.flip(m, draw=draw) for _ in range(n))
    theirs = sum(twin(below, unit, m) for _ in range(n))
    assert _alike(ours, theirs, n) > 1e-4
    assert _alike(ours, round(1.3 * theirs), n) < 1e-9


@pytest.mark.parametrize(("unit", "m"), SETTINGS)
def test_heads_is_opendps_discrete_laplace_noise_reaching_m(unit, m):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    unit, n = Fraction(unit), 25_000
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    noise = dp.m.make_laplace(*space, scale=float(1 / unit))([0] * n)
    coin, draw = Coin(unit, unit, most=10), seeded(8)
    ours, theirs = sum(coin.flip(m, draw=draw) for _ in range(n)), sum(z >= m for z in noise)
    assert _alike(ours, theirs, n) > 1e-10
    assert binomtest(theirs, n, coin.probability(m)).pvalue > 1e-10


@pytest.mark.parametrize("m", [-1, 445])
def test_what_is_out_of_range_is_refused_without_showing_it(m):
    coin = Coin(Fraction(1, 10), most=444)
    with pytest.raises(ValueError, match=r"m must be between 0 and 444$"):
        coin.flip(m)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"unit": Fraction(0), "most": 1}, "unit"),
        ({"unit": Fraction(1), "base": Fraction(-1), "most": 1}, "base"),
        ({"unit": Fraction(1), "most": -1}, "most"),
    ],
)
def test_settings_of_a_coin_are_checked(settings, name):
    with pytest.raises(ValueError, match=f"^{name} must be >"):
        Coin(**settings)
