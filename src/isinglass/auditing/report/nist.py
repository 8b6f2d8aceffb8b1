"""Report section with the questions of NIST SP 800-226."""

from __future__ import annotations

from isinglass.auditing.findings import Findings


def answers(findings: Findings, *, public: bool) -> list[tuple[str, str]]:
    """Each heading with what can honestly be said under it."""
    attacked = findings.n_attacked or findings.rows
    sample = "" if attacked == findings.rows else f" (a sample of the {findings.rows:,})"
    trials = findings.n_trials
    return [
        (
            "Parameters",
            f"Method of the release: {findings.method}. {attacked:,} records{sample} of "
            f"{findings.columns:,} columns were attacked. "
            + (f"Detection was measured over {trials:,} draws of the key. " if trials > 1 else "")
            + "There is no epsilon. All settings of the audit stand at the end.",
        ),
        (
            "Unit of privacy",
            "None. Nothing is guaranteed for a record, a person or an event; success is "
            "measured per value and per column, over all records attacked.",
        ),
        (
            "Algorithm",
            f"Promise of the release: {findings.promise}. Perturbations are heuristic; an audit "
            "adds the names of the attackers tried, not a proof. A stronger attack, or the same "
            "one with more knowledge, may get more.",
        ),
        (
            "Implementation",
            "The attacks ran on numbers in double precision. An attack sees the release and its "
            "knowledge, never the truth; another part compares its guess with the table. The "
            "versions are listed with the settings.",
        ),
        (
            "Trust",
            "Nobody but the owner is trusted: the attacker has the release and what is listed "
            "above under what was assumed. The key is taken to be secret; what falls without that "
            "is shown apart.",
        ),
        (
            "Side channels",
            "Not attacked: times and sizes of files, the order of rows beyond what the notes say, "
            "where and when the release is handed over, and people who know more than listed.",
        ),
        (
            "Data access",
            "The audit read the owner's table and the release, on the owner's machine. "
            + (
                "This edition has no row numbers and nothing about single records; the columns' "
                "names are in it."
                if public
                else "This edition names single records by row number and is for the owner alone; "
                "it holds no record's values and no key."
            ),
        ),
    ]
