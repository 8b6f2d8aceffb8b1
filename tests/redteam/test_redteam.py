"""The audit is never kinder than a stranger's script: every case, script against audit."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tests.redteam.cases import CASES
from tests.redteam.figures import FIGURES
from tests.redteam.harness import (
    MARGIN,
    RESISTED,
    Case,
    RefusedError,
    auc,
    audit,
    audited,
    play_script,
    r2,
)
from tests.redteam.table import kept_line, told


def _marked(case: Case):
    return pytest.param(case, id=case.name, marks=() if case.quick else pytest.mark.matrix)


@pytest.mark.parametrize("case", [_marked(case) for case in CASES])
def test_the_audit_finds_what_the_script_finds(case, tmp_path):
    try:
        left = case.make(tmp_path)
    except RefusedError as error:
        keep(case, None, None, str(error))
        assert case.refusable, "this release can be made, and has to be judged"
        return  # nothing left
    script = play_script(case, left)
    if not case.refusable:  # those may have been mended since
        assert (script or 0.0) >= FIGURES.get(case.name, 0.0) - 0.1, "the script lost its way"
    found, verdict = audited(audit(left, case.attacker), case.attacker, case.measure)
    keep(case, script, found, verdict)
    if script is None:
        assert verdict == RESISTED, f"a control: {case.leaves}"
    else:
        assert found >= script - MARGIN, (
            f"{case.leaves}: the script of the {case.attacker} reached {case.measure} "
            f"{script:.3f}, the audit {found:.3f} ({verdict})"
        )


def keep(case: Case, script: float | None, found: float | None, verdict: str) -> None:
    """A line for the table in the docs, where somebody wants it."""
    path = kept_line(case)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(told(case, script, found, verdict))


def test_the_cases_cover_what_they_promise():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 45
    assert sum(case.quick for case in CASES) == 12
    assert {case.attacker for case in CASES} == {"outsider", "acquainted", "insider", "key_holder"}
    assert {case.measure for case in CASES} == {"r2", "linked", "membership", "resisted"}
    assert {case.name for case in CASES if case.script} == set(FIGURES)
    assert all((case.script is None) == (case.measure == "resisted") for case in CASES)


def test_every_case_that_is_written_down_is_played():
    played = {id(case) for case in CASES}
    for file in sorted(Path(__file__).parent.glob("*.py")):
        module = vars(import_module(f"tests.redteam.{file.stem}"))
        lists = [value for value in module.values() if isinstance(value, list)]
        written = [case for some in lists for case in some if isinstance(case, Case)]
        n_written = file.read_text().count("\n    Case(")
        assert {id(case) for case in written} <= played, file.name
        assert len({id(case) for case in written}) >= n_written, file.name


def test_the_measures_know_a_perfect_guess_from_a_blind_one():
    truth = np.random.default_rng(0).normal(size=(400, 3))
    truth[:, 2] = 7.0  # does not vary, does not count
    assert r2(truth, truth) == 1.0
    assert r2(truth, np.tile(truth.mean(axis=0), (400, 1))) == 0.0
    assert r2(truth, -truth) == 0.0
    member = np.arange(400) < 100
    assert auc(member, member.astype(float)) == 1.0
    assert auc(member, np.zeros(400)) == 0.5


def test_the_figure_is_that_of_the_attacker_named():
    entry = {"name": "insider", "verdict": "recovered", "r2": 0.7, "linked": None}
    other = {"name": "outsider", "verdict": RESISTED, "r2": 0.1, "linked": 0.2}
    said = {"attackers": [other, entry]}
    assert audited(said, "insider", "r2") == (0.7, "recovered")
    assert audited(said, "insider", "linked") == (0.0, "recovered")
    assert audited(said, "outsider", "linked") == (0.2, RESISTED)


def test_no_script_borrows_from_the_audit():
    for file in Path(__file__).parent.glob("*.py"):
        borrowed = re.findall(r"isinglass[.](?:attack|auditing)\b", file.read_text())
        assert not borrowed, file.name


def test_an_audit_without_named_attackers_is_said_to_be_one():
    with pytest.raises(AssertionError, match="no 'attackers'"):
        audited({"verdict": "recovered"}, "insider", "r2")
    with pytest.raises(AssertionError, match="no attacker 'key_holder'"):
        audited({"attackers": [{"name": "insider", "verdict": ""}]}, "key_holder", "r2")
