"""Facts an attacker may hold besides the release, and sets of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass.errors import AttackError

if TYPE_CHECKING:
    from isinglass.attack.kept.derived_columns import Part
    from isinglass.attack.kept.joint_parts import JointPart

Array = NDArray[Any]
F = TypeVar("F", bound="Fact")


class Fact:
    """One thing an attacker knows. `a | b` combines two; values never print.

    Examples
    --------
    >>> def both(known: ig.attacks.Fact) -> ig.attacks.Knowledge:
    ...     return known | ig.attacks.KnownRecords(np.ones((9, 3)))
    >>> both(ig.attacks.PublicTable(np.ones((200, 3))))
    Knowledge(a public table of 200 records, 9 known records without their rows)
    """

    __slots__ = ()

    def __or__(self, other: Fact | Knowledge) -> Knowledge:
        return Knowledge(self) | other

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.describe()})"

    def describe(self) -> str:
        """A few words for a report; never a value."""
        raise NotImplementedError


class Knowledge:
    """All that one attacker knows: at most one fact of each kind.

    Examples
    --------
    >>> pairs = ig.attacks.KnownPairs(np.arange(9), np.ones((9, 3)))
    >>> pairs | ig.attacks.PopulationSample(np.ones((150, 3)))
    Knowledge(9 known pairs, a sample of 150 records)
    """

    __slots__ = ("_facts",)

    def __init__(self, *facts: Fact) -> None:
        self._facts: dict[type[Fact], Fact] = {type(fact): fact for fact in facts}
        if len(self._facts) < len(facts):
            raise ValueError("knowledge must hold at most one fact of each kind")

    @classmethod
    def of(cls, known: Fact | Knowledge) -> Knowledge:
        """A single fact is knowledge too."""
        return known if isinstance(known, Knowledge) else cls(known)

    def find(self, kind: type[F]) -> F | None:
        """The fact of this kind, or None where it is not known."""
        fact = self._facts.get(kind)
        return fact if isinstance(fact, kind) else None

    def need(self, kind: type[F]) -> F:
        """The fact of this kind; an `AttackError` where it is not known."""
        fact = self.find(kind)
        if fact is None:
            raise AttackError(f"this attack needs {kind.__name__}, which is not known")
        return fact

    def __contains__(self, kind: object) -> bool:
        return kind in self._facts

    def __or__(self, other: Fact | Knowledge) -> Knowledge:
        """Both; of a kind that both hold, the other's fact."""
        merged = Knowledge()
        merged._facts = self._facts | Knowledge.of(other)._facts
        return merged

    def without(self, kind: type[Fact]) -> Knowledge:
        """The same but for one kind of fact."""
        return Knowledge(*(fact for key, fact in self._facts.items() if key is not kind))

    def describe(self) -> str:
        """What is known in a few words; never a value."""
        return ", ".join(self.describe_each()) or "nothing but the release"

    def describe_each(self) -> list[str]:
        """The same, fact by fact."""
        return [fact.describe() for fact in self._facts.values()]

    def __repr__(self) -> str:
        return f"Knowledge({self.describe()})"


def _table(values: ArrayLike, name: str) -> Array:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"{name} must be a table with one record a row, got shape {table.shape}")
    return table


def _beside(values: ArrayLike | None, records: Array) -> Array | None:
    """Kept columns of some records, one row for each of them."""
    if values is None:
        return None
    kept = _table(values, "kept")
    if len(kept) != len(records):
        raise ValueError(f"kept must have a row for each of the {len(records)} records")
    return kept


@dataclass(frozen=True, slots=True, repr=False)
class ColumnStatistics(Fact):
    """Facts about each column of the table, as a data sheet or a publication gives them.

    Examples
    --------
    >>> ig.attacks.ColumnStatistics.of([[1.0, 5.0], [3.0, 6.0]]).mean
    array([2. , 5.5])
    """

    mean: Array = field(repr=False)
    deviation: Array = field(repr=False)  # ddof=1; 0 for a column that never varies
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    skewness: Array = field(repr=False)  # 0 where the deviation is

    @classmethod
    def of(cls, records: ArrayLike) -> Self:
        """The statistics of a table of records."""
        X = _table(records, "records")
        mean, deviation = X.mean(axis=0), X.std(axis=0, ddof=1 if len(X) > 1 else 0)
        # A column of one value may have a deviation by rounding; it does not vary all the same.
        deviation = np.where(np.ptp(X, axis=0) > 0, deviation, 0.0)
        third = ((X - mean) ** 3).mean(axis=0)
        unit = np.where(deviation > 0, deviation, 1.0) ** 3
        return cls(mean, deviation, X.min(axis=0), X.max(axis=0), third / unit)

    def describe(self) -> str:
        return "column statistics"


@dataclass(frozen=True, slots=True, repr=False)
class PopulationSample(Fact):
    """Records like those of the table, but whose rows in the release are not known.

    `kept` are their values in the columns that left as they were, as in `KeptColumns`.

    Examples
    --------
    >>> ig.attacks.PopulationSample(np.ones((50, 3)))
    PopulationSample(a sample of 50 records)
    """

    records: Array = field(repr=False)
    kept: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _table(self.records, "records"))
        object.__setattr__(self, "kept", _beside(self.kept, self.records))

    def describe(self) -> str:
        return f"a sample of {len(self.records):,} records"


@dataclass(frozen=True, slots=True, repr=False)
class KnownPairs(Fact):
    """Records of the table together with their row numbers in the release.

    Examples
    --------
    >>> ig.attacks.KnownPairs(rows=np.arange(9), records=np.ones((9, 3)))
    KnownPairs(9 known pairs)
    """

    rows: NDArray[np.intp] = field(repr=False)
    records: Array = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _table(self.records, "records"))
        object.__setattr__(self, "rows", np.asarray(self.rows, dtype=np.intp))
        if self.rows.shape != (len(self.records),):
            raise ValueError(
                f"rows must be one row number for each of the {len(self.records)} records, "
                f"got shape {self.rows.shape}"
            )

    def describe(self) -> str:
        return f"{len(self.rows):,} known pairs"


@dataclass(frozen=True, slots=True, repr=False)
class PublicTable(Fact):
    """A public table that contains the records of the release, and which is whose is unknown.

    `kept` are their values in the columns that left as they were, as in `KeptColumns`. One that is
    not `complete` holds some of the released records only.

    Examples
    --------
    >>> ig.attacks.PublicTable(np.ones((200, 3)))
    PublicTable(a public table of 200 records)
    """

    records: Array = field(repr=False)
    kept: Array | None = field(default=None, repr=False)
    complete: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _table(self.records, "records"))
        object.__setattr__(self, "kept", _beside(self.kept, self.records))

    def describe(self) -> str:
        what = "a public table" if self.complete else "a sample"
        return f"{what} of {len(self.records):,} records"


@dataclass(frozen=True, slots=True, repr=False)
class KnownRecords(Fact):
    """Records that are in the table for certain, without their row numbers.

    Examples
    --------
    >>> ig.attacks.KnownRecords(np.ones((9, 3)))
    KnownRecords(9 known records without their rows)
    """

    records: Array = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _table(self.records, "records"))

    def describe(self) -> str:
        return f"{len(self.records):,} known records without their rows"


@dataclass(frozen=True, slots=True, repr=False)
class OtherReleases(Fact):
    """Further releases of the same records, row for row.

    Examples
    --------
    >>> ig.attacks.OtherReleases((np.ones((9, 3)), np.zeros((9, 3))))
    OtherReleases(2 other releases)
    """

    tables: tuple[Array, ...] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", tuple(_table(t, "tables") for t in self.tables))

    def describe(self) -> str:
        n = len(self.tables)
        return "1 other release" if n == 1 else f"{n} other releases"


@dataclass(frozen=True, slots=True, repr=False)
class KeptColumns(Fact):
    """Columns that left as they were beside the release, as numbers, row for row.

    `categorical` marks the columns whose numbers are codes of categories, such as text; the same
    value has the same code in the `kept` of a sample and of a public table. `meanings` says of each
    column what its numbers stand for, where that is known: the texts of its codes, or the unit
    ("D", "s", "ms", "us" or "ns") in which it counts time since 1970. `parts` of the values are
    read beside them; None where nobody has looked for any.

    Examples
    --------
    >>> ig.attacks.KeptColumns(np.ones((9, 1)))
    KeptColumns(1 kept column)
    """

    values: Array = field(repr=False)
    categorical: NDArray[np.bool_] | None = field(default=None, repr=False)
    meanings: tuple[Array | str | None, ...] = field(default=(), repr=False)
    parts: tuple[Part | JointPart, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _table(self.values, "values"))
        marks = np.zeros(self.values.shape[1], dtype=bool)
        if self.categorical is not None:
            marks = np.asarray(self.categorical, dtype=bool)
        if marks.shape != (self.values.shape[1],):
            raise ValueError(
                f"categorical must be one mark for each of the {self.values.shape[1]} columns, "
                f"got shape {marks.shape}"
            )
        object.__setattr__(self, "categorical", marks)
        if self.meanings and len(self.meanings) != len(marks):
            raise ValueError(
                f"meanings must be one for each of the {len(marks)} columns, "
                f"got {len(self.meanings)}"
            )

    def take(self, rows: Array) -> KeptColumns:
        """The same of some rows."""
        return replace(self, values=self.values[rows])

    def n_combinations(self) -> int:
        """How many different rows of values there are."""
        return len(np.unique(self.values, axis=0))

    @property
    def is_category(self) -> NDArray[np.bool_]:
        """For each column, whether its numbers are codes."""
        assert self.categorical is not None
        return self.categorical

    def describe(self) -> str:
        n = self.values.shape[1]
        return "1 kept column" if n == 1 else f"{n} kept columns"


@dataclass(frozen=True, slots=True, repr=False)
class RowOrder(Fact):
    """Where each released row stands in the file, which has the table's own order.

    Rows of a log stand in the order of time, so that neighbors are alike.

    Examples
    --------
    >>> ig.attacks.RowOrder(np.arange(200)).positions[:3]
    array([0, 1, 2])
    """

    positions: NDArray[np.intp] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", np.asarray(self.positions, dtype=np.intp))

    def describe(self) -> str:
        return "the order of the rows"


@dataclass(frozen=True, slots=True, repr=False)
class PublicParameters(Fact):
    """The method and all that its owner said about it in public; never the key.

    `parameters` are the perturbation's constructor parameters as in a release's metadata. `low`
    and `high` are declared bounds, `matrix` is a study's public matrix T (w x n), where there are
    any.

    Examples
    --------
    >>> ig.attacks.PublicParameters("rotation")
    PublicParameters(the public parameters of rotation)
    """

    method: str
    #: Not printed: an attacker may have computed what an owner keeps in a key.
    parameters: dict[str, Any] = field(default_factory=dict, repr=False)
    low: Array | None = field(default=None, repr=False)
    high: Array | None = field(default=None, repr=False)
    matrix: Array | None = field(default=None, repr=False)

    def describe(self) -> str:
        return f"the public parameters of {self.method}"


@dataclass(frozen=True, slots=True, repr=False)
class Colluders(Fact):
    """Participants who tell the server what they hold: tables, and a shared key if there is one.

    `shared` are records that a colluder and the victim both have (a patient of two hospitals),
    with their rows in the victim's release. `key` is the fitted perturbation of a colluder where
    all participants share one.

    Examples
    --------
    >>> ig.attacks.Colluders((np.ones((20, 3)),))
    Colluders(1 colluding participant)
    """

    tables: tuple[Array, ...] = field(repr=False)
    shared: KnownPairs | None = field(default=None, repr=False)
    key: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", tuple(_table(t, "tables") for t in self.tables))

    def describe(self) -> str:
        n = len(self.tables)
        text = "1 colluding participant" if n == 1 else f"{n} colluding participants"
        if self.shared is not None:
            text += f" with {len(self.shared.rows):,} shared records"
        return text + (" and the shared key" if self.key is not None else "")


@dataclass(frozen=True, slots=True, repr=False)
class StolenKey(Fact):
    """The owner's key: the fitted perturbation itself.

    `first_row` is the number, in the whole release, of the first row under attack, and `rows`
    the numbers of all of them where they are not consecutive; noise is drawn by row number.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> ig.attacks.StolenKey(ig.Rotation(optimize=None, bounds="scaled").fit(X))
    StolenKey(the key)
    """

    perturbation: Any = field(repr=False)
    first_row: int = 0
    rows: NDArray[np.intp] | None = field(default=None, repr=False)

    def describe(self) -> str:
        return "the key"
