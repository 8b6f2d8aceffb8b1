"""Columns of the table that are text, or that were said not to be released."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.findings import RECOVERED, RESISTED
from isinglass.errors import AuditError

RNG = np.random.default_rng(4)
N, NAMES = 200, list("abcd")
X = RNG.normal(size=(N, 4)) * [1, 3, 10, 2] + 5
TABLE = pd.DataFrame(X, columns=NAMES)
NOISY = pd.DataFrame(X + 9 * X.std(axis=0) * RNG.normal(size=X.shape), columns=NAMES)
SALARY = np.exp(RNG.normal(10.5, 0.6, N)).round(2)
MONEY = [f"${v:,.2f}" for v in SALARY]
DIAGNOSIS = np.array([f"ICD {c}" for c in "KQBZAMTRXWLD"])[RNG.integers(0, 12, N)]


def audited(table, release, tmp_path, **options):
    table.to_csv(tmp_path / "t.csv", index=False)
    release.to_csv(tmp_path / "r.csv", index=False)
    report = audit_files(tmp_path / "t.csv", tmp_path / "r.csv", random_state=1, **options)
    return report.findings


@pytest.mark.parametrize("name", ["pay", "salary"])
@pytest.mark.parametrize("values", [SALARY, MONEY])
def test_numbers_written_as_text_are_attacked(name, values, tmp_path):
    release = NOISY.assign(**{name: values})
    found = audited(TABLE.assign(salary=MONEY), release, tmp_path)
    worst = max(found.attacks, key=lambda a: a.worst_gain)
    assert found.verdict == RECOVERED
    assert (worst.worst_column, worst.worst_gain > 0.9) == ("salary", True)


def test_text_that_is_numbers_and_did_not_leave_resists(tmp_path):
    release = NOISY.assign(salary=RNG.permutation(MONEY))
    assert audited(TABLE.assign(salary=MONEY), release, tmp_path).verdict == RESISTED


@pytest.mark.parametrize(
    "values", [DIAGNOSIS, np.unique(DIAGNOSIS, return_inverse=True)[1]], ids=["text", "codes"]
)
def test_a_text_that_left_under_another_name_is_refused(values, tmp_path):
    table, release = TABLE.assign(diagnosis=DIAGNOSIS), NOISY.assign(dx=values)
    with pytest.raises(AuditError, match=r"column dx is the table's column diagnosis.*attacked"):
        audited(table, release, tmp_path)


def test_a_text_of_other_codes_or_of_its_own_name_is_audited(tmp_path):
    table = TABLE.assign(diagnosis=DIAGNOSIS)
    other = NOISY.assign(dx=RNG.permutation([f"group {c}" for c in DIAGNOSIS]))
    assert audited(table, other, tmp_path).verdict == RESISTED
    assert audited(table, NOISY.assign(diagnosis=DIAGNOSIS), tmp_path).rows == N


def test_a_column_that_left_cannot_be_dropped(tmp_path):
    with pytest.raises(AuditError, match=r"`drop` says were not released: c, d"):
        audited(TABLE, NOISY, tmp_path, drop=["c", "d"])
    renamed = TABLE[["c"]].rename(columns={"c": "z"})
    release = pd.concat([NOISY[["a", "b"]], renamed], axis=1)
    with pytest.raises(AuditError, match=r"column z is the table's column c"):
        audited(TABLE, release, tmp_path, drop=["c", "d"])
    assert audited(TABLE, NOISY[["a", "b"]], tmp_path, drop=["c", "d"]).rows == N
