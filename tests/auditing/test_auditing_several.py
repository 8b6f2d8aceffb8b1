"""Audits of several releases of one table: together they tell more than each, never less."""

from __future__ import annotations

import numpy as np
import pytest

import isinglass as ig
from isinglass.auditing import audit as run
from isinglass.auditing.runner import attack_all
from isinglass.errors import AuditError

pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")

RNG = np.random.default_rng(7)
X = RNG.normal(size=(240, 2)) @ RNG.normal(size=(2, 6)) + 0.3 * RNG.normal(size=(240, 6))
CHEAP = ("naive", "spectral", "posterior", "kept_columns")


def veils(seed):
    return {
        "gaussian": ig.AdditiveNoise(scale=4.0, random_state=seed),
        "weak": ig.AdditiveNoise(scale=0.5, random_state=seed),
        "uniform": ig.AdditiveNoise("uniform", scale=2.0, random_state=seed),
        "multiplicative": ig.MultiplicativeNoise(scale=0.3, random_state=seed),
        "rotation": ig.Rotation(optimize=None, random_state=seed),
        "geometric": ig.GeometricPerturbation(random_state=seed),
        "projection": ig.RandomProjection(n_components=2, random_state=seed),
        "tanh": ig.Distortion(random_state=seed),
        "square": ig.Distortion("square", random_state=seed),
        "condensation": ig.Condensation(k=20, random_state=seed),
    }


def audited(first, *others, attacks=CHEAP, **about):
    """What each attacker explains of the first release's table, without keys drawn anew."""
    veil = veils(1)[first]
    tables = [veils(2)[other].fit_transform(X) for other in others]
    report = ig.audit(
        X, veil.fit_transform(X), other_releases=tables, attacks=attacks,
        rows_correspond=True, random_state=1, **about,
    )  # fmt: skip
    return {a.name: a for a in report.findings.attackers}


@pytest.fixture
def planned(monkeypatch):
    """Every attack is planned, and few are sent; the scenes they were planned for."""
    seen = []

    def few(scene, steps, *rest, **about):
        seen.append(scene)
        some = [s for s in steps if s.attack.name in ("naive", "spectral")]
        return attack_all(scene, some, *rest, **about)

    monkeypatch.setattr(run, "attack_all", few)
    monkeypatch.setattr(run, "membership", lambda *_: ())
    monkeypatch.setattr(run, "halves_linked", lambda *_: None)
    return seen


@pytest.mark.parametrize("method", [m for m in veils(0) if m not in ("weak", "uniform")])
def test_every_method_is_audited_beside_noise_with_keys_drawn_anew(method, planned):
    """Views made for all rows are made anew for the rows of a release that is drawn again."""
    table, veil = X[:120, :4], veils(1)[method]
    groups = np.repeat(np.arange(20.0), 6)[:, np.newaxis]
    released, others = veil.fit_transform(table), ()
    if method != "condensation":
        others = (veils(2)["gaussian"].fit_transform(table), groups)
    ig.audit(table, released, perturbation=veil, other_releases=others, n_trials=2, random_state=1)
    whole, drawn = planned
    assert len(whole.others) == len(drawn.others) == len(others)
    rows = np.flatnonzero(np.isin(table[:, 0], drawn.table[:, 0]))
    assert len(rows) == len(drawn.table) < len(table)
    for ours, theirs in zip(drawn.others, others, strict=True):
        np.testing.assert_array_equal(ours, theirs[rows])


def test_a_view_of_two_releases_follows_the_rows_that_are_drawn_again(planned):
    """Shares of a value in two releases are put together, also where a fifth is held out."""
    secret = 50 * RNG.normal(size=X.shape)
    veil = ig.AdditiveNoise(scale=0.0, random_state=3).fit(X)
    report = ig.audit(
        X, X - secret, perturbation=veil, other_releases=[secret], n_trials=2, random_state=1
    )
    assert len(planned) == 2
    assert report.findings.attackers[0].r2 > 0.99


def test_releases_of_other_rows_are_refused():
    with pytest.raises(AuditError, match="240 rows"):
        ig.audit(X, X, other_releases=[X[1:]])


@pytest.mark.parametrize("pair", [("gaussian", "rotation"), ("tanh", "gaussian")])
def test_a_release_with_noise_is_explained_by_one_of_another_kind(pair):
    noisy, mixed = (veils(s)[m].fit_transform(X) for s, m in zip((1, 2), pair, strict=True))
    if pair[0] != "gaussian":
        noisy, mixed = mixed, noisy
    inputs = np.column_stack([mixed, np.ones(len(X))])
    weights, *_ = np.linalg.lstsq(inputs, noisy, rcond=None)
    script = float((1 - np.square(inputs @ weights - X).mean(axis=0) / X.var(axis=0)).mean())
    found = audited(*pair)
    assert found["outsider"].r2 > script - 0.05 > 0.4
    assert found["outsider"].strongest == "kept_columns"


@pytest.mark.parametrize("pair", [("gaussian", "weak"), ("projection", "weak")])
def test_no_attacker_gets_less_from_two_releases_than_from_one(pair):
    both, alone = audited(*pair), _alone(pair[1])
    assert all(found.r2 > alone[name].r2 - 0.01 for name, found in both.items())


def test_what_hides_another_release_alone_is_undone(planned):
    """Running sums tell all; numbers that mean nothing beside them change nothing in that."""
    report = ig.audit(
        X, RNG.normal(size=X.shape), other_releases=[np.cumsum(X, axis=0)],
        rows_correspond=True, random_state=1,
    )  # fmt: skip
    outsider = report.findings.attackers[0]
    assert outsider.r2 > 0.95
    assert outsider.knowledge.endswith("the other release alone")


def test_noise_beside_a_projection_keeps_nobody_from_being_linked():
    linked = audited("gaussian", "projection", attacks=["linkage"])["insider"].linked
    assert linked > 0.9


def _alone(method):
    released = veils(2)[method].fit_transform(X)
    report = ig.audit(X, released, attacks=CHEAP, rows_correspond=True, random_state=1)
    return {a.name: a for a in report.findings.attackers}


def test_releases_that_mean_nothing_tell_nothing():
    fresh = RNG.normal(size=(240, 6))
    report = ig.audit(
        X, fresh, other_releases=[RNG.normal(size=(240, 3))], rows_correspond=True,
        attacks=CHEAP, random_state=1,
    )  # fmt: skip
    assert report.verdict == "resisted the attacks listed"
