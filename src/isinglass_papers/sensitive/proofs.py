"""The paper's lemmas and theorems, tried on every table of small universes."""

from __future__ import annotations

import math

import numpy as np

from isinglass.curate.mechanisms.mechanism import (
    Mechanism,
    dp_mechanism,
    sensitive_mechanism,
)
from isinglass.curate.questions.builtin import presence_distance, sensitive_distance
from isinglass_papers.core.result import Claim
from isinglass_papers.sensitive import costs
from isinglass_papers.sensitive.costs import EPSILONS, tried
from isinglass_papers.sensitive.example import CompiledErrors, least_error
from isinglass_papers.sensitive.tiny_universe import (
    Checked,
    Named,
    check,
    universes,
)

# (n, r, most copies) of the universes.
SIZES = ((5, 1, 3), (5, 2, 3), (4, 1, 5), (4, 0, 4), (3, 1, 6), (3, 2, 6), (3, 0, 5))


def claims(named: Named, compiled: CompiledErrors) -> list[Claim]:
    """Claims that need no data."""
    return [
        _one_step(),
        _distances(check(universes(SIZES))),
        _promised(),
        _accuracy(),
        _strictly(),
        _generalizes(),
        _named(named),
        _optimal(),
        *costs.claims(compiled),
    ]


def _one_step() -> Claim:
    largest = 0.0
    for epsilon in (0.01, 0.1, 1.0, 3.0):
        errors = np.linspace(0, 1, 2001)
        worse = min(max(q, least_error(float(q), epsilon)) for q in errors)
        largest = max(largest, 1 / (1 + math.exp(epsilon)) - worse)
    return Claim(
        "Claim 1, Figure 1", "differential privacy errs at least 1/(1 + e^epsilon) on one of any "
        "two neighbors with different answers", "holds" if largest <= 1e-12 else "does not hold",
        f"over 2,001 errors at each of four epsilons the larger error falls below it by "
        f"{largest:.0e} at most",
    )  # fmt: skip


def _distances(found: Checked) -> Claim:
    good = found.wrong_2 == found.above_3 == found.jumps_3 == 0
    return Claim(
        "Eqs. (2), (3), Lemmas 4.3, 4.5", "(2) is the distance to the other answer; (3) is a bound "
        "from below that changes by 1 at most between neighbors in the sensitive graph",
        "holds" if good else "does not hold",
        f"{found.cases:,} tables and records in {found.settings} settings: (2) is wrong in "
        f"{found.wrong_2}, (3) above the distance in {found.above_3}, and changes by more than 1 "
        f"in {found.jumps_3}, on the whole graph even; (3) is the distance itself in "
        f"{found.tight / found.reachable:.1%}",
    )  # fmt: skip


def _promised() -> Claim:
    made: dict[str, Mechanism] = {}
    for epsilon in EPSILONS:
        for beta in (2, 3, 4):
            made[f"dp {beta} {epsilon}"] = dp_mechanism(beta, 1.0, epsilon)
            for k in range(1, beta):
                made[f"sp {beta} {k} {epsilon}"] = sensitive_mechanism(beta, 1.0, epsilon, k=k)
    found = tried(made)
    worst = max(each.worst / each.allowed for each in found.values())
    pairs = sum(each.pairs for each in found.values())
    return Claim(
        "Theorems 4.1, 4.4a, 4.6", "Construction 1 is private at epsilon, with (2) differentially "
        "and with (3) sensitively",
        "holds" if all(each.passed for each in found.values()) else "does not hold",
        f"{len(found)} mechanisms, {pairs:,} pairs of covered neighbors: the logarithm of a "
        f"chance changes by {worst:.6f} epsilon at most",
    )  # fmt: skip


def _accuracy() -> Claim:
    beyond, cases = 0, 0
    for beta in (5, 18, 55):
        for k in {1, beta // 10, beta // 3} - {0}:
            mechanism = sensitive_mechanism(beta, 1.0, "0.1", k=k)
            for near in range(beta + 1 - k):
                for own in range(near + 1):
                    wrong = mechanism.error_probability(own, near)
                    beyond += wrong > math.exp(-0.1 * abs(beta + 1 - k - near))
                    cases += 1
    return Claim(
        "Theorem 4.6", "about a record that is not sensitive the error is at most "
        "e^(-epsilon |beta + 1 - k - B|)", "holds" if beyond == 0 else "does not hold",
        f"{beyond} of {cases:,} pairs of counts exceed it, at beta 5, 18 and 55",
    )  # fmt: skip


def _strictly() -> Claim:
    beta, k = 5, 1
    pairs = [(own, near) for near in range(beta + 1 - k) for own in range(near + 1)]
    over = [sensitive_distance(*pair, beta, k) - presence_distance(*pair, beta) for pair in pairs]
    short = [pair for pair, more in zip(pairs, over, strict=True) if more <= 0]
    return Claim(
        "Section 4.1.2", "(3) exceeds (2) for every record that is not sensitive, so sensitive "
        "privacy is more accurate there", "does not hold" if short else "holds",
        f"beta {beta}, k {k}: it does in {len(pairs) - len(short)} of {len(pairs)} pairs of counts"
        + (f", and not with copies and records near {short[0]}" if short else ""),
    )  # fmt: skip


def _generalizes() -> Claim:
    cases = [(o, b, beta) for beta in range(1, 11) for b in range(3 * beta) for o in range(b + 1)]
    differ = sum(
        sensitive_distance(o, b, beta, beta + 1) != presence_distance(o, b, beta)
        for o, b, beta in cases
    )
    return Claim(
        "Sections 3, 4.1.1", "sensitive privacy generalizes differential privacy: with k > beta "
        "every record is sensitive", "holds" if differ == 0 else "does not hold",
        f"with k = beta + 1 the distances (2) and (3) differ in {differ} of {len(cases):,} cases",
    )  # fmt: skip


def _named(found: Named) -> Claim:
    a, b, c = found.distances
    return Claim(
        "Section 4, Figure 4", "record 5 is farther from the other answer in (3,0,0,0,1) than in "
        "(3,2,1,0,1) and in (3,0,1,0,1)", "holds" if a > b and a > c else "does not hold",
        f"{a} changes against {b} and {c}; (3) gives {', '.join(map(str, found.bounds))}; "
        f"{found.sensitive_edges:,} of {found.edges:,} edges are sensitive",
    )  # fmt: skip


def room_above(beta: int, epsilon: float, most: int) -> float:
    """How much accuracy any private mechanism can add that is nowhere worse than Construction 1.

    A linear program over the chances of "anomaly" for all counts up to `most`.
    """
    from scipy.optimize import linprog

    states = [(own, near) for near in range(most + 1) for own in range(near + 1)]
    place = {state: at for at, state in enumerate(states)}
    mechanism = dp_mechanism(beta, 1.0, str(epsilon))
    right = np.array([1 - mechanism.error_probability(*state) for state in states])
    yes = np.array([mechanism.anomalous(*state) for state in states])
    rows, limits, e = [], [], math.exp(epsilon)
    for own, near in states:
        for after in ((own, near + 1), (own + 1, near + 1)):
            if after not in place:
                continue
            for a, b in ((place[own, near], place[after]), (place[after], place[own, near])):
                more, less = np.zeros(len(states)), np.zeros(len(states))
                more[a], more[b] = 1, -e  # v_a <= e v_b
                less[a], less[b] = -1, e  # 1 - v_a <= e (1 - v_b)
                rows += [more, less]
                limits += [0.0, e - 1]
    sign = np.where(yes, 1.0, -1.0)
    bounds = [(p, 1.0) if y else (0.0, 1 - p) for p, y in zip(right, yes, strict=True)]
    best = linprog(-sign, A_ub=np.array(rows), b_ub=limits, bounds=bounds, method="highs")
    return float(-best.fun + (~yes).sum() - right.sum())


def _optimal() -> Claim:
    mechanism = dp_mechanism(18, 0.1, "0.1")
    room = max(room_above(beta, epsilon, 9) for beta in (2, 4) for epsilon in (0.1, 1.0))
    errs, pareto = mechanism.error_probability(0, 0), abs(room) < 1e-6  # a solver's tolerance
    return Claim(
        "Theorem 4.4b", "Construction 1 with (2) has the least error of every differentially "
        "private mechanism on every table", "does not hold" if errs > 0 else "holds",
        f"always answering no is private and never wrong where the record is absent; there "
        f"Construction 1 errs {errs:.4f}. {'What holds is' if pareto else 'Nor is there'} Pareto "
        f"optimality: a mechanism nowhere worse gains {abs(room):.0e} in all (linear program)",
    )  # fmt: skip
