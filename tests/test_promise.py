"""A promise says what it is, and only a guarantee carries a price."""

import pytest

from isinglass.promise import HEURISTIC, Promise


def test_only_a_guarantee_may_carry_an_epsilon():
    with pytest.raises(ValueError, match="must not carry an epsilon"):
        Promise("heuristic", epsilon=1.0)
    with pytest.raises(ValueError, match="must name its epsilon"):
        Promise("guaranteed", epsilon=1.0)


def test_audited_names_its_attackers():
    with pytest.raises(ValueError, match="attackers"):
        Promise("audited")
    assert Promise("audited", attackers=("ica",)).to_json()["attackers"] == ["ica"]


def test_a_heuristic_never_says_guarantee():
    assert "uarantee" not in HEURISTIC.sentence()
    assert HEURISTIC.to_json() == {"kind": "heuristic"}
    priced = Promise("guaranteed", epsilon=0.5, neighbors="add or remove one", unit="record")
    assert "0.5" in priced.sentence()
    assert "add or remove one" in priced.sentence()
