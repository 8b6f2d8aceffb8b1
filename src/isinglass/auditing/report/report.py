"""Report of an audit: findings that can be read, saved and passed on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isinglass.auditing.findings import AttackResult, Detection, Findings, Linkage, Privacy
from isinglass.auditing.notes import public_notes
from isinglass.auditing.report import text as words
from isinglass.auditing.report.sentences import measured, sentence, sentences
from isinglass.documents import for_json, plain
from isinglass.files import whole_file
from isinglass.promise import HEURISTIC, Promise

if TYPE_CHECKING:
    from isinglass.auditing.tuning.frontier import Frontier

FORMAT = "isinglass-report-1"
#: A mean over fewer outliers than this is close to being about one of them.
FEWEST = 20
#: Settings that tell how the audit was made. Others, such as the seed, the command and what a
#: caller adds, are for the owner alone.
PUBLIC_SETTINGS = (
    "version", "date", "n_trials", "most_pairs", "detector", "rows_correspond", "order_known",
    "order_shows", "id_released", "given", "release", "outcome", "model", "n_shadows", "epochs",
    "models_made_alike",
)  # fmt: skip


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
        """The short form for programs; its shape does not change."""
        return self.findings.to_contract()

    def to_json(self, *, public: bool = False) -> dict[str, Any]:
        """Everything, as plain values for JSON; what is not a number is None."""
        document: dict[str, Any] = for_json(_document(self._edition(public)))
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
    """The same findings without anything about single records, or for their owner alone."""
    few = findings.detection.n_outliers < FEWEST
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
                failed=None if a.failed is None else a.failed.published(),
            )
            for a in findings.attacks
        ),
        skipped=tuple(replace(s, reason=s.reason.published()) for s in findings.skipped),
        linkage=None if linkage is None else replace(linkage, worst_records=()),
        policy=tuple(
            replace(p, why=None if p.why is None else p.why.published()) for p in findings.policy
        ),
        notes=public_notes(findings.notes),
        assumptions=public_notes(findings.assumptions),
        settings={k: v for k, v in findings.settings.items() if _is_public(k, v)},
    )


def _is_public(name: str, value: Any) -> bool:
    """Whether everybody may read a setting: one about the audit, and no path on a disk."""
    if name not in PUBLIC_SETTINGS or (name == "rows_correspond" and value is None):
        return False
    return not (isinstance(value, str) and ("/" in value or "\\" in value))


def _document(findings: Findings) -> dict[str, Any]:
    """Everything as plain values, with the facts beside the numbers as sentences."""
    document = asdict(findings)
    for shown, attack in zip(document["attacks"], findings.attacks, strict=True):
        shown["failed"] = None if attack.failed is None else sentence(attack.failed)
        del shown["knowledge_beyond"]
    for shown, skipped in zip(document["skipped"], findings.skipped, strict=True):
        shown["reason"] = sentence(skipped.reason)
    for shown, line in zip(document["policy"], findings.policy, strict=True):
        shown["measured"] = measured(line)
        del shown["why"]
    document["notes"] = sentences(findings.notes)
    document["assumptions"] = sentences(findings.assumptions)
    return document
