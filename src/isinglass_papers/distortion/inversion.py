"""What the key's holder, and a snoop with known pairs, get back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isinglass.attack.knowledge import KnownPairs, StolenKey
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.perturb.distortion import Distortion
from isinglass.progress import Progress
from isinglass_papers.core.draw import Row, picture
from isinglass_papers.core.result import Claim, Figure, How, Number, Verdict
from isinglass_papers.core.variance import explained
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.setting import Array, ExperimentPart, PreparedTable, network, seeds

_D = printed.ARCHIVE_COLUMNS
_SLOPES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_SIZES = (29, 60)
_THIN = 15  # hidden units, fewer than columns
#: The median error of guessing 1/2 for a number drawn evenly from [0, 1].
BLIND = 0.25
#: A record is back if its median error is a hundredth of a column's range.
BACK = 0.01
#: Nothing is got back if the median error is nearly that of a blind guess.
NOTHING = 0.9 * BLIND
#: An attack that explains nine tenths of the variance has broken what it attacked.
BROKEN = 0.9


def undone(made: Distortion, records: Array) -> Array:
    """The records as the key's holder gets them back, who knows that they lie in [0, 1]."""
    return np.clip(made.inverse_transform(made.transform(records)), 0, 1)


def _error(made: Distortion, records: Array) -> float:
    return float(np.median(np.abs(undone(made.fit(records), records) - records)))


def inversion(how: How, tell: Progress, table: PreparedTable) -> ExperimentPart:
    """Undo with the key, and learn the way back from pairs."""
    part = ExperimentPart()
    tell("undoing", 0, 2)
    _undo(how, part, table)
    tell("undoing", 1, 2)
    _pairs(how, part, table)
    return part


def _undo(how: How, part: ExperimentPart, table: PreparedTable) -> None:
    """With the key: tanh comes back whenever no unit saturates beyond a float's digits."""
    rng = np.random.default_rng(how.seed)
    records = rng.random((how.pick(60, 300), _D))
    key = seeds(how, 80, 1)[0]
    rows: list[Row] = []
    errors = {}
    for size in _SIZES:
        for slope in _SLOPES:
            error = _error(network("tanh", seed=key, size=size, slope=slope), records)
            errors[size, slope] = error
            rows.append({"slope": slope, "error": max(error, 1e-17), "units": f"m = p = {size}"})
    part.figures.append(
        Figure(
            "inverse",
            "What the key gives back, by slope",
            f"Median error of records in [0, 1]^{_D} (blind guess: {BLIND:g}) when the key's "
            "holder undoes a tanh distortion of one key. tanh itself has an inverse; what steep "
            "units lose are the digits of a float, and more hidden units make up for it.",
            tuple(rows),
            picture(
                "line",
                "slope",
                "error",
                color="units",
                log="xy",
                titles={"error": "median error", "units": ""},
            ),
        )
    )
    back = {f"random records, m = p = {size}": errors[size, 1.0] for size in _SIZES}
    flown = _error(network("tanh", seed=key, size=60), table.X[: len(records)])
    back[f"{table.named}, m = p = 60"] = flown
    fold = network("square", seed=key, size=60)
    attack = StolenKeyAttack(n_simulated=how.pick(500, 2000), random_state=key)
    squared = explained(attack.guess(fold.fit_transform(records), StolenKey(fold)), records)
    harder = {
        f"{_THIN} hidden units": _error(network("tanh", seed=key, size=_THIN), records),
        **{f"slope {_SLOPES[-1]:g}, m = p = {m}": errors[m, _SLOPES[-1]] for m in _SIZES},
    }
    part.numbers += [
        Number(
            "Section VIII",
            f"median error of records in [0, 1]^{_D} undone with the key, m = p = {size}",
            None,
            errors[size, 1.0],
            note="the paper says that tanh cannot be inverted",
        )
        for size in _SIZES
    ]
    part.claims.append(inverse_claim(back, harder, squared))


def inverse_claim(back: dict[str, float], harder: dict[str, float], squared: float) -> Claim:
    """Refuted by one network at slope 1 whose key gives the records back.

    `back` and `harder` are median errors; the second are told, and decide nothing.
    """
    best = min(back.values())
    verdict: Verdict = "holds" if best >= NOTHING else "holds conditionally"
    if best <= BACK:
        verdict = "does not hold"
    return Claim(
        "Sections I, VIII",
        "The tanh distortion cannot be inverted, even by those who know it.",
        verdict,
        f"Median errors with the key, where a blind guess has {BLIND:g}: "
        + ", ".join(f"{error:.1g} ({what})" for what, error in back.items())
        + ". With fewer hidden units than columns, or units too steep for a float's digits: "
        + ", ".join(f"{error:.2g} ({what})" for what, error in harder.items())
        + f". Of the square, which folds, regression with the key explains {squared:.2f} of the "
        "variance.",
    )


@dataclass(frozen=True, slots=True)
class Snooped:
    """What known pairs explain under tanh; `unit_scale`: with weights of deviation 1."""

    what: str
    share: float
    unit_scale: bool


def _pairs(how: How, part: ExperimentPart, table: PreparedTable) -> None:
    """Without the key: least squares on records whose released rows are known."""
    rng = np.random.default_rng(how.seed + 1)
    n = how.pick(1500, 4000)
    cube = rng.random((n, _D))
    real = table.X[rng.permutation(len(table.X))[:n]]
    key = seeds(how, 81, 1)[0]

    def attack(records: Array, f: str, pairs: int, model: str, **options: float) -> Array:
        released = network(f, seed=key, **options).fit_transform(records)  # type: ignore[arg-type]
        known = KnownPairs(np.arange(pairs), records[:pairs])
        return KnownInputAttack(model, random_state=key).guess(released, known)[pairs:]

    exact = float(np.abs(attack(cube, "identity", _D + 1, "linear") - cube[_D + 1 :]).max())
    cases = [
        ("random records, sigma_w = 0.1, 200 pairs", cube, 200, "linear", 0.1),
        ("random records, sigma_w = 1, 400 pairs", cube, 400, "linear", 1.0),
        ("random records, sigma_w = 1, 400 pairs, ridge", cube, 400, "ridge", 1.0),
        (f"{table.named}, sigma_w = 1, 400 pairs", real, 400, "linear", 1.0),
        (f"{table.named}, sigma_w = 1, 400 pairs, best of all models", real, 400, "auto", 1.0),
    ]
    found = []
    for what, records, pairs, model, sigma_w in cases:
        guess = attack(records, "tanh", pairs, model, sigma_w=sigma_w)
        share = explained(guess, records[pairs:])
        found.append(Snooped(what, share, sigma_w == 1.0))
        part.numbers.append(
            Number(
                "Section VIII",
                f"variance explained by a snoop, {what}",
                None,
                share,
                note="the paper says that its distortion withstands such attacks",
            )
        )
    part.claims.append(snoop_claim(exact, found))


def snoop_claim(exact: float, found: Sequence[Snooped]) -> Claim:
    """Refuted if pairs break tanh with weights of deviation 1; conditional if only with less."""
    broken = [snooped for snooped in found if snooped.share >= BROKEN]
    verdict: Verdict = "holds conditionally" if broken else "holds"
    if any(snooped.unit_scale for snooped in broken):
        verdict = "does not hold"
    return Claim(
        "Section VIII",
        "The distortion withstands the attacks that break linear perturbations.",
        verdict,
        f"The linear distortion: {_D + 1} known pairs give every record to {exact:.1g}. tanh, "
        "share of the variance that a snoop explains by least squares: "
        + "; ".join(f"{snooped.share:.2f} ({snooped.what})" for snooped in found)
        + ".",
    )
