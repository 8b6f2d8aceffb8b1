"""Figure 10(c): the paper's index of saturation, and whether it says what attackers get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from isinglass import theory
from isinglass.attack.knowledge import KnownPairs
from isinglass.attack.known_input import KnownInputAttack
from isinglass.progress import Progress
from isinglass_papers.core.draw import Row, picture
from isinglass_papers.core.result import Claim, Figure, How, Number, Verdict
from isinglass_papers.core.variance import explained
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.inversion import undone
from isinglass_papers.distortion.lemmas import printed_square
from isinglass_papers.distortion.rules import Repeated, verdict_by_count
from isinglass_papers.distortion.setting import SIZE, ExperimentPart, network, seeds

_D = printed.ARCHIVE_COLUMNS
_PAIRS = 400
_HELD = 100  # records that the key's holder undoes
_LARGE = 200  # hidden units of the second network
_SHOWN = np.geomspace(0.01, 10, 31).tolist()
_LOW, _HIGH = printed.NEAR_ORIGIN, 3.0  # ranges of the data that the claim compares
#: An index from 0 to 1 is very low in its first quarter.
VERY_LOW = 0.25
#: Privacy is not high where somebody explains more than half of the variance.
HALF = 0.5


@dataclass(frozen=True, slots=True)
class ExplainedShares:
    """Shares of variance explained over keys: by known pairs, and by the key itself."""

    pairs: Repeated
    large: Repeated  # the same pairs against the larger network
    key: Repeated


def saturation(how: How, tell: Progress) -> ExperimentPart:
    """The bound by the range of the data, and what attackers get there."""
    ranges = how.pick((0.1, 1.0, 3.0), (0.03, 0.1, 0.3, 1.0, 3.0, 10.0))
    keys = seeds(how, 83, how.pick(3, printed.TRIALS))
    found = {}
    for at, range_ in enumerate(ranges):
        tell("attacks by range", at, len(ranges))
        found[range_] = _attacked(how, range_, keys)
    rows: list[Row] = []
    for sigma_a in (0.0, 1.0):
        what = f"index, sigma_a = {sigma_a:g}"
        for range_ in _SHOWN:
            index = _index(range_, sigma_a)
            rows.append(_row(round(range_, 5), what, index, index, index))
    drawn: tuple[tuple[str, Callable[[ExplainedShares], Repeated]], ...] = (
        (f"{_PAIRS} pairs, m = p = {SIZE}", lambda a: a.pairs),
        (f"{_PAIRS} pairs, m = p = {_LARGE}", lambda a: a.large),
        (f"the key, m = p = {SIZE}", lambda a: a.key),
    )
    part = ExperimentPart()
    for what, taken in drawn:
        for range_, attacked in found.items():
            share = taken(attacked)
            rows.append(_row(range_, what, share.mean, share.low, share.high))
            part.numbers.append(
                Number(
                    "Figure 10(c)",
                    f"variance explained at range {range_:g}, {what}",
                    None,
                    share.mean,
                    share.low,
                    share.high,
                    f"mean and one standard deviation over {len(keys)} keys; the paper draws the "
                    "bound alone",
                )
            )
    part.figures.append(
        Figure(
            "figure-10c",
            "Figure 10(c): the bound by the range of the data, and what attackers get",
            f"The paper's measure of privacy, corrected, for data in [0, range]^{_D}, in closed "
            "form; beside it the share of variance that a snoop with known pairs and a holder of "
            f"the key explain: mean and one standard deviation over {len(keys)} keys "
            f"({_records(how):,} random records, the key tried on {_HELD} of them; sigma_a = 0; a "
            "guess worse than the mean record counts as 0). The index knows nothing of m and p.",
            tuple(rows),
            picture(
                "line",
                "range",
                "value",
                color="what",
                band=("low", "high"),
                log="x",
                titles={
                    "range": "range of the data",
                    "value": "index, share of variance",
                    "what": "",
                },
            ),
        )
    )
    part.numbers += [
        Number(
            "Figure 10(c)",
            f"index at range {range_:g}, sigma_a = 0",
            None,
            _index(range_),
            note="the paper prints no value; it is a saturation index, not a probability",
        )
        for range_ in (_LOW, 10.0)
    ]
    part.claims += [
        range_claim(*([_index(r, sigma_a) for r in _SHOWN] for sigma_a in (0.0, 1.0))),
        meaning_claim((_index(_LOW), _index(_HIGH)), found[_LOW], found[_HIGH]),
    ]
    return part


def _row(range_: float, what: str, value: float, low: float, high: float) -> Row:
    return {"range": range_, "value": value, "low": low, "high": high, "what": what}


def _index(range_: float, sigma_a: float = 0.0) -> float:
    return theory.saturation_index(range_, _D, 1.0, sigma_a)


def range_claim(plain: Sequence[float], offset: Sequence[float]) -> Claim:
    """Growing with the range from very low near the origin: without an offset, with it, or not.

    The index at every range shown, for sigma_a = 0 and for sigma_a = 1.
    """
    at = int(np.argmin(np.abs(np.asarray(_SHOWN) - _LOW)))
    said = [curve[at] <= VERY_LOW and bool((np.diff(curve) > 0).all()) for curve in (plain, offset)]
    wrong = printed_square(_SHOWN[-1] * sqrt(_D / 3))
    return Claim(
        "Figure 10(c)",
        "The bound is very low for data within 0.1 of the origin and grows with their range.",
        verdict_by_count(sum(said), len(said), none="does not hold"),
        f"{plain[at]:.3f} at range {_SHOWN[at]:.2g} and {plain[-1]:.3f} at {_SHOWN[-1]:g} if "
        f"sigma_a = 0; {offset[at]:.3f} and {offset[-1]:.3f} if sigma_a = 1. As printed, it would "
        f"reach {wrong:,.0f}.",
    )


def meaning_claim(index: tuple[float, float], near: ExplainedShares, far: ExplainedShares) -> Claim:
    """The two readings: a chance of success falls nowhere; high privacy stops every attacker.

    The first fails if pairs explain less, beyond chance, where the index is larger; the second if
    somebody explains more than half at the larger index.
    """
    rises = index[1] > index[0]
    falls = near.pairs.above(far.pairs) if rises else far.pairs.above(near.pairs)
    most = max(far.large.mean, far.key.mean, far.pairs.mean)
    against = falls + (most > HALF)
    verdicts: tuple[Verdict, ...] = ("holds", "holds conditionally", "does not hold")
    return Claim(
        "Section VII-A, Figure 10(c)",
        "The bound is proportional to the chance of a successful attack, and near 1 it means "
        "high privacy.",
        verdicts[against],
        f"From range {_LOW:g} to {_HIGH:g} the index goes from {index[0]:.2f} to {index[1]:.2f}, "
        f"and what {_PAIRS} known pairs explain of the variance from {near.pairs.mean:.2f} ± "
        f"{near.pairs.deviation:.2f} to {far.pairs.mean:.2f} ± {far.pairs.deviation:.2f}"
        + (": the other way" if falls else "")
        + f". At the same index they explain {far.large.mean:.2f} ± {far.large.deviation:.2f} if "
        f"m = p = {_LARGE}, and the key's holder {far.key.mean:.2f} ± {far.key.deviation:.2f} "
        f"({far.key.keys} keys). We report it as a saturation index.",
    )


def _records(how: How) -> int:
    return int(how.pick(900, 2000))


def _attacked(how: How, range_: float, keys: Sequence[int]) -> ExplainedShares:
    """What known pairs, and the key, explain of random records in [0, range]^d."""
    cube = np.random.default_rng(how.seed + 3).random((_records(how), _D))
    known = KnownPairs(np.arange(_PAIRS), cube[:_PAIRS])
    shares: dict[int, list[float]] = {SIZE: [], _LARGE: []}
    held = []
    for key in keys:
        for size, found in shares.items():
            # Records in [0, range]^d under weights of deviation 1 are those in the unit cube
            # under weights of deviation `range`.
            made = network("tanh", seed=key, size=size, sigma_w=range_, sigma_a=0.0)
            released = made.fit_transform(cube)
            guess = KnownInputAttack("ridge").guess(released, known)[_PAIRS:]
            found.append(max(0.0, explained(guess, cube[_PAIRS:])))
            if size == SIZE:
                back = undone(made, cube[:_HELD])
                held.append(max(0.0, explained(back, cube[:_HELD])))
    return ExplainedShares(*(Repeated.of(found) for found in (shares[SIZE], shares[_LARGE], held)))
