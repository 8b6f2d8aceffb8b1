"""Compiler from differentially private to sensitively private mechanisms."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from isinglass import epsilon as eps
from isinglass.chance import Coin
from isinglass.curate.mechanisms.mechanism import Flips, Mechanism, checked_cap, log_ratio
from isinglass.curate.questions.base import Array, Counts, Look, Question
from isinglass.curate.questions.builtin import (
    Present,
    checked_k,
    presence_distance,
    sensitive_distance,
)

# Counts up to beta and so much more are tried on a mechanism of somebody else's.
_BEYOND, _COPIES = 64, 64
_SLACK = 1e-12
# Chances that tell two coins apart, for the name under which answers are stored.
_TOLD = 16


@dataclass(frozen=True)
class Compiled(Question):
    """The given mechanism's question; a distance stands for its multiple and for the gain.

    The two are one whole number, (multiple - 1) * (most + 1) + gain + 1, with gains up to `most`
    told apart. The factor by which that can change is so large that only `compile_mechanism`
    makes a useful mechanism of this question.
    """

    given: Mechanism
    most: int
    k: int
    usual: bool = True
    beta: int = field(init=False)
    r: float = field(init=False)
    influence: float = field(init=False)
    lipschitz: int = field(init=False)
    name: str = field(init=False)
    privacy = "sensitive"

    def __post_init__(self) -> None:
        asked = self.given.question
        settled = {
            "beta": asked.beta,
            "r": asked.r,
            "influence": max(asked.influence, asked.r),
            "lipschitz": (self.most + 1) * asked.lipschitz + 2,
            # A stored answer is found by its mode's name, so other chances need another one.
            "name": f"compiled {asked.name}" + ("" if self.usual else f" {self._digest()}"),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def _digest(self) -> str:
        given = self.given
        chances = [given.coin.probability(m).hex() for m in range(1, min(given.cap, _TOLD) + 1)]
        return hashlib.sha256(repr((given.cap, self.most, chances)).encode()).hexdigest()[:8]

    def look(self, table: Look, places: Array, cap: int) -> Counts:
        return self.given.question.look(table, places, self.given.cap)

    def anomalous(self, *counts: int) -> bool:
        return self.given.anomalous(*counts)

    def gain(self, own: int, near: int) -> int:
        """How much farther the other answer is where lone records need not be hidden."""
        return sensitive_distance(own, near, self.beta, self.k) - presence_distance(
            own, near, self.beta
        )

    def distance(self, *counts: int) -> int:
        gain = min(self.gain(*counts), self.most)
        return (self.given.multiple(*counts) - 1) * (self.most + 1) + gain + 1

    def covers(self, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
        return max(before[1], after[1]) >= self.beta + 1 - self.k


class BothHeads:
    """Heads where the given mechanism's coin and a second one, exp(-unit * gain), both are.

    Both are flipped always, so the work and the random bytes do not depend on the counts.
    """

    def __init__(self, given: Flips, gain: Coin) -> None:
        self.given, self.gain = given, gain

    def _parts(self, m: int) -> tuple[int, int]:
        multiple, gain = divmod(m - 1, self.gain.most + 1)
        return multiple + 1, gain

    def flip(self, m: int, *, draw: Callable[[int], bytes] = secrets.token_bytes) -> bool:
        """Heads or tails."""
        multiple, gain = self._parts(m)
        wrong, kept = self.given.flip(multiple, draw=draw), self.gain.flip(gain, draw=draw)
        return wrong and kept

    def probability(self, m: int) -> float:
        """The product of both chances."""
        multiple, gain = self._parts(m)
        return self.given.probability(multiple) * self.gain.probability(gain)


class CompiledMechanism(Mechanism):
    """What `compile_mechanism` makes; `Curator` takes it as its mode, at its own price."""


def compile_mechanism(
    mechanism: Mechanism, *, k: int = 1, cap: int | None = None
) -> CompiledMechanism:
    r"""Construction 2: the given mechanism's error, times exp(-epsilon * delta / 4).

    The given mechanism is e-differentially private with error P, whatever its coin, and
    epsilon = 2 e. delta = `sensitive_distance` - `presence_distance` >= 0 says how much farther
    the other answer is when lone records need not be hidden; a difference of two 1-Lipschitz
    functions, it is 2-Lipschitz. The new error is t = P exp(-e delta / 2): the given mechanism's
    own coin is flipped, and where it says "wrong", a second coin says so too with the chance
    exp(-e delta / 2). Between covered neighbors P changes by a factor of e^e at most and the
    other by e^e, together by e^epsilon. The chances of right answers keep to it if
    1 - P e^-e <= e^(2e) (1 - P') between neighbors, as they do where no P exceeds
    e^(2e) / (1 + e^(2e)). Where the true answers of covered neighbors differ, delta is 0 at
    both, and the given mechanism's own promise holds.

    Guarantee: 2 e of sensitive privacy.

    Utility: less error than the given mechanism has at half the price; `sensitive_mechanism` at
    the same price errs less still, as the promise is kept twice over here (the worst change seen
    in exhaustive trials with the two natural mechanisms is e). An option, not the first choice.

    Weakness: as `Sensitive`. The checks of a mechanism that is not `dp_mechanism`'s try small
    counts only; its proof is yours.

    Refused, with the reason: a question that is not whether a record is present with at most
    beta records within r, or that looks at anything but its copies and the records within r (of
    another question delta is not known); a mechanism whose chances change by more than its price
    between neighbors, whose `error_probability` is not its coin's, or that errs too often.

    Parameters
    ----------
    mechanism : Mechanism
        Of differential privacy, for the question whether a record is present and has at most
        beta records within r, with any coin that `falsify` finds no fault with. A `cap` of 1
        makes it the constant error 1 / (1 + e^e).
    k : int, default=1
        As in `Sensitive`.
    cap : int or None
        The largest delta told apart; by default the error falls below 2**-64 before it.

    References
    ----------
    Asif et al. 2019, Construction 2.

    Examples
    --------
    >>> compiled = ig.mechanisms.compile(ig.mechanisms.dp(5, 1.0, "0.5"))
    >>> type(compiled).__name__
    'CompiledMechanism'
    """
    question = mechanism.question
    if question.privacy != "differential":
        raise ValueError(
            f"mechanism must be differentially private, got {question.privacy} privacy"
        )
    k = checked_k(k, question.beta)
    e = eps.fraction(mechanism.micro)
    bounded = isinstance(mechanism.coin, Coin) and mechanism.coin.unit == mechanism.coin.base == e
    if not (type(mechanism) is Mechanism and type(question) is Present and bounded):
        _refuse_invalid(mechanism)
    charged = eps.micro(2 * e, "twice the given epsilon")
    usual = bounded and cap is None and mechanism.cap == checked_cap(None, e)
    # No delta exceeds beta.
    most = min(checked_cap(cap, e / 2), question.beta)
    both = BothHeads(mechanism.coin, _gain_coin(e / 2, most))
    made = CompiledMechanism(
        Compiled(mechanism, most, k, usual), charged, mechanism.cap * (most + 1), both
    )
    if not bounded:  # where it is, no P exceeds 1/2, and the loss stays below the worst case
        _refuse_worse(made)
    return made


@lru_cache(maxsize=64)
def _gain_coin(unit: Fraction, most: int) -> Coin:
    return Coin(unit, most=most)


def _refuse_invalid(mechanism: Mechanism) -> None:
    """Try the conditions of Construction 2 on small counts, and say which one fails."""
    question, e = mechanism.question, mechanism.micro / eps.MICRO
    known: dict[tuple[int, int], tuple[bool, float]] = {}

    def tried(counts: tuple[int, int]) -> tuple[bool, float]:
        if counts not in known:
            known[counts] = _tried(mechanism, *counts)
        return known[counts]

    for before, after in _neighbors(question.beta):
        (yes, p), (then, q) = tried(before), tried(after)
        chances = [(1 - p, p) if yes else (p, 1 - p), (1 - q, q) if then else (q, 1 - q)]
        moved = max(log_ratio(a, b) for a, b in zip(*chances, strict=True))
        if moved > e * (1 + _SLACK) + _SLACK:
            raise ValueError(
                f"mechanism must be differentially private at its own price {e:g}, but a chance "
                "changes by more between neighbors"
            )
        # 1 - P e^-e <= e^(2e) (1 - P'), either way, divided by e^(2e).
        if yes == then and any(
            (1 - a * math.exp(-e)) * math.exp(-2 * e) > (1 - b) * (1 + _SLACK)
            for a, b in ((p, q), (q, p))
        ):
            raise ValueError(
                "mechanism must not err so often that 1 - P e^-e exceeds e^(2e) (1 - P') between "
                f"neighbors with one true answer, at its own price e = {e:g}; chances of error "
                f"up to {1 / (1 + math.exp(-2 * e)):.3g} never do, got {max(p, q):.3g}"
            )


def _tried(mechanism: Mechanism, own: int, near: int) -> tuple[bool, float]:
    """The true answer and the chance of a wrong one, as the mechanism finds them in a table."""
    question = mechanism.question
    found = question.look(_Counted(question.r, own, near), np.zeros((1, 1)), mechanism.cap)
    counted = min(near, question.beta + mechanism.cap)  # where counting may stop
    rows = ([own, near], [min(own, counted), counted])
    if np.shape(found) != (1, 2) or found[0].tolist() not in rows:
        raise ValueError(
            "mechanism must look at the copies of a record and at the records within r, in this "
            f"order and counted up to beta + cap, which {question.name!r} does not"
        )
    counts = found[0].tolist()
    true = mechanism.anomalous(*counts)
    if true != (own > 0 and near <= question.beta):
        raise ValueError(
            "mechanism must answer whether a record is present with at most beta records "
            f"within r, which {question.name!r} does not"
        )
    wrong = mechanism.coin.probability(mechanism.multiple(*counts))
    if not math.isclose(wrong, mechanism.error_probability(*counts), rel_tol=_SLACK):
        raise ValueError("mechanism must err with the chance of its coin, as error_probability")
    return true, wrong


def _refuse_worse(made: CompiledMechanism) -> None:
    """The guarantee's worst case is that of `Sensitive`; no lone record may lose more."""
    worst = made.guarantee().worst_case or 0.0
    for near in range(1, made.question.beta + 1):
        if made.loss((1, near), (0, near - 1)) > worst * (1 + _SLACK):
            raise ValueError(
                "mechanism must not err so often, or so seldom, that the holder of a lone record "
                f"could lose more than {worst:.3g}, which is the worst case of sensitive privacy"
            )


class _Counted:
    """A table of which only two counts are known: copies of a record, and records within r."""

    def __init__(self, r: float, own: int, near: int) -> None:
        self._r, self._own, self._near = r, own, near

    def within(self, places: Array, r: float, cap: int | None = None) -> Counts:
        if r != self._r:
            raise ValueError(
                f"mechanism must look within r, which is {self._r:g}, and at no other distance"
            )
        return np.array([self._near if cap is None else min(self._near, cap)])

    def copies(self, places: Array) -> Counts:
        return np.array([self._own])


def _neighbors(beta: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Counts (own, near) of small tables, before and after one more record."""
    for near in range(beta + _BEYOND):
        for own in range(min(near, beta + 1, _COPIES) + 1):
            yield (own, near), (own, near + 1)
            yield (own, near), (own + 1, near + 1)
