"""Policy: what an owner demands of a release before it may leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from isinglass.auditing.attackers import ACQUAINTED, INSIDER
from isinglass.auditing.findings import Findings, PolicyLine
from isinglass.auditing.policy_file import PolicyReader, refuse_strange, refuse_unknown
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
    minimum_auc : float, optional
        The least area under the curve of the known anomalies in the release, at its lower limit;
        without labels it cannot be met.
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
    minimum_auc: float | None = None

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
            minimum_auc=read.share("detection", "minimum_auc"),
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
        limited = self.limits_risks or any(limit is not None for limit in limits)
        return limited or bool(self.maximum) or bool(self.attackers)

    @property
    def limits_risks(self) -> bool:
        """Whether it limits a risk in the words of data protection."""
        limits = (
            self.maximum_reidentification, self.maximum_singling_out, self.maximum_inference,
            self.maximum_membership,
        )  # fmt: skip
        return any(limit is not None for limit in limits)

    def check(self, findings: Findings) -> tuple[PolicyLine, ...]:
        """Every demand, and whether the findings meet it."""
        from isinglass.auditing.policy_lines import policy_lines  # reading a policy needs none

        lines = tuple(policy_lines(self, findings))
        nothing = PolicyLine("at least one demand", "the policy makes none", met=False)
        return lines or (nothing,)  # what demands nothing must not read as met
