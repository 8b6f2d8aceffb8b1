"""A policy compares the limits that speak against a release, and nothing passes by its absence."""

from dataclasses import replace

import numpy as np
import pytest
from tests.auditing.examples import said

import isinglass as ig
from isinglass.auditing.findings import (
    QUANTILES,
    RESISTED,
    AttackerResult,
    AttackResult,
    Detection,
    Findings,
    Linkage,
    MembershipResult,
    Privacy,
    SkippedAttack,
)
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.policy import Policy
from isinglass.auditing.policy_lines import gain_of
from isinglass.auditing.report.sentences import measured
from isinglass.errors import AuditError


def attack(name="naive", high=0.3, baseline=0.2, **more):
    success = min(high, 0.25)
    facts = {"knowledge": "nothing but the release", "low": 0.2, "control": None}
    facts |= {"control_kind": None, "worst_column": "a"}
    return AttackResult(name, success=success, high=high, baseline=baseline, **(facts | more))


def findings(*attacks, skipped=(), linkage=None, low=0.85, promise="heuristic"):
    return Findings(
        rows=100,
        columns=3,
        method="rotation",
        promise=promise,
        detection=Detection(rate=0.9, low=low, high=0.95, n_outliers=10),
        attacks=attacks or (attack(),),
        skipped=tuple(skipped),
        privacy=Privacy(0.1, 0.2),
        linkage=linkage,
        verdict=RESISTED,
    )


def failing(policy, found):
    return [f"{line.demand}: {measured(line)}" for line in policy.check(found) if not line.met]


def test_known_anomalies_are_compared_at_the_lower_limit_of_their_area():
    policy = Policy.parse("[detection]\nminimum_auc = 0.9")
    found = findings()
    named = replace(found.detection, auc_table=0.97, auc_release=0.95, auc_low=0.9, auc_high=0.99)
    assert failing(policy, replace(found, detection=named)) == []
    wanted = "area under the curve of known anomalies at least 0.9: "
    assert failing(policy, replace(found, detection=replace(named, auc_low=0.89))) == [
        wanted + "0.890 at the lower limit (0.950 measured)"
    ]
    assert failing(policy, found) == [wanted + "not measured: no known anomalies were named"]


def test_detection_is_compared_at_its_lower_limit():
    policy = Policy.parse("[detection]\nminimum = 0.8")
    assert failing(policy, findings(low=0.8)) == []
    # The rate measured, 0.9, would pass.
    assert failing(policy, findings(low=0.79)) == [
        "detection at least 0.8: 0.790 at the lower limit (0.900 measured)"
    ]
    # Rounded to three digits it would read as met.
    assert failing(policy, findings(low=0.79996)) == [
        "detection at least 0.8: 0.79996 at the lower limit (0.900 measured)"
    ]


def test_an_attack_is_compared_at_its_upper_limit():
    policy = Policy.parse("[attacks]\nmaximum_gain = 0.2")
    assert failing(policy, findings(attack(high=0.25, baseline=0.125))) == []
    # The success measured, 0.25, is only 0.15 above the baseline.
    assert failing(policy, findings(attack(high=0.31, baseline=0.1))) == [
        "naive gains at most 0.2 over its baseline: 0.210 at the upper limit, "
        "knowing nothing but the release"
    ]


def test_the_worst_knowledge_of_an_attack_counts():
    policy = Policy.parse("[attacks]\nmaximum_gain = 0.2")
    found = findings(
        attack("known_input", 0.3, 0.2, knowledge="7 known pairs"),
        attack("known_input", 0.9, 0.2, knowledge="60 known pairs"),
    )
    assert len(policy.check(found)) == 1
    assert "0.700 at the upper limit, knowing 60 known pairs" in failing(policy, found)[0]


def test_a_column_with_a_long_tail_does_not_hide_a_leak():
    """The baseline is within 10 % of such a range nearly always, so success has no room."""
    leak = attack(high=1.0, baseline=0.99, gain=1.0)
    assert gain_of(leak) == 1.0
    assert failing(Policy(maximum_gain=0.2), findings(leak)) != []


def test_single_attacks_have_limits_of_their_own():
    policy = Policy.parse("[attacks]\nmaximum_gain = 0.2\n[attacks.maximum]\nknown_input = 0.6")
    found = findings(attack("naive", 0.5, 0.2), attack("known_input", 0.7, 0.2))
    assert [line.split()[0] for line in failing(policy, found)] == ["naive"]
    tighter = replace(policy, maximum={"known_input": 0.4, "naive": 0.4})
    assert [line.split()[0] for line in failing(tighter, found)] == ["known_input"]


def test_a_looser_limit_for_one_attack_is_about_that_attack_alone():
    policy = Policy(maximum_gain=0.2, maximum={"naive": 0.9})
    told = MembershipResult("nearest", "the release", "outsider", 0.9, 0.85, 0.95)
    insider = AttackerResult("insider", "", "recovered", gain=0.8, low=0.7, high=0.9)
    found = replace(findings(attack("naive", 0.9, 0.2)), attackers=(insider,))
    assert failing(policy, found) == []
    assert failing(policy, replace(found, membership=(told,))) == [
        "an insider gains at most 0.2 over a blind guess: 0.900 at the upper limit"
    ]


@pytest.mark.parametrize("place", [0, 1])
def test_a_number_that_is_none_never_passes(place):
    entries = [attack(high=0.3), attack(high=0.3)]
    entries[place] = attack(high=float("nan"))
    assert failing(Policy(maximum_gain=0.2), findings(*entries)) != []
    assert failing(Policy(minimum_detection=0.2), findings(low=float("nan"))) != []
    linkage = Linkage(9.0, float("nan"), None, 0.1, 100)
    assert failing(Policy(minimum_level=2), findings(linkage=linkage)) != []


def test_an_attack_that_failed_fails_the_policy():
    policy = Policy(maximum_gain=1.0)
    found = findings(attack(), attack("ica", 0.2, 0.2, failed=said("it ran out of memory")))
    assert failing(policy, found) == ["ica is run: it failed: it ran out of memory"]


def test_a_skipped_attack_fails_unless_it_does_not_apply():
    policy = Policy(maximum_gain=1.0)
    other_kind = SkippedAttack("spectral", said("a rotation adds no noise"))
    lacking = SkippedAttack("linkage", said("too few records"), applicable=True)
    assert failing(policy, findings(skipped=[other_kind])) == []
    assert failing(policy, findings(skipped=[other_kind, lacking])) == [
        "linkage is run: it was skipped: too few records"
    ]


def test_a_missing_attack_fails_and_one_nobody_asks_for_does_not():
    policy = Policy.parse('[attacks]\nrequired = ["naive", "ica", "spectral"]')
    found = findings(
        attack(),
        attack("map", failed=said("no")),
        skipped=[SkippedAttack("spectral", said("a rotation adds no noise"))],
    )
    assert failing(policy, found) == [
        "ica is run: it is missing",
        "spectral is run: it was skipped: a rotation adds no noise",
    ]
    # A name with a slip in it must not switch a limit off.
    assert failing(Policy(maximum={"naiv": 0.1}), findings()) == ["naiv is run: it is missing"]


@pytest.mark.parametrize("skipped", [True, False])
@pytest.mark.parametrize("policy", [{"required": ("spectral",)}, {"maximum": {"spectral": 1.0}}])
def test_an_attack_that_is_named_must_have_finished(policy, skipped):
    skips = [SkippedAttack("spectral", said("a rotation adds no noise"))] if skipped else []
    why = "it was skipped: a rotation adds no noise" if skipped else "it is missing"
    assert failing(Policy(**policy), findings(skipped=skips)) == [f"spectral is run: {why}"]
    assert failing(Policy(**policy), findings(attack("spectral"))) == []
    # An attacker more, to whom it did not apply, takes nothing from the one that finished.
    assert failing(Policy(**policy), findings(attack("spectral"), skipped=skips)) == []


def test_a_policy_answers_with_a_line_at_least():
    """An empty answer would read as a policy that is met."""
    (line,) = Policy(required=("naive",)).check(findings())
    assert (line.demand, line.measured, line.met) == ("naive is run", "it was run", True)
    assert failing(Policy(), findings()) == ["at least one demand: the policy makes none"]


def test_detection_that_nobody_can_tell_is_not_measured():
    found = replace(findings(), detection=Detection(None, None, None, 10))
    assert failing(Policy(minimum_detection=0.0), found) == ["detection at least 0: not measured"]


def test_every_quantile_a_policy_may_ask_for_is_measured():
    X = np.random.default_rng(1).normal(size=(300, 3))
    Z = X + np.random.default_rng(2).normal(size=X.shape)
    public = ig.attacks.PublicParameters(
        "additive_noise", {"scale": 1.0, "distribution": "gaussian"}
    )
    for q in QUANTILES:
        policy = Policy.parse(f"[linkage]\nminimum_level = 0\nquantile = {q}")
        found = ig.audit(
            X, Z, parameters=public, attacks=("linkage",), policy=policy, random_state=1
        ).findings
        (line,) = [line for line in found.policy if line.demand.startswith("randomization")]
        assert line.met, line


def test_no_attack_at_all_fails():
    found = replace(findings(), attacks=())
    assert failing(Policy(maximum_gain=1.0), found) == ["at least one attack: no attack was run"]


def test_attackers_with_the_key_count_only_where_they_are_named():
    thief = attack("stolen_key", 1.0, 0.1, with_key=True)
    found = findings(attack(), thief)
    assert failing(Policy(maximum_gain=0.2), found) == []
    lacking = SkippedAttack("stolen_key", said("no key"), applicable=True, attacker="key_holder")
    assert failing(Policy(maximum_gain=0.2), findings(skipped=[lacking])) == []
    named = Policy(maximum_gain=0.2, maximum={"stolen_key": 0.5})
    assert [line.split()[0] for line in failing(named, found)] == ["stolen_key"]
    assert failing(Policy(required=("stolen_key",)), found) == []


def test_the_randomization_level_is_read_at_its_quantile():
    policy = Policy.parse("[linkage]\nminimum_level = 5\nquantile = 0.01")
    assert failing(policy, findings()) != []  # it was not measured
    assert failing(policy, findings(linkage=Linkage(30.0, 5.0, None, 0.1, 100))) == []
    assert failing(policy, findings(linkage=Linkage(30.0, 4.0, None, 0.1, 100))) == [
        "randomization level at least 5 for all but 1 % of the records: 4"
    ]
    other = Policy.parse("[linkage]\nminimum_level = 5\nquantile = 0.1")
    assert failing(other, findings(linkage=Linkage(30.0, 9.0, None, 0.1, 100))) != []
    levels = ((0.05, 4.0), (0.1, 6.0))
    assert failing(other, findings(linkage=Linkage(30.0, 1.0, None, 0.1, 9, levels=levels))) == []


def test_the_promise_must_be_allowed():
    policy = Policy.parse('[promise]\nallowed = ["guaranteed"]')
    assert failing(policy, findings()) == ["promise among guaranteed: heuristic"]
    assert failing(policy, findings(promise="guaranteed")) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[detection]\nminimun = 0.8", "detection.minimun"),
        ("[attack]\nmaximum_gain = 0.2", "not known here: attack;"),
        ("[detection]\nminimum = 8", "detection.minimum must be between 0 and 1, got 8"),
        ("[detection]\nminimum = nan", "between 0 and 1"),
        ("[attacks]\nmaximum_gain = true", "attacks.maximum_gain must be between"),
        ("[attacks.maximum]\nica = 2", "attacks.maximum.ica must be between"),
        ("[attacks]\nmaximum = 0.2", "attacks.maximum must be a section"),
        ('[attacks]\nrequired = "naive"', "attacks.required must be a list"),
        ("[attacks]\nrequired = []", "attacks.required must be a list"),
        ("[linkage]\nminimum_level = -1", "linkage.minimum_level must be a number >= 0"),
        (
            "[linkage]\nminimum_level = 1\nquantile = 0",
            "linkage.quantile must be among 0.001, 0.01,",
        ),
        ("[linkage]\nminimum_level = 1\nquantile = 0.02", "0.25, 0.5, got 0.02"),
        ('[attacks]\nrequired = ["naiv"]', "attacks.required must be among naive, "),
        ("[attacks.maximum]\nnaiv = 0.1", "attacks.maximum must be among naive, "),
        ('[promise]\nallowed = ["perfect"]', "promise.allowed must be among"),
        ("detection = 1", "detection must be a section"),
        ("[detection", "not TOML"),
        ("", "demands nothing"),
        ("[linkage]\nquantile = 0.05", "demands nothing"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_an_error(text, words, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(AuditError) as error:
        Policy.load(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(AuditError, match=r"absent\.toml cannot be read: No such file"):
        Policy.load(tmp_path / "absent.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(AuditError, match="UTF-8"):
        Policy.load(tmp_path / "b.toml")


def test_the_strict_policy_ships_and_demands_every_kind():
    strict = Policy.strict()
    leak = attack(high=0.9, worst_gain=0.9, outliers=0.9, outliers_baseline=0.1)
    found = replace(findings(leak, low=0.1, promise="unknown"), verbatim=0.5, unique=0.2)
    assert [line.met for line in strict.check(found)] == [False] * 9
    assert strict.maximum_gain == 0.1
    assert (strict.maximum_reidentification, strict.risk_attacker) == (0.09, "acquainted")
    assert strict.minimum_level == 12


def test_a_demand_that_names_no_attacker_means_the_insider():
    insider = attack(high=0.9, gain_high=0.9, attacker="insider")
    acquainted = attack("known_input", high=0.5, gain_high=0.5, attacker="acquainted")
    outsider = attack("naive", 0.25, 0.2, gain_high=0.05, attacker="outsider")
    found = findings(insider, acquainted, outsider)
    assert len(failing(Policy(maximum_gain=0.1), found)) == 2
    assert len(failing(Policy.parse('[attacks]\nattacker = "acquainted"\nmaximum_gain = 0.1'),
                       found)) == 1  # fmt: skip
    assert failing(Policy(maximum_gain=0.1, attacker="outsider"), found) == []


def test_a_limit_for_the_outsider_counts_what_a_sample_shows_of_the_shape_of_records():
    named = AttackerResult("outsider", "", RESISTED, 0.1, 0.05, 0.15)
    sample = attack("posterior", gain_high=0.3, attacker="acquainted")
    found = replace(findings(sample), attackers=(named,))
    (line,) = failing(Policy(attackers={"outsider": 0.2}), found)
    assert "0.300 for one who knows what such records look like" in line
    assert failing(Policy(attackers={"outsider": 0.31}), found) == []
    with_pairs = replace(sample, n_pairs=60)
    found = replace(findings(with_pairs), attackers=(named,))
    assert failing(Policy(attackers={"outsider": 0.2}), found) == []


def test_what_somebody_could_have_run_and_nobody_did_fails_his_demand():
    skipped = SkippedAttack("known_input", said("no pairs"), applicable=True, attacker="acquainted")
    found = findings(attack(gain_high=0.0, high=0.2, attacker="outsider"), skipped=[skipped])
    assert failing(Policy(maximum_gain=0.1, attacker="outsider"), found) == []
    assert failing(Policy(maximum_gain=0.1), found) == [
        "known_input is run: it was skipped: no pairs"
    ]
    named = AttackerResult("acquainted", "", RESISTED, 0.0, 0.0, 0.05)
    found = replace(found, attackers=(named, replace(named, name="outsider")))
    assert failing(Policy(attackers={"outsider": 0.1}, attacker="outsider"), found) == []
    (line,) = failing(Policy(attackers={"acquainted": 0.1}, attacker="outsider"), found)
    assert "known_input was not run" in line


def test_re_identification_is_compared_at_its_upper_limit_and_never_passes_unmeasured():
    policy = Policy(maximum_reidentification=0.09)
    about = {"expected": None, "linked": 0.0, "n_public": 100}
    link = Linkage(20, 12, **about, reidentification=0.07, reidentification_high=0.1)
    assert failing(policy, findings())[0].endswith("not measured")
    assert failing(policy, replace(findings(), recognition=link))
    lower = replace(link, reidentification_high=0.08)
    assert failing(policy, replace(findings(), recognition=lower)) == []
    # The public table is the insider's; the demand is about somebody acquainted.
    assert failing(policy, replace(findings(), recognition=lower, linkage=link)) == []
    stricter = replace(policy, risk_attacker="insider")
    assert failing(stricter, replace(findings(), recognition=lower, linkage=link))


def test_a_mean_hides_no_column_no_outlier_and_no_copied_record():
    policy = Policy(maximum_column_gain=0.5, maximum_outlier_gain=0.3, maximum_verbatim=0.01)
    calm = attack(worst_gain=0.4, outliers=0.3, outliers_baseline=0.2)
    assert failing(policy, findings(calm)) == []
    for leak in (
        findings(attack(worst_gain=0.6)),
        findings(attack(outliers=0.9, outliers_baseline=0.2)),
        replace(findings(calm), verbatim=0.02),
    ):
        assert len(failing(policy, leak)) == 1
    assert failing(policy, replace(findings(calm), attacks=())) != []


def test_the_strict_policy_refuses_whatever_the_verdict_calls_recovered():
    rng = np.random.default_rng(3)
    table, noise = rng.normal(size=(2, 600, 12))
    one_column, some_rows = noise.copy(), noise.copy()
    one_column[:, 3] = table[:, 3]
    some_rows[:60] = table[:60]
    for released in (one_column, some_rows):
        report = ig.audit(
            table, released, attacks=["naive", "known_input"], rows_correspond=True,
            policy=Policy.strict(), random_state=0,
        )  # fmt: skip
        unmet = " ".join(p.demand for p in report.findings.policy if not p.met)
        assert "single column" in unmet or "unchanged" in unmet


def test_the_gate_and_the_verdict_go_by_one_number():
    """Links, members and copies count for a limit on gains, whatever the attacks got."""
    calm = attack(high=0.2, gain_high=0.0, attacker="outsider")
    told = AttackerResult("insider", "", "recovered", 1.0, 1.0, 1.0, membership=1.0)
    found = replace(findings(calm), attackers=(told,))
    assert failing(Policy(maximum_gain=0.2), findings(calm)) == []
    assert failing(Policy(maximum_gain=0.2), found) == [
        "an insider gains at most 0.2 over a blind guess: 1.000 at the upper limit"
    ]


def test_an_attacker_who_was_given_fewer_pairs_than_is_assumed_meets_no_demand():
    limited = AuditNote.of(Kind.PAIRS_LIMITED, n=2)
    found = findings(attack(high=0.2, gain_high=0.0, attacker="outsider"))
    found = replace(found, rows=1_500, columns=30)
    (line,) = failing(Policy(maximum_gain=0.5), replace(found, notes=(limited,)))
    assert line.startswith("an insider has the known pairs that are assumed")
    assert "2 instead of 300" in line
    assert (
        failing(Policy(maximum_gain=0.5, attacker="outsider"), replace(found, notes=(limited,)))
        == []
    )
    enough = AuditNote.of(Kind.PAIRS_LIMITED, n=300)
    assert failing(Policy(maximum_gain=0.5), replace(found, notes=(enough,))) == []


def test_detection_that_a_blind_choice_reaches_is_no_detection():
    found = findings(low=1.0)
    found = replace(found, detection=replace(found.detection, chance=0.9))
    (line,) = failing(Policy(minimum_detection=0.8), found)
    assert "a blind choice finds 0.900" in line
    assert failing(Policy(minimum_detection=0.95), found) == []
