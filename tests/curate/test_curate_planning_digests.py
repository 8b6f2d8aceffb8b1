"""A space that was planned on the private table is refused, however the table was rearranged."""

from __future__ import annotations

import contextlib
import json
import warnings

import numpy as np
import pytest
from tests.cli.asking import FIRST, command, refused, write

from isinglass.curate import planning_digests
from isinglass.curate.curator import Curator
from isinglass.curate.planning.private_choice import choose_r_privately
from isinglass.curate.planning_digests import PlannedOn
from isinglass.curate.space import Space
from isinglass.errors import CuratorError, PrivacyWarning

RNG = np.random.default_rng(5)
TABLE = RNG.normal(size=(600, 3)).round(4)
OTHERS = RNG.normal(size=(600, 3)).round(4)


def refuses(fitted_on, table, tmp_path):
    space = Space.fitted(fitted_on, public=True)
    path = tmp_path / "ledger.db"
    return not told(lambda: Curator(table, 5, 0.1, 1, path, space=space, pad=False).close(), path)


def told(make, path):
    """Whether a curator is made; if it is refused, no ledger is."""
    made = False
    with contextlib.suppress(CuratorError):
        make()
        made = True
    assert path.exists() is made
    return made


@pytest.mark.parametrize(
    ("fitted_on", "known"),
    [
        (TABLE, True),
        (TABLE[::-1], True),
        (TABLE.astype(np.float32).astype(float), True),
        (TABLE + 0.0 * -1, True),
        (TABLE[:60], True),
        (TABLE[300:], True),
        (np.concatenate([OTHERS, TABLE]), True),
        (np.concatenate([OTHERS, TABLE[:100]]), True),
        (np.concatenate([OTHERS, TABLE[:20]]), False),  # the two have a few records in common
        (OTHERS, False),
    ],
    ids=["same", "order", "float32", "zero", "tenth", "half", "superset", "mixed", "few", "other"],
)
def test_the_table_is_known_again_in_any_order_whole_or_in_part(tmp_path, fitted_on, known):
    assert refuses(fitted_on, TABLE, tmp_path) is known


def test_without_the_refusal_one_record_moves_every_place():
    """Why it is refused: the neighbor's scaling differs, so all distances do."""
    far = np.concatenate([TABLE, [[1e6, 0.0, 0.0]]])
    one, two = (Space.fitted(t, public=True, scale="range").places(TABLE) for t in (TABLE, far))
    assert np.ptp(one[:, 0]) > 1000 * np.ptp(two[:, 0])


@pytest.mark.parametrize("kept", [64, 4096])
def test_parts_are_known_from_a_sample_of_the_digests(monkeypatch, kept):
    monkeypatch.setattr(planning_digests, "_KEPT", kept)
    many = np.random.default_rng(1).normal(size=(2000, 2))
    new = np.random.default_rng(2).normal(size=(2000, 2))
    assert PlannedOn.of(many).shares_rows_with(many[:500])
    assert PlannedOn.of(many[:50]).shares_rows_with(many)
    assert not PlannedOn.of(many).shares_rows_with(new)
    assert not PlannedOn.of(many[:50]).shares_rows_with(new)


def test_rows_that_agree_by_chance_are_no_reason():
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 4, size=(2, 400, 3)).astype(float)
    noted = PlannedOn.of(one)
    assert not noted.shares_rows_with(two)
    assert noted.shares_rows_with(rng.permutation(one))  # the very table is, all the same
    assert len(noted.rows) == 0


def test_the_digests_are_salted_and_hold_no_value(tmp_path):
    one, two = Space.fitted(TABLE, public=True), Space.fitted(TABLE, public=True)
    first, second = (space.to_json()["planned_on"] for space in (one, two))
    assert first["salt"] != second["salt"]
    assert first["rows"] != second["rows"]
    assert first["whole"] != second["whole"]
    assert one == two  # as far as numbers are declared
    assert "planned_on" not in repr(one)
    one.save(tmp_path / "space.json")
    back = Space.load(tmp_path / "space.json")
    assert back.planned_on.to_json() == first
    assert back.planned_on.shares_rows_with(TABLE[:100])


def test_an_old_file_opens_with_a_warning_and_a_new_one_without(tmp_path):
    path = tmp_path / "space.json"
    for space in (Space.fitted(TABLE, public=True), Space.declare(3)):
        space.save(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert Space.load(path) == space
        facts = json.loads(path.read_text())
        del facts["planned_on"]
        path.write_text(json.dumps(facts))
        with pytest.warns(PrivacyWarning, match="not the private table cannot be checked"):
            old = Space.load(path)
        assert old == space
    with Curator(TABLE, 5, 0.1, 1, tmp_path / "ledger.db", space=old, pad=False) as one:
        one.ask([0.0, 0.0, 0.0], epsilon="0.1")


@pytest.mark.parametrize(
    "damage", [{"rows": "?"}, {"salt": "00"}, {"complete": 1}, {"rows": "A" * 65536}]
)
def test_damaged_digests_are_no_space(tmp_path, damage):
    path = tmp_path / "space.json"
    facts = Space.fitted(TABLE, public=True).to_json()
    facts["planned_on"] |= damage
    path.write_text(json.dumps(facts))
    with pytest.raises(CuratorError, match="damaged, or no space at all"):
        Space.load(path)


def test_nothing_is_compared_once_there_is_a_curator(tmp_path, monkeypatch):
    space = Space.fitted(OTHERS, public=True)
    with Curator(TABLE, 5, 0.1, 1, tmp_path / "ledger.db", space=space, pad=False) as one:
        monkeypatch.setattr(PlannedOn, "shares_rows_with", None)
        assert one.ask(OTHERS[0], epsilon="0.1").spent == 0.1
        assert one.price(TABLE[0], epsilon="0.1")[0].spent == 0.1


def test_a_radius_is_not_chosen_privately_in_such_a_space():
    charged = []
    ledger = type("Book", (), {"charge_everywhere": lambda self, *a, **k: charged.append(a)})()
    asked = {"epsilon": 1, "outlier_fraction": "0.1", "blocks": 2, "ledger": ledger}
    with pytest.raises(CuratorError, match="planned on this very table"):
        choose_r_privately(TABLE, 4, [0.1, 0.2], space=Space.fitted(TABLE, public=True), **asked)
    assert charged == []
    choose_r_privately(TABLE, 4, [0.1, 0.2], space=Space.fitted(OTHERS, public=True), **asked)
    assert len(charged) == 1


# As typed.

PLAN = ("--outlier-fraction", "0.05", "--space", "space.json", "--force")


@pytest.fixture
def run(tmp_path, monkeypatch):
    return command(tmp_path, monkeypatch)


@pytest.mark.parametrize("scale", [("--scale-by", "range"), ()])
def test_ask_refuses_the_table_that_the_plan_was_made_on(run, tmp_path, scale):
    """With or without a scaling: beta and r were chosen on it as well."""
    rows = np.random.default_rng(0).normal(size=(300, 2)).round(3)
    write("table.csv", rows.tolist())
    write("copy.csv", [[*row, 1] for row in rows[::-1][:200].tolist()], ["pulse", "pressure", "id"])
    write("past.csv", np.random.default_rng(1).normal(size=(300, 2)).round(3).tolist())
    for name, drop in (("table.csv", ()), ("copy.csv", ("--drop", "id"))):
        assert run("plan", name, *drop, *PLAN, *scale)[0] == 0
        for more in ((), ("--dry-run",)):
            refused(run(*FIRST, "--space", "space.json", *more), 2, "planned on this very table")
        assert not (tmp_path / "ledger.db").exists()
    assert run("plan", "past.csv", *PLAN, *scale)[0] == 0
    done = run(*FIRST, "--space", "space.json")
    assert done[0] == 0
    assert "warning" not in done[2]
