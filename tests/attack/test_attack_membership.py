"""Membership scores: for releases by nearness and flats, for models by shadow models."""

import numpy as np
import pytest

from isinglass.attack.knowledge import ColumnStatistics, Knowledge
from isinglass.attack.likelihood_ratio import loss_score, shadow_scores
from isinglass.attack.membership import membership_scores
from isinglass.auditing.members import area_under_curve
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


def test_a_change_of_units_hides_nothing():
    scores = membership_scores(1000 * TABLE + 50, BOTH, KNOWN)
    assert area(scores["nearest"]) > 0.99


def test_a_release_of_other_columns_cannot_be_compared_without_pairs():
    with pytest.raises(AttackError, match="known pairs"):
        membership_scores(TABLE[:, :3], BOTH, KNOWN)


def shadow_world(effect, *, shift=1.0, n=400, d=6, k=8, seed=0):
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
        return (1 - effect * inside[:, np.newaxis]) * base + noise

    is_member = np.arange(n) < n // 2
    return (
        shift * errors(is_member),
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
    plain, shadows, trained_on, is_member = shadow_world(0.2)
    scores = shadow_scores(0.7 * plain, shadows, trained_on)["likelihood_ratio"]
    assert area_under_curve(scores[is_member], scores[~is_member])[0] > 0.9


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
