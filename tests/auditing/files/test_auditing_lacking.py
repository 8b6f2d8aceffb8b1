"""An attack that could apply, and was not run, never lets a release pass a policy."""

import numpy as np
import pytest

import isinglass as ig
from isinglass.auditing.report.sentences import sentence

TABLE = np.random.default_rng(0).normal(size=(200, 4)) @ np.random.default_rng(1).normal(
    size=(4, 4)
)
LENIENT = ig.Policy.parse("[attacks]\nmaximum_gain = 1.0\n")
STATISTICS = ig.attacks.ColumnStatistics.of(TABLE)


def audited(veil, **more):
    released = veil.fit_transform(TABLE)
    return ig.audit(TABLE, released, knowledge=STATISTICS, policy=LENIENT, random_state=0, **more)


@pytest.fixture(scope="module")
def told_little():
    veil = ig.Distortion("identity", bounds="scaled", clip=True, random_state=0)
    return audited(veil)


def test_a_linear_release_does_not_pass_because_its_attackers_were_told_nothing(told_little):
    assert not told_little.passed
    unmet = {line.demand for line in told_little.findings.policy if not line.met}
    for attack in ("known_input", "linkage", "sample", "distance"):
        assert f"{attack} is run" in unmet


def test_an_attack_that_lacked_knowledge_counts_as_one_that_could_apply(told_little):
    by_name = {s.name: s for s in told_little.findings.skipped}
    for attack in ("known_input", "linkage", "sample"):
        assert by_name[attack].applicable
        assert "not among the knowledge given" in sentence(by_name[attack].reason)


def test_an_attack_not_made_for_such_a_release_is_none_too_few(told_little):
    by_name = {s.name: s for s in told_little.findings.skipped}
    assert not by_name["collusion"].applicable  # nobody else has a part in it
    unmet = {line.demand for line in told_little.findings.policy if not line.met}
    assert "collusion is run" not in unmet


def test_attacks_that_were_told_enough_may_pass():
    veil = ig.AdditiveNoise(scale=1.0, random_state=0)
    report = audited(veil, attacks=("naive", "spectral"))
    assert [a.failed for a in report.attacks] == [None] * len(report.attacks)
    assert report.passed
