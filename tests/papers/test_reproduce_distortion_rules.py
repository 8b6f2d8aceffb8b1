"""The verdicts on the distortion paper follow from numbers: others would turn them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isinglass import theory
from isinglass.progress import quiet
from isinglass_papers.distortion import curves, distances, inversion, lemmas, printed
from isinglass_papers.distortion.coil import coil_claim
from isinglass_papers.distortion.inversion import Snooped
from isinglass_papers.distortion.lemmas import Exceeded
from isinglass_papers.distortion.moments import (
    Settled,
    sigma_claim,
    units_claim,
    variance_claim,
)
from isinglass_papers.distortion.projected import size_claim
from isinglass_papers.distortion.rates import good_claim
from isinglass_papers.distortion.rules import Repeated, refuted, verdict_by_count
from isinglass_papers.distortion.saturated_corners import corner_claim
from isinglass_papers.distortion.saturation import ExplainedShares, meaning_claim, range_claim
from isinglass_papers.distortion.scores import ScorePair, score_claims
from isinglass_papers.distortion.sizes import SIZES, order_claim
from isinglass_papers.distortion.slopes import READINGS, STEP, slope_claim, steep_claim

HOLDS, PARTLY, FAILS, OURS_DIFFER = (
    "holds",
    "holds conditionally",
    "does not hold",
    "not reproduced",
)
NAMED = {"a": "A", "b": "B"}


def over(mean, deviation=1.0, keys=50):
    return Repeated(mean, deviation, keys)


def test_counting_and_counterexamples():
    assert [verdict_by_count(n, 2) for n in (2, 1, 0)] == [HOLDS, PARTLY, OURS_DIFFER]
    assert verdict_by_count(0, 2, none=FAILS) == FAILS
    assert [refuted(found) for found in (True, False)] == [FAILS, OURS_DIFFER]


def test_a_difference_counts_beyond_three_standard_errors():
    error = np.sqrt(2 / 50)
    assert over(10 + 3.1 * error).above(over(10))
    assert not over(10 + 2.9 * error).above(over(10))


@pytest.mark.parametrize(
    ("scaled", "wide", "verdict"),
    [((15, 5), (14, 63), PARTLY), ((15, 5), (14, 3), HOLDS), ((5, 15), (14, 63), FAILS)],
)
def test_figure_2(scaled, wide, verdict):
    pairs = [tuple(map(over, pair)) for pair in (scaled, wide)]
    assert size_claim((5, 100), *pairs).verdict == verdict


@pytest.mark.parametrize(
    ("corrected", "as_printed", "verdict"),
    [(1.0, 9.0, PARTLY), (1.0, 1.0, HOLDS), (0.5, 9.0, FAILS), (9.0, 9.0, FAILS)],
)
def test_figure_5(corrected, as_printed, verdict):
    values = np.outer([0.3, 0.6, 0.9], [0.3, 0.6, 0.9])
    claim = curves.bound_claim((0.05, 50), values, corrected * values, as_printed * values)
    assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("near", "far", "verdict"), [(0.01, 200, PARTLY), (0.0005, 200, HOLDS), (0.02, 200, FAILS)]
)
def test_figure_6(near, far, verdict):
    claim = curves.tight_claim({0.1: (near, 0.01), 10.0: (far, 100.0)})
    assert claim.verdict == verdict
    assert ("as loose near the origin" in claim.ours) == (verdict == FAILS)


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [((1, 1, 1), HOLDS), ((0.6, 0.9, 1), PARTLY), ((0.1, 0.2, 0.9), OURS_DIFFER)],
)
def test_figure_4(shares, verdict):
    kept = dict(zip(((3, 3), (64, 3), (64, 64)), shares, strict=True))
    assert coil_claim(kept, 50).verdict == verdict


def test_lemmas_stand_where_the_counterexample_does_not():
    exceeded = {f: Exceeded(0.7, 0.0) for f in printed.KINDS}
    assert lemmas.cauchy_claim(0.9, 0.159, exceeded, 125).verdict == FAILS
    assert lemmas.cauchy_claim(0.1, 0.159, exceeded, 125).verdict == OURS_DIFFER
    assert lemmas.term_claim(0.92, 8.9, 0.95).verdict == FAILS
    assert lemmas.term_claim(0.92, 0.95, 0.95).verdict == OURS_DIFFER
    assert lemmas.root_claim(0.17, 0.03, 0.05, 0.23).verdict == FAILS
    assert lemmas.root_claim(0.04, 0.03, 0.05, 0.23).verdict == OURS_DIFFER
    assert lemmas.sign_claim(-9.4, 320, 320).verdict == PARTLY
    assert lemmas.sign_claim(9.4, 320, 320).verdict == OURS_DIFFER
    assert lemmas.sign_claim(-9.4, 319, 320).verdict == FAILS


def test_a_broken_closed_form_takes_lemma_6_2_back(monkeypatch):
    monkeypatch.setattr(theory, "expected_product", lambda *_: 0.0)
    claims = {claim.where: claim for claim in lemmas.lemmas(quiet).claims}
    assert claims["Lemma 6.2"].verdict == OURS_DIFFER
    assert "0 % (linear)" in claims["Lemma 6.2"].ours
    assert claims["Lemmas 5.2, 5.3"].verdict == FAILS


@pytest.mark.parametrize(
    ("measured", "verdict"), [(0.69, FAILS), (1.32, HOLDS), (1.0, OURS_DIFFER)]
)
def test_keys_settle_the_variance_and_what_sigma_is(measured, verdict):
    found = Settled("linear", measured, 0.03, 1.32, 0.6886)
    assert variance_claim([found], 3000).verdict == verdict
    claim = sigma_claim(found)
    assert claim.verdict == verdict
    assert ("misprint" in claim.ours) == (verdict == FAILS)
    other = replace(found, measured=0.6886)  # one function for which the correction is right
    assert variance_claim([found, other], 3000).verdict != HOLDS


@pytest.mark.parametrize(
    ("variances", "relative", "verdict"),
    [((86, 1571), (1.3, 0.6), PARTLY), ((86, 1571), (0.6, 1.3), HOLDS), ((86, 20), (1, 1), FAILS)],
)
def test_section_vi(variances, relative, verdict):
    by_units = dict(zip((1, 10), zip(variances, relative, strict=True), strict=True))
    assert units_claim(by_units).verdict == verdict


def test_distances():
    assert distances.linear_claim(over(1.02, 0.25, 1000)).verdict == HOLDS
    assert distances.linear_claim(over(1.03, 0.25, 1000)).verdict == FAILS
    assert distances.origin_claim({0.1: 0.98, 10.0: 0.01}).verdict == HOLDS
    assert distances.origin_claim({0.1: 0.98, 10.0: 0.8}).verdict == PARTLY
    assert distances.origin_claim({0.1: 0.4, 10.0: 0.01}).verdict == FAILS


@pytest.mark.parametrize(("error", "verdict"), [(1e-8, FAILS), (0.1, PARTLY), (0.24, HOLDS)])
def test_inversion(error, verdict):
    claim = inversion.inverse_claim({"29": error, "60": 0.25}, {"15": 0.26}, 0.8)
    assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("unit_scale", "small", "verdict"),
    [(0.99, 0.99, FAILS), (0.4, 0.99, PARTLY), (0.4, 0.4, HOLDS)],
)
def test_known_pairs(unit_scale, small, verdict):
    found = [Snooped("sigma_w = 0.1", small, False), Snooped("sigma_w = 1", unit_scale, True)]
    assert inversion.snoop_claim(1e-14, found).verdict == verdict


def test_corners():
    apart = {-1.0: over(3.9, 0.1), 0.0: over(2.0, 0.1), 0.99: over(0.17, 0.1)}
    together = dict.fromkeys(apart, over(0.01, 0.1))
    assert corner_claim(apart, 0.8).verdict == FAILS
    assert corner_claim(together, 0.01).verdict == HOLDS
    assert corner_claim(together, 0.8).verdict == OURS_DIFFER
    assert "corner" not in corner_claim(together, 0.01).ours


def test_figure_10c_by_its_range():
    rising, high = np.linspace(0, 1, 31), np.linspace(0.5, 1, 31)
    assert range_claim(rising * 0.5, high).verdict == PARTLY
    assert range_claim(rising * 0.5, rising * 0.5).verdict == HOLDS
    assert range_claim(high, high).verdict == FAILS
    assert range_claim(-rising, high).verdict == FAILS


@pytest.mark.parametrize(
    ("pairs", "key", "verdict"),
    [(0.5, 1.0, FAILS), (1.0, 1.0, PARTLY), (0.3, 0.3, PARTLY), (0.1, 0.1, PARTLY)],
)
def test_what_the_index_means(pairs, key, verdict):
    near = ExplainedShares(over(0.99, 0.01), over(0.99, 0.01), over(1.0, 0.0))
    far = ExplainedShares(over(pairs, 0.01), over(0.2, 0.01), over(key, 0.01))
    claim = meaning_claim((0.1, 0.94), near, far)
    assert claim.verdict == verdict
    assert ("the other way" in claim.ours) == (pairs < 0.9)


def test_an_index_that_attackers_follow_and_cannot_pass_would_hold():
    near = ExplainedShares(*[over(0.1, 0.01)] * 3)
    far = ExplainedShares(*[over(0.3, 0.01)] * 3)
    assert meaning_claim((0.1, 0.94), near, far).verdict == HOLDS


@pytest.mark.parametrize(
    ("correlation", "tanh", "square", "kept", "verdicts"),
    [
        ((0.9, 0.8), (0.2, 0.2), (0.1, 0.1), (1, 1), [HOLDS] * 4),
        ((0.9, 0.6), (0.2, 0.05), (0.1, 0.1), (1, 0.8), [PARTLY] * 4),
        ((0.5, 0.6), (0.05, 0.05), (0.1, 0.1), (0.5, 0.8), [OURS_DIFFER] * 4),
        ((0.9, 0.8), (0.101, 0.2), (0.1, 0.1), (1, 1), [HOLDS, PARTLY, HOLDS, PARTLY]),  # by chance
    ],
)
def test_figures_7_to_9(correlation, tanh, square, kept, verdicts):
    none = np.empty(0)
    found = {}
    for i, t in enumerate(NAMED):
        found[t, "identity"] = ScorePair(none, none, correlation[i], over(0.1, 0.01), 1.0)
        found[t, "tanh"] = ScorePair(none, none, 0.5, over(tanh[i], 0.01), kept[i])
        found[t, "square"] = ScorePair(none, none, 0.5, over(square[i], 0.01), 1.0)
    assert [claim.verdict for claim in score_claims(found, NAMED)] == verdicts


@pytest.mark.parametrize(
    ("rates", "verdict"), [((90, 70), HOLDS), ((90, 42), PARTLY), ((50, 42), OURS_DIFFER)]
)
def test_good_is_what_the_paper_calls_good(rates, verdict):
    found = {("a", "tanh"): over(rates[0]), ("b", "tanh"): over(rates[1])}
    assert good_claim(found, NAMED).verdict == verdict


def slopes_of(first, one, step, steep=50.0):
    names = {"0.25": first, "1": one, "2": one, **dict.fromkeys(READINGS, steep), STEP: step}
    return {(t, name): over(rate) for t in NAMED for name, rate in names.items()}


def test_slopes():
    assert slope_claim(NAMED, slopes_of(90, 80, 40), "0.25").verdict == HOLDS
    assert slope_claim(NAMED, slopes_of(40, 80, 90), "0.25").verdict == FAILS
    assert slope_claim(NAMED, slopes_of(80.4, 80.2, 80), "0.25").verdict == FAILS  # chance
    mixed = slopes_of(90, 80, 40) | {("b", STEP): over(95)}
    assert slope_claim(NAMED, mixed, "0.25").verdict == PARTLY


def test_four_per_cent():
    few = dict.fromkeys(NAMED, over(3))
    assert steep_claim(NAMED, slopes_of(90, 80, 40), few).verdict == OURS_DIFFER
    claim = steep_claim(NAMED, slopes_of(90, 80, 4.5), few)
    assert claim.verdict == PARTLY
    assert "cannot be refuted" not in claim.ours
    assert steep_claim(NAMED, slopes_of(90, 80, 40, steep=4.5), few).verdict == HOLDS


def order_of(table, size):
    rates = {(t, f): over(r) for t in NAMED for f, r in zip(printed.KINDS, table, strict=True)}
    sized = {(f, m): over(r) for m in SIZES for f, r in zip(printed.KINDS, size, strict=True)}
    return order_claim(rates, NAMED, sized)


def test_the_order_of_the_three_kinds():
    assert order_of((90, 80, 70), (90, 80, 70)).verdict == HOLDS
    assert order_of((90, 80, 70), (90, 70, 80)).verdict == PARTLY
    assert order_of((70, 80, 90), (70, 80, 90)).verdict == OURS_DIFFER
    assert "each step beyond chance on 0" in order_of((90, 80, 79.9), (90, 80, 70)).ours
