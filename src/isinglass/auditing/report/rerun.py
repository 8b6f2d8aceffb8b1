"""Command or code line that runs an audit or a search again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from isinglass.auditing.findings import Findings

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier

#: Arguments that a line of code can only name, and what stands behind the names.
NAMED = {
    "perturbation": "what made the release",
    "made_by": "what makes releases alike, without a key",
    "detector": "what looked for the outliers",
    "attacks": "the attacks that were asked for",
    "knowledge": "the facts that every attack was given",
    "labels": "1 for records known to be anomalies",
    "column_names": "the columns' names",
    "weights": "how much each column matters",
    "parameters": "what is public about the release's method",
    "kept": "the columns that left as they were",
    "table_kept": "the same columns of the table's own rows",
    "other_releases": "the further releases of the same rows",
    "other_parameters": "what is public about each of them",
    "persons": "whose record each row is",
    "perhaps_persons": "a column that may say whose record each row is",
    "policy": "the demands",
}
_NUMBERS = (
    "n_trials", "most_pairs", "rows_correspond", "order_known", "order_shows", "id_released",
    "random_state",
)  # fmt: skip
#: Arguments that only an audit of files gives, which `ig.audit` does not take.
INNER = {
    "made_by", "table_kept", "other_parameters", "order_shows", "id_released", "perhaps_persons",
}  # fmt: skip


def names_given(arguments: Mapping[str, Any]) -> list[str]:
    """Which of an audit's arguments were given, and so belong into the line by their names."""
    return [name for name in NAMED if not _is_default(arguments[name])]


def _is_default(value: Any) -> bool:
    if isinstance(value, str):
        return value == "auto"
    return value is None or (isinstance(value, Sequence) and not len(value))


def audit_lines(findings: Findings, *, public: bool = False) -> list[str]:
    """The command where there was one; else a line of code, after what its names stand for.

    The public edition has no command, for it names the owner's files, and no seed.
    """
    settings = findings.settings
    seed = settings.get("random_state")
    command = settings.get("command")
    if isinstance(command, str) and not public:
        if "--seed" in command or seed is None:
            return [f"$ {command}"]
        if command.startswith("isinglass audit "):
            return [f"$ {command} --seed {seed}"]
        return [f"# the audit drew its own seed, {seed}", f"$ {command}"]
    if isinstance(settings.get("code"), str) and not public:
        return [str(settings["code"])]
    names = [name for name in settings.get("given", ()) if name in NAMED]
    if findings.n_trials > 1 and "perturbation" not in names:
        names.insert(0, "perturbation")  # it draws the keys
    values = {name: settings[name] for name in _NUMBERS if settings.get(name) is not None}
    if "detector" not in names and findings.detection.n_outliers:
        values["n_outliers"] = findings.detection.n_outliers
    for name in ("order_known", "order_shows"):
        if values.get(name):
            del values[name]  # as it is where nothing is said
    if not values.get("id_released"):
        values.pop("id_released", None)
    if public:
        values.pop("random_state", None)
    arguments = [f"{name}={name}" for name in names] + [f"{n}={v!r}" for n, v in values.items()]
    inner = bool({*names, *values} & INNER)
    call = "audit_arrays" if inner else "ig.audit"
    return [
        "# table, release: arrays, one record a row",
        *(f"# {name}: {NAMED[name]}" for name in names),
        *(["from isinglass.auditing.audit import audit_arrays"] if inner else []),
        f"report = {call}({', '.join(['table', 'release', *arguments])})",
    ]


def tune_lines(found: Frontier) -> list[str]:
    """The command of a search with its seed, or the line of code."""
    settings = found.settings
    seed, command = settings.get("random_state"), settings.get("command")
    if isinstance(command, str):
        drawn = "" if "--seed" in command or seed is None else f" --seed {seed}"
        return [f"$ {command}{drawn}"]
    methods = list(dict.fromkeys(p.method for p in found.points))
    wanted = settings.get("attacks", "auto")
    values = {
        "min_detection": found.min_detection,
        "max_attack_gain": found.max_attack_gain,
        "attacker": None if found.attacker == "insider" else found.attacker,
        "min_auc": found.min_auc,
        "quick": settings.get("quick") or None,
        "thorough": settings.get("thorough") or None,
        "most_pairs": settings.get("most_pairs"),
        "n_outliers": settings.get("n_outliers"),
        "random_state": seed,
    }
    arguments = [f"{n}={v!r}" for n, v in values.items() if v is not None]
    names = [] if wanted == "auto" else ["attacks"]
    names += ["labels"] if settings.get("labels") else []
    arguments += [f"{name}={name}" for name in names]
    return [
        "# table: an array, one record a row",
        *(f"# {name}: {NAMED[name]}" for name in names),
        f"frontier = ig.tune(table, {methods!r}, {', '.join(arguments)})",
    ]
