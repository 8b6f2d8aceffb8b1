"""The same levels for rotation, distortion and multiparty releases, which the paper lacks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import KnownPairs, PopulationSample, PublicTable
from isinglass.attack.linkage import LinkageAttack
from isinglass.attack.map_estimate import MAPAttack
from isinglass.attack.sample import SampleAttack
from isinglass.auditing.context import public_parameters
from isinglass.chance import generator
from isinglass.errors import PrivacyWarning
from isinglass.measure.randomization import (
    average_level,
    levels_from_fits,
    randomization_level,
    worst_level,
)
from isinglass.perturb.base import Perturbation
from isinglass.perturb.distortion import Distortion
from isinglass.perturb.multiparty import MultipartyPerturbation
from isinglass.perturb.noise import AdditiveNoise
from isinglass.perturb.rotation import Rotation
from isinglass.progress import Progress
from isinglass_papers.core.draw import picture
from isinglass_papers.core.result import Claim, Figure, How, Number, Verdict
from isinglass_papers.randomization.levels import (
    Array,
    PaperPart,
    Row,
    base_set,
    deviations,
    seed_of,
    short,
)

Levels = NDArray[np.int64]

ALONE, RECOGNIZED = "public table", "public table and 2d pairs"
ROTATION, TANH, STEEP = "rotation", "distortion, tanh", "distortion, tanh, slope 3"
RMP_WEAK, RMP_STRONG = "multiparty, alpha 0.01", "multiparty, alpha 0.4"
NOISE = "gaussian noise, 8 deviations"

# Share of the records that are named, their level being 1, below which an attacker is withstood:
# noise of 8 deviations, which leaves him what chance does, has 1 %; several times that is no luck.
FEW = 0.05
KNOWN = 1.01  # an average level so low cannot fall

MAKERS: dict[str, Callable[[int], Perturbation]] = {
    NOISE: lambda seed: AdditiveNoise("gaussian", scale=8.0, random_state=seed),
    ROTATION: lambda seed: Rotation(optimize=None, random_state=seed),
    TANH: lambda seed: Distortion("tanh", random_state=seed),
    STEEP: lambda seed: Distortion("tanh", slope=3.0, random_state=seed),
    RMP_WEAK: lambda seed: MultipartyPerturbation(alpha=0.01, random_state=seed),
    RMP_STRONG: lambda seed: MultipartyPerturbation(alpha=0.4, random_state=seed),
}


def others(how: How, tell: Progress) -> PaperPart:
    """Levels by method, number of columns and attacker, on projections of one base set."""
    n = how.pick(400, 2000)
    dims: Sequence[int] = how.pick((5, 20), (5, 10, 20, 40, 75))
    paired = how.pick((5, 20), (5, 10, 20, 40))
    X = base_set("UniDis", n, seed_of(how.seed, 41)).X
    rows: list[Row] = []
    for i, d in enumerate(dims):
        for j, method in enumerate(MAKERS):
            tell("other methods", i * len(MAKERS) + j, len(dims) * len(MAKERS))
            seed = seed_of(how.seed, 42, d, j)
            for attacker in (ALONE, RECOGNIZED):
                if attacker == RECOGNIZED and (d not in paired or method == NOISE):
                    continue
                found = levels_of(X[:, :d], method, attacker, seed)
                rows.append(
                    {
                        "method": method, "attacker": attacker, "columns": d, "records": n,
                        "average": average_level(found), "worst": worst_level(found),
                        "named": float((found == 1).mean()),
                    }
                )  # fmt: skip
    return PaperPart(
        tuple(_numbers(rows, dims[-1], paired[-1])),
        _claims(rows, n, dims[-1], paired[-1]),
        (_figure(rows, n),),
    )


def levels_of(X: Array, method: str, attacker: str, seed: int) -> Levels:
    """Release a table and count, for each row not known before, who fits it as well as the truth.

    The attacker has the paper's public table, which holds every record, and the published
    parameters. Where those tell the law of the noise, fits are likelihoods. Otherwise he turns
    the release until it lies as the public table does, or estimates records by the public
    matrix; records are then ranked by their distance to the guess, in deviations. With known
    pairs, a map and its error are learned from them.
    """
    X = np.ascontiguousarray(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # bounds are learned, and known to all
        perturbation = MAKERS[method](seed)
        Z = perturbation.fit_transform(X)
    rng = generator(seed_of(seed, 1))
    known = PublicTable(X) | public_parameters(perturbation)
    if attacker == ALONE and method != NOISE:
        sample = public_parameters(perturbation) | PopulationSample(rng.permutation(X))
        attack = MAPAttack if perturbation.method == "multiparty" else SampleAttack
        guess = attack(random_state=seed_of(seed, 2)).guess(Z, sample)
        return randomization_level(X, guess, scale=deviations(X))
    rows = np.zeros(0, dtype=np.intp)
    if attacker == RECOGNIZED:
        rows = rng.choice(len(X), 2 * X.shape[1], replace=False)
        known = known | KnownPairs(rows, X[rows])
    attack_ = LinkageAttack(random_state=seed_of(seed, 3))
    counted = [
        levels_from_fits(fits, np.arange(block.start, block.stop))
        for block, fits in attack_.fits(Z, known)
    ]
    return np.delete(np.concatenate(counted), rows)


def _numbers(rows: list[Row], widest: int, paired: int) -> list[Number]:
    numbers = []
    for row in rows:
        if row["columns"] != (widest if row["attacker"] == ALONE else paired):
            continue
        for what, key in (("AR", "average"), ("share named", "named")):
            numbers.append(
                Number(
                    "beyond the paper",
                    f"{what}, {row['method']}, {row['columns']} columns, {row['attacker']}, "
                    f"{row['records']:,} records",
                    None, float(row[key]), note="not in the paper",
                )
            )  # fmt: skip
    return numbers


def _claims(rows: list[Row], n: int, widest: int, paired: int) -> tuple[Claim, ...]:
    found = {(str(r["method"]), str(r["attacker"]), int(r["columns"])): r for r in rows}

    def told(method: str, attacker: str, d: int) -> str:
        row = found[method, attacker, d]
        return f"AR {short(float(row['average']))}, {100 * float(row['named']):.0f} % named"

    def falls(method: str, attacker: str) -> bool:
        curve = [
            float(r["average"]) for (m, a, _), r in found.items() if (m, a) == (method, attacker)
        ]
        return curve[-1] < curve[0] or curve[-1] < KNOWN

    def named(method: str, attacker: str, d: int) -> float:
        return float(found[method, attacker, d]["named"])

    def withstood(*methods: str) -> Verdict:
        return _withstood(
            [named(m, ALONE, widest) for m in methods],
            [named(m, RECOGNIZED, paired) for m in methods],
        )

    # The claim about a rotation is one about the table alone.
    rotation = _withstood([named(ROTATION, ALONE, widest)], [])
    settings = (ROTATION, TANH, STEEP, RMP_WEAK, RMP_STRONG)
    learned = [m for m in settings if falls(m, RECOGNIZED)]
    every: Verdict = "holds conditionally" if learned else "does not hold"
    return (
        Claim(
            "beyond the paper",
            "A rotation withstands the paper's attacker, who holds the public table",
            rotation,
            f"{n:,} records, {widest} columns: rotation {told(ROTATION, ALONE, widest)} without "
            "one recognized row"
            + ("" if rotation == "holds" else ", since its axes lie as the public table does")
            + f"; noise of 8 deviations {told(NOISE, ALONE, widest)}",
        ),
        Claim(
            "beyond the paper",
            "A multiparty release withstands linkage to a public table",
            withstood(RMP_WEAK, RMP_STRONG),
            f"against the table alone, by the public matrix, {widest} columns of which half are "
            f"released: alpha 0.01 {told(RMP_WEAK, ALONE, widest)}; alpha 0.4 "
            f"{told(RMP_STRONG, ALONE, widest)}; with twice as many recognized rows as columns, at "
            f"{paired}: alpha 0.01 {told(RMP_WEAK, RECOGNIZED, paired)}; alpha 0.4 "
            f"{told(RMP_STRONG, RECOGNIZED, paired)}",
        ),
        Claim(
            "beyond the paper",
            "A tanh distortion withstands linkage to a public table",
            withstood(TANH, STEEP),
            f"against the table alone, by matching axes: {told(TANH, ALONE, widest)}, at slope 3 "
            f"{told(STEEP, ALONE, widest)}, at {widest} columns, where blind guessing has AR "
            f"{short((n + 1) / 2)}; with twice as many recognized rows as columns, at {paired}: "
            f"{told(TANH, RECOGNIZED, paired)}, at slope 3 {told(STEEP, RECOGNIZED, paired)}. "
            "Another attack may do better",
        ),
        Claim(
            "beyond the paper, after conclusion 3.1",
            "Levels fall as columns are added, for methods other than noise as well",
            "holds" if len(learned) == len(settings) else every,
            f"with 2d recognized rows AR falls from 5 to {paired} columns, or is 1, for "
            f"{len(learned)} of {len(settings)} settings: "
            + "; ".join(
                f"{m} {short(float(found[m, RECOGNIZED, 5]['average']))} to "
                f"{short(float(found[m, RECOGNIZED, paired]['average']))}"
                for m in settings
            ),
        ),
    )


def _withstood(alone: list[float], recognized: list[float]) -> Verdict:
    """One rule for every method, from the shares named at its settings by the two attackers.

    A method fails where the table alone names records at every setting, and withstands where
    nobody names them at any; in between it depends on the setting, or on what is recognized.
    """
    if min(alone) >= FEW:
        return "does not hold"
    return "holds" if max(alone + recognized) < FEW else "holds conditionally"


def _figure(rows: list[Row], n: int) -> Figure:
    spec = picture(
        "line", "columns", "average", color="method", panel="attacker", log="xy", columns=2,
        titles={"average": "average level (AR)", "method": ""},
    )  # fmt: skip
    return Figure(
        "other-methods",
        "The same levels for rotation, distortion and multiparty releases",
        f"{n:,} records uniform in a cube. Left, the paper's attacker: he holds a public table "
        "with all records and the published parameters. Right, he also recognizes twice as many "
        "rows as there are columns.",
        tuple(rows),
        spec,
    )
