"""What a script undoes, the gate does not let out, whatever the attacks find."""

import pytest

from tests.redteam.gates import GATES, MOST, GateCase, gate
from tests.redteam.harness import play_script


def _marked(case: GateCase):
    return pytest.param(case, id=case.name, marks=() if case.quick else pytest.mark.matrix)


@pytest.mark.parametrize("case", [_marked(case) for case in GATES])
def test_the_gate_is_closed_to_what_a_script_undoes(case, tmp_path, monkeypatch):
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))
    left = case.make(tmp_path)
    gain = case.gain(play_script(case, left))
    if case.passes:
        assert gain <= 0.05, "a control: its script gets nothing"
        assert gate(left, tmp_path) == 0
    else:
        assert gain > MOST, "the script lost its way"
        assert gate(left, tmp_path) == 1


def test_the_gate_cases_cover_the_last_reviews():
    assert {case.review for case in GATES} == {7, 8, 9, 10, 11}
    assert sum(not case.passes for case in GATES) >= 14
    assert sum(case.quick for case in GATES) == 3
    assert {case.quick for case in GATES if case.passes} == {True}
