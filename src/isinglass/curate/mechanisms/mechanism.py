"""Mechanisms: the true answer, flipped with an exact probability."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from isinglass import epsilon as eps
from isinglass.chance import Coin
from isinglass.curate.guarantee import Guarantee
from isinglass.curate.questions.base import Look, Question
from isinglass.curate.questions.builtin import Present, Sensitive, Sparse, checked_beta

__all__ = [
    "Look",
    "Mechanism",
    "Present",
    "Question",
    "Sensitive",
    "Sparse",
    "bounded_mechanism",
    "dp_mechanism",
    "sensitive_mechanism",
    "sparse_mechanism",
]


class Flips(Protocol):
    """A coin: heads with a chance that a whole number decides."""

    def flip(self, m: int, *, draw: Callable[[int], bytes] = secrets.token_bytes) -> bool:
        """Heads or tails."""
        ...

    def probability(self, m: int) -> float:
        """The chance of heads."""
        ...


@dataclass(frozen=True)
class Mechanism:
    """Answer a question, wrongly with the chance that `coin` gives at the distance.

    `micro` is the price in millionths of epsilon, `cap` the distance above which cases are not
    told apart. `bounded_mechanism` and `compile_mechanism` make them.

    Examples
    --------
    >>> def price(mechanism: ig.mechanisms.Mechanism) -> float:
    ...     return mechanism.micro / 1_000_000
    >>> price(ig.mechanisms.sparse(5, 1.0, "0.25"))
    0.25
    """

    question: Question
    micro: int
    cap: int
    coin: Flips = field(repr=False)

    def multiple(self, *counts: int) -> int:
        """What the coin is asked: the distance, at most `cap` and never below 1.

        Both keep a Lipschitz bound as it is. An error here would depend on the table, so a
        distance below 1, which no valid question has, is answered as 1.
        """
        return max(1, min(int(self.question.distance(*counts)), self.cap))

    def anomalous(self, *counts: int) -> bool:
        """The true answer. For the owner: it is a plain fact of the table."""
        return bool(self.question.anomalous(*counts))

    def error_probability(self, *counts: int) -> float:
        """The chance that an answer is wrong, given the counts that `look` returns.

        For the built-in questions they are (x_i, B): copies of the record, and records within r.
        The number is a function of the table, so it is the owner's alone.
        """
        return self.coin.probability(self.multiple(*counts))

    def answer(self, *counts: int, draw: Callable[[int], bytes] = secrets.token_bytes) -> bool:
        """The answer to give: as much work and as many random bytes whatever the counts are."""
        return self.anomalous(*counts) != self.coin.flip(self.multiple(*counts), draw=draw)

    def loss(self, before: Sequence[int], after: Sequence[int]) -> float:
        """How far the log-chance of either answer moves between two tables, given their counts.

        A function of the tables, like `error_probability`, and never shown beside an answer.
        """
        chances = []
        for counts in (before, after):
            wrong = self.error_probability(*counts)
            chances.append((1 - wrong, wrong) if self.anomalous(*counts) else (wrong, 1 - wrong))
        return max(log_ratio(*pair) for pair in zip(*chances, strict=True))

    def guarantee(
        self,
        *,
        cap: int | None = None,
        records_per_person: int = 1,
        timing_covered: bool = False,
        also_released: bool = False,
    ) -> Guarantee:
        """What an answer promises; `cap` is the budget of a place in millionths of epsilon."""
        return Guarantee(
            mode=self.question.name,
            privacy=self.question.privacy,
            micro=self.micro,
            cap=cap,
            beta=self.question.beta,
            r=self.question.r,
            k=self.question.k,
            records_per_person=records_per_person,
            timing_covered=timing_covered,
            also_released=also_released,
        )


def bounded_mechanism(question: Question, epsilon: Any, *, cap: int | None = None) -> Mechanism:
    r"""The true answer, turned over with chance exp(-epsilon * m) / (1 + exp(-epsilon)).

    m is the question's distance, at most `cap`. Write t(m) for the chance; t(1) = 1 / (1 +
    e^epsilon) < 1/2. Between neighbors with one true answer, m changes by at most `lipschitz` =
    a, so t changes by a factor of at most e^(a epsilon); 1 - t changes by less, because t <= 1/2.
    Where the true answer differs, m is 1 at both and the chances of each output are t(1) and
    1 - t(1) = e^epsilon t(1).

    Guarantee: a * epsilon of the question's privacy, which is the price. Capping keeps it: the
    smaller of m and a constant is at least 1, as Lipschitz, and 1 where m is 1.

    Utility: error t(m). With the default `cap` it falls below 2**-64 before the cap.

    Weakness: one answer about one place; answers add up, and the ledger keeps count.

    Parameters
    ----------
    question : Question
        What is asked.
    epsilon : number or str
        In whole millionths, as it is written. `lipschitz` times this is charged.
    cap : int or None
        Distances above it are not told apart, and counting stops there. By default the least
        whole number >= 44.4 / epsilon, as 64 log 2 < 44.4.

    References
    ----------
    Asif et al. 2019, Construction 1, Theorems 4.1 and 4.6.

    Examples
    --------
    >>> question = ig.mechanisms.sparse(5, 1.0, "0.5").question
    >>> ig.mechanisms.bounded(question, "0.25").micro  # millionths of epsilon
    250000
    """
    if not isinstance(question, Question):
        raise ValueError(f"question must be a Question, got {type(question).__name__}")
    if question.privacy not in ("differential", "sensitive"):
        raise ValueError(f"privacy must be 'differential' or 'sensitive', got {question.privacy!r}")
    a = question.lipschitz
    if isinstance(a, bool) or not (isinstance(a, int | np.integer) and a >= 1):
        raise ValueError(f"lipschitz must be a whole number >= 1, got {a}")
    used = eps.micro(epsilon)
    charged = eps.micro(eps.fraction(used) * int(a), "epsilon times lipschitz")
    unit = eps.fraction(used)
    cap = checked_cap(cap, unit)
    return Mechanism(question, charged, cap, coin(unit, unit, cap))


def sparse_mechanism(
    beta: float, r: float, epsilon: Any, *, count_query: bool = True, cap: int | None = None
) -> Mechanism:
    """Is this place sparse? Differential privacy for every record; see `Sparse`.

    Examples
    --------
    >>> mechanism = ig.mechanisms.sparse(5, 1.0, "0.5")
    >>> mechanism.micro  # millionths of epsilon
    500000
    """
    return bounded_mechanism(Sparse(checked_beta(beta), r, count_query), epsilon, cap=cap)


def dp_mechanism(beta: float, r: float, epsilon: Any, *, cap: int | None = None) -> Mechanism:
    """Is this record present and an anomaly? Differential privacy; see `Present`.

    Examples
    --------
    >>> mechanism = ig.mechanisms.dp(5, 1.0, "0.5")
    >>> mechanism.micro  # millionths of epsilon
    500000
    """
    return bounded_mechanism(Present(checked_beta(beta), r), epsilon, cap=cap)


def sensitive_mechanism(
    beta: float, r: float, epsilon: Any, *, k: int = 1, cap: int | None = None
) -> Mechanism:
    """Is this record present and an anomaly? Sensitive privacy; see `Sensitive`.

    Examples
    --------
    >>> mechanism = ig.mechanisms.sensitive(5, 1.0, "0.5", k=2)
    >>> mechanism.micro  # millionths of epsilon
    500000
    """
    return bounded_mechanism(Sensitive(checked_beta(beta), r, k), epsilon, cap=cap)


def log_ratio(a: float, b: float) -> float:
    """How far the logarithms of two chances are apart."""
    if a == b:
        return 0.0
    return abs(math.log(a / b)) if min(a, b) > 0 else math.inf


@lru_cache(maxsize=256)
def coin(unit: Fraction, base: Fraction, most: int) -> Coin:
    """Coins are kept: a curator asks for few different ones, and each takes a moment to make."""
    return Coin(unit, base, most=most)


def checked_cap(cap: Any, unit: Fraction) -> int:
    """The cap asked for, or one at which exp(-unit * cap) < 2**-64, by whole numbers."""
    if cap is None:
        return math.ceil(Fraction(444, 10) / unit)
    if isinstance(cap, bool) or not (isinstance(cap, int | np.integer) and cap >= 1):
        raise ValueError(f"cap must be a whole number >= 1, got {cap}")
    return int(cap)
