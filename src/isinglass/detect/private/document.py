"""Private model as a document: what scoring needs, checked number by number when it is read.

Terms, minus the logarithms of probabilities, are kept as the whole numbers that scores add, so
that a model scores alike wherever it is read. Tables of scaled cells and directions of projections
are not kept: everybody makes them anew, from whole numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import field_checks
from isinglass.detect.private.columns import CategoryColumn, NumberColumn, PublicColumn
from isinglass.detect.private.layout import BINS, PROJECTIONS, SEED, Layout
from isinglass.detect.private.model import LARGEST_SCORE, UNIT, Densities, PrivateModel, terms_of
from isinglass.detect.private.projections import FINE
from isinglass.documents import canonical_json, read_json
from isinglass.epsilon import FEMTO, MOST
from isinglass.errors import ModelError
from isinglass.kernels.grid import CELLS, FAN

FORMAT = "isinglass-private-model-1"
MOST_COLUMNS = 1024  # each needs a table of 256 KiB when records are scored
MOST_VALUES = 10_000  # of a column of categories
LONGEST_TEXT = 1_000  # of a column's name, or of a category
MOST_RECORDS = 10**6  # of one person
MOST_NUMBERS = 600_000  # of a whole document; none of 4 MiB that we write has more
_LARGEST_TERM = 64 * UNIT  # of a probability of e^-64, far below what counts can say
_FIELDS = {
    "format", "columns", "rounds", "projections", "seed", "epsilon_millionths", "delta_1e15",
    "records_per_person", "threshold_share", "threshold", "n_estimated", "middle", "half",
    "terms", "category_terms", "projection_middle", "projection_half", "projection_terms",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelDocument:
    """A model, the settings it was made by, and its threshold; all of it may leave."""

    model: PrivateModel
    micro: int
    femto: int
    records_per_person: int
    threshold_share: float | None
    threshold: float | None


def write_document(found: ModelDocument) -> bytes:
    """The bytes of `model.json`."""
    model = found.model
    layout = model.layout
    if len(layout.columns) > MOST_COLUMNS:
        raise ModelError(f"a model file takes at most {MOST_COLUMNS:,} columns")
    for column in layout.columns:
        _refuse_unwritable(column)
    if found.records_per_person > MOST_RECORDS:
        raise ModelError(f"a model file takes at most {MOST_RECORDS:,} records a person")
    return canonical_json(
        {
            "format": FORMAT,
            "columns": [column_facts(column) for column in layout.columns],
            "rounds": layout.rounds,
            "projections": layout.most_projections,
            "seed": layout.seed,
            "epsilon_millionths": found.micro,
            "delta_1e15": found.femto,
            "records_per_person": found.records_per_person,
            "threshold_share": found.threshold_share,
            "threshold": found.threshold,
            "n_estimated": model.n_estimated,
            "middle": _list(model.columns.middle),
            "half": _list(model.columns.half),
            "terms": terms_of(model.columns.p).tolist(),
            "category_terms": [terms_of(p).tolist() for p in model.categories],
            "projection_middle": _list(model.projections.middle),
            "projection_half": _list(model.projections.half),
            "projection_terms": terms_of(model.projections.p).tolist(),
        }
    )


def read_document(data: bytes) -> ModelDocument:
    """What `write_document` wrote; a ValueError says what is wrong with anything else."""
    facts = field_checks.section(read_json(data, most_values=MOST_NUMBERS), "the model")
    if facts.get("format") != FORMAT:
        raise ValueError("model.json is of a kind or a version not known here")
    if set(facts) != _FIELDS:
        raise ValueError("model.json does not say what a model needs")
    layout = Layout(
        _columns(facts["columns"]),
        field_checks.whole(facts["rounds"], "rounds", least=1, most=2),
        field_checks.whole(facts["projections"], "projections", least=1, most=PROJECTIONS),
        field_checks.word(facts["seed"], "seed"),
    )
    if layout.seed != SEED:
        raise ValueError("seed must be that of all models")
    n, T = len(layout.numbers), layout.n_projections
    one_round = layout.rounds == 1
    columns = Densities(
        _probabilities(facts["terms"], n, BINS + 1, "terms"),
        *_scale(facts, "middle", "half", n),
    )
    listed = facts["category_terms"]
    if not isinstance(listed, list) or len(listed) != len(layout.categories):
        raise ValueError("category_terms must be a list for each column of categories")
    categories = tuple(
        _probabilities([terms], 1, column.n_cells, "category_terms")[0]
        for terms, column in zip(listed, layout.categories, strict=True)
    )
    p = _probabilities(facts["projection_terms"], T, BINS, "projection_terms")
    if one_round and T:
        projections = Densities(p, *_scale(facts, "projection_middle", "projection_half", T))
    elif facts["projection_middle"] is None and facts["projection_half"] is None:
        projections = Densities(p)
    else:
        raise ValueError("projections must not have a middle where columns are scaled")
    n_estimated = _within(facts["n_estimated"], "n_estimated", 0, 1e18)
    share, threshold = facts["threshold_share"], facts["threshold"]
    return ModelDocument(
        PrivateModel(layout, n_estimated, columns, categories, projections),
        field_checks.whole(facts["epsilon_millionths"], "epsilon", least=1, most=MOST),
        field_checks.whole(facts["delta_1e15"], "delta", most=FEMTO - 1),
        field_checks.whole(
            facts["records_per_person"], "records_per_person", least=1, most=MOST_RECORDS
        ),
        None if share is None else _within(share, "threshold_share", 0, 0.5),
        None if threshold is None else _within(threshold, "threshold", 0, LARGEST_SCORE),
    )


def column_facts(column: PublicColumn) -> dict[str, Any]:
    """What was declared of a column, for the document and the card."""
    if isinstance(column, CategoryColumn):
        return {"name": column.name, "categories": list(column.values)}
    return {
        "name": column.name, "low": column.low, "high": column.high, "step": column.step,
        "log": column.log,
    }  # fmt: skip


def _refuse_unwritable(column: PublicColumn) -> None:
    """Refuse what a reader of the document would refuse, before anything is written."""
    if len(column.name) > LONGEST_TEXT:
        raise ModelError(f"a column's name must have at most {LONGEST_TEXT:,} characters")
    if not isinstance(column, CategoryColumn):
        return
    if len(column.values) > MOST_VALUES:
        raise ModelError(f"column {column.name} has more than {MOST_VALUES:,} categories")
    if not all(_is_value(value) for value in column.values):
        raise ModelError(
            f"the categories of column {column.name} must be texts, finite numbers, true or false "
            "to be written into a file"
        )


def _is_value(value: Any) -> bool:
    if type(value) in (str, bool):
        return not isinstance(value, str) or len(value) <= LONGEST_TEXT
    return type(value) in (int, float) and field_checks.is_number(value) and abs(value) < 1e18


def _columns(given: Any) -> tuple[PublicColumn, ...]:
    if not isinstance(given, list) or not 0 < len(given) <= MOST_COLUMNS:
        raise ValueError(f"columns must be a list of 1 to {MOST_COLUMNS:,}")
    found = tuple(_column(facts) for facts in given)
    if len({column.name for column in found}) < len(found):
        raise ValueError("columns must have different names")
    return found


def _column(given: Any) -> PublicColumn:
    facts = field_checks.section(given, "each column")
    name = field_checks.word(facts.get("name"), "a column's name", longest=LONGEST_TEXT)
    if set(facts) == {"name", "categories"}:
        values = facts["categories"]
        if not isinstance(values, list) or not 0 < len(values) <= MOST_VALUES:
            raise ValueError(f"categories must be a list of 1 to {MOST_VALUES:,} values")
        if not all(_is_value(value) for value in values):
            raise ValueError("categories must be texts, numbers, true or false")
        return CategoryColumn(name, tuple(values))
    if set(facts) != {"name", "low", "high", "step", "log"}:
        raise ValueError("each column must have its bounds or its categories")
    step = facts["step"]
    return NumberColumn(
        name,
        field_checks.number(facts["low"], "low"),
        field_checks.number(facts["high"], "high"),
        None if step is None else field_checks.number(step, "step"),
        field_checks.flag(facts["log"], "log"),
    )


def _list(values: NDArray[np.int64] | None) -> list[int] | None:
    return None if values is None else values.tolist()


def _within(value: Any, field: str, least: float, most: float) -> float:
    found = field_checks.number(value, field)
    if not least <= found <= most:
        raise ValueError(f"{field} must be >= {least:g} and <= {most:g}")
    return found


def _wholes(given: Any, n: int, field: str, most: int) -> NDArray[np.int64]:
    if not isinstance(given, list) or len(given) != n:
        raise ValueError(f"{field} must be a list of {n:,} numbers")
    return np.array([field_checks.whole(v, field, most=most) for v in given], dtype=np.int64)


def _scale(
    facts: dict[str, Any], middle: str, half: str, n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Middles and half widths that lie within the grid, as those of fitted models do."""
    most = CELLS * FINE
    found = _wholes(facts[middle], n, middle, most), _wholes(facts[half], n, half, most)
    if (found[1] < FAN // 2 * FINE).any():
        raise ValueError(f"{half} must be at least half of a leaf")
    return found


def _probabilities(given: Any, n: int, bins: int, field: str) -> NDArray[np.float64]:
    """Probabilities whose terms are exactly those given: `terms_of` is their inverse."""
    rows: Sequence[Any] = given if isinstance(given, list) else ()
    if not isinstance(given, list) or len(rows) != n:
        raise ValueError(f"{field} must be a list for each of {n:,}")
    terms = np.array([_wholes(row, bins, field, _LARGEST_TERM) for row in rows], dtype=np.int64)
    found = np.exp(terms.reshape(n, bins) / -UNIT)
    if not np.allclose(found.sum(axis=1), 1, rtol=0, atol=1e-3):
        raise ValueError(f"{field} must be of probabilities that add up to 1")
    assert np.array_equal(terms_of(found), terms.reshape(n, bins))
    return found
