"""Policy: what an owner demands of a release before it may leave."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from isinglass.auditing.attackers import ACQUAINTED, INSIDER, OUTSIDER, few_pairs
from isinglass.auditing.findings import (
    MODEL,
    AttackResult,
    Findings,
    Linkage,
    PolicyLine,
    SkippedAttack,
    holds,
)
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.policy_file import (
    PolicyReader,
    refuse_strange,
    refuse_unknown,
)
from isinglass.auditing.split import pair_levels
from isinglass.documents import DocumentError, read_toml
from isinglass.errors import AuditError

PROMISES = ("heuristic", "audited", "guaranteed")
ORIGINS = ("known", "any")
ORDERS = ("secret", "any")
KEPT = ("few", "any")
NOISE = ("drawn", "any")


@dataclass(frozen=True, slots=True)
class Policy:
    """Demands on an audit; one that is None, or empty, is not made.

    Measured values are compared at the end of their interval that speaks against the release:
    detection at its lower limit, an attack at its upper one. An attack that failed, or for which
    something was missing, fails the policy, whatever its numbers; one that is not made for a
    release of such a shape fails it only where the policy names it.

    Demands on attacks are about an attacker: by default the insider, who holds all but the key.

    Parameters
    ----------
    minimum_detection : float, optional
        The least share of the true strongest outliers that must be found again.
    maximum_gain : float, optional
        The most that any attack may get over its baseline.
    maximum : mapping
        The same for single attacks, by name; an attack named here must have been run.
    maximum_column_gain, maximum_outlier_gain : float, optional
        The most that any attack may get of a single column, and of the true outliers.
    maximum_verbatim : float, optional
        The largest share of released rows that may be records of the table, unchanged.
    required : names, optional
        The attacks that must have been run; by default all that the audit planned.
    minimum_level : float, optional
        The least randomization level, at the quantile of the worst-off records.
    quantile : float
        Which share of the records may be below that level: one of `QUANTILES`.
    allowed : kinds of promise, optional
    attacker : name
        Whose attacks the demands on attacks are about.
    attackers : mapping
        The most that a named attacker may get, by whatever attack.
    maximum_unique : float, optional
        The largest share of rows that may be alone with their values in the kept columns.
    origin : {"known", "any"}
        Whether the key must show how the file was made.
    order : {"secret", "any"}
        Whether rows must leave in a secret order; "any" where the origin may be any, too.
    kept : {"few", "any"}
        Whether kept columns may have only so few combinations of values that how records depend
        on them can be read to the end; "any" where the origin may be any, too.
    noise : {"drawn", "any"}
        Whether limits on what attackers get are met only by methods that draw noise; "any" where
        the origin may be any, too.
    risk_attacker : name
        Whose risks the following demands are about.
    maximum_reidentification : float, optional
        The mean probability of picking the right record, at its upper limit.
    maximum_singling_out, maximum_inference, maximum_membership : float, optional
        The share of records singled out, what is gained of the column that came off worst, and
        the area under the curve of telling members from others.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> policy = ig.Policy(minimum_detection=0.8, maximum_gain=0.2)
    >>> ig.audit(X, X, attacks=["naive"], policy=policy, random_state=0).passed
    False
    """

    minimum_detection: float | None = None
    maximum_gain: float | None = None
    maximum: Mapping[str, float] = field(default_factory=dict)
    maximum_column_gain: float | None = None
    maximum_outlier_gain: float | None = None
    maximum_verbatim: float | None = None
    required: tuple[str, ...] | None = None
    minimum_level: float | None = None
    quantile: float = 0.01
    allowed: tuple[str, ...] | None = None
    attacker: str = INSIDER
    attackers: Mapping[str, float] = field(default_factory=dict)
    maximum_unique: float | None = None
    origin: str = ORIGINS[0]
    order: str = ORDERS[0]
    kept: str = KEPT[0]
    noise: str = NOISE[0]
    risk_attacker: str = ACQUAINTED
    maximum_reidentification: float | None = None
    maximum_singling_out: float | None = None
    maximum_inference: float | None = None
    maximum_membership: float | None = None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a policy file."""
        path = Path(path)
        try:
            return cls.parse(path.read_text(encoding="utf-8"), str(path))
        except OSError as error:
            raise AuditError(f"policy {path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise AuditError(f"policy {path} cannot be read as UTF-8 text") from None

    @classmethod
    def strict(cls) -> Self:
        """The strict policy that comes with the package."""
        return cls.load(Path(__file__).with_name("strict.toml"))

    @classmethod
    def parse(cls, text: str, name: str = "the policy") -> Self:
        """Read a policy from TOML; a word it does not know is an error, never passed over."""
        try:
            given = read_toml(text)
        except DocumentError as error:
            raise AuditError(f"{name} cannot be used: {error}") from None
        refuse_unknown(given, name)
        read = PolicyReader(given, name)
        gains = read.table("attacks", "maximum")
        origin = read.one_of("release", "origin", ORIGINS)
        # Whoever goes by the attacks listed alone does so for order, kept columns and noise, too.
        listed = 1 if origin == ORIGINS[0] else -1
        made = cls(
            minimum_detection=read.share("detection", "minimum"),
            maximum_gain=read.share("attacks", "maximum_gain"),
            maximum={n: read.is_share(v, f"attacks.maximum.{n}") for n, v in gains.items()},
            maximum_column_gain=read.share("attacks", "maximum_column_gain"),
            maximum_outlier_gain=read.share("attacks", "maximum_outlier_gain"),
            maximum_verbatim=read.share("release", "maximum_verbatim"),
            required=read.names("attacks", "required"),
            minimum_level=read.number("linkage", "minimum_level"),
            quantile=read.quantile("linkage", "quantile"),
            allowed=read.names("promise", "allowed"),
            attacker=read.attacker("attacks", INSIDER),
            attackers={
                n: read.is_share(v, f"attackers.{n}") for n, v in given.get("attackers", {}).items()
            },
            maximum_unique=read.share("release", "maximum_unique"),
            origin=origin,
            order=read.one_of("release", "order", ORDERS[::listed]),
            kept=read.one_of("release", "kept", KEPT[::listed]),
            noise=read.one_of("release", "noise", NOISE[::listed]),
            risk_attacker=read.attacker("risks", ACQUAINTED),
            **{
                name: read.share("risks", name)
                for name in (
                    *("maximum_reidentification", "maximum_singling_out"),
                    *("maximum_inference", "maximum_membership"),
                )
            },
        )
        nothing = cls(
            quantile=made.quantile, attacker=made.attacker, risk_attacker=made.risk_attacker,
            origin=made.origin, order=made.order, kept=made.kept, noise=made.noise,
        )  # fmt: skip
        if made == nothing:
            raise AuditError(f"{name} demands nothing; state at least one limit in it")
        refuse_strange(made.allowed or (), PROMISES, f"{name}: promise.allowed")
        if made.maximum or made.required:
            from isinglass.attack.registry import ATTACKS  # slow to load

            refuse_strange(made.maximum, ATTACKS, f"{name}: names in attacks.maximum")
            refuse_strange(made.required or (), ATTACKS, f"{name}: attacks.required")
        return made

    @property
    def limits_attacks(self) -> bool:
        """Whether it limits what anybody gets."""
        limits = (
            self.maximum_gain, self.maximum_column_gain, self.maximum_outlier_gain,
            self.minimum_level,
        )  # fmt: skip
        limited = self._limits_risks or any(limit is not None for limit in limits)
        return limited or bool(self.maximum) or bool(self.attackers)

    def check(self, findings: Findings) -> tuple[PolicyLine, ...]:
        """Every demand, and whether the findings meet it."""
        lines = tuple(self._lines(findings))
        nothing = PolicyLine("at least one demand", "the policy makes none", met=False)
        return lines or (nothing,)  # what demands nothing must not read as met

    def _lines(self, findings: Findings) -> Iterator[PolicyLine]:
        if self.minimum_detection is not None:
            found = findings.detection
            told, met = "not measured", False
            if found.low is not None and found.rate is not None and math.isfinite(found.low):
                low = _beside(found.low, self.minimum_detection)
                told = f"{low} at the lower limit ({found.rate:.3f} measured)"
                met = found.low >= self.minimum_detection
                if found.chance >= self.minimum_detection:  # so many are asked for that any do
                    told, met = f"a blind choice finds {found.chance:.3f}: ask for fewer", False
            yield PolicyLine(f"detection at least {self.minimum_detection:g}", told, met)
        yield from self._knowledge_lines(findings)
        yield from self._attack_lines(findings)
        yield from self._part_lines(findings)
        yield from self._attacker_lines(findings)
        yield from self._risk_lines(findings)
        if self.minimum_level is not None:
            yield self._linkage_line(findings.linkage)
        if self.allowed is not None:
            yield PolicyLine(
                f"promise among {', '.join(self.allowed)}",
                findings.promise,
                findings.promise in self.allowed,
            )

    def _knowledge_lines(self, findings: Findings) -> Iterator[PolicyLine]:
        """Whether attackers were given as many known pairs as it is said that they have."""
        given = [n.values["n"] for n in findings.notes if n.kind is Kind.PAIRS_LIMITED]
        asked = {*self.attackers, *([self.risk_attacker] if self._limits_risks else ())}
        if self.maximum_gain is not None or self.maximum or self.minimum_level is not None:
            asked.add(self.attacker)
        most = max(pair_levels(findings.rows, findings.columns), default=0)
        few = min(few_pairs(findings.columns), most)
        for name, wanted in ((ACQUAINTED, few), (INSIDER, most)):
            if name in asked and given and min(given) < wanted:
                yield PolicyLine(
                    f"{_article(name)} has the known pairs that are assumed",
                    f"{min(given):,} instead of {wanted:,}",
                    met=False,
                )

    @property
    def _limits_risks(self) -> bool:
        limits = (
            self.maximum_reidentification, self.maximum_singling_out, self.maximum_inference,
            self.maximum_membership,
        )  # fmt: skip
        return any(limit is not None for limit in limits)

    def _attack_lines(self, findings: Findings) -> Iterator[PolicyLine]:
        named = {*self.maximum, *(self.required or ())}
        counted = [a for a in findings.attacks if self._counts(a.attacker) or a.name in named]
        planned = [
            *(a.name for a in counted),
            *(s.name for s in findings.skipped if s.applicable and self._counts(s.attacker)),
        ]
        if self.required is not None:
            planned = list(self.required)
        planned = list(dict.fromkeys([*planned, *self.maximum]))
        # Of a model only membership is measured; a demand on attacks is then one that is not met.
        if not planned and (findings.kind != MODEL or self.maximum_gain is not None):
            yield PolicyLine("at least one attack", "no attack was run", met=False)
        for name in planned:
            entries = [a for a in counted if a.name == name]
            if lacking := _not_run(name, entries, findings):
                told, why = lacking
                yield PolicyLine(f"{name} is run", told, met=False, why=why)
            elif self.required is not None and name in self.required:
                yield PolicyLine(f"{name} is run", "it was run", met=True)
        for name in dict.fromkeys(a.name for a in counted):
            limit = self.maximum.get(name, self.maximum_gain)
            done = [a for a in counted if a.name == name and a.failed is None]
            if limit is None or not done:
                continue
            # Not the largest alone: beside a number that is none, `max` may pick the other.
            worst = next((a for a in done if not math.isfinite(gain_of(a))), max(done, key=gain_of))
            yield PolicyLine(
                f"{name} gains at most {limit:g} over its baseline",
                f"{_beside(gain_of(worst), limit)} at the upper limit, knowing {worst.knowledge}",
                gain_of(worst) <= limit,
            )

    def _counts(self, attacker: str) -> bool:
        """Whether the demands on attacks are about somebody who holds this much."""
        return holds(self.attacker, attacker)

    def _attacker_lines(self, findings: Findings) -> Iterator[PolicyLine]:
        """The most that a named attacker may get, by whatever attack.

        Links, members and copies count here too, so that a verdict and the gate never disagree.
        """
        limits = dict(self.attackers)
        if self.maximum_gain is not None and any(
            a.name == self.attacker for a in findings.attackers
        ):
            limits.setdefault(self.attacker, self.maximum_gain)
        for name, limit in limits.items():
            found = next((a for a in findings.attackers if a.name == name), None)
            demand = f"{_article(name)} gains at most {limit:g} over a blind guess"
            missing = next((s for s in findings.skipped if _lacks(s, name)), None)
            if found is None or missing is not None:
                why = "not measured" if missing is None else f"{missing.name} was not run"
                yield PolicyLine(demand, why, met=False)
            else:
                high = found.high
                if name not in self.attackers:
                    high = self._high_apart(findings, high)
                told = f"{_beside(high, limit)} at the upper limit"
                if name == OUTSIDER and (shape := _shape_of_records(findings)) > max(high, limit):
                    told = f"{_beside(shape, limit)} for one who knows what such records look like"
                    high = shape
                told += "; too few rows to tell members from others" if found.unclear else ""
                yield PolicyLine(demand, told, high <= limit)

    def _high_apart(self, findings: Findings, high: float) -> float:
        """What the attacker got without the attacks that have a looser limit of their own.

        Such a limit is about that attack alone: links, members and copies stay under the other.
        """
        assert self.maximum_gain is not None
        apart = {name for name, limit in self.maximum.items() if limit > self.maximum_gain}
        done = [a for a in findings.attacks if a.failed is None and self._counts(a.attacker)]
        if not apart & {a.name for a in done}:
            return high
        members = [m for m in findings.membership if self._counts(m.attacker)]
        links = findings.links_of(self.attacker)
        others = [a.gain_high for a in done if a.name not in apart]
        shown = [*(link.gain for link in links), *(m.gain_high for m in members)]
        return max([findings.verbatim, *others, *shown])

    def _risk_lines(self, findings: Findings) -> Iterator[PolicyLine]:
        """Risks in the words of data protection, each at the limit that speaks against it."""
        who = _article(self.risk_attacker)
        chances = [link.reidentification_high for link in findings.links_of(self.risk_attacker)]
        told = [m for m in findings.membership if holds(self.risk_attacker, m.attacker)]
        widest = max(told, key=lambda m: m.high, default=None)
        risks = findings.risks(self.risk_attacker)
        for limit, demand, value in (
            (
                self.maximum_reidentification,
                f"{who} picks the right record with a probability of at most",
                max(chances, default=None),
            ),
            (
                self.maximum_singling_out,
                f"{who} singles out a share of at most",
                risks.singling_out,
            ),
            (self.maximum_inference, f"{who} gains of any column at most", risks.inference),
            (
                self.maximum_membership,
                f"{who} tells members from others with an area under the curve of at most",
                None if widest is None else widest.high,
            ),
        ):
            if limit is not None:
                said = "not measured" if value is None else _beside(value, limit)
                if limit is self.maximum_membership and widest is not None and widest.unclear:
                    said += " at the upper limit; too few rows to tell"
                yield PolicyLine(f"{demand} {limit:g}", said, value is not None and value <= limit)

    def _part_lines(self, findings: Findings) -> Iterator[PolicyLine]:
        """What may be lost in a mean over columns and records."""
        done = [a for a in findings.attacks if a.failed is None and self._counts(a.attacker)]
        for limit, what, gains in (
            (self.maximum_column_gain, "a single column", [(a.worst_gain, a.name) for a in done]),
            (self.maximum_outlier_gain, "the outliers", [(a.outliers_gain, a.name) for a in done]),
        ):
            if limit is not None:
                gain, name = max(gains, default=(math.inf, "no attack, since none was run"))
                yield PolicyLine(
                    f"no attack gains more than {limit:g} of {what}",
                    f"{_beside(gain, limit)}, by {name}",
                    gain <= limit,
                )
        if findings.kind == MODEL:
            for limit, what in (
                (self.maximum_verbatim, "unchanged"),
                (self.maximum_unique, "unique"),
            ):
                if limit is not None:
                    yield PolicyLine(
                        f"at most {limit:g} of the rows are {what}", "not measured", met=False
                    )
            return
        if self.maximum_verbatim is not None:
            yield PolicyLine(
                f"at most {self.maximum_verbatim:g} of the released rows are records unchanged",
                _beside(findings.verbatim, self.maximum_verbatim),
                findings.verbatim <= self.maximum_verbatim,
            )
        if self.maximum_unique is not None:
            unique = findings.unique or 0.0  # without kept columns nobody is alone in them
            yield PolicyLine(
                f"at most {self.maximum_unique:g} of the rows are unique in the kept columns",
                _beside(unique, self.maximum_unique),
                unique <= self.maximum_unique,
            )

    def _linkage_line(self, linkage: Linkage | None) -> PolicyLine:
        demand = (
            f"randomization level at least {self.minimum_level:g} for all but "
            f"{100 * self.quantile:g} % of the records"
        )
        level = None if linkage is None else _level_at(linkage, self.quantile)
        if level is None:
            return PolicyLine(demand, "not measured", met=False)
        assert self.minimum_level is not None
        return PolicyLine(demand, f"{level:g}", level >= self.minimum_level)


def gain_of(attack: AttackResult) -> float:
    """What an attack may have got over its baseline: the upper limit, counted against the release.

    A share of what the baseline leaves, in the worst of the three readings. Success less
    baseline would not do: where a few records far out set a column's range, the best constant is
    within 10 % of it nearly always, and the difference stays small even for the table itself.
    """
    limits = (attack.high - attack.baseline, attack.gain, attack.gain_high)
    return math.nan if any(map(math.isnan, limits)) else max(limits)


def _not_run(
    name: str, entries: list[AttackResult], findings: Findings
) -> tuple[str, AuditNote | None] | None:
    """Why an attack that should have been run counts as not run; None where it does not."""
    failed = next((a.failed for a in entries if a.failed is not None), None)
    if failed is not None:
        return "it failed", failed
    # Beside attackers that finished, one to whom the attack does not apply is none too few.
    skips = [s for s in findings.skipped if s.name == name and (s.applicable or not entries)]
    if skips:
        return "it was skipped", skips[0].reason
    return None if entries else ("it is missing", None)


def _beside(value: float, limit: float) -> str:
    """A measurement with so many digits that it is seen on its side of a limit."""
    for digits in range(3, 9):
        shown = float(f"{value:.{digits}f}")
        if (shown < limit, shown > limit) == (value < limit, value > limit):
            break
    return f"{value:.{digits}f}"


def _article(attacker: str) -> str:
    """An attacker as the subject of a sentence."""
    others = {"acquainted": "somebody acquainted", "key_holder": "a key holder"}
    return others.get(attacker, f"an {attacker}")


def _shape_of_records(findings: Findings) -> float:
    """The most that is gained by attacks with a sample and without a recognized record.

    Where records have a structure (curves, templates, codewords), an outsider may know it without
    having any record, or find it in the release by means that no list of attacks has. A sample
    shows the same structure.
    """
    return max(
        (
            a.gain_high
            for a in findings.attacks
            if a.failed is None and a.attacker == ACQUAINTED and a.n_pairs is None
        ),
        default=0.0,
    )


def _lacks(skipped: SkippedAttack, attacker: str) -> bool:
    """Whether an attack that this attacker could have run was not."""
    return skipped.applicable and holds(attacker, skipped.attacker)


def _level_at(linkage: Linkage, quantile: float) -> float | None:
    if math.isclose(quantile, 0.01):
        return linkage.worst_1pct
    found = (level for q, level in linkage.levels if math.isclose(q, quantile))
    return next(found, None)
