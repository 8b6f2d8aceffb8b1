"""A page's part on errors: how far the best guesses were off, column by column."""

from __future__ import annotations

from isinglass.auditing.findings import AttackResult, Findings
from isinglass.auditing.report import text as words
from isinglass.plots.markup import folded


def how_far_off(findings: Findings) -> str:
    """The least deviations over all attacks without the key, then those of each column."""
    p = findings.privacy
    if findings.strongest() is None:
        return "<h3>How far were the best guesses off?</h3><p>Not measured.</p>"
    return (
        "<h3>How far were the best guesses off?</h3><p>The lowest deviation of guess from truth "
        "over all attacks without the key, as a share of a column&rsquo;s range: "
        f"{words.number(p.minimum)} for the column that came off worst, {words.number(p.average)} "
        "on average over the columns.</p>" + _errors(findings)
    )


def _errors(findings: Findings) -> str:
    """Each column's error, for the strongest attack and for the one that came nearest to it."""
    strongest = findings.strongest()
    counted = [a for a in words.order(findings.attacks) if not a.with_key and a.columns]
    if strongest is None or not strongest.columns:
        return ""
    least: dict[str, tuple[float, AttackResult]] = {}
    for attack in counted:
        for c in attack.columns:
            if words.finite(c.error) and (c.name not in least or c.error < least[c.name][0]):
                least[c.name] = c.error, attack
    rows = [
        (words.column_name(c.name), words.number(c.error), words.number(error),
         "–" if by is None else f"{words.name_of(by.name)}: {by.knowledge}")
        for c in strongest.columns
        for error, by in [least.get(c.name, (None, None))]
    ]  # fmt: skip
    return folded(
        "Column by column: deviation of guess from truth, as a share of the column's range",
        ("column", f"strongest attack ({words.name_of(strongest.name)})", "least of all", "by"),
        rows,
    )
