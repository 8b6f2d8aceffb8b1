"""The audit on releases whose leak is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

import isinglass as ig
from isinglass.attack.base import Attack
from isinglass.attack.registry import ATTACKS
from isinglass.auditing.audit import audit_arrays
from isinglass.auditing.context import public_parameters
from isinglass.auditing.findings import NOT_MEASURED, PARTLY, RECOVERED, RESISTED
from isinglass.auditing.report.sentences import sentence, sentences
from isinglass.errors import AuditError

pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


def correlated(n=600, d=5, seed=0):
    """Three factors behind d columns of different units, and a few far records."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.3 * rng.gamma(1.0, size=(n, d))
    X[: n // 50] *= 3
    return X * np.logspace(0, 2, d)


TABLE = correlated()


@pytest.fixture(scope="module")
def noise_report():
    noise = np.random.default_rng(5).normal(size=TABLE.shape)
    return ig.audit(TABLE, noise, random_state=1)


def test_the_table_itself_is_recovered_and_everything_is_found():
    found = ig.audit(TABLE, TABLE, random_state=0).findings
    assert found.verdict == RECOVERED
    assert found.detection.rate == 1
    assert found.detection.rank_correlation == pytest.approx(1)
    assert found.strongest().success > 0.99
    assert found.privacy.minimum < 1e-6
    assert any("unchanged" in note for note in sentences(found.notes))


def test_a_permuted_copy_is_the_full_leak_it_is():
    shuffled = np.random.default_rng(2).permutation(TABLE)
    found = ig.audit(TABLE, shuffled, random_state=0).findings
    naive = next(a for a in found.attacks if a.name == "naive")
    assert found.verdict == RECOVERED
    assert naive.success == 1
    assert naive.scored_by == "nearest record"
    assert naive.gain > 0.9
    assert any("100 % of the released rows" in note for note in sentences(found.notes))


def test_a_permuted_copy_in_other_units_is_caught_too():
    rng = np.random.default_rng(2)
    shuffled = rng.permutation(TABLE) * 7 + 3
    found = ig.audit(TABLE, shuffled, random_state=0).findings
    naive = next(a for a in found.attacks if a.name == "naive")
    assert found.verdict == RECOVERED
    assert naive.success > 0.99
    assert naive.scored_by == "nearest record"


def test_pure_noise_gives_no_attack_more_than_a_tenth(noise_report):
    attacks = [a for a in noise_report.findings.attacks if a.failed is None]
    assert len({a.name for a in attacks}) >= 6
    for attack in attacks:
        assert attack.success <= attack.baseline + 0.1, attack.name
        assert attack.gain <= 0.1, attack.name
    assert noise_report.findings.verdict == RESISTED


def test_no_attack_failed(noise_report):
    assert [a for a in noise_report.findings.attacks if a.failed] == []


def test_a_constant_release_leaks_nothing_and_says_so():
    found = ig.audit(TABLE, np.full_like(TABLE, 4.2), random_state=3).findings
    assert found.verdict == RESISTED
    assert all(a.gain < 0.05 for a in found.attacks if a.failed is None)
    assert all(a.no_better_than_baseline for a in found.attacks if a.failed is None)
    # Every row is as strange as every other: what is "found" is what row numbers give.
    assert found.detection.rate <= 0.35


def test_a_rotation_falls_to_one_pair_more_than_columns():
    veil = ig.Rotation(n_iter=2, check_ica=False, random_state=1).fit(TABLE)
    found = ig.audit(TABLE, veil.transform(TABLE), random_state=0).findings
    by_pairs = {a.n_pairs: a for a in found.attacks if a.name == "known_input"}
    assert sorted(by_pairs) == [6, 10, 60]
    assert by_pairs[6].success > 0.99
    assert found.verdict == RECOVERED
    assert found.detection.rate == 1


def test_trials_draw_new_keys_and_hold_records_out():
    veil = ig.Distortion("tanh", random_state=1)
    released = veil.fit_transform(TABLE)
    found = ig.audit(TABLE, released, perturbation=veil, n_trials=3, random_state=0).findings
    assert found.n_trials == 3
    assert found.detection.mean is not None
    assert found.detection.deviation is not None
    assert found.detection.low <= found.detection.rate <= found.detection.high
    row_scored = [a for a in found.attacks if a.scored_by == "row" and not a.with_key]
    assert all(a.control_kind == "held out" for a in row_scored)
    # Guesses beside records they are not about do no better than blind ones, but for chance.
    assert all(a.control <= a.baseline + 0.1 for a in row_scored)


def test_the_key_is_shown_apart_and_is_no_part_of_the_verdict():
    rng = np.random.default_rng(4)
    table = rng.normal(size=(400, 3))
    veil = ig.AdditiveNoise(scale=20.0, random_state=1).fit(table)
    released = veil.transform(table)
    found = ig.audit(table, released, perturbation=veil, n_trials=1, random_state=0).findings
    stolen = next(a for a in found.attacks if a.name == "stolen_key")
    assert stolen.with_key
    assert stolen.success == 1
    assert found.verdict == RESISTED
    assert found.privacy.minimum > 0.05


def test_one_leaking_column_is_no_resistance():
    rng = np.random.default_rng(6)
    table = rng.normal(size=(500, 12))
    released = rng.normal(size=(500, 12))
    released[:, 3] = table[:, 3]
    alone = ig.audit(table, released, attacks=["naive", "known_input"], random_state=0).findings
    assert alone.verdict == PARTLY
    assert alone.strongest().worst_column == "column 3"
    # Whoever has the table unlinked finds every record by that one column.
    linked = ig.audit(table, released, attacks=["linkage"], random_state=0).findings
    assert linked.verdict == RECOVERED


def test_kept_columns_reach_every_attack():
    rng = np.random.default_rng(7)
    table, noise = TABLE, rng.normal(size=(len(TABLE), 4))
    asked = {"attacks": ["known_input"], "random_state": 0}
    alone = ig.audit(table, noise, **asked).findings
    beside = ig.audit(table, noise, kept=table[:, :2], **asked).findings
    assert beside.strongest().gain > alone.strongest().gain + 0.2


def test_two_releases_are_attacked_together():
    veils = [ig.AdditiveNoise(scale=0.5, random_state=i) for i in (1, 2)]
    first, second = (v.fit_transform(TABLE) for v in veils)
    about = ig.attacks.PublicParameters("additive_noise", veils[0].public_parameters())
    one = ig.audit(TABLE, first, parameters=about, rows_correspond=True, random_state=0)
    two = ig.audit(
        TABLE, first, parameters=about, other_releases=[second], rows_correspond=True,
        random_state=0,
    )  # fmt: skip
    error = [r.findings.privacy.average for r in (one, two)]
    assert error[1] < 0.85 * error[0]


def test_two_studies_matrices_are_stacked():
    table = np.random.default_rng(11).uniform(size=(600, 6))  # no column tells of another
    matrices = [ig.public_matrix(6, seed=seed) for seed in ("aa", "bb")]
    veils = [ig.MultipartyPerturbation(m, alpha=0.05, random_state=1) for m in matrices]
    first, second = (v.fit_transform(table) for v in veils)
    said = [public_parameters(v) for v in veils]
    about = {"parameters": said[0], "rows_correspond": True, "random_state": 0, "attacks": ["map"]}
    one = ig.audit(table, first, **about).findings
    two = audit_arrays(
        table, first, other_releases=[second], other_parameters=[said[1]], **about
    ).findings
    assert two.attacks[0].r2 > one.attacks[0].r2 + 0.1
    assert "1 other release" in two.attacks[0].knowledge
    # Where nothing is public about the other one, it is not used, and not listed either.
    blind = ig.audit(table, first, other_releases=[second], **about).findings
    assert "other release" not in blind.attacks[0].knowledge


def test_releases_with_noise_are_linked_together():
    rng = np.random.default_rng(12)
    table = rng.normal(size=(500, 6))
    veils = [ig.AdditiveNoise(scale=0.8, random_state=i) for i in range(4)]
    first, *others = (v.fit_transform(table) for v in veils)
    said = ig.attacks.PublicParameters("additive_noise", veils[0].public_parameters())
    about = {"parameters": said, "rows_correspond": True, "random_state": 0}
    one, four = (
        ig.audit(table, first, other_releases=o, attacks=["linkage"], **about).linkage.linked
        for o in ([], others)
    )
    assert four > 2 * one


def test_a_secret_order_protects_little_and_proves_nothing():
    rng = np.random.default_rng(13)
    table = rng.normal(size=(400, 5))
    veil = ig.Rotation(1, check_ica=False, random_state=1)
    shuffled = rng.permutation(veil.fit_transform(table))
    found = ig.audit(table, shuffled, order_known=False, random_state=0).findings
    distance = next(a for a in found.attacks if a.name == "distance")
    assert distance.success > 0.99
    assert distance.gain > 0.95
    assert found.verdict == RECOVERED
    assert found.detection.rate is None
    missing = {s.name for s in found.skipped if s.applicable}
    assert missing == {"known_input", "unit_pursuit", "linkage", "pattern_linkage"}


def test_whoever_knows_the_rule_of_adaptive_noise_needs_no_key():
    table = correlated(160, 3)
    veil = ig.AdaptiveNoise(k=5, random_state=1).fit(table)
    released = veil.transform(table)
    said = ig.attacks.PublicParameters("adaptive_noise", veil.public_parameters())
    asked = {"attacks": ["linkage"], "rows_correspond": True, "random_state": 0}
    keyless = ig.audit(table, released, parameters=said, **asked).linkage
    owner = ig.audit(table, released, perturbation=veil, n_trials=1, **asked).linkage
    assert keyless.average == pytest.approx(owner.average, rel=0.2)


def test_without_a_finished_attack_nothing_is_said():
    noise = np.random.default_rng(14).normal(size=TABLE.shape)
    found = ig.audit(TABLE, noise, attacks=[], random_state=0)
    assert found.verdict == NOT_MEASURED


def test_outliers_are_scored_apart():
    noisy = TABLE + np.random.default_rng(8).normal(size=TABLE.shape)
    found = ig.audit(TABLE, noisy, random_state=0).findings
    scored = [a for a in found.attacks if a.failed is None]
    assert all(a.outliers is not None and a.rest is not None for a in scored)


def test_labels_give_areas_under_the_curve():
    labels = np.zeros(len(TABLE), dtype=int)
    labels[: len(TABLE) // 50] = 1
    found = ig.audit(TABLE, TABLE * 2, labels=labels, random_state=0).findings
    assert found.detection.auc_table > 0.9
    assert found.detection.auc_release == pytest.approx(found.detection.auc_table, abs=1e-9)


def test_knowledge_of_ones_own():
    rng = np.random.default_rng(9)
    veil = ig.Rotation(n_iter=1, check_ica=False, random_state=1)
    released = veil.fit_transform(TABLE)
    rows = rng.permutation(len(TABLE))[:6]
    known = ig.attacks.KnownPairs(rows, TABLE[rows])
    found = ig.audit(
        TABLE, released, attacks=["known_input"], knowledge=known, random_state=0
    ).findings
    (attack,) = found.attacks
    assert attack.success > 0.99
    assert attack.n_records == len(TABLE) - 6
    assert found.linkage is None


def test_an_attack_of_ones_own_runs_beside_ours():
    class Peek(Attack):
        name = "peek"

        def guess(self, released, knowledge):
            return np.asarray(released) / 2

    found = ig.audit(TABLE, TABLE * 2, attacks=["naive", Peek()], random_state=0).findings
    assert list(dict.fromkeys(a.name for a in found.attacks)) == ["naive", "peek"]
    assert found.attacks[-1].success == 1


def test_an_attack_that_breaks_is_reported_and_not_counted():
    class Broken(Attack):
        name = "broken"

        def guess(self, released, knowledge):
            raise ValueError("the value 123456 is in here")

    report = ig.audit(TABLE, TABLE, attacks=[Broken()], random_state=0)
    (attack,) = report.findings.attacks
    assert attack.failed is not None
    assert "123456" not in sentence(attack.failed)
    (entry,) = report.to_contract()["attacks"]
    assert entry["name"] == "broken"
    assert entry["success"] is None
    assert report.verdict == RECOVERED  # the table itself left


def test_guesses_that_are_no_numbers_fail():
    class Wild(Attack):
        name = "wild"

        def guess(self, released, knowledge):
            return np.full(np.shape(released), np.nan)

    (attack,) = ig.audit(TABLE, TABLE, attacks=[Wild()], random_state=0).findings.attacks
    assert attack.failed is not None


def test_few_pairs_may_be_assumed():
    veil = ig.Rotation(n_iter=1, check_ica=False, random_state=1)
    released = veil.fit_transform(TABLE)
    found = ig.audit(TABLE, released, most_pairs=0, rows_correspond=True, random_state=0).findings
    assert all(a.n_pairs is None for a in found.attacks)
    assert any("nobody knows more than 0 pairs" in a for a in sentences(found.assumptions))
    # Somebody may know pairs all the same: what was assumed away is no comfort.
    assert [s for s in found.skipped if s.name == "known_input" and s.applicable]


def test_condensation_is_scored_by_nearest_record():
    veil = ig.Condensation(k=5, random_state=1)
    released = veil.fit_transform(TABLE)
    found = ig.audit(TABLE, released, perturbation=veil, n_trials=1, random_state=0).findings
    done = [a for a in found.attacks if a.failed is None]
    assert done
    assert all(a.scored_by == "nearest record" for a in done)
    assert found.linkage is None


def test_an_audit_repeats_under_its_seed():
    table = TABLE[:150]
    released = table + np.random.default_rng(10).normal(size=table.shape)
    first, second = (ig.audit(table, released, random_state=11).to_contract() for _ in range(2))
    assert first == second


def test_every_release_method_can_be_audited():
    table = correlated(90, 4)
    matrix = ig.public_matrix(4)
    for veil in (
        ig.MultipartyPerturbation(matrix, alpha=0.1, random_state=1),
        ig.GeometricPerturbation(random_state=1),
        ig.RandomProjection(2, random_state=1),
        ig.MultiplicativeNoise(random_state=1),
        ig.AdaptiveNoise(k=3, random_state=1),
        ig.Distortion("sign", random_state=1),
    ):
        released = veil.fit_transform(table)
        found = ig.audit(table, released, perturbation=veil, n_trials=2, random_state=0).findings
        assert [a.failed for a in found.attacks if a.failed] == [], veil
        named = {a.name for a in found.attacks} | {s.name for s in found.skipped}
        assert named == set(ATTACKS)


@pytest.mark.parametrize(
    ("table", "released", "says"),
    [
        (TABLE, TABLE[:-1], "600 rows and the release 599"),
        (np.ones((5, 2)), np.ones((5, 2)), "one value only"),
        (TABLE[:1], TABLE[:1], "at least 2 records"),
        ([["a", "b"]] * 3, TABLE[:3], "numbers only"),
        (np.where(TABLE > 0, TABLE, np.nan), TABLE, "not finite"),
    ],
)
def test_what_cannot_be_audited_is_refused(table, released, says):
    with pytest.raises(AuditError, match=says):
        ig.audit(table, released)


def test_a_table_of_a_few_records_is_audited_too():
    found = ig.audit(TABLE[:12], TABLE[:12] + 1.0, random_state=0).findings
    assert any("small" in note for note in sentences(found.notes))


def test_the_promise_names_the_attackers(noise_report):
    assert noise_report.promise.kind == "audited"
    assert set(noise_report.promise.attackers) == {a.name for a in noise_report.attacks}
    assert ig.audit(TABLE, TABLE, attacks=[], random_state=0).promise.kind == "heuristic"


def test_contract_of_the_json(noise_report):
    document = noise_report.to_contract()
    assert list(document) == [
        "rows", "columns", "detection", "attacks", "privacy", "linkage", "verdict", "attackers",
        "risks",
    ]  # fmt: skip
    assert list(document["detection"]) == ["rate", "low", "high", "n_outliers"]
    assert list(document["attacks"][0]) == [
        "name", "knowledge", "success", "low", "high", "baseline", "control", "worst_column",
        "gain",
    ]  # fmt: skip
    assert list(document["privacy"]) == ["minimum", "average"]
    assert list(document["linkage"]) == ["average", "worst_1pct"]
    assert [a["name"] for a in document["attackers"]] == ["outsider", "acquainted", "insider"]
    assert list(document["attackers"][0]) == [
        "name", "assumes", "verdict", "gain", "low", "high", "r2", "linked", "membership",
        "strongest",
    ]  # fmt: skip
    assert list(document["risks"]) == [
        "singling_out", "linkability", "inference", "reidentification_mean",
        "reidentification_max",
    ]  # fmt: skip


# Leaks that hide behind something.


@pytest.mark.parametrize(
    "leak",
    [
        lambda X, rng: np.column_stack([rng.permutation(X), rng.normal(size=len(X))]),
        lambda X, rng: rng.permutation(X)[:, ::-1],
        lambda X, rng: np.repeat(rng.permutation(X[: len(X) // 2]), 2, axis=0),
        lambda X, rng: rng.permutation(X).astype(np.float32),
    ],
    ids=["a column more", "columns turned round", "half of it twice", "fewer digits"],
)
def test_a_permuted_copy_is_caught_in_disguise(leak):
    released = leak(TABLE, np.random.default_rng(15))
    found = ig.audit(TABLE, released, attacks=["naive"], random_state=0).findings
    assert found.verdict == RECOVERED


def test_a_table_of_copies_hides_nothing():
    table = np.repeat(TABLE[:300], 2, axis=0)
    shuffled = np.random.default_rng(16).permutation(table) * 2 + 1
    assert ig.audit(table, shuffled, attacks=["naive"], random_state=0).verdict == RECOVERED


def test_a_large_permuted_copy_is_caught_too():
    rng = np.random.default_rng(17)
    table = rng.normal(size=(60_000, 4))
    shuffled = rng.permutation(table) * 2 + 1
    found = ig.audit(table, shuffled, attacks=["naive"], n_outliers=10, random_state=0).findings
    assert found.verdict == RECOVERED
    assert found.n_attacked == 9604


def test_records_hit_by_chance_are_no_leak():
    rng = np.random.default_rng(18)
    table, noise = rng.integers(0, 2, size=(2, 800, 5)).astype(float)
    assert ig.audit(table, noise, random_state=0).verdict == RESISTED
    one_record = np.broadcast_to(TABLE[3], TABLE.shape)
    assert ig.audit(TABLE, one_record, random_state=0).verdict == RESISTED


def test_noise_in_many_columns_is_no_leak():
    rng = np.random.default_rng(19)
    table = rng.standard_t(3, size=(1200, 60))
    asked = {"attacks": ["spectral", "naive", "ica"], "random_state": 0}
    found = ig.audit(table, rng.normal(size=table.shape), **asked)
    assert max(a.gain for a in found.attacks) <= 0.05


def test_redraws_meet_the_same_attackers():
    veil = ig.AdditiveNoise(scale=1.0, random_state=1)
    released = veil.fit_transform(TABLE)
    asked = {"attacks": ["known_input"], "perturbation": veil, "random_state": 0}
    found = ig.audit(TABLE, released, n_trials=2, **asked).attacks
    assert [a.n_pairs for a in found] == [6, 10, 60]
    # One in a hundred of 600 records is six pairs, of 480 five: levels are those of the release.
    assert all(a.low <= a.success <= a.high for a in found)


def test_few_records_are_audited_without_a_stumble():
    for n in (2, 3, 5):
        ig.audit(TABLE[:n], TABLE[:n] * 2, random_state=0)


def test_scales_an_attacker_computed_do_not_print():
    said = public_parameters(ig.AdaptiveNoise(k=3, random_state=1).fit(TABLE[:60]))
    assert "sigmas" in said.parameters
    assert "sigmas" not in repr(said)


def test_rows_in_order_are_smoothed_and_a_secret_order_stops_it():
    time = np.arange(900)[:, np.newaxis]
    rng = np.random.default_rng(0)
    waves = np.sin(time * rng.uniform(0.01, 0.1, 2)) @ rng.normal(size=(2, 5))
    veil = ig.AdditiveNoise(scale=3.0, random_state=1)
    released = veil.fit_transform(waves)
    settings = {"attacks": ["row_order"], "n_trials": 1, "random_state": 0}

    def gain(table, release, **more):
        found = ig.audit(table, release, perturbation=veil, **settings, **more).findings
        return max((a.gain for a in found.attacks), default=None)

    assert gain(waves, released) > 0.8
    assert gain(waves, released, order_known=False) is None
    mixed = rng.permutation(900)
    shuffled = veil.fit_transform(waves[mixed])
    assert gain(waves[mixed], shuffled, most_pairs=0) < 0.4  # as columns that go together allow


def test_a_kept_column_predicts_the_others():
    rng = np.random.default_rng(1)
    city = rng.integers(0, 10, 900)
    table = rng.normal(size=(10, 5))[city] + 0.2 * rng.normal(size=(900, 5))
    veil = ig.AdditiveNoise(scale=5.0, random_state=1)
    released = veil.fit_transform(table)
    settings = {"attacks": ["kept_columns"], "n_trials": 1, "random_state": 0}
    kept = ig.audit(table, released, perturbation=veil, kept=city[:, None], **settings).findings
    assert max(a.gain for a in kept.attacks) > 0.8
    other = rng.permutation(city)[:, None]
    apart = ig.audit(table, released, perturbation=veil, kept=other, **settings).findings
    assert max(a.gain for a in apart.attacks) < 0.1


def test_a_sorted_table_links_itself_unless_its_order_is_hidden():
    rng = np.random.default_rng(77)
    table = rng.normal(size=(500, 5))
    table[:, 0] = rng.integers(0, 9, 500)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    released = table + 12 * table.std(axis=0) * rng.normal(size=table.shape)
    settings = {"attacks": ["row_order"], "n_trials": 1, "random_state": 0}
    seen = ig.audit(table, released, rows_correspond=True, **settings).findings
    assert seen.linkage.linked == 1.0
    assert next(a for a in seen.attackers if a.name == "insider").gain > 0.9
    hidden = audit_arrays(table, released, rows_correspond=True, order_shows=False, **settings)
    assert hidden.findings.linkage is None
