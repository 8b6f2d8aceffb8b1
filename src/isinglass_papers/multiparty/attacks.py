"""The attacks the paper argues about, made: MAP estimation, known pairs and ICA."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.activations import double_logistic
from isinglass.attack.ica import ICAAttack
from isinglass.attack.knowledge import (
    ColumnStatistics,
    Fact,
    Knowledge,
    KnownPairs,
    OtherReleases,
    PopulationSample,
    PublicParameters,
)
from isinglass.attack.map_estimate import MAPAttack
from isinglass.perturb.multiparty import MultipartyPerturbation
from isinglass.perturb.public_matrix import PublicMatrix
from isinglass.progress import Progress
from isinglass_papers.core.result import How
from isinglass_papers.core.variance import explained
from isinglass_papers.multiparty.printed import ALPHAS
from isinglass_papers.multiparty.protocol import matrix_of, participant
from isinglass_papers.multiparty.shares import Share, once, together

Array = NDArray[Any]

#: What the attacker takes for the private matrix, in words.
PUBLIC, KNOWN, JOINT = "only T known", "T + D known", "T fitted to the release"
#: Rows of T: as in the paper's Table 1, and as many as its Section 5.2 asks for.
PAPER, HALF = "w = n - 1", "w = (n + 1) / 2"
#: The same records released twice, under two private matrices.
TWICE = "w = (n + 1) / 2, two releases"
PAIRS_ALPHA = 0.2


@dataclass(frozen=True, slots=True)
class Attacked:
    """What was recovered of one set, as shares of the variance of its records, draw by draw."""

    name: str
    n: int
    #: By rows of T, what is known, and alpha.
    estimate: dict[tuple[str, str, float], Share] = field(default_factory=dict)
    #: The same share of y = f(x), in which the closed forms are.
    behind: dict[tuple[str, str, float], Share] = field(default_factory=dict)
    #: By rows of T and number of known pairs, at alpha = 0.2.
    pairs: dict[tuple[str, int], Share] = field(default_factory=dict)
    #: By rows of T or `TWICE`, every column at the component that shows it best: the mean, the
    #: best column, and the mean where components belong to other records.
    ica: dict[str, tuple[Share, Share, Share]] = field(default_factory=dict)

    @property
    def draws(self) -> int:
        return len(next(iter(self.estimate.values())).draws)


def private_matrix(veil: MultipartyPerturbation) -> Array:
    """T + D as somebody learns it who may have records of their choice perturbed."""
    n = veil.n_features_in_
    return np.asarray(veil.transform(np.eye(n)).T / double_logistic(np.ones(1))[0])


def attack(name: str, number: int, table: Array, how: How, tell: Progress) -> Attacked:
    """Half of the records are released by one participant, the others are like them."""
    table = np.asarray(table, dtype=np.float64)
    n = table.shape[1]
    draws = how.pick(3, 20) if n <= 20 else how.pick(1, 3)
    # Products of matrices of 561 columns are the most of a quick run.
    alphas = ALPHAS if how.full or n < 300 else (0.01, 0.2, 0.6)
    seen: list[Attacked] = []
    for draw in range(draws):
        tell(f"attacking {name}", draw, draws)
        seen.append(
            _once(name, table, alphas, np.random.default_rng([how.seed, 100, number, draw]))
        )
    first = seen[0]
    return Attacked(
        name,
        n,
        {key: together(s.estimate[key] for s in seen) for key in first.estimate},
        {key: together(s.behind[key] for s in seen) for key in first.behind},
        {pairs: together(s.pairs[pairs] for s in seen) for pairs in first.pairs},
        {what: _three([s.ica[what] for s in seen]) for what in first.ica},
    )


def _three(seen: list[tuple[Share, Share, Share]]) -> tuple[Share, Share, Share]:
    mean, best, blind = (together(part) for part in zip(*seen, strict=True))
    return mean, best, blind


def _once(name: str, table: Array, alphas: tuple[float, ...], rng: np.random.Generator) -> Attacked:
    order = rng.permutation(len(table))
    victim, sample = table[order[: len(table) // 2]], table[order[len(table) // 2 :]]
    n = table.shape[1]
    found = Attacked(name, n)
    like = PopulationSample(sample)
    for rows, r in ((PAPER, 1), (HALF, n - (n + 1) // 2)):
        matrix = matrix_of(n, r, rng)
        T = matrix.matrix
        for alpha in alphas:
            veil = participant(matrix, alpha, rng)
            released = veil.transform(victim)
            held = [(PUBLIC, T, "public"), (KNOWN, private_matrix(veil), "known")]
            if n <= 20 and rows == HALF:
                held.append((JOINT, T, "joint"))
            for words, given, taken in held:
                attacker = MAPAttack(matrix=taken, random_state=rng)
                guess = attacker.guess(released, _public(given, alpha) | like)
                found.estimate[rows, words, alpha] = once(explained(guess, victim))
                inner = explained(double_logistic(guess), double_logistic(victim))
                found.behind[rows, words, alpha] = once(inner)
            if alpha == PAIRS_ALPHA:
                _pairs(found, rows, T, released, victim, sample)
        if n <= 20:
            _ica(found, rows, matrix, victim, sample, rng)
    return found


def _public(T: Array, alpha: float) -> PublicParameters:
    return PublicParameters("multiparty", {"alpha": alpha, "bounds": "scaled"}, matrix=T)


def _pairs(
    found: Attacked, rows: str, T: Array, released: Array, victim: Array, sample: Array
) -> None:
    n = found.n
    if 2 * n > len(victim):
        return
    for pairs in (0, n // 2, n):
        known: Fact | Knowledge = _public(T, PAIRS_ALPHA) | PopulationSample(sample)
        if pairs:
            known = known | KnownPairs(np.arange(pairs), victim[:pairs])
        guess = MAPAttack().guess(released, known)
        # Records that the attacker knew beforehand are no success.
        found.pairs[rows, pairs] = once(explained(guess[n:], victim[n:]))


def _ica(
    found: Attacked, rows: str, matrix: PublicMatrix, victim: Array, sample: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    first, second = (participant(matrix, PAIRS_ALPHA, rng).transform(victim) for _ in range(2))
    known = ColumnStatistics.of(victim) | PopulationSample(sample)
    views: dict[str, Knowledge] = {rows: known}
    if rows == HALF:
        views[TWICE] = known | OtherReleases((second,))
    for what, facts in views.items():
        guess = ICAAttack(random_state=rng).guess(first, facts)
        shares = best_match(guess, victim)
        blind = best_match(rng.permutation(guess), victim)
        found.ica[what] = once(shares.mean()), once(shares.max()), once(blind.mean())


def best_match(guess: Array, truth: Array) -> Array:
    """For each true column, its squared correlation with the guessed column nearest to it."""
    off, away = guess - guess.mean(axis=0), truth - truth.mean(axis=0)
    size = np.sqrt(np.square(off).sum(axis=0)), np.sqrt(np.square(away).sum(axis=0))
    varies = size[1] > 0
    products = (off.T @ away[:, varies]) / np.maximum(np.outer(size[0], size[1][varies]), 1e-300)
    return np.asarray(np.square(products).max(axis=0))
