"""The audit is never kinder than a stranger's script: every case, script against audit."""

import numpy as np
import pytest

from tests.redteam.cases import CASES
from tests.redteam.harness import MARGIN, RESISTED, Case, auc, audit, audited, play_script, r2


def _marked(case: Case):
    return pytest.param(case, id=case.name, marks=() if case.quick else pytest.mark.matrix)


@pytest.mark.parametrize("case", [_marked(case) for case in CASES])
def test_the_audit_finds_what_the_script_finds(case, tmp_path):
    left = case.make(tmp_path)
    script = play_script(case, left)
    found, verdict = audited(audit(left, case.attacker), case.attacker, case.measure)
    if script is None:
        assert verdict == RESISTED, f"a control: {case.leaves}"
    else:
        assert found >= script - MARGIN, (
            f"{case.leaves}: the script of the {case.attacker} reached {case.measure} "
            f"{script:.3f}, the audit {found:.3f} ({verdict})"
        )


def test_the_cases_cover_what_they_promise():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 45
    assert sum(case.quick for case in CASES) == 12
    assert {case.attacker for case in CASES} == {"outsider", "acquainted", "insider", "key_holder"}
    assert {case.measure for case in CASES} == {"r2", "linked", "membership", "resisted"}
    assert all((case.script is None) == (case.measure == "resisted") for case in CASES)


def test_the_measures_know_a_perfect_guess_from_a_blind_one():
    truth = np.random.default_rng(0).normal(size=(400, 3))
    truth[:, 2] = 7.0  # does not vary, does not count
    assert r2(truth, truth) == 1.0
    assert r2(truth, np.tile(truth.mean(axis=0), (400, 1))) == 0.0
    assert r2(truth, -truth) == 0.0
    member = np.arange(400) < 100
    assert auc(member, member.astype(float)) == 1.0
    assert auc(member, np.zeros(400)) == 0.5


def test_an_audit_without_named_attackers_is_said_to_be_one():
    with pytest.raises(AssertionError, match="no 'attackers'"):
        audited({"verdict": "recovered"}, "insider", "r2")
    with pytest.raises(AssertionError, match="no attacker 'key_holder'"):
        audited({"attackers": [{"name": "insider", "verdict": ""}]}, "key_holder", "r2")
