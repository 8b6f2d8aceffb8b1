"""Verification of the guarantee of private models on this machine, without any table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

from isinglass import chance
from isinglass.detect.private.detector import PrivateDetector
from isinglass.detect.private.noise import ModelPrice
from isinglass.detect.private.verification.checks import (
    Check,
    check_exact_noise,
    check_fresh_noise,
    check_insertions,
    check_price,
    check_same_noise,
    check_whole_numbers,
    noise_of_tables,
)
from isinglass.detect.private.verification.floor import ERROR, Floor, Target, measure_floor
from isinglass.detect.private.verification.trial import counted_rounds, insert_records
from isinglass.epsilon import FEMTO, as_float, text
from isinglass.formats import number
from isinglass.progress import Progress, quiet
from isinglass.threads import as_scikit_learn

COLUMNS = 3
DRAWS = 4000
LEAST_DRAWS = 100  # with fewer, every floor is 0
MOST_DRAWS, MOST_COLUMNS = 10**8, 1000  # more would take days


@dataclass(frozen=True, slots=True)
class PrivacyVerification:
    """What attacks and checks found; `str` says it in lines.

    `epsilon_floor` and `rho_floor` are lower bounds of what one person loses, each wrong with a
    chance of at most `error_rate`; `rho` and its floor are None where the claim is pure epsilon.
    """

    price: ModelPrice
    columns: int
    floor: Floor
    companions: tuple[Check, ...]
    error_rate: float = ERROR

    @property
    def epsilon(self) -> float:
        return as_float(self.price.micro)

    @property
    def delta(self) -> float:
        return self.price.femto / FEMTO

    @property
    def rho(self) -> float | None:
        return None if self.price.rho is None else float(self.price.rho)

    @property
    def epsilon_floor(self) -> float:
        return self.floor.epsilon

    @property
    def rho_floor(self) -> float | None:
        return self.floor.rho

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks: the floors against the claim, and their companions."""
        claim = f"epsilon {text(self.price.micro)}"
        if not self.price.pure:
            claim += f" at delta {self.delta:g}"
        found = [_beside("epsilon", self.floor.epsilon, self.epsilon, claim)]
        if self.floor.rho is not None and self.rho is not None:
            found.append(_beside("rho", self.floor.rho, self.rho, f"rho {self.rho:.4g}"))
        return (*found, *self.companions)

    @property
    def passed(self) -> bool:
        """Whether no floor is above its claim, and every companion check holds."""
        return all(check.passed for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Settings and findings, for JSON."""
        return {
            "passed": self.passed,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "records_per_person": self.price.records,
            "columns": self.columns,
            "epsilon_floor": self.epsilon_floor,
            "rho": self.rho,
            "rho_floor": self.rho_floor,
            "error_rate": self.error_rate,
            "draws": self.floor.draws,
            "persons_planted": self.floor.persons,
            "checks": [asdict(check) for check in self.checks],
        }

    def __str__(self) -> str:
        width = max(len(check.name) for check in self.checks)
        return "\n".join(
            f"{check.name:<{width}}  {'holds' if check.passed else 'FAILS'}  {check.found}"
            for check in self.checks
        )


def verify_privacy(
    epsilon: Any = 1.0,
    delta: Any = 1e-6,
    bounds: Any = None,
    categories: Mapping[Any, Sequence[Any]] | None = None,
    *,
    steps: Mapping[Any, float] | None = None,
    log: Iterable[Any] = (),
    n_columns: int | None = None,
    records_per_person: int = 1,
    threshold_share: float | None = None,
    rounds: int = 2,
    draws: int = DRAWS,
    n_jobs: int | None = None,
    progress: Progress = quiet,
) -> PrivacyVerification:
    """Attack the noise of `PrivateDetector` at these settings, and check what it rests on.

    No table is read. Tables are made here, with and without planted records, counted by the code
    that counts yours, and noised; the best test between the two says how much somebody loses at
    least. That floor is never above a claim that holds (but for a chance of `ERROR`), and always
    below it: it finds errors, and proves nothing.

    Settings mean what they mean in `PrivateDetector`. Where `bounds` and `categories` name no
    columns, there are `n_columns` of them, of numbers unless declared otherwise. `draws` of the
    noise are made with planted records, as many without, and a quarter more to choose the test; a
    floor grows with their number.

    Examples
    --------
    >>> found = ig.verify_privacy(epsilon=1, n_columns=1, draws=200)
    >>> found.passed, 0 < found.rho_floor < found.rho
    (True, True)
    """
    draws = _whole("draws", draws, LEAST_DRAWS, MOST_DRAWS)
    names = _names(bounds, categories, n_columns)
    if bounds is None and len(names) > len(categories or {}):
        bounds = (0.0, 1.0)
    detector = PrivateDetector(
        epsilon,
        delta,
        bounds,
        categories,
        steps=steps,
        log=log,
        records_per_person=records_per_person,
        threshold_share=threshold_share,
        rounds=rounds,
    )
    layout, price = detector.priced(names)
    threads = as_scikit_learn(n_jobs)
    rng = chance.generator(0)  # of the tables alone, which are public; noise has no seed
    counted = counted_rounds(layout, price, rng, n_jobs=threads)
    seen = insert_records(counted, layout, rng, price.records)
    made = noise_of_tables(counted, layout, rng, n_jobs=threads, progress=progress)
    companions = (
        check_insertions(seen, price.records),
        check_price(counted, seen, price),
        check_same_noise(made),
        check_exact_noise(made, n_jobs=threads),
        check_fresh_noise(made),
        check_whole_numbers(made),
    )
    targets = [Target(r.noise, moved) for r, moved in zip(counted, seen.person, strict=True)]
    floor = measure_floor(
        targets,
        price.femto / FEMTO,
        draws,
        pure=price.pure,
        n_jobs=threads,
        progress=progress,
    )
    return PrivacyVerification(price, len(names), floor, companions)


def _names(
    bounds: Any, categories: Mapping[Any, Sequence[Any]] | None, n_columns: int | None
) -> list[str]:
    """The names of the columns: those that bounds and categories name, or their positions."""
    named = [*(bounds if isinstance(bounds, Mapping) else ()), *(categories or ())]
    if n_columns is not None:
        if any(isinstance(name, str) for name in named):
            raise ValueError("n_columns must be None where bounds or categories name the columns")
        return [str(j) for j in range(_whole("n_columns", n_columns, 1, MOST_COLUMNS))]
    return [str(name) for name in named] or [str(j) for j in range(COLUMNS)]


def _whole(name: str, value: Any, least: int, most: int) -> int:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= int(value) <= most:
        rule = f"{name} must be a whole number >= {least} and <= {most:,}"
        raise ValueError(f"{rule}, got {value!r}")
    return int(value)


def _beside(name: str, floor: float, claim: float, said: str) -> Check:
    """A floor beside its claim."""
    return Check(
        f"floor of {name}",
        floor <= claim,
        f"the strongest test shows at least {number(floor)}; the claim is {said}",
    )
