"""What an audit hands over: findings that can be read, saved and passed on."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isinglass.auditing.findings import AttackResult, Detection, Findings, Linkage, Privacy
from isinglass.auditing.report import text as words
from isinglass.files import whole_file
from isinglass.plain import for_json, plain
from isinglass.promise import HEURISTIC, Promise

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier

FORMAT = "isinglass-report-1"
#: A mean over fewer outliers than this is close to being about one of them.
FEWEST = 20
_KEPT_BY_THE_OWNER = re.compile(
    r"(?i)rows?|records?|seed|random_state|path|file|code|command|^table$"
)


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """Findings in two editions: an internal one, and a public one without single records.

    `save` writes either as one HTML page that loads nothing, or as JSON.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> report = ig.audit(X, X, attacks=["naive"], random_state=0)
    >>> report
    Report('recovered', detection 100 %, strongest attack naive 100 % (baseline 27 %))
    >>> report.save("report.html")
    """

    findings: Findings

    def __post_init__(self) -> None:
        # Whoever measured them may have counted in NumPy; whoever shows them must not care.
        object.__setattr__(self, "findings", plain(self.findings))

    @property
    def verdict(self) -> str:
        return self.findings.verdict

    @property
    def detection(self) -> Detection:
        return self.findings.detection

    @property
    def attacks(self) -> tuple[AttackResult, ...]:
        return self.findings.attacks

    @property
    def privacy(self) -> Privacy:
        return self.findings.privacy

    @property
    def linkage(self) -> Linkage | None:
        return self.findings.linkage

    @property
    def promise(self) -> Promise:
        """What the release may now say of itself: audited, by the attackers that were run."""
        names = dict.fromkeys(a.name for a in self.attacks if a.failed is None)
        return Promise("audited", tuple(names)) if names else HEURISTIC

    @property
    def passed(self) -> bool:
        """Whether every demand of the policy was met; True without one."""
        return self.findings.passed

    def to_contract(self) -> dict[str, Any]:
        """The short form that `isinglass audit` prints as JSON."""
        return self.findings.to_contract()

    def to_json(self, *, public: bool = False) -> dict[str, Any]:
        """Everything, as plain values for JSON; what is not a number is None."""
        document: dict[str, Any] = for_json(self._edition(public).to_json())
        if public:
            # Empty tuples would look like findings; what was left out is not there at all.
            document["detection"].pop("table_scores")
            document["detection"].pop("release_scores")
            if document["linkage"] is not None:
                document["linkage"].pop("worst_records")
        return {"format": FORMAT, "edition": "public" if public else "internal", **document}

    def html(self, *, public: bool = False, frontier: Frontier | None = None) -> str:
        """One page that loads nothing; the same findings give the same bytes."""
        from isinglass.auditing.report.page import render

        return render(self._edition(public), public=public, frontier=frontier)

    def save(
        self, path: str | Path, *, public: bool = False, frontier: Frontier | None = None
    ) -> None:
        """Write HTML or JSON, by the path's ending; the internal edition for its owner's eyes.

        `frontier`, what `tune` found for the same table, becomes a part of the page.
        """
        with self.draft(path, public=public, frontier=frontier):
            pass

    @contextlib.contextmanager
    def draft(
        self, path: str | Path, *, public: bool = False, frontier: Frontier | None = None
    ) -> Iterator[None]:
        """Write the report under another name, which becomes `path` when the block ends well.

        Whatever could fail has been done when the block begins.
        """
        target = Path(path)
        ending = target.suffix.lower()
        if ending not in (".html", ".json"):
            raise ValueError(f"path must end in .html or .json, got {target.name!r}")
        text = (
            self.html(public=public, frontier=frontier)
            if ending == ".html"
            else json.dumps(self.to_json(public=public), indent=2, allow_nan=False) + "\n"
        )
        with whole_file(target, mode=0o644 if public else 0o600) as temporary:
            temporary.write_text(text, encoding="utf-8")
            yield

    def _edition(self, public: bool) -> Findings:
        return without_records(self.findings) if public else self.findings

    def _repr_html_(self) -> str:
        from isinglass.auditing.report.page import summary

        return summary(self.findings)

    def __repr__(self) -> str:
        strongest = self.findings.strongest()
        attack = (
            "no attack finished"
            if strongest is None
            else f"strongest attack {strongest.name} {words.share(strongest.success)} "
            f"(baseline {words.share(strongest.baseline)})"
        )
        found = words.found_again(self.detection)
        return f"Report({self.verdict!r}, detection {found}, {attack})"


def without_records(findings: Findings) -> Findings:
    """The same findings without anything about single records."""
    few = findings.detection.n_outliers < FEWEST
    table = findings.settings.get("table")

    def said(text: str) -> str:
        if words.names_a_row(text):
            return words.LEFT_OUT
        named = isinstance(table, str) and "." in table  # a file
        return text.replace(str(table), "the table") if named else text

    linkage = findings.linkage
    return replace(
        findings,
        detection=replace(findings.detection, table_scores=(), release_scores=()),
        attacks=tuple(
            replace(
                a,
                outliers=None if few else a.outliers,
                outliers_baseline=None if few else a.outliers_baseline,
                rest=None if few else a.rest,
                failed=None if a.failed is None else said(a.failed),
            )
            for a in findings.attacks
        ),
        skipped=tuple(replace(s, reason=said(s.reason)) for s in findings.skipped),
        linkage=None if linkage is None else replace(linkage, worst_records=()),
        policy=tuple(replace(p, measured=said(p.measured)) for p in findings.policy),
        notes=tuple(said(n) for n in findings.notes if not words.names_a_row(n)),
        assumptions=tuple(said(a) for a in findings.assumptions if not words.names_a_row(a)),
        settings=_public_settings(findings.settings),
    )


def _public_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that are about the audit; no seed, no file but the release, no numbers in lists."""
    kept: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, bool):
            kept[name] = value  # yes or no names nobody
            continue
        if _KEPT_BY_THE_OWNER.search(name):
            continue
        if isinstance(value, dict):
            kept[name] = _public_settings(value)
        elif isinstance(value, str):
            if not re.search(r"[/\\]", value) and not words.names_a_row(value):
                kept[name] = value
        elif isinstance(value, list | tuple):
            if all(isinstance(item, str) for item in value):
                kept[name] = value
        elif value is None or isinstance(value, int | float):
            kept[name] = value
    return kept
