"""Findings of an audit, as plain values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from isinglass.auditing.notes import AuditNote

RECOVERED, PARTLY, RESISTED = "recovered", "partly recovered", "resisted the attacks listed"
#: Who might attack, each holding all that those before hold; `auditing.attackers` says what.
ATTACKERS = ("outsider", "acquainted", "insider", "key_holder")
#: No attack was finished, so that nothing can be said.
NOT_MEASURED = "not measured"
#: The kind of findings that are about a model, of which membership alone is measured.
MODEL = "model"
#: From these shares of what the baseline leaves a release counts as recovered, or partly so.
RECOVERED_GAIN, PARTLY_RECOVERED_GAIN = 0.5, 0.1
#: Shares of the worst-off records at which an audit measures the randomization level.
QUANTILES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
#: An area under the curve whose interval is wider says nothing yet.
UNCLEAR = 0.1


def holds(attacker: str, other: str) -> bool:
    """Whether an attacker holds at least what another one holds."""
    return ATTACKERS.index(attacker) >= ATTACKERS.index(other)


@dataclass(frozen=True, slots=True)
class ColumnResult:
    """What one attack got of one column."""

    name: str
    success: float  # share of values guessed within 10 % of the column's range
    baseline: float  # the same for the best constant
    error: float  # deviation of guess - truth, over the column's range
    r2: float  # share of the column's variance explained; 0 for the mean, below 0 for worse
    #: The largest of the three readings, as the share of what a blind guess leaves.
    gain: float = 0.0

    @property
    def no_room(self) -> bool:
        """A few far values stretch the range so that any constant is within 10 % of it."""
        return self.baseline > 0.95


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
    exact: float = 0.0  # share of records of which every value was guessed, to the last digits
    seconds: float = 0.0
    #: The attacker holds the owner's key: shown apart, and no part of the verdict.
    with_key: bool = False
    #: Who holds what this attack needs, by the names of `auditing.attackers`.
    attacker: str = "insider"
    #: Why the attack could not be finished; its numbers are then void.
    failed: AuditNote | None = None
    #: What it knows beyond the public parameters of the method; None where it lacks these.
    knowledge_beyond: str | None = None

    def __post_init__(self) -> None:
        if self.with_key:
            object.__setattr__(self, "attacker", "key_holder")

    @property
    def no_better_than_baseline(self) -> bool:
        return self.low <= self.baseline

    @property
    def r2_positive(self) -> float:
        """Share of variance explained, mean over columns; less than nothing counts as nothing.

        Where guesses are matched with records, only what is beyond a blind match counts.
        """
        if not self.columns:
            return 0.0
        mean = sum(max(0.0, c.r2) for c in self.columns) / len(self.columns)
        if self.r2_baseline <= 0:
            return mean
        return max(0.0, mean - self.r2_baseline) / max(1.0 - self.r2_baseline, 0.05)

    @property
    def outliers_gain(self) -> float:
        """What was got of the outliers' values, as the share of what a blind guess leaves."""
        if self.outliers is None or self.outliers_baseline is None:
            return 0.0
        left = 1.0 - self.outliers_baseline
        return (self.outliers - self.outliers_baseline) / left if left > 0 else 0.0


@dataclass(frozen=True, slots=True)
class SkippedAttack:
    """An attack that was not run, and why that says nothing in the release's favor."""

    name: str
    reason: AuditNote
    #: False where the attack is not made for such a release; True where something was missing.
    applicable: bool = False
    attacker: str = "outsider"  # the weakest who could run it


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
    auc_low: float | None = None  # limits of `auc_release`, which few known anomalies make wide
    auc_high: float | None = None
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
    #: Mean and largest probability of picking the right record, one over the level, and the upper
    #: limit of the mean.
    reidentification: float = 0.0
    reidentification_high: float = 0.0
    reidentification_max: float = 0.0
    n_records: int = 0  # whose levels these are

    @property
    def gain(self) -> float:
        """How far picking is above chance: 0 for a blind pick, 1 where every pick is right."""
        # Levels that are pure chance are 1, 2 … n alike; the mean of one over them is H(n) / n.
        n = self.n_public
        chance = min(1.0, (math.log(n) + 0.5772) / n) if n > 1 else 1.0
        return max(0.0, (self.reidentification - chance) / max(1.0 - chance, 0.05))


@dataclass(frozen=True, slots=True)
class AttackerResult:
    """What one named attacker got, by the best of all attacks that need no more than is held."""

    name: str
    assumes: str
    verdict: str
    gain: float
    low: float
    high: float
    r2: float | None = None  # share of variance explained, mean over columns
    linked: float | None = None  # share of records picked out rightly
    membership: float | None = None  # area under the curve of telling members from others
    unclear: bool = False  # `high` is that of telling members, for which there are too few rows
    strongest: str | None = None  # the attack behind `gain`
    knowledge: str | None = None


@dataclass(frozen=True, slots=True)
class MembershipResult:
    """How well one attack tells records that are in the release from records that are not."""

    name: str
    knowledge: str
    attacker: str
    area: float  # under the curve; 0.5 is chance
    low: float
    high: float
    outliers_area: float | None = None
    #: Share of members recognized where 1 % and 0.1 % of the others are taken for members.
    recognized_1pct: float | None = None
    recognized_01pct: float | None = None
    n_members: int = 0
    n_others: int = 0
    n_draws: int = 1  # hold-outs over which figures are means
    by_person: bool = False  # all records of a person were held out together
    #: Intervals of the three shares above, for models.
    outliers_range: tuple[float, float] | None = None
    recognized_1pct_range: tuple[float, float] | None = None
    recognized_01pct_range: tuple[float, float] | None = None

    @property
    def gain(self) -> float:
        """How far telling is above chance, where it is surely above: 0 to 1."""
        return max(0.0, 2.0 * self.area - 1.0) if self.low > 0.5 else 0.0

    @property
    def gain_high(self) -> float:
        """How far telling may be above chance, at the upper limit: 0 to 1."""
        return min(1.0, max(0.0, 2.0 * self.high - 1.0))

    @property
    def unclear(self) -> bool:
        """Whether there are too few records to tell if members are recognized at all."""
        return self.high - self.low > UNCLEAR and self.low < (1 + PARTLY_RECOVERED_GAIN) / 2


@dataclass(frozen=True, slots=True)
class Risks:
    """Singling out, linkability and inference, as a data-protection officer asks for them.

    Shares of one; None where something was not measured.
    """

    singling_out: float | None = None
    linkability: float | None = None
    inference: float | None = None
    reidentification_mean: float | None = None
    reidentification_max: float | None = None


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
    why: AuditNote | None = None  # an attack was not run, or not finished


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
    attackers: tuple[AttackerResult, ...] = ()
    membership: tuple[MembershipResult, ...] = ()
    #: How well records of the sample are found in the release, by somebody acquainted.
    recognition: Linkage | None = None
    #: Share of released rows that are the only ones with their values in the kept columns.
    unique: float | None = None
    #: Share of conditions read off the release that hold for one record only, beyond chance.
    singled: float | None = None
    #: Share of records whose two halves point to one released row, beyond that of other records.
    halves: float | None = None
    notes: tuple[AuditNote, ...] = ()
    assumptions: tuple[AuditNote, ...] = ()
    policy: tuple[PolicyLine, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    n_trials: int = 1
    n_attacked: int = 0  # records that were attacked, a sample of a large table
    seconds: float = 0.0
    kind: str = "release"  # or MODEL: what was audited

    @property
    def passed(self) -> bool:
        """Whether every demand of the policy was met; True without one."""
        return all(line.met for line in self.policy)

    def strongest(self) -> AttackResult | None:
        """The attack that got most over its baseline, of those that finished without the key."""
        done = [a for a in self.attacks if a.failed is None and not a.with_key]
        return max(done, key=lambda a: a.gain, default=None)

    def links_of(self, attacker: str) -> list[Linkage]:
        """The ways of linking records that this attacker has."""
        pairs = (("acquainted", self.recognition), ("insider", self.linkage))
        return [link for who, link in pairs if link is not None and holds(attacker, who)]

    def risks(self, attacker: str = "insider") -> Risks:
        """The three risks of the opinion on anonymization (WP216), for one attacker.

        Singling out: rows that alone fit a record, or have their kept values to themselves, or
        are records unchanged, or conditions read off a row that hold for one record. Linkability:
        the mean probability of linking a row to its record in another table, or two halves of a
        record through the release. Inference: what the best attack gains of the worst column.
        """
        done = [a for a in self.attacks if a.failed is None and holds(attacker, a.attacker)]
        links = self.links_of(attacker)
        single = [s for s in (self.unique, self.singled) if s is not None]
        single += [link.linked for link in links]
        chances = [link.reidentification for link in links]
        halves = [] if self.halves is None or not holds(attacker, "insider") else [self.halves]
        return Risks(
            singling_out=max([self.verbatim, *single]) if single else None,
            linkability=max([*chances, *halves], default=None),
            inference=max((max(a.gain, a.worst_gain) for a in done), default=None),
            reidentification_mean=max(chances, default=None),
            reidentification_max=max((link.reidentification_max for link in links), default=None),
        )

    def to_contract(self) -> dict[str, Any]:
        """The short form for programs, as plain values; its shape does not change."""
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
                    for name in (*attack, "worst_column", "gain")
                }
                for a in self.attacks
            ],
            "privacy": asdict(self.privacy),
            "linkage": None
            if self.linkage is None
            else {"average": self.linkage.average, "worst_1pct": self.linkage.worst_1pct},
            "verdict": self.verdict,
            "attackers": [
                {
                    name: getattr(a, name)
                    for name in (
                        *("name", "assumes", "verdict", "gain", "low", "high"),
                        *("r2", "linked", "membership", "strongest"),
                    )
                }
                for a in self.attackers
            ],
            "risks": asdict(self.risks()),
        }
