"""Turn a differentially private mechanism into a sensitively private one that errs less."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from isinglass.curate import epsilon as eps
from isinglass.curate.mechanism import Mechanism, checked_cap, coin
from isinglass.curate.question import Array, Counts, Look, Question
from isinglass.curate.questions import (
    Present,
    checked_k,
    presence_distance,
    sensitive_distance,
)

# Counts up to beta and so much more are tried on a mechanism of somebody else's.
_BEYOND, _COPIES = 64, 64
_SLACK = 1e-12


@dataclass(frozen=True)
class Compiled(Question):
    """The given mechanism's question, with distances in quarters of the compiled epsilon."""

    given: Mechanism
    k: int
    beta: int = field(init=False)
    r: float = field(init=False)
    influence: float = field(init=False)
    name: str = field(init=False)
    privacy = "sensitive"
    lipschitz = 4

    def __post_init__(self) -> None:
        asked = self.given.question
        settled = {
            "beta": asked.beta,
            "r": asked.r,
            "influence": max(asked.influence, asked.r),
            "name": f"compiled {asked.name}",
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def look(self, table: Look, places: Array, cap: int) -> Counts:
        return self.given.question.look(table, places, min(cap, self.given.cap))

    def anomalous(self, *counts: int) -> bool:
        return self.given.anomalous(*counts)

    def distance(self, *counts: int) -> int:
        own, near = counts
        gain = sensitive_distance(own, near, self.beta, self.k)
        gain -= presence_distance(own, near, self.beta)
        return 2 * self.given.multiple(*counts) + gain

    def covers(self, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
        return max(before[1], after[1]) >= self.beta + 1 - self.k


def compile_mechanism(mechanism: Mechanism, *, k: int = 1, cap: int | None = None) -> Mechanism:
    r"""Construction 2: the given mechanism's error, times exp(-epsilon * delta / 4).

    The given mechanism is e-differentially private with error P = exp(-e m) / (1 + exp(-e)), and
    epsilon = 2 e. delta = `sensitive_distance` - `presence_distance` >= 0 says how much farther
    the other answer is when lone records need not be hidden; a difference of two 1-Lipschitz
    functions, it is 2-Lipschitz. With e = 2 epsilon / 4 the new error is

        exp(-(epsilon / 4) (2 m + delta)) / (1 + exp(-epsilon / 2)),

    one coin at the multiple 2 m + delta, which changes by at most 4 between covered neighbours: a
    factor of e^epsilon. The chances of right answers keep to it if 1 - P e^-e <= e^(2e) (1 - P')
    between neighbours, as they do where no P exceeds e^(2e) / (1 + e^(2e)). Where the true answers
    of covered neighbours differ, delta is 0 at both, and the given mechanism's own
    promise holds.

    Guarantee: 2 e of sensitive privacy, in quarters of which distances are counted.

    Utility: less error than the given mechanism has at half the price; `sensitive_mechanism` at
    the same price errs less still, as the promise is kept twice over here (the worst change seen
    in exhaustive trials with the two natural mechanisms is e). An option, not the first choice.

    Weakness: as `Sensitive`. The checks of a mechanism that is not `dp_mechanism`'s try small
    counts only; its proof is yours.

    Parameters
    ----------
    mechanism : Mechanism
        Of differential privacy, for the question whether a record is present and has at most
        beta records within r. A `cap` of 1 makes it the constant error 1 / (1 + e^e).
    k : int, default=1
        As in `Sensitive`.
    cap : int or None
        The largest multiple told apart; by default the error falls below 2**-64 before it.

    References
    ----------
    Asif et al. 2019, Construction 2.
    """
    question = mechanism.question
    if question.privacy != "differential" or question.lipschitz != 1:
        raise ValueError(
            "mechanism must be differentially private with distances that change by 1 at most, "
            f"got {question.privacy} privacy and lipschitz={question.lipschitz}"
        )
    k = checked_k(k, question.beta)
    e = eps.fraction(mechanism.micro)
    if not (type(mechanism) is Mechanism and type(question) is Present and _usual(mechanism, e)):
        _refuse_invalid(mechanism)
    charged = eps.micro(2 * e, "twice the given epsilon")
    cap = checked_cap(cap, e / 2)
    return Mechanism(Compiled(mechanism, k), charged, cap, coin(e / 2, e, cap))


def _usual(mechanism: Mechanism, e: Fraction) -> bool:
    return mechanism.coin.unit == e and mechanism.coin.base == e


def _refuse_invalid(mechanism: Mechanism) -> None:
    """Try the conditions of Construction 2 on small counts, and say which one fails."""
    question, e = mechanism.question, mechanism.micro / eps.MICRO
    for before, after in _neighbours(question.beta):
        wrong = [mechanism.error_probability(*counts) for counts in (before, after)]
        true = [mechanism.anomalous(*counts) for counts in (before, after)]
        if true != [own > 0 and near <= question.beta for own, near in (before, after)]:
            raise ValueError(
                "mechanism must answer whether a record is present with at most beta records "
                f"within r, which {question.name!r} does not"
            )
        if mechanism.loss(before, after) > e * (1 + _SLACK) + _SLACK:
            raise ValueError(
                f"mechanism must be differentially private at its own price {e:g}, but a chance "
                "changes by more between neighbours"
            )
        # 1 - P e^-e <= e^(2e) (1 - P'), either way, divided by e^(2e).
        if true[0] == true[1] and any(
            (1 - p * math.exp(-e)) * math.exp(-2 * e) > (1 - q) * (1 + _SLACK)
            for p, q in (wrong, wrong[::-1])
        ):
            raise ValueError(
                "mechanism must not err so often that 1 - P e^-e exceeds e^(2e) (1 - P') between "
                f"neighbours with one true answer, at its own price e = {e:g}; chances of error "
                f"up to {1 / (1 + math.exp(-2 * e)):.3g} never do, got {max(wrong):.3g}"
            )
    if not _usual(mechanism, eps.fraction(mechanism.micro)):
        raise ValueError(
            "mechanism must err with chance exp(-e m) / (1 + exp(-e)) for whole m, as "
            "bounded_mechanism makes them"
        )


def _neighbours(beta: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Counts (own, near) of small tables, before and after one more record."""
    for near in range(beta + _BEYOND):
        for own in range(min(near, beta + 1, _COPIES) + 1):
            yield (own, near), (own, near + 1)
            yield (own, near), (own + 1, near + 1)
