"""Empirical floor: below a claim that holds, near it, and above it where something is broken."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, norm

import isinglass as ig
from isinglass.detect.private import counts, noise
from isinglass.detect.private.layout import Layout
from isinglass.detect.private.noise import RoundNoise, price_rounds
from isinglass.detect.private.verification import checks, confidence, noise_law, verify
from isinglass.detect.private.verification.floor import (
    ERROR,
    Target,
    epsilon_from_shares,
    group_size,
    measure_floor,
)

TRUE_ADD = noise.add_noise
#: One column of two values: one cell is moved, so draws are cheap.
ONE_CELL = {"categories": {"c": ["x", "y"]}}
ONE_COLUMN = {"bounds": {"a": (0, 9)}}


def failed(found: verify.PrivacyVerification) -> set[str]:
    return {check.name for check in found.checks if not check.passed}


# Confidence bounds.


@pytest.mark.parametrize("draws", [7, 50, 400])
@pytest.mark.parametrize("share", [0.003, 0.2, 0.5, 0.97])
@pytest.mark.parametrize("error", [1e-2, 1e-6])
def test_bounds_are_wrong_at_most_as_often_as_they_say(draws, share, error):
    hits = np.arange(draws + 1)
    chance = binom.pmf(hits, draws, share)
    low = np.array([confidence.lowest_share(int(k), draws, error) for k in hits])
    high = np.array([confidence.highest_share(int(k), draws, error) for k in hits])
    assert chance[low > share].sum() <= error
    assert chance[high < share].sum() <= error
    # Clopper and Pearson's bounds are the tightest that are monotone: at the bound, the chance of
    # so many hits or more is the error itself.
    tails = [binom.sf(k - 1, draws, x) for k, x in zip(hits[1:], low[1:], strict=True)]
    assert tails == pytest.approx([error] * draws, rel=1e-6)
    ones = [np.repeat([1.0, 0.0], [k, draws - k]) for k in hits]
    for guess in (share * (1 - share), 1e-4):  # a wrong guess is loose, not wrong
        mean = np.array([confidence.lowest_mean(x, error, guess) for x in ones])
        assert chance[mean > share].sum() <= error


def test_the_bound_of_a_mean_is_nearly_as_tight_as_the_normal_law_allows():
    x = np.random.default_rng(0).beta(2, 2, size=20_000)
    low = confidence.lowest_mean(x, ERROR, x.var())
    margin = (x.mean() - low) / (x.std() / math.sqrt(len(x)))
    assert -norm.ppf(ERROR) < margin < 5.5
    assert confidence.lowest_mean(np.zeros(50), ERROR, 0.1) == 0


def test_p_values_of_shares_are_exact():
    for hits, n, p in ((0, 20, 0.5), (3, 20, 0.5), (20, 20, 0.5), (9, 1000, 0.001)):
        expected = 2 * min(binom.cdf(hits, n, p), binom.sf(hits - 1, n, p))
        assert confidence.share_p_value(hits, n, p) == pytest.approx(min(1, expected), rel=1e-9)


# The floor.


def test_a_group_refutes_what_its_persons_may_lose_together():
    assert epsilon_from_shares(0.5, 0.1, 0.0, 1) == pytest.approx(math.log(5))
    assert epsilon_from_shares(0.5, 0.1, 0.0, 4) == pytest.approx(math.log(5) / 4)
    one = epsilon_from_shares(0.5, 0.1, 0.01, 1)
    assert math.exp(one) * 0.1 + 0.01 == pytest.approx(0.5)
    # Two persons: the second loses from what the first one left, delta included.
    two = epsilon_from_shares(0.5, 0.1, 0.01, 2)
    assert math.exp(two) * (math.exp(two) * 0.1 + 0.01) + 0.01 == pytest.approx(0.5)
    assert epsilon_from_shares(0.1, 0.2, 0.0, 1) == 0
    assert epsilon_from_shares(0.02, 0.01, 0.02, 1) == 0
    assert epsilon_from_shares(0.0, 0.5, 0.0, 3) == 0


@pytest.mark.parametrize("epsilon", [3, 1, 0.1])
def test_the_floor_is_below_the_claim_and_near_it(epsilon):
    found = ig.verify_privacy(epsilon, **ONE_CELL, draws=4000)
    assert found.passed, str(found)
    assert 0.5 * found.rho < found.rho_floor < found.rho
    assert 0.15 * epsilon < found.epsilon_floor < epsilon


def test_the_floor_of_pure_epsilon():
    found = ig.verify_privacy("0.5", 0, **ONE_CELL, draws=4000)
    assert found.passed, str(found)
    assert found.rho is None
    assert found.rho_floor is None
    # One cell: the loss of a group of m is m epsilon wherever the noise is beyond m.
    assert 0.6 * 0.5 < found.epsilon_floor < 0.5


def test_the_floor_takes_in_all_cells_of_all_rounds_together():
    one = Target(RoundNoise(1, 1, 20.0, False), np.array([1]))
    many = [Target(RoundNoise(4, 1, 20.0, False), np.ones(4, dtype=np.int64)), one]
    assert (group_size([one]), group_size(many)) == (40, round(40 / math.sqrt(5)))
    found = measure_floor(many, 1e-6, 2000, pure=False)
    assert 0.5 < found.rho / (5 / (2 * 20.0**2)) < 1
    weaker = measure_floor(many[1:], 1e-6, 2000, pure=False)
    assert weaker.rho < found.rho / 3


def test_where_nothing_is_told_the_floor_is_nothing(monkeypatch):
    moved = np.array([1])
    target = Target(RoundNoise(1, 1, 5.0, False), moved)
    monkeypatch.setattr(counts, "add_noise", lambda c, noise, n_jobs: TRUE_ADD(c * 0, noise))
    found = measure_floor([target], 1e-6, 1000, pure=False)
    assert (found.epsilon, found.rho) == (0.0, 0.0)
    found = measure_floor([Target(target.noise, moved[:0])], 1e-6, 1000, pure=False)
    assert (found.epsilon, found.rho, found.draws) == (0.0, 0.0, 0)


# Planted bugs, each seen.


@pytest.mark.parametrize("cells", [1, 2])
def test_a_scale_for_one_cell_less_lifts_the_floor_above_the_claim(cells, monkeypatch):
    """K <= 3: K - 1 cells priced for K lift rho by K / (K - 1)."""
    true = Layout.moved.fget

    def one_less(layout):
        return tuple(max(n - 1, 1) for n in true(layout))

    monkeypatch.setattr(Layout, "moved", property(one_less))
    names = "abc"[: cells + 1]
    found = ig.verify_privacy(categories={n: ["x"] for n in names}, draws=12_000)
    assert found.rho_floor > found.rho
    assert failed(found) == {"floor of rho", "inserted records", "price"}


@pytest.mark.parametrize("where", ["count_leaves", "count_bins"])
def test_a_record_that_is_counted_twice_in_a_column_is_seen(where, monkeypatch):
    true = getattr(counts, where)

    def twice(X, *others):
        true(X, *others)
        once = np.zeros_like(others[-1])
        true(X, *others[:-1], once)
        others[-1][: len(once) // 2] += once[: len(once) // 2]

    monkeypatch.setattr(counts, where, twice)
    columns = {"a": (0, 9), "b": (0, 9)}
    found = ig.verify_privacy(bounds=columns, draws=100)
    assert {"inserted records", "price"} <= failed(found)


def test_sensitivity_that_forgets_records_per_person_is_seen(monkeypatch):
    true = verify.PrivateDetector.priced

    def forgetful(self, names):
        layout, price = true(self, names)
        fresh = price_rounds(price.micro, price.femto, layout.moved)
        return layout, fresh.__class__(
            price.micro, price.femto, 3, price.rho, fresh.rounds, price._scale
        )

    monkeypatch.setattr(verify.PrivateDetector, "priced", forgetful)
    found = ig.verify_privacy(**ONE_CELL, records_per_person=3, draws=2000)
    assert {"floor of rho", "price"} <= failed(found)
    assert found.rho_floor > 4 * found.rho


def test_noise_that_goes_by_the_number_of_rows_is_seen(monkeypatch):
    def by_rows(counts, noise, n_jobs):
        grown = noise.scale * (1 + np.log1p(counts.sum()) / 40)
        return TRUE_ADD(counts, RoundNoise(noise.cells, noise.records, grown, noise.pure))

    monkeypatch.setattr(counts, "add_noise", by_rows)
    assert "same noise for every table" in failed(ig.verify_privacy(**ONE_COLUMN, draws=100))


@pytest.mark.parametrize("whole", [True, False])
def test_noise_of_floats_is_seen(whole, monkeypatch):
    rng = np.random.default_rng(0)

    def floats(counts, noise, n_jobs):
        noised = counts + rng.normal(scale=noise.scale, size=len(counts))
        return np.rint(noised).astype(np.int64) if whole else noised

    monkeypatch.setattr(counts, "add_noise", floats)
    seen = failed(ig.verify_privacy(**ONE_CELL, draws=100))
    assert "exact noise" in seen
    assert ("whole numbers" in seen) is not whole


@pytest.mark.parametrize("delta", [1e-6, 0])
def test_noise_that_is_too_small_by_a_tenth_is_seen(delta, monkeypatch):
    def small(counts, noise, n_jobs):
        less = RoundNoise(noise.cells, noise.records, 0.9 * noise.scale, noise.pure)
        return TRUE_ADD(counts, less)

    monkeypatch.setattr(counts, "add_noise", small)
    columns = {"a": (0, 9), "b": (0, 9)}  # of one column, a run in twelve sees only the first
    found = ig.verify_privacy(1, delta, bounds=columns, draws=100)
    assert {"exact noise", "same noise for every table"} <= failed(found)


def test_the_floor_alone_sees_noise_that_is_too_small_by_a_quarter(monkeypatch):
    def small(counts, noise, n_jobs):
        less = RoundNoise(noise.cells, noise.records, 0.75 * noise.scale, noise.pure)
        return TRUE_ADD(counts, less)

    monkeypatch.setattr(counts, "add_noise", small)
    assert "floor of rho" in failed(ig.verify_privacy(**ONE_CELL, draws=8000))


@pytest.mark.parametrize("period", [1, 64])
def test_noise_that_repeats_is_seen(period, monkeypatch):
    def repeated(counts, noise, n_jobs):
        few = TRUE_ADD(np.zeros(len(counts) // (2 * period) + 1, dtype=np.int64), noise)
        return counts + np.repeat(few, 2 * period)[: len(counts)]

    monkeypatch.setattr(counts, "add_noise", repeated)
    assert "fresh noise" in failed(ig.verify_privacy(**ONE_COLUMN, draws=100))


def test_noise_that_is_kept_from_table_to_table_is_seen(monkeypatch):
    kept = {}

    def seeded(counts, noise, n_jobs):
        key = len(counts), noise
        if key not in kept:
            kept[key] = TRUE_ADD(counts * 0, noise)
        return counts + kept[key]

    monkeypatch.setattr(counts, "add_noise", seeded)
    seen = ig.verify_privacy(**ONE_COLUMN, draws=100)
    assert "another table" in str(seen)
    assert "fresh noise" in failed(seen)


# The laws that draws are held against.


@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("pure", [True, False])
def test_masses_are_those_of_the_definition(scale, pure):
    x = np.arange(-3000, 3001)
    mass = np.exp(-np.abs(x) / scale) if pure else np.exp(-((x / scale) ** 2) / 2)
    mass /= mass.sum()
    for least in (1, 2, 7, 60, 200):
        found = noise_law.upper_tail(least, scale, pure=pure)
        assert found == pytest.approx(mass[x >= least].sum(), rel=1e-9, abs=1e-300)
    for divisor in (2, 4, 64):
        found = noise_law.divisible(divisor, scale, pure=pure)
        assert found == pytest.approx(mass[x % divisor == 0].sum(), rel=1e-9)


def test_the_integral_takes_over_from_the_sum_without_a_step():
    scale = noise_law._SUMMED
    for least in (1, 5_000, 40_000, 80_000):
        summed = noise_law.upper_tail(least, scale, pure=False)
        assert noise_law.upper_tail(least, math.nextafter(scale, 1e9), pure=False) == pytest.approx(
            summed, rel=1e-6
        )


def test_the_delta_of_rho_agrees_with_opendp():
    for epsilon, femto in ((3, 10**9), (1, 10**9), (0.1, 10**6), (0.001, 10**9)):
        price = price_rounds(round(epsilon * 10**6), femto, (1,))
        assert checks.delta_of(float(price.rho), epsilon) == pytest.approx(femto / 1e15, rel=1e-5)


# What is said.


def test_the_document_and_the_lines():
    found = ig.verify_privacy("0.3", threshold_share=0.1, **ONE_CELL, draws=100)
    document = found.to_json()
    assert list(document) == [
        "passed", "epsilon", "delta", "records_per_person", "columns", "epsilon_floor", "rho",
        "rho_floor", "error_rate", "draws", "persons_planted", "checks",
    ]  # fmt: skip
    assert json.loads(json.dumps(document))["epsilon"] == 0.3
    assert document["error_rate"] == 1e-6
    assert [set(check) for check in document["checks"]] == [{"name", "passed", "found"}] * 8
    assert len(str(found).splitlines()) == 8


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"draws": 99}, "draws must be a whole number >= 100"),
        ({"draws": True}, "draws must be a whole number"),
        ({"n_columns": 0}, "n_columns must be a whole number >= 1"),
        ({"n_columns": 1} | ONE_CELL, "n_columns must be None where"),
        ({"epsilon": 0}, "epsilon must be a number > 0"),
        ({"delta": 1}, "delta must be >= 0 and < 1"),
        ({"rounds": 3}, "rounds must be 1 or 2"),
        ({"records_per_person": 0}, "records_per_person must be a whole number >= 1"),
        ({"threshold_share": 0.9}, "threshold_share must be None"),
        ({"bounds": {"a": (3, 1)}}, "bounds must be finite"),
    ],
)
def test_a_wrong_setting_is_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        ig.verify_privacy(**settings)


def test_no_table_is_taken_and_no_counts_are_kept():
    found = ig.verify_privacy(**ONE_CELL, draws=100)
    for part in (found, found.floor, *found.companions):
        values = [getattr(part, name) for name in part.__dataclass_fields__]
        assert not any(isinstance(value, np.ndarray) for value in values)
    folder = Path(verify.__file__).parent
    assert not any("_held" in path.read_text() for path in folder.glob("*.py"))
