"""Attackers an attack describes itself: what each of them is given."""

from __future__ import annotations

import numpy as np
import pytest

import isinglass as ig
from isinglass.attack.base import Attack, Scenario
from isinglass.attack.knowledge import (
    Colluders,
    ColumnStatistics,
    KnownPairs,
    OtherReleases,
    PopulationSample,
    PublicTable,
    RowOrder,
)
from isinglass.attack.registry import ATTACKS
from isinglass.auditing import scenarios
from isinglass.auditing.scenarios import steps_of
from isinglass.auditing.scene import Scene
from isinglass.auditing.split import FEW_PAIRS, split_rows

TABLE = np.random.default_rng(3).normal(size=(900, 8))


class MeanAttack(Attack):
    """Guess the mean; turned up by `up`."""

    name = "mean"
    story = "guesses the mean"
    needs = (ColumnStatistics,)

    def __init__(self, up=0.0, *, random_state=None):
        self.up = up
        self.random_state = random_state

    def guess(self, released, knowledge):
        mean = knowledge.need(ColumnStatistics).mean + self.up
        return np.broadcast_to(mean, (len(released), len(mean)))


def scene(**more):
    split = split_rows(len(TABLE), TABLE.shape[1], np.arange(9), np.random.default_rng(0))
    return Scene(TABLE, TABLE + 1.0, split, **more)


def described(*given, of=None, **settings):
    """The steps of an attack with one scenario."""
    kind = type("OneAttack", (MeanAttack,), {"scenarios": (Scenario(given, **settings),)})
    return list(steps_of(kind, of or scene(), 7))


def test_an_attack_is_given_the_facts_it_names_and_no_more():
    (step,) = described(ColumnStatistics, PublicTable, settings={"up": 2.0}, how="upwards")
    assert ColumnStatistics in step.knowledge
    assert PublicTable in step.knowledge
    assert PopulationSample not in step.knowledge
    assert step.describe().endswith("; upwards")
    assert (step.attack.up, step.attack.random_state) == (2.0, 7)
    assert (step.n_known, step.n_pairs, step.uses_rows) == (0, None, False)


@pytest.mark.parametrize(("pairs", "number"), [("few", FEW_PAIRS), ("most", 80)])
def test_known_pairs_come_in_the_number_asked_for(pairs, number):
    steps = described(KnownPairs, pairs=pairs)
    assert [s.n_pairs for s in steps] == [number]
    assert all(s.uses_rows and len(s.knowledge.need(KnownPairs).rows) == s.n_known for s in steps)


def test_each_number_of_pairs_is_an_attacker_of_its_own():
    assert [s.n_pairs for s in described(KnownPairs, pairs="each")] == [9, 16, FEW_PAIRS, 80]


def test_nobody_knows_pairs_where_rows_are_nobodys():
    assert described(KnownPairs, of=scene(rows_correspond=False)) == []
    assert len(described(ColumnStatistics, of=scene(rows_correspond=False))) == 1


def test_other_releases_go_to_those_who_ask_for_them():
    several = scene(others=(TABLE + 2.0,))
    assert OtherReleases in described(of=several, others=True)[0].knowledge
    assert OtherReleases not in described(of=several)[0].knowledge
    assert described(needs_others=True) == []
    assert len(described(of=several, needs_others=True)) == 1


def test_who_looks_along_the_file_knows_its_rows_by_their_numbers_there():
    (step,) = described(RowOrder, KnownPairs, whole=True)
    pairs = step.knowledge.need(KnownPairs)
    assert np.array_equal(TABLE[pairs.rows], pairs.records)
    assert np.array_equal(step.knowledge.need(RowOrder).positions, np.arange(len(TABLE)))
    (hidden,) = described(RowOrder, whole=True, of=scene(order_shows=False))
    assert RowOrder not in hidden.knowledge


def test_a_fact_that_only_the_scene_can_make_up_is_refused():
    with pytest.raises(TypeError, match="cannot give Colluders"):
        described(Colluders)


def test_every_attack_has_attackers():
    own = {name for name, kind in ATTACKS.items() if kind.scenarios}
    assert own | set(scenarios._SPECIAL) == set(ATTACKS)
    assert own.isdisjoint(scenarios._SPECIAL)


@pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")
def test_an_attack_that_enters_the_list_is_sent_and_told_about(monkeypatch):
    known = (Scenario(), Scenario((ColumnStatistics, PopulationSample)))
    monkeypatch.setattr(MeanAttack, "scenarios", known)
    monkeypatch.setitem(ATTACKS, "mean", MeanAttack)
    report = ig.audit(TABLE[:200], TABLE[:200] + 5, attacks=("naive", "mean"), random_state=0)
    sent = [a for a in report.findings.attacks if a.name == "mean"]
    assert [a.failed for a in sent] == [None, None]
    assert "guesses the mean" in report.html()
