"""An attack that makes less of more knowledge has failed, and the audit says so."""

from __future__ import annotations

import numpy as np
import pytest

import isinglass as ig
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.auditing.failed_attacks import failed_with_knowledge
from isinglass.auditing.findings import AttackResult
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.report.sentences import sentence


def result(name, gain, attacker="outsider", *, error=0.02, **more):
    """An attack that got so much over a baseline of .3."""
    facts = {"success": 0.3 + 0.7 * gain, "baseline": 0.3, "low": 0.0, "high": 1.0}
    facts |= {"gain": max(gain, 0.0), "gain_low": gain - error, "gain_high": gain + error}
    facts |= {"knowledge": "", "control": None, "control_kind": None, "worst_column": "a"}
    return AttackResult(name, attacker=attacker, **(facts | more))


def key_holder(gain, **more):
    return result("stolen_key", gain, "key_holder", with_key=True, **more)


def test_a_key_holder_below_a_blind_guess_has_failed():
    # Whatever others got.
    assert failed_with_knowledge([key_holder(-0.2)]) == ("stolen_key",)
    assert failed_with_knowledge([key_holder(0.01)]) == ()
    assert failed_with_knowledge([result("ica", -0.2)]) == ()  # nothing shows that it could be done


def test_an_attack_below_a_blind_guess_has_failed_where_one_with_no_more_did_not():
    linkage = result("linkage", -0.1, "insider")
    assert failed_with_knowledge([linkage, result("naive", 0.4)]) == ("linkage",)
    assert failed_with_knowledge([linkage, result("naive", 0.05)]) == ()
    # More knowledge did better: that is what knowledge is for.
    assert failed_with_knowledge([result("naive", -0.1), result("linkage", 0.9, "insider")]) == ()


def test_an_attacker_who_makes_less_of_more_has_failed():
    naive = result("naive", 0.6)
    assert failed_with_knowledge([naive, key_holder(0.3)]) == ("stolen_key",)
    insiders = [result("linkage", 0.2, "insider"), result("known_input", 0.4, "insider")]
    assert failed_with_knowledge([naive, *insiders]) == ("known_input",)
    # One attack of his does as well: then the others are no matter.
    assert failed_with_knowledge([naive, *insiders, result("codes", 0.59, "insider")]) == ()


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (result("known_input", 0.7, "acquainted", n_pairs=60),
         result("known_input", 0.3, "insider", n_pairs=290)),
        (result("known_input", 0.7, "acquainted", n_pairs=5),
         result("known_input", 0.3, "acquainted", n_pairs=60)),
    ],
)  # fmt: skip
def test_an_attack_that_did_better_with_less_has_failed(less, more):
    best = result("linkage", 0.9, "insider")
    assert failed_with_knowledge([less, more, best]) == ("known_input",)
    assert failed_with_knowledge([more, best]) == ()


def test_what_lies_within_the_interval_or_is_little_is_no_alarm():
    naive = result("naive", 0.6, error=0.25)
    assert failed_with_knowledge([naive, key_holder(0.3, gain_high=0.36)]) == ()
    assert failed_with_knowledge([result("naive", 0.6), key_holder(0.53)]) == ()
    found = AuditNote.of(Kind.ERROR_WHILE_COMPUTING, error="ValueError")
    assert failed_with_knowledge([result("naive", 0.6), key_holder(0.0, failed=found)]) == ()


def test_no_more_than_the_two_worst_are_named():
    many = [result(f"attack {i}", -0.1 * i, "insider") for i in range(1, 5)]
    found = failed_with_knowledge([result("naive", 0.8), *many])
    assert found == ("attack 4", "attack 3")


def test_an_audit_says_which_attack_failed(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 3))
    veil = ig.Distortion("identity", bounds=(-9.0, 9.0), random_state=1)
    released = veil.fit_transform(table)

    def audited():
        attacks = ["naive", "known_input", "stolen_key"]
        found = ig.audit(
            table, released, perturbation=veil, attacks=attacks, n_trials=1, random_state=2
        ).findings
        return [n for n in found.notes if n.kind is Kind.FAILED_WITH_KNOWLEDGE]

    assert audited() == []
    wrong = lambda self, released, knowledge: 9.0 + rng.normal(size=released.shape)  # noqa: E731
    monkeypatch.setattr(StolenKeyAttack, "guess", wrong)
    (note,) = audited()
    assert note.values["attacks"] == ("stolen_key",)
    assert sentence(note).startswith("Attacks that failed: stolen_key.")
