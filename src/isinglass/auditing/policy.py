"""A policy: what an owner demands of a release before it may leave, written down as TOML."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from isinglass.auditing.result import AttackResult, Findings, Linkage, PolicyLine
from isinglass.documents import DocumentError, read_toml
from isinglass.errors import AuditError

PROMISES = ("heuristic", "audited", "guaranteed")
#: Attackers with the owner's key, who count only in a policy that names them.
KEY_HOLDERS = ("stolen_key",)
KNOWN = {
    "detection": {"minimum"},
    "attacks": {
        "maximum_gain",
        "maximum",
        "required",
        "maximum_column_gain",
        "maximum_outlier_gain",
    },
    "release": {"maximum_verbatim"},
    "linkage": {"minimum_level", "quantile"},
    "promise": {"allowed"},
}
#: Shares of the worst-off records at which an audit measures the randomization level.
QUANTILES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


@dataclass(frozen=True, slots=True)
class Policy:
    """Demands on an audit; one that is None, or empty, is not made.

    Measured values are compared at the end of their interval that speaks against the release:
    detection at its lower limit, an attack at its upper one. An attack that failed, or for which
    something was missing, fails the policy, whatever its numbers; one that is not made for such
    a release fails it only where the policy names it.

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
        _refuse_unknown(given, name)
        read = _Reader(given, name)
        gains = read.table("attacks", "maximum")
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
        )
        if made == cls(quantile=made.quantile):
            raise AuditError(f"{name} demands nothing; state at least one limit in it")
        _refuse_strange(made.allowed or (), PROMISES, f"{name}: promise.allowed")
        if made.maximum or made.required:
            from isinglass.auditing.plan import ATTACKS  # slow to load

            _refuse_strange(made.maximum, ATTACKS, f"{name}: names in attacks.maximum")
            _refuse_strange(made.required or (), ATTACKS, f"{name}: attacks.required")
        return made

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
                told = f"{found.low:.3f} at the lower limit ({found.rate:.3f} measured)"
                met = found.low >= self.minimum_detection
            yield PolicyLine(f"detection at least {self.minimum_detection:g}", told, met)
        yield from self._attack_lines(findings)
        yield from self._part_lines(findings)
        if self.minimum_level is not None:
            yield self._linkage_line(findings.linkage)
        if self.allowed is not None:
            yield PolicyLine(
                f"promise among {', '.join(self.allowed)}",
                findings.promise,
                findings.promise in self.allowed,
            )

    def _attack_lines(self, findings: Findings) -> Iterator[PolicyLine]:
        named = {*self.maximum, *(self.required or ())}
        counted = [a for a in findings.attacks if not a.with_key or a.name in named]
        planned = [
            *(a.name for a in counted),
            *(s.name for s in findings.skipped if s.applicable and s.name not in KEY_HOLDERS),
        ]
        if self.required is not None:
            planned = list(self.required)
        planned = list(dict.fromkeys([*planned, *self.maximum]))
        if not planned:
            yield PolicyLine("at least one attack", "no attack was run", met=False)
        for name in planned:
            entries = [a for a in counted if a.name == name]
            if why := _not_run(name, entries, findings):
                yield PolicyLine(f"{name} is run", why, met=False)
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
                f"{gain_of(worst):.3f} at the upper limit, knowing {worst.knowledge}",
                gain_of(worst) <= limit,
            )

    def _part_lines(self, findings: Findings) -> Iterator[PolicyLine]:
        """What may be lost in a mean over columns and records."""
        done = [a for a in findings.attacks if a.failed is None and not a.with_key]
        for limit, what, gains in (
            (self.maximum_column_gain, "a single column", [(a.worst_gain, a.name) for a in done]),
            (self.maximum_outlier_gain, "the outliers", [(a.outliers_gain, a.name) for a in done]),
        ):
            if limit is not None:
                gain, name = max(gains, default=(math.inf, "no attack, since none was run"))
                yield PolicyLine(
                    f"no attack gains more than {limit:g} of {what}",
                    f"{gain:.3f}, by {name}",
                    gain <= limit,
                )
        if self.maximum_verbatim is not None:
            yield PolicyLine(
                f"at most {self.maximum_verbatim:g} of the released rows are records unchanged",
                f"{findings.verbatim:.3f}",
                findings.verbatim <= self.maximum_verbatim,
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


def _not_run(name: str, entries: list[AttackResult], findings: Findings) -> str | None:
    """Why an attack that should have been run counts as not run; None where it does not."""
    failed = next((a.failed for a in entries if a.failed is not None), None)
    if failed is not None:
        return f"it failed: {failed}"
    # Beside attackers that finished, one to whom the attack does not apply is none too few.
    skips = [s for s in findings.skipped if s.name == name and (s.applicable or not entries)]
    if skips:
        return f"it was skipped: {skips[0].reason}"
    return None if entries else "it is missing"


def _level_at(linkage: Linkage, quantile: float) -> float | None:
    if math.isclose(quantile, 0.01):
        return linkage.worst_1pct
    found = (level for q, level in linkage.levels if math.isclose(q, quantile))
    return next(found, None)


def _refuse_strange(given: Iterable[str], known: Collection[str], what: str) -> None:
    if strange := sorted(set(given) - set(known)):
        raise AuditError(f"{what} must be among {', '.join(known)}, got {', '.join(strange)}")


def _refuse_unknown(given: dict[str, Any], name: str) -> None:
    unknown = [key for key in given if key not in KNOWN]
    for section in KNOWN:
        inside = given.get(section, {})
        if not isinstance(inside, dict):
            raise AuditError(f"{name}: {section} must be a section, [{section}]")
        unknown += [f"{section}.{key}" for key in inside if key not in KNOWN[section]]
    if unknown:
        known = ", ".join(f"{s}.{k}" for s, keys in KNOWN.items() for k in sorted(keys))
        raise AuditError(f"{name} has keys not known here: {', '.join(unknown)}; known are {known}")


class _Reader:
    """A parsed policy's values, each checked for its kind."""

    def __init__(self, given: dict[str, Any], name: str) -> None:
        self._given = given
        self._name = name

    def _value(self, section: str, key: str) -> Any:
        return self._given.get(section, {}).get(key)

    def number(self, section: str, key: str) -> float | None:
        value = self._value(section, key)
        if value is None:
            return None
        if not _is_number(value) or value < 0:
            raise AuditError(f"{self._name}: {section}.{key} must be a number >= 0, got {value!r}")
        return float(value)

    def share(self, section: str, key: str) -> float | None:
        value = self._value(section, key)
        return None if value is None else self.is_share(value, f"{section}.{key}")

    def quantile(self, section: str, key: str) -> float:
        value = self.share(section, key)
        if value is not None and value not in QUANTILES:
            known = ", ".join(f"{q:g}" for q in QUANTILES)
            raise AuditError(f"{self._name}: {section}.{key} must be among {known}, got {value:g}")
        return 0.01 if value is None else value

    def is_share(self, value: Any, what: str) -> float:
        if not _is_number(value) or not 0 <= value <= 1:
            raise AuditError(f"{self._name}: {what} must be between 0 and 1, got {value!r}")
        return float(value)

    def names(self, section: str, key: str) -> tuple[str, ...] | None:
        value = self._value(section, key)
        if value is None:
            return None
        if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
            raise AuditError(f"{self._name}: {section}.{key} must be a list of names")
        return tuple(value)

    def table(self, section: str, key: str) -> dict[str, Any]:
        value = self._value(section, key)
        if value is not None and not isinstance(value, dict):
            raise AuditError(f"{self._name}: {section}.{key} must be a section of its own")
        return dict(value or {})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
