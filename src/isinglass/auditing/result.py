"""The facts an audit ends with, as plain values; how they look is decided elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

RECOVERED, PARTLY, RESISTED = "recovered", "partly recovered", "resisted the attacks listed"
#: No attack was finished, so that nothing can be said.
NOT_MEASURED = "not measured"
#: From these shares of what the baseline leaves a release counts as recovered, or partly so.
MUCH, SOME = 0.5, 0.1


@dataclass(frozen=True, slots=True)
class ColumnResult:
    """What one attack got of one column."""

    name: str
    success: float  # share of values guessed within 10 % of the column's range
    baseline: float  # the same for the best constant
    error: float  # deviation of guess - truth, over the column's range
    r2: float  # share of the column's variance explained; 0 for the mean, below 0 for worse


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What one attacker got, with a blind baseline, a control and an interval."""

    name: str
    knowledge: str
    success: float
    low: float
    high: float
    baseline: float
    #: The same guesses beside records that are not behind them; None where there are none.
    control: float | None
    #: "held out": records that were never released; "rows permuted": other released records.
    control_kind: str | None
    worst_column: str
    columns: tuple[ColumnResult, ...] = ()
    #: Two other readings of success: share of variance explained, and of values within 0.1 sd.
    r2: float = 0.0
    r2_baseline: float = (
        0.0  # 0 but where guesses are matched with records, or named, at their best
    )
    near: float = 0.0
    near_baseline: float = 0.0
    #: Success for the true outliers and for all other records; None where there are none.
    outliers: float | None = None
    outliers_baseline: float | None = None
    rest: float | None = None
    #: The largest of the three readings, as the share of what the baseline leaves: 0 … 1.
    gain: float = 0.0
    gain_low: float = 0.0
    gain_high: float = 0.0
    worst_gain: float = 0.0  # the same for the column that came off worst
    n_pairs: int | None = None
    n_records: int = 0
    scored_by: str = "row"  # or "nearest record", where rows do not correspond
    seconds: float = 0.0
    #: The attacker holds the owner's key: shown apart, and no part of the verdict.
    with_key: bool = False
    #: One sentence where the attack could not be finished; its numbers are then void.
    failed: str | None = None

    @property
    def no_better_than_baseline(self) -> bool:
        return self.low <= self.baseline

    @property
    def outliers_gain(self) -> float:
        """What was got of the outliers' values, as the share of what a blind guess leaves."""
        if self.outliers is None or self.outliers_baseline is None:
            return 0.0
        left = 1.0 - self.outliers_baseline
        return (self.outliers - self.outliers_baseline) / left if left > 0 else 0.0


@dataclass(frozen=True, slots=True)
class SkippedAttack:
    """An attack that was not run, and why that says nothing in the release's favour."""

    name: str
    reason: str
    #: False where the attack is not made for such a release; True where something was missing.
    applicable: bool = False


@dataclass(frozen=True, slots=True)
class Detection:
    """How many of the true strongest outliers are found again in the release.

    `rate` and its limits are None where rows do not correspond and nobody can tell.
    """

    rate: float | None
    low: float | None
    high: float | None
    n_outliers: int
    mean: float | None = None  # over trials with keys drawn anew, where there are any
    deviation: float | None = None
    rank_correlation: float | None = None
    #: Of the release's strongest m, the share that are among the true n: (m, share).
    precision: tuple[tuple[int, float], ...] = ()
    auc_table: float | None = None  # against labels, where there are any
    auc_release: float | None = None
    chance: float = 0.0  # what a blind choice of n rows would find
    #: Anomaly scores of the table's strongest rows, in falling order, and of the same rows in the
    #: release, both as a share of their largest; for the chart, not about single records.
    table_scores: tuple[float, ...] = ()
    release_scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Linkage:
    """How many records of the public table fit a released one as well as the true one does."""

    average: float
    worst_1pct: float
    expected: float | None  # over the noise, in closed form, where there is one
    linked: float  # share of records whose best fit is the truth
    n_public: int
    #: (row number, level) of the records with the lowest level: for the internal report only.
    worst_records: tuple[tuple[int, int], ...] = ()
    #: (number of columns, average level, level at the worst 1 %), for growing numbers of columns.
    by_dimension: tuple[tuple[int, float, float], ...] = ()
    #: (quantile, level) at further quantiles of the worst-off records, beside 1 %.
    levels: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Privacy:
    """Lowest deviation of guess from truth over attacks without the key, in column ranges."""

    minimum: float
    average: float


@dataclass(frozen=True, slots=True)
class PolicyLine:
    """One demand of a policy, and whether it was met."""

    demand: str
    measured: str
    met: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """All that an audit found; `Report` adds how to read it."""

    rows: int
    columns: int
    method: str  # of the release, or "unknown"
    promise: str
    detection: Detection
    attacks: tuple[AttackResult, ...]
    skipped: tuple[SkippedAttack, ...]
    privacy: Privacy
    linkage: Linkage | None
    verdict: str  # RECOVERED, PARTLY, RESISTED or NOT_MEASURED
    verbatim: float = 0.0  # share of released rows that are records, beyond chance
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    policy: tuple[PolicyLine, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    n_trials: int = 1
    n_attacked: int = 0  # records that were attacked, a sample of a large table
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether every demand of the policy was met; True without one."""
        return all(line.met for line in self.policy)

    def strongest(self) -> AttackResult | None:
        """The attack that got most over its baseline, of those that finished without the key."""
        done = [a for a in self.attacks if a.failed is None and not a.with_key]
        return max(done, key=lambda a: a.gain, default=None)

    def to_json(self) -> dict[str, Any]:
        """Everything, single records included."""
        return asdict(self)

    def to_contract(self) -> dict[str, Any]:
        """The short form that `isinglass audit --json` prints; its shape does not change."""
        named = ("name", "knowledge")  # of an attack that failed nothing else is known
        attack = ("name", "knowledge", "success", "low", "high", "baseline", "control")
        return {
            "rows": self.rows,
            "columns": self.columns,
            "detection": {
                name: getattr(self.detection, name)
                for name in ("rate", "low", "high", "n_outliers")
            },
            "attacks": [
                {
                    name: getattr(a, name) if a.failed is None or name in named else None
                    for name in (*attack, "worst_column")
                }
                for a in self.attacks
            ],
            "privacy": asdict(self.privacy),
            "linkage": None
            if self.linkage is None
            else {"average": self.linkage.average, "worst_1pct": self.linkage.worst_1pct},
            "verdict": self.verdict,
        }
