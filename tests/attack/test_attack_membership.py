"""Membership scores: for releases by nearness and flats, for models by shadow models."""

import numpy as np
import pytest

from isinglass.attack.knowledge import (
    ColumnStatistics,
    Knowledge,
    PopulationSample,
    PublicParameters,
)
from isinglass.attack.members.membership import membership_scores
from isinglass.attack.members.model_ratio import loss_score, shadow_scores
from isinglass.auditing.membership import area_under_curve
from isinglass.errors import AttackError

RNG = np.random.default_rng(4)
TABLE = RNG.normal(size=(300, 6))
OTHERS = RNG.normal(size=(300, 6))
KNOWN = Knowledge() | ColumnStatistics.of(TABLE)
BOTH = np.vstack([TABLE, OTHERS])


def area(scores):
    return area_under_curve(scores[: len(TABLE)], scores[len(TABLE) :])[0]


def test_exact_copies_are_recognized_without_a_mistake():
    scores = membership_scores(RNG.permutation(TABLE), BOTH, KNOWN)
    assert area(scores["nearest"]) == 1.0
    assert area(scores["relative"]) == 1.0


def test_fresh_noise_tells_nothing():
    scores = membership_scores(np.random.default_rng(5).normal(size=(300, 6)), BOTH, KNOWN)
    for name, values in scores.items():
        assert abs(area(values) - 0.5) < 0.1, name


def test_rows_drawn_within_a_small_group_lie_in_the_flat_of_its_members():
    rng = np.random.default_rng(6)
    centers = 20 * rng.normal(size=(30, 12))
    groups = centers[:, np.newaxis] + rng.normal(size=(30, 4, 12))
    others = (centers[:, np.newaxis] + rng.normal(size=(30, 4, 12))).reshape(-1, 12)
    members = groups.reshape(-1, 12)
    weights = rng.dirichlet(np.ones(4), size=(30, 6))
    released = np.einsum("gwm,gmd->gwd", weights, groups).reshape(-1, 12)
    known = Knowledge() | ColumnStatistics.of(members)
    scores = membership_scores(released, np.vstack([members, others]), known)["flat"]
    assert area_under_curve(scores[:120], scores[120:])[0] > 0.99


def test_the_covariance_of_many_columns_remembers_its_records():
    rng = np.random.default_rng(8)
    members, others = rng.normal(size=(2, 400, 80))
    released = rng.multivariate_normal(np.zeros(80), np.cov(members.T), size=2_000)
    known = Knowledge() | ColumnStatistics.of(members)
    scores = membership_scores(released, np.vstack([members, others]), known)
    for name in ("along_rows", "along_widest"):
        assert area_under_curve(scores[name][:400], scores[name][400:])[0] > 0.85
    # A covariance that is not theirs says nothing.
    scores = membership_scores(rng.normal(size=(2_000, 80)), np.vstack([members, others]), known)
    assert (
        abs(area_under_curve(scores["along_rows"][:400], scores["along_rows"][400:])[0] - 0.5)
        < 0.08
    )


def test_a_change_of_units_hides_nothing():
    scores = membership_scores(1000 * TABLE + 50, BOTH, KNOWN)
    assert area(scores["nearest"]) > 0.99


def test_a_release_of_other_columns_cannot_be_compared_without_pairs():
    with pytest.raises(AttackError, match="known pairs"):
        membership_scores(TABLE[:, :3], BOTH, KNOWN)


def shadow_world(effect, *, n=400, d=6, k=8, seed=0):
    """Errors of models whose training shrinks a record's error by a share; the first half is in."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, d)) * rng.gamma(1.0, size=(n, 1))
    orders = [rng.permutation(n) for _ in range(k // 2)]
    trained_on = np.array(
        [np.isin(np.arange(n), h) for o in orders for h in (o[: n // 2], o[n // 2 :])]
    )
    size = np.abs(base).mean(axis=1, keepdims=True)

    def errors(inside):
        noise = 0.1 * size * rng.normal(size=(n, d))
        return (1 - (effect * inside)[:, np.newaxis]) * base + noise

    is_member = np.arange(n) < n // 2
    return (
        errors(is_member),
        np.array([errors(t) for t in trained_on]),
        trained_on,
        is_member,
    )


def test_shadow_models_tell_members_where_the_loss_alone_does_not():
    target, shadows, trained_on, is_member = shadow_world(0.2)
    told = {"loss": loss_score(target), **shadow_scores(target, shadows, trained_on)}
    areas = {k: area_under_curve(v[is_member], v[~is_member])[0] for k, v in told.items()}
    assert areas.pop("loss") < 0.65
    assert min(areas.values()) > 0.9, areas


def test_a_model_that_fits_better_throughout_is_told_as_well():
    effect = np.where(np.arange(400) % 2 == 0, 0.3, 0.02)  # some records leave hardly a trace
    target, shadows, trained_on, is_member = shadow_world(effect)
    scores = [
        shadow_scores(fit * target, shadows, trained_on)["likelihood_ratio"] for fit in (1.0, 0.5)
    ]
    first, closer = (area_under_curve(s[is_member], s[~is_member])[0] for s in scores)
    assert first > 0.75
    assert closer == pytest.approx(first, abs=0.02)


def test_training_that_leaves_no_trace_tells_nothing():
    target, shadows, trained_on, is_member = shadow_world(0.0, n=1000)
    for name, scores in shadow_scores(target, shadows, trained_on).items():
        assert abs(area_under_curve(scores[is_member], scores[~is_member])[0] - 0.5) < 0.08, name


def test_scores_stay_finite_where_models_do_not_differ():
    errors = np.zeros((10, 3))
    shadows, trained_on = np.zeros((4, 10, 3)), np.zeros((4, 10), dtype=bool)
    trained_on[::2] = True
    for scores in shadow_scores(errors, shadows, trained_on).values():
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("distribution", ["gaussian", "uniform"])
def test_the_law_of_noise_tells_members_where_distances_do_not(distribution):
    rng = np.random.default_rng(7)
    table, others = rng.normal(size=(80, 60)), rng.normal(size=(200, 60))
    noise = rng.normal(size=table.shape)
    if distribution == "uniform":
        noise = rng.uniform(-np.sqrt(3), np.sqrt(3), size=table.shape)
    said = PublicParameters("additive_noise", {"scale": 2.2, "distribution": distribution})
    known = Knowledge() | ColumnStatistics.of(table) | said
    released = table + 2.2 * table.std(axis=0) * noise
    scores = membership_scores(released, np.vstack([table, others]), known)
    areas = {name: area_under_curve(s[:80], s[80:])[0] for name, s in scores.items()}
    assert areas["likelihood"] > areas["nearest"] + 0.1
    assert areas["likelihood"] > 0.8


def test_a_law_that_does_not_hold_tells_nothing_of_fresh_noise():
    said = PublicParameters("additive_noise", {"scale": 1.0, "distribution": "gaussian"})
    fresh = 2**0.5 * np.random.default_rng(5).normal(size=(300, 6))
    scores = membership_scores(fresh, BOTH, KNOWN | said)
    for name in ("likelihood", "among_others"):
        assert abs(area(scores[name]) - 0.5) < 0.1, name


def test_correlated_columns_count_in_the_density_of_a_strangers_row():
    rng = np.random.default_rng(8)
    mix = rng.normal(size=(4, 20))
    table, others = (
        rng.normal(size=(300, 4)) @ mix + 0.5 * rng.normal(size=(300, 20)) for _ in "ab"
    )
    released = table + table.std(axis=0) * rng.normal(size=table.shape)
    said = PublicParameters("additive_noise", {"scale": 1.0, "distribution": "gaussian"})
    known = Knowledge() | ColumnStatistics.of(table) | said
    scores = membership_scores(released, np.vstack([table, others]), known)
    areas = {name: area_under_curve(s[:300], s[300:])[0] for name, s in scores.items()}
    assert areas["likelihood"] > areas["nearest"] + 0.1
    assert areas["among_others"] > areas["nearest"] + 0.1


def test_a_member_is_nearer_to_the_release_than_to_a_sample():
    rng = np.random.default_rng(9)
    # Sizes differ, so that a distance alone says little.
    scale = np.exp(rng.normal(size=(700, 1)))
    rows = scale * rng.normal(size=(700, 6))
    table, others, sample = rows[:300], rows[300:600], rows[600:]
    released = table + 0.5 * scale[:300] * rng.normal(size=table.shape)
    known = Knowledge() | ColumnStatistics.of(table) | PopulationSample(sample)
    scores = membership_scores(released, np.vstack([table, others]), known)
    assert area(scores["nearer_than_sample"]) > area(scores["nearest"]) + 0.05


@pytest.mark.parametrize("units", [np.ones(6), np.ptp(TABLE, axis=0)])
def test_turned_rows_are_as_far_from_the_mean_as_their_records(units):
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(8, 6)))[0]
    turned = (TABLE / units) @ turn.T + 3.0
    scores = membership_scores(turned, BOTH, KNOWN)
    assert area(scores["as_far"]) == 1.0
    mixed = (TABLE / units) @ np.random.default_rng(8).normal(size=(6, 8))
    assert abs(area(membership_scores(mixed, BOTH, KNOWN)["as_far"]) - 0.5) < 0.1
    with pytest.raises(AttackError):  # a narrower release keeps no distance
        membership_scores(turned[:, :5], BOTH, KNOWN)
