"""What the key's holder, and a snoop with known pairs, get back."""

from __future__ import annotations

import numpy as np

from isinglass.attack.knowledge import KnownPairs, StolenKey
from isinglass.attack.known_input import KnownInputAttack
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.perturb.distortion import Distortion
from isinglass.progress import Progress
from isinglass.reproduce.distortion import printed
from isinglass.reproduce.distortion.setting import Array, Part, Table, network, seeds
from isinglass.reproduce.draw import Row, picture
from isinglass.reproduce.result import Claim, Figure, How, Number
from isinglass.reproduce.variance import explained

_D = printed.ARCHIVE_COLUMNS
_SLOPES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_SIZES = (29, 60)


def undone(made: Distortion, records: Array) -> Array:
    """The records as the key's holder gets them back, who knows that they lie in [0, 1]."""
    return np.clip(made.undo(made.transform(records)), 0, 1)


def inversion(how: How, tell: Progress, table: Table) -> Part:
    """Undo with the key, and learn the way back from pairs."""
    part = Part()
    tell("undoing", 0, 2)
    _undo(how, part, table)
    tell("undoing", 1, 2)
    _pairs(how, part, table)
    return part


def _undo(how: How, part: Part, table: Table) -> None:
    """With the key: tanh comes back whenever no unit saturates beyond a float's digits."""
    rng = np.random.default_rng(how.seed)
    records = rng.random((how.pick(60, 300), _D))
    key = seeds(how, 80, 1)[0]
    rows: list[Row] = []
    errors = {}
    for size in _SIZES:
        for slope in _SLOPES:
            made = network("tanh", seed=key, size=size, slope=slope)
            error = float(np.median(np.abs(undone(made.fit(records), records) - records)))
            errors[size, slope] = error
            rows.append({"slope": slope, "error": max(error, 1e-17), "units": f"m = p = {size}"})
    part.figures.append(
        Figure(
            "inverse",
            "What the key gives back, by slope",
            f"Median error of records in [0, 1]^{_D} (blind guess: 0.25) when the key's holder "
            "undoes a tanh distortion. Nothing is lost but digits: steep units saturate, and more "
            "hidden units make up for it.",
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
    real = table.X[: len(records)]
    made = network("tanh", seed=key, size=60)
    flown = float(np.median(np.abs(undone(made.fit(real), real) - real)))
    thin = network("tanh", seed=key, size=15)
    few = float(np.median(np.abs(undone(thin.fit(records), records) - records)))
    fold = network("square", seed=key, size=60)
    attack = StolenKeyAttack(n_simulated=how.pick(500, 2000), random_state=key)
    squared = explained(attack.guess(fold.fit_transform(records), StolenKey(fold)), records)
    for size in _SIZES:
        part.numbers.append(
            Number(
                "Section VIII",
                f"median error of records in [0, 1]^{_D} undone with the key, m = p = {size}",
                None,
                errors[size, 1.0],
                note="the paper says that tanh cannot be inverted",
            )
        )
    part.claims.append(
        Claim(
            "Sections I, VIII",
            "The tanh distortion cannot be inverted, even by those who know it.",
            "does not hold",
            f"With the key, records in [0, 1]^{_D} come back to a median error of "
            f"{errors[29, 1.0]:.1g} (m = p = 29) and {errors[60, 1.0]:.1g} (60), {table.named} to "
            f"{flown:.1g}. Lost for good is only what fewer hidden units than columns leave out "
            f"(15 units: error {few:.2f}, where a blind guess has 0.25), what a float cannot hold "
            f"(slope 16: error {errors[29, 16.0]:.1g} and {errors[60, 16.0]:.1g}), and what f "
            f"folds (square: regression with the key explains {squared:.2f} of the variance).",
        )
    )


def _pairs(how: How, part: Part, table: Table) -> None:
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
        found.append(explained(guess, records[pairs:]))
        part.numbers.append(
            Number(
                "Section VIII",
                f"variance explained by a snoop, {what}",
                None,
                found[-1],
                note="the paper says that its distortion withstands such attacks",
            )
        )
    part.claims.append(
        Claim(
            "Section VIII",
            "The distortion withstands the attacks that break linear perturbations.",
            "does not hold",
            f"The linear distortion: {_D + 1} known pairs give every record to {exact:.1g}. tanh: "
            f"least squares explain {found[0]:.2f} of the variance of random records at sigma_w = "
            f"0.1 and {found[1]:.2f} at 1 (ridge {found[2]:.2f}); of {table.named}, whose columns "
            f"move together, {found[3]:.2f}, and the best model {found[4]:.2f}.",
        )
    )
