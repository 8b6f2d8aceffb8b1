"""Membership of releases: the area, its error, and who is compared with whom."""

from dataclasses import replace

import numpy as np
import pytest

import isinglass as ig
from isinglass.auditing.attackers import attacker_results
from isinglass.auditing.context import subject_of
from isinglass.auditing.detection import default_detector
from isinglass.auditing.findings import MembershipResult
from isinglass.auditing.membership import _recognized, area_under_curve, membership
from isinglass.auditing.models.membership import recognized
from isinglass.auditing.report.sentences import sentences
from isinglass.auditing.resample import redraw

RNG = np.random.default_rng(8)
TABLE = RNG.normal(size=(400, 5))


def test_the_area_is_the_share_of_pairs_won_with_ties_half():
    members, others = RNG.integers(0, 6, size=40), RNG.integers(0, 5, size=30)
    wins = (members[:, None] > others) + 0.5 * (members[:, None] == others)
    assert area_under_curve(members, others)[0] == pytest.approx(wins.mean())


def test_the_error_is_delongs_by_brute_force():
    members, others = RNG.normal(0.7, size=35), RNG.normal(size=50)
    wins = (members[:, None] > others) + 0.5 * (members[:, None] == others)
    by_member, by_other = wins.mean(axis=1), wins.mean(axis=0)
    brute = by_member.var(ddof=1) / 35 + by_other.var(ddof=1) / 50
    error = area_under_curve(members, others)[1]
    assert error**2 == pytest.approx(brute + 0.25 / 35**2)


def test_the_error_is_the_spread_over_fresh_draws():
    draws = [area_under_curve(RNG.normal(0.5, size=80), RNG.normal(size=60)) for _ in range(400)]
    areas, errors = np.array(draws).T
    assert np.mean(errors) == pytest.approx(areas.std(), rel=0.15)


def test_even_a_clean_sweep_has_an_error():
    area, error = area_under_curve(np.arange(10.0) + 100, np.arange(10.0))
    assert area == 1.0
    assert error > 0


def test_recognized_counts_members_above_all_but_a_share_of_the_others():
    others = np.arange(1000.0)
    members = np.array([0.0, 500.0, 989.5, 995.0, 2000.0])
    assert _recognized(members, others, 0.01) == pytest.approx(3 / 5)
    assert _recognized(members, others, 0.001) == pytest.approx(1 / 5)
    assert _recognized(members, others[:99], 0.01) is None


def test_the_interval_of_recognized_members_covers_the_truth():
    rng = np.random.default_rng(1)
    # Members lie one higher: the share above the others' 99 % point is 1 - F(2.326 - 1).
    truth = 0.0923
    covered = 0
    for _ in range(200):
        members, others = rng.normal(1.0, size=300), np.sort(rng.normal(size=400))
        found = recognized(members, others, 0.01, 300, 400)
        assert found is not None
        value, low, high = found
        assert low <= value <= high
        covered += low <= truth <= high
    assert covered >= 190


def test_too_few_others_leave_the_share_unsaid():
    assert recognized(np.ones(50), np.zeros(999), 0.001, 50, 999) is None
    assert recognized(np.ones(50), np.zeros(1000), 0.001, 50, 1000) is not None


def drawn_from(perturbation):
    """A release of four fifths of the table, and the records held out."""
    subject = subject_of(
        TABLE, TABLE, names=None, detector=default_detector(len(TABLE), None), parameters=None,
        labels=None,
    )  # fmt: skip
    return redraw(subject, perturbation, np.random.default_rng(3))


def test_held_out_records_are_never_in_the_release():
    drawn = drawn_from(ig.AdditiveNoise(scale=1e-6, random_state=0))
    assert len(drawn.held_out) == 80
    assert len(drawn.scene.table) == len(drawn.scene.released) == 320
    gaps = np.abs(drawn.held_out[:, None] - drawn.scene.table).max(axis=2).min(axis=1)
    assert (gaps > 0).all()
    gaps = np.abs(drawn.held_out[:, None] - drawn.scene.released).max(axis=2).min(axis=1)
    assert (gaps > 1e-4).all()


def test_a_release_next_to_its_records_gives_every_member_away():
    drawn = drawn_from(ig.AdditiveNoise(scale=1e-6, random_state=0))
    found = {m.name: m for m in membership(drawn, np.random.default_rng(0))}
    assert found["nearest"].area == 1.0
    assert found["nearest"].attacker == "outsider"
    assert found["nearest"].gain == 1.0


def test_ways_of_telling_belong_to_whoever_has_what_they_need():
    noise = membership(drawn_from(ig.AdditiveNoise(random_state=0)), np.random.default_rng(0))
    assert {m.name: m.attacker for m in noise} == {
        "nearest": "outsider", "relative": "outsider", "flat": "outsider",
        "along_rows": "outsider", "along_widest": "outsider",
        "likelihood": "outsider", "nearer_than_sample": "acquainted", "among_others": "insider",
    }  # fmt: skip
    turned = membership(drawn_from(ig.Rotation(random_state=0)), np.random.default_rng(0))
    told = {m.name: m for m in turned}
    assert "likelihood" not in told  # no noise was declared
    assert told["linked"].attacker == "acquainted"
    assert told["linked"].area == 1.0


def test_strong_noise_gives_no_member_away():
    drawn = drawn_from(ig.AdditiveNoise(scale=50.0, random_state=0))
    for result in membership(drawn, np.random.default_rng(0)):
        assert result.low < 0.5 < result.high, result.name
        assert result.gain == 0.0


def test_known_pairs_and_the_sample_are_not_counted_as_recognized():
    drawn = drawn_from(ig.AdditiveNoise(scale=1.0, random_state=0))
    results = membership(drawn, np.random.default_rng(0))
    known = min(60, drawn.scene.split.most_pairs) + len(drawn.scene.split.sample)
    assert known > 60
    assert {m.n_members for m in results} == {320 - known}
    assert {m.n_others for m in results} == {80}


def small_world(n, *, persons=None, scale=20.0):
    """A small table under noise, and how to hold some of it out."""
    table = np.random.default_rng(12).normal(size=(n, 4))
    subject = subject_of(
        table, table, names=None, detector=default_detector(n, None), parameters=None, labels=None
    )
    veil, rng = ig.AdditiveNoise(scale=scale, random_state=0), np.random.default_rng(2)
    return lambda: redraw(subject, veil, rng, persons=persons, detect=False)


def test_a_small_table_is_held_out_until_the_interval_is_narrow():
    draw = small_world(100)
    once = membership(draw(), np.random.default_rng(0))
    often = membership(draw(), np.random.default_rng(0), draw)
    assert all(m.unclear and m.gain == 0.0 for m in once)
    assert max(m.gain_high for m in once) > 0.4
    assert all(not m.unclear and m.n_draws > 10 for m in often)
    assert max(m.gain_high for m in often) < 0.25


def test_the_pooled_interval_covers_chance_on_strong_noise():
    found = [
        m
        for seed in range(8)
        for m in membership(small_world(60)(), np.random.default_rng(seed), small_world(60))
    ]
    assert np.mean([m.low <= 0.5 <= m.high for m in found]) > 0.95


def test_what_is_clear_at_once_is_not_drawn_again():
    draw = small_world(100, scale=1e-6)
    assert {m.n_draws for m in membership(draw(), np.random.default_rng(0), draw)} == {1}


def test_the_upper_limit_of_membership_counts_against_the_release():
    wide = MembershipResult("nearest", "", "outsider", area=0.68, low=0.44, high=0.93)
    assert wide.gain == 0.0
    outsider, *_ = attacker_results(
        [], verbatim=0.0, recognition=None, linkage=None, membership=[wide]
    )
    assert outsider.high == pytest.approx(0.86)
    assert outsider.unclear
    narrow = replace(wide, area=0.5, low=0.46, high=0.54)
    outsider, *_ = attacker_results(
        [], verbatim=0.0, recognition=None, linkage=None, membership=[narrow]
    )
    assert outsider.high == pytest.approx(0.08)
    assert not outsider.unclear


def test_too_few_rows_to_tell_are_said_and_refused():
    table = np.random.default_rng(1).normal(size=(12, 3))
    policy = ig.Policy(attackers={"outsider": 0.2}, maximum_membership=0.6)
    veil = ig.AdditiveNoise(scale=20.0, random_state=0)
    report = ig.audit(
        table, veil.fit_transform(table), perturbation=veil, policy=policy, attacks=["naive"],
        random_state=0, n_trials=2,
    )  # fmt: skip
    assert any("too few rows to tell" in note for note in sentences(report.findings.notes))
    told = [line.measured for line in report.findings.policy if "members" in line.demand]
    assert "too few rows to tell" in " ".join(told)
    assert not report.passed


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("copy", 0.9, 1.0), ("noisy", 0.6, 1.0), ("fresh", 0.0, 0.58)]
)
def test_members_of_a_part_are_told_by_the_nearest_row(kind, low, high):
    rng = np.random.default_rng(3)
    table = rng.normal(size=(1000, 6)) * [1, 2, 5, 1, 1, 3]
    released = {
        "copy": table[::2],
        "noisy": table[::2] + 0.5 * rng.normal(size=(500, 6)) * table.std(axis=0),
        "fresh": rng.normal(size=(500, 6)) * table.std(axis=0),
    }[kind]
    found = ig.audit(table, released, rows_correspond=False, attacks=["naive"], random_state=0)
    (told,) = (m for m in found.findings.membership if m.name == "nearest_row")
    assert low <= told.area <= high
