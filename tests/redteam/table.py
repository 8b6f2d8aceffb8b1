"""Writes the table of all cases for the docs: `python -m tests.redteam.table [FILE] [CASE ...]`.

`make check-all` plays every case anyway: with ISINGLASS_REDTEAM its tests leave their lines in that
folder, and the table is made of these.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.redteam.cases import CASES
from tests.redteam.harness import Case, RefusedError, audit, audited, play_script

HEAD = """# The red team's table

Each release below was attacked twice: by a short script of a stranger (`tests/redteam/by_*.py`),
who shares no code with the audit and knows what the attacker named knows, and by
`isinglass audit`. Both are scored alike on records that were not given away: *r2* is the mean over
columns of the share of variance explained, *linked* the share of released rows matched with their
record, *membership* the area under the curve. The audit may not be more than .05 below the script.
Controls have no script; they must come out as resisted.

| case | what leaves | attacker | measure | script | audit | verdict |
|---|---|---|---|---|---|---|
"""


def line(case: Case) -> str:
    """A case's line: what its test left, or played here."""
    left = kept_line(case)
    if left is not None and left.exists():
        return left.read_text()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ISINGLASS_HOME"] = folder  # no case meets another's releases
        script = None
        try:
            made = case.make(Path(folder))
            script = play_script(case, made)
            found, verdict = audited(audit(made, case.attacker), case.attacker, case.measure)
        except (AssertionError, RefusedError) as error:
            return told(case, script, None, str(error))
    return told(case, script, found, verdict)


def told(case: Case, script: float | None, found: float | None, verdict: str) -> str:
    figure = "none" if found is None else "" if script is None else f"{found:.2f}"
    mine = "" if script is None else f"{script:.2f}"
    cells = (case.name, case.leaves, case.attacker, case.measure, mine, figure, verdict)
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |\n"


def kept_line(case: Case) -> Path | None:
    folder = os.environ.get("ISINGLASS_REDTEAM")
    return Path(folder) / f"{case.name}.md" if folder else None


def main(path: str = "docs/reference/redteam-table.md", *names: str) -> None:
    lines = []
    for case in CASES:
        if not names or case.name in names:
            lines.append(line(case))
            sys.stderr.write(lines[-1])
    Path(path).write_text(HEAD + "".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
