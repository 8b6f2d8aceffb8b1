"""Construction of a curator from its settings: question, contract, and table in its space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isinglass.curate.ledger.contract import Contract, known_sensitive
from isinglass.curate.mechanisms.mechanism import Mechanism
from isinglass.curate.questions.base import Question
from isinglass.curate.questions.builtin import Present, Sensitive, Sparse
from isinglass.curate.records import Array, read, refuse_holes
from isinglass.curate.space import Space
from isinglass.errors import CuratorError, TableError

MODES = ("sparse", "sensitive", "dp")


def question_for(
    mode: Any, beta: float | None, r: float | None, k: int, count_query: bool
) -> Question:
    """The question of `mode`, which may be a name, a question or a compiled mechanism."""
    if isinstance(mode, Mechanism | Question):
        from isinglass.curate.mechanisms.compiler import Compiled, CompiledMechanism

        if isinstance(mode, Compiled):
            raise ValueError(
                "mode must be the compiled mechanism itself, which has its own chances"
            )
    if isinstance(mode, Mechanism):
        if not isinstance(mode, CompiledMechanism):
            raise ValueError(
                "mode may be a mechanism only where compile_mechanism made it; of any other give "
                f"the question, got one for {mode.question.name!r}"
            )
        if beta is not None or r is not None:
            raise ValueError("beta and r must be None where mode is a mechanism, which has its own")
        return mode.question
    if isinstance(mode, Question):
        if beta is not None or r is not None:
            raise ValueError("beta and r must be None where mode is a Question, which has its own")
        if mode.name in MODES and type(mode) not in (Sparse, Sensitive, Present):
            # A stored answer is found by its mode's name.
            raise ValueError(f"a Question of your own must have a name of its own, got {mode.name}")
        return mode
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, or a Question, got {mode!r}")
    missing = [name for name, value in (("beta", beta), ("r", r)) if value is None]
    if beta is None or r is None:
        raise CuratorError(
            f"{' and '.join(missing)} must be given: a rule known in advance, or chosen on public "
            "data, never read off the private table"
        )
    # The questions round beta down.
    if mode == "sparse":
        return Sparse(beta, r, count_query)  # type: ignore[arg-type]
    if mode == "dp":
        return Present(beta, r)  # type: ignore[arg-type]
    return Sensitive(beta, r, k)  # type: ignore[arg-type]


def contract_for(
    question: Question,
    space: Space,
    *,
    cap: int,
    user_cap: int | None,
    modes: Sequence[str] | None,
    records_per_person: int,
    also_released: bool,
) -> Contract:
    """The terms under which this curator asks."""
    allowed = (question.name,) if modes is None else tuple(modes)
    if isinstance(modes, str) or question.name not in allowed:
        raise ValueError(f"modes must be a list with {question.name} in it, got {modes!r}")
    whole = isinstance(records_per_person, int) and not isinstance(records_per_person, bool)
    if not (whole and records_per_person >= 1):
        raise ValueError(
            f"records_per_person must be a whole number >= 1, got {records_per_person}"
        )
    least: dict[str, Any] = {}
    own_rule = question.privacy == "sensitive" and question.k is None
    if question.privacy == "sensitive":
        least = {"beta_max": question.beta, "r_min": question.r}
        least |= {"rule": question.name} if own_rule else {"k_min": question.k}
    if own_rule or question.privacy == "differential":
        others = [name for name in allowed if name != question.name and known_sensitive(name)]
        if others:
            raise ValueError(
                f"modes may allow {others[0]} only where mode is sensitive, whose k, beta and r "
                f"the contract then fixes, got mode {question.name}"
            )
    return Contract(
        cap=cap,
        modes=allowed,
        columns=space.columns,
        metric=space.metric_json(),
        scaling=space.scaling_json(),
        records_per_person=records_per_person,
        user_cap=user_cap,
        also_released=bool(also_released),
        **least,
    )


def first_terms(cap: int | None) -> Contract:
    """Default contract for a ledger's first use; raise CuratorError if no budget is given."""
    if cap is None:
        raise CuratorError(
            "budget must be given when a ledger is first used: the most that is ever spent at one "
            "place"
        )
    return Contract(cap, (), (), {})


def table_in_space(
    table: Any,
    columns: Sequence[str] | None,
    space: Space | None,
    *,
    bounds: Any,
    metric: str | None,
    p: float | None,
    weights: ArrayLike | None,
) -> tuple[Array, Space]:
    """The places of the table's records, and the space they are in."""
    if space is not None:
        if not (bounds is None and metric is None and p is None and weights is None):
            raise CuratorError(
                "space brings its scaling and distance: leave bounds, metric, p and weights out"
            )
        if columns is not None and tuple(columns) != space.columns:
            raise CuratorError("columns must be those of the space, in its order")
        columns = space.columns
    found = read(table, columns, what="table")
    if found.single:
        raise TableError("a table must have two dimensions, got one record")
    if space is None:
        names = columns or found.names or found.rows.shape[1]
        space = Space.declare(
            names, bounds=bounds, metric=metric or "euclidean", p=p, weights=weights
        )
    refuse_holes(found.rows, space.columns, "table", TableError)
    space.refuse_planned_on(found.rows)
    try:
        return space.places(np.ascontiguousarray(found.rows)), space
    except ValueError as error:
        raise TableError(str(error).replace("records", "table", 1)) from None
