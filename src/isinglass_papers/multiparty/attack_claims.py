"""Claims about attackers, judged by this run's attacks and formulas."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from isinglass_papers.core.result import Claim, Verdict
from isinglass_papers.multiparty.alpha import TAKEN
from isinglass_papers.multiparty.attack_figures import INDEPENDENT
from isinglass_papers.multiparty.attacks import (
    HALF,
    JOINT,
    KNOWN,
    PAIRS_ALPHA,
    PAPER,
    PUBLIC,
    TWICE,
    Attacked,
)
from isinglass_papers.multiparty.measurements import Evidence, drawn, listed, percent
from isinglass_papers.multiparty.printed import CURVATURE, MEDIAN_ERROR, TANH_CONVEX

#: An attacker is stopped who recovers at most half of the variance: more of a record is then left
#: in the dark than told. It is also what a choice of alpha is asked to keep.
STOPPED = TAKEN
#: What is found is beyond the spread of draws where nine of ten show it: a fit may fail now and
#: then, and the lowest of many draws alone would leave everything open.
MOSTLY = 0.9
#: T + D is kept where T alone gives less than half of what it does, and not at all at nine tenths.
KEPT, NOT_KEPT = 0.5, 0.9
#: Squared correlation at which a component is a column: a correlation of nine tenths.
IDENTIFIED = 0.8
#: Drawn shares are chance within four standard errors.
CHANCE = 4.0
#: An inverse that is this near gives values back in every digit of a table.
BACK = 1e-9


def estimation(found: Evidence) -> list[Claim]:
    """Section 5 attacked."""
    return [_map(found), _joint(found), _private(found), _components(found)]


def analysis(found: Evidence) -> list[Claim]:
    """Sections 3 and 5 computed."""
    return [
        _curvature(found),
        _tanh(found),
        _lemma(found),
        _filter(found),
        _conditions(found),
    ]


def _map(found: Evidence) -> Claim:
    shares = {one.name: one.estimate[PAPER, PUBLIC, 0.01] for one in found.attacked.values()}
    verdict: Verdict = "holds conditionally"
    if all(_mostly(v <= STOPPED for v in share.draws) for share in shares.values()):
        verdict = "holds"
    elif all(_mostly(v > STOPPED for v in share.draws) for share in shares.values()):
        verdict = "does not hold"
    return Claim(
        "Section 5.1",
        "The double logistic defeats MAP estimation, since eq. 5 needs normal data",
        verdict,
        "variance recovered with T and as many other records of the same kind (w = n - 1, "
        f"alpha = 0.01): {percent((n, (v,)) for n, v in shares.items())}; "
        f"{_medians(found.attacked.values())}",
    )


def _joint(found: Evidence) -> Claim:
    some = [one for one in found.attacked.values() if (HALF, JOINT, 0.2) in one.estimate]
    shares = {
        one.name: (one.estimate[HALF, PUBLIC, 0.2], one.estimate[HALF, JOINT, 0.2]) for one in some
    }
    # Both attackers hold the same releases, so they are compared draw by draw.
    as_said = {
        name: [b < a and b <= STOPPED for a, b in zip(plain.draws, fitted.draws, strict=True)]
        for name, (plain, fitted) in shares.items()
    }
    verdict: Verdict = "holds conditionally"
    if all(_mostly(draws) for draws in as_said.values()):
        verdict = "holds"
    elif all(_mostly(not so for so in draws) for draws in as_said.values()):
        verdict = "does not hold"
    return Claim(
        "Section 5.1",
        "With T + D unknown the joint problem, eq. 6, is harder still and stops the attacker",
        verdict,
        "variance recovered at alpha = 0.2, w = (n + 1) / 2, with T as it is / fitted to the "
        f"release: {percent(shares.items())}; {_medians(some)}. Harder and held to "
        f"{100 * STOPPED:.0f} %: "
        + listed((n, f"in {sum(draws)} of {len(draws)} draws") for n, draws in as_said.items()),
    )


def _private(found: Evidence) -> Claim:
    some = [one for name, one in found.attacked.items() if name != INDEPENDENT]
    shares = {
        one.name: (
            one.estimate[HALF, KNOWN, 0.01],
            one.estimate[HALF, PUBLIC, 0.01],
            one.estimate[HALF, PUBLIC, 0.6],
        )
        for one in some
    }
    pairs = {
        name: (one.pairs[HALF, 0], one.pairs[HALF, one.n], one.estimate[HALF, KNOWN, PAIRS_ALPHA])
        for name, one in found.attacked.items()
        if one.pairs
    }
    # T at little noise and at much, as shares of what T + D itself gives, draw by draw.
    least, most = (
        [[a / b for a, b in zip(s[k].draws, s[0].draws, strict=True)] for s in shares.values()]
        for k in (1, 2)
    )
    verdict: Verdict = "holds conditionally"
    if all(_mostly(v < KEPT for v in draws) for draws in (*least, *most)):
        verdict = "holds"
    elif all(_mostly(v > NOT_KEPT for v in draws) for draws in most):
        verdict = "does not hold"
    told = bool(pairs) and all(
        there.median > NOT_KEPT * known.median for _, there, known in pairs.values()
    )
    return Claim(
        "Section 3.1",
        "Private matrices keep a colluding server, which holds T, from the records",
        verdict,
        "variance recovered with w = (n + 1) / 2 and as many other records of the same kind, "
        f"T + D known / T at alpha = 0.01 / T at 0.6: {percent(shares.items())}. As many known "
        + ("pairs as columns tell the matrix: " if told else "pairs as columns: ")
        + listed((n, f"{a.percent} to {b.percent} %") for n, (a, b, _) in pairs.items())
        + f"; {_medians(found.attacked.values())}",
    )


def _components(found: Evidence) -> Claim:
    alone = found.attacked[INDEPENDENT]
    (mean, best, _), (half, half_best, _) = alone.ica[PAPER], alone.ica[HALF]
    twice = alone.ica[TWICE][0]
    verdict: Verdict = "holds conditionally"
    if _mostly(v > IDENTIFIED for v in half.draws):
        verdict = "does not hold"
    elif all(_mostly(v <= IDENTIFIED for v in s.draws) for s in (half, best, twice)):
        verdict = "holds"
    return Claim(
        "Section 5.2",
        "With w < n the independent components cannot be identified",
        verdict,
        "squared correlation of columns with their best component, independent columns, "
        f"alpha = {PAIRS_ALPHA:g}: mean {mean.fraction}, best {best.fraction} at w = n - 1; "
        f"{half.fraction} and {half_best.fraction} at w = (n + 1) / 2; two releases of that kind "
        f"give {twice.fraction}; {_medians([alone])}",
    )


def _mostly(draws: Iterable[bool]) -> bool:
    seen = list(draws)
    return sum(seen) >= MOSTLY * len(seen)


def _medians(some: Iterable[Attacked]) -> str:
    return f"medians, in brackets lowest and highest, over {drawn(some)}"


def _curvature(found: Evidence) -> Claim:
    curvature = found.shape.curvature
    return Claim(
        "Section 3.2",
        f"The double logistic is nearest to the identity at curvature {CURVATURE:g}",
        "holds" if abs(curvature - CURVATURE) < 0.005 else "does not hold",  # two digits printed
        f"{curvature:.6f}",
    )


def _tanh(found: Evidence) -> Claim:
    turns, rises = found.shape.turns, found.shape.rises
    said = turns.convex_until >= TANH_CONVEX
    # The counterexample: a convex density has its largest value at the ends, not where it is flat.
    return Claim(
        "Section 5.1",
        "tanh is worse: its density is convex on |y| <= 0.9, which hands the attacker a convex "
        "problem",
        "does not hold" if rises > 1 else "not reproduced",
        f"convex up to {turns.convex_until:.4f}, {'as said' if said else 'less than said'}; but "
        "the attacker looks for the largest value, and to maximize a convex function is not a "
        f"convex problem: the density at +-{turns.mode:.4f} is {rises:.2f} times that at 0",
    )


def _lemma(found: Evidence) -> Claim:
    drawn, best = (float(np.median(v)) for v in (found.errors.drawn, found.errors.best))
    wrong = float((found.errors.drawn >= MEDIAN_ERROR).mean())
    sure = CHANCE * 0.5 / float(np.sqrt(found.errors.drawn.size))
    verdict: Verdict = "holds conditionally" if best < drawn else "holds"
    if abs(wrong - 0.5) > sure:
        verdict = "does not hold"
    return Claim(
        "Lemma 1",
        "An entry of T + D is guessed wrong by at least (2 - sqrt 2) alpha half of the time",
        verdict,
        f"by at least {MEDIAN_ERROR:.3f} alpha in {100 * wrong:.1f} % of draws (chance: "
        f"+-{100 * sure:.1f}); median error {drawn:.3f} alpha for a guess drawn at random, "
        f"{best:.3f} alpha for the obvious guess, T itself",
    )


def _filter(found: Evidence) -> Claim:
    paper, half = found.filters
    # Two groups of attributes are disjoint where both fit into n.
    apart = [2 * one.left <= one.n for one in (paper, half)]
    verdict: Verdict = "holds conditionally" if apart[0] else "holds"
    return Claim(
        "Section 5.2",
        "w <= (n + 1) / 2 keeps a linear filter from separating groups of attributes",
        "does not hold" if apart[1] else verdict,
        f"a filter leaves {half.left} of {half.n} attributes at w = {half.w}, so two groups "
        f"{'can be' if apart[1] else 'are never'} disjoint; Table 1 has w = n - 1, where it leaves "
        f"{paper.left} (with {100 * paper.clean:.1f} % of its weight, made from T alone, "
        f"alpha = 0.01), so that they {'can' if apart[0] else 'cannot'} be",
    )


def _conditions(found: Evidence) -> Claim:
    shape = found.shape
    verdict: Verdict = "does not hold"
    if shape.infinite:
        bare = shape.top < 1 and shape.back < BACK
        verdict = "holds conditionally" if bare else "holds"
    return Claim(
        "Section 5.1",
        "The double logistic conditions the data: its density is infinite at -1, 0 and 1",
        verdict,
        ("true of normal values" if shape.infinite else "not even of normal values")
        + f"; values in [0, 1] stay below f(1) = {shape.top:.5f}, and the inverse gives them back "
        f"to {shape.back:.0e}",
    )
