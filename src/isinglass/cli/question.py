"""Settings of a question that `ask` and `plan` share."""

from __future__ import annotations

from typing import Any, get_args

from isinglass.cli.options import ModeChoice

MODES: tuple[str, ...] = get_args(ModeChoice)


def check_question(
    mode: str, k: int | None, metric: str | None, p: float | None, *, count_query: bool = True
) -> int:
    """Refuse a setting that would be ignored; the k to ask with."""
    from isinglass.errors import CuratorError

    if k is not None and mode != "sensitive":
        raise CuratorError(f"--k goes with --mode sensitive; leave it out with --mode {mode}")
    if not count_query and mode != "sparse":
        raise CuratorError(
            f"--no-count-query goes with --mode sparse; --mode {mode} looks for the record itself"
        )
    if p is None and metric == "minkowski":
        raise CuratorError("--metric minkowski needs its power, --p")
    if p is not None and metric != "minkowski":
        raise CuratorError("--p is the power of --metric minkowski; leave it out of others")
    return 1 if k is None else k


def refuse_ignored(given: dict[str, Any]) -> None:
    """Refuse what a dry run would not do."""
    from isinglass.errors import CuratorError

    if ignored := [name for name, value in given.items() if value is not None]:
        raise CuratorError(
            f"--dry-run asks and writes nothing; leave {' and '.join(ignored)} for when you ask"
        )


def listed_modes(given: str, mode: str) -> list[str]:
    """The modes that a contract is to allow."""
    from isinglass.errors import CuratorError

    listed = [part.strip() for part in given.split(",")]
    if mode not in listed or not set(listed) <= set(MODES):
        raise CuratorError(
            f"--modes must list some of sparse, sensitive and dp, and --mode {mode} among them, "
            f"got {given}"
        )
    return listed
