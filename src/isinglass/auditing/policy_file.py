"""Reader of policy files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from isinglass.auditing.findings import ATTACKERS, QUANTILES
from isinglass.errors import AuditError
from isinglass.field_checks import is_number

KNOWN = {
    "detection": {"minimum", "minimum_auc"},
    "attackers": set(ATTACKERS),
    "attacks": {
        "attacker",
        "maximum_gain",
        "maximum",
        "required",
        "maximum_column_gain",
        "maximum_outlier_gain",
    },
    "release": {"maximum_verbatim", "maximum_unique", "origin", "order", "kept", "noise"},
    "linkage": {"minimum_level", "quantile"},
    "risks": {
        "attacker",
        "maximum_reidentification",
        "maximum_singling_out",
        "maximum_inference",
        "maximum_membership",
    },
    "promise": {"allowed"},
}


def refuse_strange(given: Iterable[str], known: Collection[str], what: str) -> None:
    if strange := sorted(set(given) - set(known)):
        raise AuditError(f"{what} must be among {', '.join(known)}, got {', '.join(strange)}")


def refuse_unknown(given: dict[str, Any], name: str) -> None:
    unknown = [key for key in given if key not in KNOWN]
    for section in KNOWN:
        inside = given.get(section, {})
        if not isinstance(inside, dict):
            raise AuditError(f"{name}: {section} must be a section, [{section}]")
        unknown += [f"{section}.{key}" for key in inside if key not in KNOWN[section]]
    if unknown:
        known = ", ".join(f"{s}.{k}" for s, keys in KNOWN.items() for k in sorted(keys))
        raise AuditError(f"{name} has keys not known here: {', '.join(unknown)}; known are {known}")


class PolicyReader:
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
        if not is_number(value) or value < 0:
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
        if not is_number(value) or not 0 <= value <= 1:
            raise AuditError(f"{self._name}: {what} must be between 0 and 1, got {value!r}")
        return float(value)

    def attacker(self, section: str, default: str) -> str:
        """One of the named attackers."""
        value = self._value(section, "attacker")
        if value is None:
            return default
        if value not in ATTACKERS:
            known = ", ".join(ATTACKERS)
            raise AuditError(
                f"{self._name}: {section}.attacker must be among {known}, got {value!r}"
            )
        return str(value)

    def one_of(self, section: str, key: str, known: Sequence[str]) -> str:
        """One of some words; the first where none is given."""
        value = self._value(section, key)
        if value is None:
            return known[0]
        if value not in known:
            raise AuditError(
                f"{self._name}: {section}.{key} must be among {', '.join(known)}, got {value!r}"
            )
        return str(value)

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
