"""What several files of audit tests share."""

from dataclasses import replace

import pytest
from tests.auditing.examples import said

from isinglass.auditing.files import audit_files as files
from isinglass.auditing.findings import RESISTED, Detection, Findings, Privacy
from isinglass.auditing.report.report import Report


@pytest.fixture
def given(monkeypatch):
    """What the audit itself was given; its place is taken by one that finds nothing."""
    seen = {}

    def audit(table, released, *, policy=None, **more):
        seen.update(more, table=table, released=released)
        found = Findings(
            rows=len(table), columns=table.shape[1], method="?", promise="heuristic",
            detection=Detection(0.9, 0.8, 1.0, 10), attacks=(), skipped=(),
            privacy=Privacy(0.1, 0.1), linkage=None, verdict=RESISTED, notes=(said("its own"),),
        )  # fmt: skip
        return Report(found if policy is None else replace(found, policy=policy.check(found)))

    monkeypatch.setattr(files, "audit_arrays", audit)
    return seen
