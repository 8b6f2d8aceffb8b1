"""Models and rounds: scores that add up, and counts of owners that do."""

from __future__ import annotations

import functools
import itertools
import pickle
from operator import add

import numpy as np
import pytest
from scipy.stats import spearmanr

from isinglass.detect.private import counts, rounds
from isinglass.detect.private.columns import CategoryColumn, NumberColumn
from isinglass.detect.private.counts import NoisedCounts, count_columns
from isinglass.detect.private.estimates import read_threshold
from isinglass.detect.private.layout import BINS, RANGE, Layout
from isinglass.detect.private.model import LARGEST_SCORE, UNIT, PrivateModel
from isinglass.detect.private.noise import RoundNoise, price_rounds
from isinglass.detect.private.projections import FINE, ONE
from isinglass.detect.private.records import CodedRecords
from isinglass.detect.private.rounds import fit_rounds, one_round, one_round_model

ONE_EPSILON, DELTA = 10**6, 10**9
COLUMNS = (
    NumberColumn("a", -20.0, 20.0),
    CategoryColumn("kind", ("x", "y")),
    NumberColumn("b", -30.0, 40.0),
    NumberColumn("c", -5.0, 9.0),
)


def drawn(n: int, seed: int = 0) -> CodedRecords:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + [0, 3, 1]
    X[:, 1] += X[:, 0]
    X[rng.random((n, 3)) < 0.02] = np.nan
    return CodedRecords(X, rng.choice(3, p=[0.7, 0.28, 0.02], size=(n, 1)))


TRAINED = drawn(4000)


@functools.cache
def model(n_rounds: int) -> PrivateModel:
    layout = Layout(COLUMNS, rounds=n_rounds)
    price = price_rounds(ONE_EPSILON, DELTA, layout.moved)
    return fit_rounds(layout, price, lambda: [TRAINED]).model


def quiet(monkeypatch) -> None:
    """Leave the noise out, to see what remains."""
    monkeypatch.setattr(counts, "add_noise", lambda values, noise, n_jobs: values.copy())


def plain_scores(fitted: PrivateModel, records: CodedRecords) -> np.ndarray:
    """Scores of a model of two rounds by the formula, in float64, row by row."""
    layout, columns = fitted.layout, fitted.columns
    found = []
    for numbers, (code,) in zip(records.numbers, records.codes, strict=True):
        own, U = [-np.log(fitted.categories[0][code])], []
        for j, x in enumerate(numbers):
            middle, half = columns.middle[j] / FINE, columns.half[j] / FINE
            if np.isnan(x):
                own.append(-np.log(columns.p[j, BINS]))
                U.append(0.0)
                continue
            low, width = layout.numbers[j].grid
            cell = np.clip(np.floor((x - low) / width * 65_536), 0, 65_535)
            centers = np.array([cell + 0.5, cell // 16 * 16 + 8])  # of the cell, of its leaf
            u, of_leaf = np.rint(ONE * np.arcsinh((centers - middle) / half) / np.arcsinh(1)) / ONE
            U.append(u)
            bin_ = int(np.clip((of_leaf + RANGE) * BINS / (2 * RANGE), 0, BINS - 1))
            own.append(-np.log(columns.p[j, bin_]) + max(abs(of_leaf) - RANGE, 0))
        v = np.array(U) @ layout.W / ONE
        bins = np.clip((v + RANGE) * BINS / (2 * RANGE), 0, BINS - 1).astype(int)
        p = fitted.projections.p[np.arange(len(v)), bins]
        found.append(np.mean(own) + np.mean(-np.log(p) + np.maximum(abs(v) - RANGE, 0)))
    return np.array(found)


def test_scores_are_those_of_the_formula():
    records = drawn(300, seed=1)
    records.numbers[:20] *= 1e3
    found = model(2).scores(records)
    # asinh is rounded to parts of 1/4096 and, seldom, to the other neighbor.
    agrees = abs(found - plain_scores(model(2), records)) < 1e-3
    assert agrees.mean() > 0.98


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_contributions_add_up_to_the_score(n_rounds):
    records = drawn(500, seed=2)
    records.numbers[:50] *= 1e9
    records.numbers[7] = np.nan
    scores, shares = (f(records) for f in (model(n_rounds).scores, model(n_rounds).contributions))
    assert shares.shape == (500, 4)
    assert (shares >= 0).all()
    assert abs(shares.sum(axis=1) / scores - 1).max() < 2e-15


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_a_strange_column_contributes_most(n_rounds):
    records = drawn(60, seed=3)
    for j, place in enumerate((0, 2, 3)):
        records.numbers[:] = [0.0, 3.0, 1.0]
        records.numbers[:, j] = 8.5
        records.codes[:] = 0
        shares = model(n_rounds).contributions(records)
        assert (shares.argmax(axis=1) == place).all()
        assert (model(n_rounds).scores(records) > model(n_rounds).scores(TRAINED).mean()).all()


def test_a_score_is_the_same_alone_in_any_order_and_on_any_number_of_threads():
    records = drawn(40_000, seed=4)
    fitted = model(2)
    scores = fitted.scores(records)
    np.testing.assert_array_equal(fitted.scores(records, n_jobs=2), scores)
    columns_first = CodedRecords(np.asfortranarray(records.numbers), records.codes)
    np.testing.assert_array_equal(fitted.scores(columns_first), scores)
    alone = [fitted.scores(records.part(i, i + 1))[0] for i in range(200)]
    np.testing.assert_array_equal(alone, scores[:200])


def test_a_model_holds_what_scoring_needs_and_makes_its_tables_anew():
    fitted = model(2)
    stored = pickle.dumps(fitted)
    assert len(stored) < 40_000
    np.testing.assert_array_equal(pickle.loads(stored).scores(TRAINED), fitted.scores(TRAINED))
    numbers = sum(a.size for a in (fitted.columns.p, fitted.projections.p, fitted.columns.middle))
    assert numbers < 5_000


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_without_noise_densities_are_those_of_the_rows(n_rounds, monkeypatch):
    quiet(monkeypatch)
    layout = Layout(COLUMNS, rounds=n_rounds)
    price = price_rounds(10**9, DELTA, layout.moved)
    fitted = fit_rounds(layout, price, lambda: [TRAINED]).model
    assert fitted.n_estimated == pytest.approx(4000)
    for j, column in enumerate(layout.numbers):
        low, width = column.grid
        x = TRAINED.numbers[:, j]
        quantiles = np.nanquantile(x, [0.1, 0.9])
        middle = low + fitted.columns.middle[j] / FINE / 65_536 * width
        half = fitted.columns.half[j] / FINE / 65_536 * width
        np.testing.assert_allclose([middle - half, middle + half], quantiles, atol=width / 1000)
        u = np.arcsinh((x[~np.isnan(x)] - middle) / half) / np.arcsinh(1)
        expected = np.histogram(u, BINS, (-RANGE, RANGE))[0] / 4000
        np.testing.assert_allclose(fitted.columns.p[j, :BINS], expected, atol=0.02)
        np.testing.assert_allclose(fitted.columns.p[j, BINS], np.isnan(x).mean(), atol=0.001)
    np.testing.assert_allclose(
        fitted.categories[0], np.bincount(TRAINED.codes[:, 0]) / 4000, atol=0.001
    )


def test_a_threshold_lies_above_the_share_of_other_rows_that_was_asked_for(monkeypatch):
    layout = Layout(COLUMNS)
    price = price_rounds(ONE_EPSILON, DELTA, layout.moved, last=2)
    fitted = fit_rounds(layout, price, lambda: [TRAINED], share=0.1)
    assert fitted.threshold is not None
    above = (fitted.model.scores(drawn(20_000, seed=5)) > fitted.threshold).mean()
    assert 0.06 < above < 0.14
    quiet(monkeypatch)
    fitted = fit_rounds(layout, price, lambda: [TRAINED], share=0.1)
    # All scores between two of 256 leaves count as evenly spread.
    exact = np.quantile(fitted.model.scores(TRAINED), 0.9)
    assert abs(fitted.threshold - exact) < LARGEST_SCORE / 256


def test_noise_in_the_empty_part_of_the_range_does_not_lift_the_threshold():
    rng, n, s = np.random.default_rng(0), 5000, 50.0
    fine = np.bincount(np.clip(rng.gamma(16, 0.25, n) * 8, 0, 255).astype(int), minlength=256)
    true = np.concatenate([fine.reshape(16, 16).sum(axis=1), fine])
    found = [
        read_threshold(NoisedCounts(true + np.rint(rng.normal(0, s, 272)).astype(int), s), n, 0.05)
        for _ in range(100)
    ]
    above = np.array([fine[round(t * 8) :].sum() / n for t in found])
    assert abs(above.mean() - 0.05) < 0.012  # .032 where all above zero counts


def test_a_threshold_that_noise_would_drown_is_refused_before_its_round(monkeypatch):
    layout = Layout(COLUMNS)
    price = price_rounds(ONE_EPSILON, DELTA, layout.moved, last=2)
    monkeypatch.setattr(rounds, "count_leaves_of", None)  # would fail if it were called
    fitted = fit_rounds(layout, price, lambda: [TRAINED.part(0, 300)], share=0.05)
    assert fitted.threshold is None
    assert fitted.tail < 4


def scales_of(fit, tables) -> list[list[float]]:
    """The scales at which each table's counts get noise."""
    found: list[list[float]] = []
    with pytest.MonkeyPatch.context() as patch:
        for table in tables:
            scales: list[float] = []

            def spied(values, noise, n_jobs, scales=scales):
                scales.append(noise.scale)
                return values.copy()

            patch.setattr(counts, "add_noise", spied)
            fit(table)
            found.append(scales)
    return found


def check_noise_of_neighbors(fit) -> None:
    one, other = scales_of(fit, (TRAINED, TRAINED.part(0, 3999)))
    assert one == other
    assert len(one) == 3


def test_the_noise_does_not_depend_on_the_table():
    layout = Layout(COLUMNS)
    price = price_rounds(ONE_EPSILON, DELTA, layout.moved, last=2)
    check_noise_of_neighbors(lambda table: fit_rounds(layout, price, lambda: [table], share=0.1))


def test_noise_that_grows_with_the_table_is_seen(monkeypatch):
    layout = Layout(COLUMNS)
    price = price_rounds(ONE_EPSILON, DELTA, layout.moved, last=2)
    true = counts.RawCounts.noised

    def scaled(raw, noise, *, n_jobs=1):
        n = raw._held()[:17].sum()
        return true(raw, RoundNoise(noise.cells, 1, noise.scale * n / 4000, False), n_jobs=n_jobs)

    monkeypatch.setattr(counts.RawCounts, "noised", scaled)
    with pytest.raises(AssertionError):
        check_noise_of_neighbors(
            lambda table: fit_rounds(layout, price, lambda: [table], share=0.1)
        )


def test_counts_of_owners_make_the_model_of_the_whole_table(monkeypatch):
    quiet(monkeypatch)
    layout = Layout(COLUMNS, rounds=1)
    noise = price_rounds(ONE_EPSILON, DELTA, layout.moved).rounds[0]
    cuts = [0, 100, 101, 3000, 4000]
    parts = [TRAINED.part(a, b) for a, b in itertools.pairwise(cuts)]
    total = functools.reduce(add, (one_round(layout, noise, lambda p=p: [p]) for p in parts))
    whole = count_columns(layout, [TRAINED])
    np.testing.assert_array_equal(total.values, whole._held())
    assert total.owners == 4
    assert total.deviation == 2 * noise.scale  # each adds all of the noise
    records = drawn(500, seed=6)
    one, four = one_round(layout, noise, lambda: [TRAINED]), total
    one, four = (one_round_model(layout, found).scores(records) for found in (one, four))
    assert np.corrcoef(one, four)[0, 1] > 0.9


def test_one_round_and_two_agree_about_what_is_strange():
    records = drawn(2000, seed=7)
    one, two = (model(n).scores(records) for n in (1, 2))
    assert spearmanr(one, two)[0] > 0.8  # ranks: far out, scores go by how little noise left there


def test_a_table_of_categories_alone_has_one_round_and_no_projections():
    layout = Layout(COLUMNS[1:2])
    assert layout.moved == (1,)
    price = price_rounds(ONE_EPSILON, DELTA, layout.moved, last=2)
    codes = CodedRecords(np.empty((4000, 0)), TRAINED.codes)
    fitted = fit_rounds(layout, price, lambda: [codes], share=0.2).model
    scores = fitted.scores(codes)
    expected = -np.log(fitted.categories[0])[TRAINED.codes[:, 0]]
    np.testing.assert_allclose(scores, expected, atol=1 / UNIT)
    np.testing.assert_array_equal(fitted.contributions(codes)[:, 0], scores)


def test_sums_of_projections_are_exact_for_any_number_of_columns():
    for n in (1, 2, 29, 600):
        for n_rounds in (1, 2):
            layout = Layout(tuple(NumberColumn(str(j), 0.0, 1.0) for j in range(n)), n_rounds)
            largest = (64 * ONE if n_rounds == 2 else 65_536) * abs(layout.W).sum(axis=0).max()
            assert largest < 2**53
            assert layout.moved[0] == 3 * n + (2 * 64 if n_rounds == 1 else 0)
            assert (layout.bins.width == np.rint(layout.bins.width)).all()
