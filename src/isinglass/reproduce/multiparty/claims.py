"""What the paper claims, sentence by sentence, and what this run says to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from isinglass.auditing.frontier import Frontier
from isinglass.reproduce.multiparty.attacks import (
    HALF,
    JOINT,
    KNOWN,
    PAIRS_ALPHA,
    PAPER,
    PUBLIC,
    TWICE,
    Attacked,
)
from isinglass.reproduce.multiparty.detection import Detection
from isinglass.reproduce.multiparty.printed import ALPHAS, TABLE_1
from isinglass.reproduce.multiparty.recovered import INDEPENDENT
from isinglass.reproduce.multiparty.theory import Filter, Guesses
from isinglass.reproduce.result import Claim, Verdict
from isinglass.theory.double_logistic import TanhLandmarks, best_curvature, tanh_density

_NO_DATA = "no set for it at hand"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that was measured in this run."""

    detected: dict[str, Detection]
    attacked: dict[str, Attacked]
    errors: Guesses
    filters: list[Filter]
    turns: TanhLandmarks
    frontier: Frontier | None

    def some(self, *, wide: bool) -> list[Detection]:
        return [one for one in self.detected.values() if one.wide == wide]


def claims(found: Evidence) -> tuple[Claim, ...]:
    """Accuracy first, then privacy."""
    return (*_accuracy(found), *_estimation(found), *_analysis(found))


def _accuracy(found: Evidence) -> list[Claim]:
    every = list(found.detected.values())
    narrow, wide = found.some(wide=False), found.some(wide=True)
    first = {one.name: one.auc(None) - one.auc(0.01) for one in every}
    falls = {one.name: one.auc(0.01) - one.auc(0.6) for one in every}
    little = max(first.values())
    loss = {one.name: one.auc(None) - one.auc(0.2) for one in every}
    dearest = {one.name: one.auc(None) - one.auc(0.6) for one in every}
    made = [
        Claim(
            "Section 6",
            "Accuracy is comparable with that on raw records; the loss is generally small",
            "holds" if max(dearest.values()) <= 0.05 else "holds conditionally",
            "the ranking is; area lost at alpha = 0.2: "
            + _list((n, f"{v:.3f}") for n, v in loss.items())
            + "; at 0.6: "
            + _list((n, f"{v:.3f}") for n, v in dearest.items())
            + ". The paper's own threshold fares worse: see the claim about it",
        ),
        Claim(
            "Table 1",
            "With alpha = 0.01 the area under the curve falls by about 1 %",
            "holds" if little <= 0.02 else "holds conditionally" if little <= 0.05
            else "not reproduced",
            "lost: " + _list((name, f"{lost:.3f}") for name, lost in first.items()),
        ),
        _growing(narrow, wide, falls),
        _levels(narrow, 0.2, "A narrow table falls to 0.87 (abalone) or 0.81 (banana) at 0.2"),
        _levels(wide, 0.6, "A wide table falls to 0.92 (gas) or 0.95 (smartphone) at 0.6"),
    ]  # fmt: skip
    lost = {one.name: one.lost(0.4) for one in wide}
    made.append(
        Claim(
            "Section 6",
            "40 % fewer dimensions of a wide table cost about 1 %",
            _verdict(bool(wide), all(-0.01 <= v <= 0.02 for _, v in lost.values())),
            "lost: " + _list((f"{n} (r = {r})", f"{v:.3f}") for n, (r, v) in lost.items()),
        )
    )
    half = {one.name: one.lost(0.5) for one in narrow}
    most = max(v for _, v in half.values())
    made.append(
        Claim(
            "Section 6",
            "Half of the dimensions of a narrow table might cost 10 %",
            "holds" if most >= 0.05 else "holds conditionally" if most >= 0.01
            else "not reproduced",
            "lost: " + _list((f"{n} (r = {r})", f"{v:.3f}") for n, (r, v) in half.items()),
        )
    )  # fmt: skip
    made.append(_threshold(every))
    if found.frontier is not None:
        made.append(
            Claim(
                "Section 7",
                "alpha can be determined from the intended trade-off (future work)",
                "holds" if found.frontier.recommended is not None else "holds conditionally",
                found.frontier.sentence,
            )
        )
    return made


def _growing(narrow: list[Detection], wide: list[Detection], falls: dict[str, float]) -> Claim:
    low = min(falls[one.name] for one in narrow)
    high = max((falls[one.name] for one in wide), default=-1.0)
    verdict: Verdict = "holds conditionally" if low > high else "not reproduced"
    if low > max(high, 0.02):
        verdict = "holds"
    return Claim(
        "Section 6",
        "Accuracy falls as alpha grows, most where columns are few",
        verdict,
        "lost from alpha = 0.01 to 0.6: " + _list((n, f"{v:.3f}") for n, v in falls.items()),
    )


def _levels(some: list[Detection], alpha: float, says: str) -> Claim:
    """Whether Table 1's values at `alpha` are met, in the paper's reading or in the other."""
    place = ALPHAS.index(alpha)
    printed = [TABLE_1[one.name][2][place] or 0.0 for one in some]
    near = [abs(one.auc(alpha) - p) <= 0.03 for one, p in zip(some, printed, strict=True)]
    also = [abs(one.private_auc(alpha) - p) <= 0.03 for one, p in zip(some, printed, strict=True)]
    verdict: Verdict = "not reproduced" if some else "not tested"
    if some and all(near):
        verdict = "holds"
    elif some and all(also):
        verdict = "holds conditionally"
    ours = _list((one.name, f"{one.auc(alpha):.3f} / {one.private_auc(alpha):.3f}") for one in some)
    return Claim("Table 1", says, verdict, f"tested with T / under private matrices: {ours}")


def _threshold(every: list[Detection]) -> Claim:
    def rates(alpha: float | None) -> tuple[float, float]:
        outcomes = [one.by_alpha[alpha] for one in every]
        return (
            float(np.mean([np.mean([o.caught for o in some]) for some in outcomes])),
            float(np.mean([np.mean([o.false_alarms for o in some]) for some in outcomes])),
        )

    told = [(None, "raw"), (0.01, "alpha = 0.01"), (0.2, "0.2"), (0.6, "0.6")]
    shares = {words: rates(alpha) for alpha, words in told}
    good = [caught >= 0.9 for caught, _ in shares.values()]
    verdict: Verdict = "holds" if all(good) else "does not hold"
    if not all(good) and shares["raw"][0] >= 0.5:
        verdict = "holds conditionally"
    return Claim(
        "Section 4",
        "A threshold, the mean plus three deviations of the training errors, finds the anomalies",
        verdict,
        "anomalies above it / ordinary records above it, mean of the sets: "
        + _list((n, f"{100 * c:.0f} % / {100 * f:.1f} %") for n, (c, f) in shares.items())
        + "; anomalies among the training records lift the threshold, the ranking suffers less",
    )


def _estimation(found: Evidence) -> list[Claim]:
    real = [one for name, one in found.attacked.items() if name != INDEPENDENT]
    alone = found.attacked[INDEPENDENT]
    shares = {one.name: one.estimate[PAPER, PUBLIC, 0.01] for one in found.attacked.values()}
    worst = min(shares.values())
    joint = {
        one.name: (one.estimate[HALF, PUBLIC, 0.2], one.estimate[HALF, JOINT, 0.2])
        for one in found.attacked.values()
        if (HALF, JOINT, 0.2) in one.estimate
    }
    own = {
        one.name: (
            one.estimate[HALF, KNOWN, 0.01],
            one.estimate[HALF, PUBLIC, 0.01],
            one.estimate[HALF, PUBLIC, 0.6],
        )
        for one in real
    }
    hidden = all(few < 0.5 * known for known, _, few in own.values())
    made = [
        Claim(
            "Section 5.1",
            "The double logistic defeats MAP estimation, since eq. 5 needs normal data",
            "does not hold" if worst > 0.5 else "holds conditionally",
            "variance recovered with T and as many other records of the same kind (w = n - 1, "
            "alpha = 0.01): " + _list((n, f"{100 * v:.0f} %") for n, v in shares.items()),
        ),
        Claim(
            "Section 5.1",
            "With T + D unknown the joint problem, eq. 6, is harder still and stops the attacker",
            "does not hold" if all(b > a - 0.05 and b > 0.3 for a, b in joint.values())
            else "holds conditionally",
            "variance recovered at alpha = 0.2, w = (n + 1) / 2, with T as it is / fitted to the "
            "release: " + _list((n, f"{100 * a:.0f} / {100 * b:.0f} %") for n, (a, b) in
            joint.items()),
        ),
        Claim(
            "Section 3.1",
            "Private matrices keep a colluding server, which holds T, from the records",
            "holds" if hidden else "holds conditionally",
            "variance recovered with w = (n + 1) / 2 and as many other records of the same kind, "
            "T + D known / T at alpha = 0.01 / T at 0.6: "
            + _list((n, " / ".join(f"{100 * v:.0f}" for v in s) + " %") for n, s in own.items())
            + f". As many known pairs as columns tell the matrix: {_pairs(found)}",
        ),
    ]  # fmt: skip
    mean, best, _ = alone.ica[PAPER]
    made.append(
        Claim(
            "Section 5.2",
            "With w < n the independent components cannot be identified",
            "holds conditionally" if best > 0.8 else "holds",
            "squared correlation of columns with their best component, independent columns, "
            f"alpha = {PAIRS_ALPHA:g}: mean {mean:.2f}, best {best:.2f} at w = n - 1; "
            f"{alone.ica[HALF][0]:.2f} and {alone.ica[HALF][1]:.2f} at w = (n + 1) / 2; two "
            f"releases of that kind give {alone.ica[TWICE][0]:.2f}",
        )
    )
    return made


def _pairs(found: Evidence) -> str:
    return _list(
        (name, f"{100 * one.pairs[HALF, 0]:.0f} to {100 * one.pairs[HALF, one.n]:.0f} %")
        for name, one in found.attacked.items()
        if one.pairs
    )


def _analysis(found: Evidence) -> list[Claim]:
    from isinglass.activations import double_logistic, double_logistic_inverse

    curvature = best_curvature()
    turns = found.turns
    drawn, best = float(np.median(found.errors.drawn)), float(np.median(found.errors.best))
    paper, half = found.filters
    top = float(double_logistic(np.ones(1))[0])
    x = np.linspace(0, 1, 1001)
    back = float(np.abs(double_logistic_inverse(double_logistic(x)) - x).max())
    rises = float(tanh_density(turns.mode)) / float(tanh_density(0.0))
    return [
        Claim(
            "Section 3.2",
            "The double logistic is nearest to the identity at curvature 2.81",
            "holds" if abs(curvature - 2.81) < 0.005 else "does not hold",
            f"{curvature:.6f}",
        ),
        Claim(
            "Section 5.1",
            "tanh is worse: its density is convex on |y| <= 0.9, which hands the attacker a convex "
            "problem",
            "does not hold" if rises > 1 else "holds",
            f"convex up to {turns.convex_until:.4f}, as said; but the attacker looks for the "
            "largest value, and to maximise a convex function is not a convex problem: the density "
            f"is lowest at 0 and {rises:.2f} times as high at +-{turns.mode:.4f}",
        ),
        Claim(
            "Lemma 1",
            "An entry of T + D is guessed wrong by at least 0.586 alpha half of the time",
            "holds conditionally" if best < drawn else "holds",
            f"median error {drawn:.3f} alpha for a guess drawn at random; {best:.3f} alpha for the "
            "obvious guess, T itself",
        ),
        Claim(
            "Section 5.2",
            "w <= (n + 1) / 2 keeps a linear filter from separating groups of attributes",
            "holds conditionally" if paper.left == 2 and 2 * half.left > half.n
            else "does not hold",
            f"a filter leaves {half.left} of {half.n} attributes at w = {half.w}, so no two groups "
            f"are disjoint; but Table 1 has w = n - 1, where it leaves {paper.left} (with "
            f"{100 * paper.clean:.1f} % of its weight, made from T alone, alpha = 0.01)",
        ),
        Claim(
            "Section 5.1",
            "The double logistic conditions the data: its density is infinite at -1, 0 and 1",
            "holds conditionally" if top < 1 and back < 1e-9 else "holds",
            f"true of normal values; but values in [0, 1] stay below f(1) = {top:.5f}, and f is "
            f"strictly monotone: its inverse gives them back to {back:.0e}",
        ),
    ]  # fmt: skip


def _verdict(tested: bool, holds: bool) -> Verdict:
    return "not tested" if not tested else "holds" if holds else "not reproduced"


def _list(parts: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parts) or _NO_DATA
