"""Names of the perturbation methods, and what must be known of them without loading one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """Where a method is defined, and what a help page and an attacker know of it.

    Help must appear at once and attacks never load a perturbation, so these facts stand here; the
    class declares everything else.
    """

    file: str  # of isinglass/perturb
    method: str  # what releases and key files call it: the class's `method`
    help: str
    #: Released column j is the table's column j, in its units, with row i for record i.
    keeps_units: bool = False


#: The names by which a perturbation can be asked for, in the order in which they are shown.
METHODS: dict[str, MethodEntry] = {
    "linear": MethodEntry("distortion", "distortion", "mixes columns by secret matrices"),
    "tanh": MethodEntry("distortion", "distortion", "mixes columns and bends them by tanh"),
    "sigmoid": MethodEntry("distortion", "distortion", "mixes columns and bends them by a sigmoid"),
    "double_logistic": MethodEntry(
        "distortion", "distortion", "mixes columns and flattens them around the center"
    ),
    "square": MethodEntry("distortion", "distortion", "mixes columns and squares them"),
    "sign": MethodEntry("distortion", "distortion", "mixes columns and keeps only signs"),
    "multiparty": MethodEntry(
        "multiparty", "multiparty", "mixes columns by a public matrix, altered in private"
    ),
    "gaussian": MethodEntry(
        "noise", "additive_noise", "adds normal noise to each value", keeps_units=True
    ),
    "uniform": MethodEntry(
        "noise", "additive_noise", "adds uniform noise to each value", keeps_units=True
    ),
    "adaptive": MethodEntry(
        "adaptive", "adaptive_noise", "adds more noise to records that stand apart",
        keeps_units=True,
    ),
    "multiplicative": MethodEntry(
        "noise", "multiplicative_noise", "multiplies each value by a number near one",
        keeps_units=True,
    ),
    "rotation": MethodEntry("rotation", "rotation", "rotates the table about a secret center"),
    "geometric": MethodEntry(
        "geometric", "geometric", "rotates and shifts the table and adds a little noise"
    ),
    "projection": MethodEntry("projection", "projection", "projects the table to fewer columns"),
    "condensation": MethodEntry(
        "condensation", "condensation", "replaces groups of records by new ones like them"
    ),
}  # fmt: skip

#: Methods whose releases stay in the table's columns and units, by the names releases carry.
UNIT_KEEPING = frozenset(entry.method for entry in METHODS.values() if entry.keeps_units)
