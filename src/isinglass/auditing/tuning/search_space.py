"""Settings worth trying: every method by its command-line name, with its strength as one knob."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from isinglass.perturb.adaptive import AdaptiveNoise
from isinglass.perturb.base import Perturbation
from isinglass.perturb.distortion import Distortion
from isinglass.perturb.geometric import GeometricPerturbation
from isinglass.perturb.multiparty import MultipartyPerturbation
from isinglass.perturb.noise import AdditiveNoise, MultiplicativeNoise
from isinglass.perturb.projection import RandomProjection
from isinglass.perturb.rotation import Rotation


@dataclass(frozen=True, slots=True)
class Family:
    """A method with one knob and the strengths to begin with, weakest first."""

    kind: type[Perturbation]
    fixed: dict[str, Any]
    knob: str | None = None
    strengths: tuple[float, ...] = ()
    whole: bool = False  # the knob takes whole numbers


# Condensation is not here: its rows do not correspond to records, so nobody can say which of the
# outliers it keeps.
FAMILIES: dict[str, Family] = {
    "linear": Family(Distortion, {"activation": "identity"}),
    "tanh": Family(Distortion, {"activation": "tanh"}, "slope", (0.1, 0.3, 1, 3, 10)),
    "sigmoid": Family(Distortion, {"activation": "sigmoid"}, "slope", (0.3, 1, 3, 10)),
    "double_logistic": Family(Distortion, {"activation": "double_logistic"}, "slope", (0.3, 1, 3)),
    "square": Family(Distortion, {"activation": "square"}),
    "sign": Family(Distortion, {"activation": "sign"}),
    "multiparty": Family(MultipartyPerturbation, {}, "alpha", (0.01, 0.05, 0.1, 0.2, 0.4, 0.8)),
    "gaussian": Family(
        AdditiveNoise, {"distribution": "gaussian"}, "scale", (0.1, 0.25, 0.5, 1, 2, 4)
    ),
    "uniform": Family(
        AdditiveNoise, {"distribution": "uniform"}, "scale", (0.1, 0.25, 0.5, 1, 2, 4)
    ),
    "adaptive": Family(AdaptiveNoise, {}, "k", (3, 10, 30), whole=True),
    "multiplicative": Family(MultiplicativeNoise, {}, "scale", (0.1, 0.3, 1)),
    "rotation": Family(Rotation, {}),
    "geometric": Family(GeometricPerturbation, {}, "noise", (0.01, 0.03, 0.1, 0.3)),
    "projection": Family(RandomProjection, {}, "n_components", (0.25, 0.5, 0.75), whole=True),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One setting: a method and a value for its knob."""

    method: str
    value: float | int | None = None

    @property
    def family(self) -> Family:
        return FAMILIES[self.method]

    @property
    def setting(self) -> str:
        """The knob as it is typed; empty where a method has none."""
        return "" if self.family.knob is None else f"{self.family.knob}={self.value:g}"

    def perturbation(self) -> Perturbation:
        """The unfitted perturbation."""
        family = self.family
        knob = {} if family.knob is None else {family.knob: self.value}
        return family.kind(**family.fixed, **knob)

    def code(self) -> str:
        """The line that makes it."""
        arguments = [repr(v) for v in self.family.fixed.values()]
        arguments += [self.setting] if self.setting else []
        return f"ig.{self.family.kind.__name__}({', '.join(arguments)})"

    def command(self, table: str = "TABLE", options: Sequence[str] = ()) -> str:
        """The command that makes the release; `options` are words about the table's columns."""
        setting = ["--set", self.setting] if self.setting else []
        words = [table, *options, "-o", "RELEASE", "--method", self.method, *setting]
        return shlex.join(["isinglass", "release", *words])


def candidates(methods: str | Iterable[str], n_columns: int) -> list[Candidate]:
    """Every setting to begin with for the methods named, or for "all"."""
    names = list(FAMILIES) if methods == "all" else _listed(methods)
    return [
        Candidate(name, value)
        for name in names
        for value in _values(FAMILIES[name], n_columns)
        if n_columns > 1 or name not in ("rotation", "projection", "multiparty")
    ]


def _listed(methods: str | Iterable[str]) -> list[str]:
    names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if name not in FAMILIES:
            raise ValueError(f"methods must be 'all' or among {', '.join(FAMILIES)}, got {name!r}")
    return names


def _values(family: Family, n_columns: int) -> list[Any]:
    if family.knob is None:
        return [None]
    if family.knob == "n_components":  # shares of the columns
        return sorted({max(1, round(share * n_columns)) for share in family.strengths})
    return list(family.strengths)


def between(candidate: Candidate, others: Iterable[Candidate]) -> list[Candidate]:
    """Settings half way (in ratio) to the next weaker and stronger ones of the same method."""
    if candidate.value is None:
        return []
    values = sorted({c.value for c in others if c.method == candidate.method and c.value})
    found = []
    for value in values:
        middle: float = (value * candidate.value) ** 0.5
        rounded = round(middle) if candidate.family.whole else float(f"{middle:.2g}")
        near = [v for v in values if min(value, candidate.value) < v < max(value, candidate.value)]
        if not near and rounded not in (value, candidate.value):
            found.append(Candidate(candidate.method, rounded))
    return found
