"""Counts: one record moves few cells by one, whatever else is in the table."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
import traceback

import numpy as np
import pytest

from isinglass.detect.private import counts as module
from isinglass.detect.private.columns import CategoryColumn, NumberColumn
from isinglass.detect.private.counts import (
    NoisedCounts,
    RawCounts,
    count_columns,
    count_leaves_of,
    count_projections,
)
from isinglass.detect.private.estimates import model_of, read_columns, read_projections
from isinglass.detect.private.layout import SHORT_LEVELS, Layout
from isinglass.detect.private.model import Densities, scaled_table
from isinglass.detect.private.noise import RoundNoise
from isinglass.detect.private.projections import FINE
from isinglass.detect.private.records import CodedRecords

D = 3
COLUMNS = (
    NumberColumn("a", -1.0, 2.0),
    NumberColumn("b", 0.0, 9.0, step=1.0),
    NumberColumn("c", -1e-3, 1e3),
    CategoryColumn("d", ("x", "y")),
)
LAYOUTS = {n: Layout(COLUMNS, rounds=n, most_projections=8) for n in (1, 2)}
TABLE = scaled_table(
    Densities(np.ones((D, 33)), np.array([9, 30_000, 5]) * FINE, np.array([8, 20, 9_000]) * FINE)
)
ODD = [0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300, np.nan, np.inf, -np.inf]
ODD += [bound for c in COLUMNS[:D] for edge in (c.low, c.high)
        for bound in (edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf))]  # fmt: skip


def random_records(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows of ordinary, odd and missing values; the last column holds codes."""
    X = rng.normal(size=(n, D)) * rng.choice([1e-3, 1.0, 1e3], size=(n, D))
    odd = rng.random((n, D)) < 0.3
    X[odd] = rng.choice(ODD, size=odd.sum())
    return np.column_stack([X, rng.integers(0, 3, size=n)])


def records(rows: np.ndarray, dtype=np.float64, order="C") -> CodedRecords:
    with np.errstate(over="ignore"):
        numbers = np.array(rows[:, :D], dtype=dtype, order=order)
    return CodedRecords(numbers, rows[:, D:].astype(np.int64))


def fitted_scores():
    """The score leaves of a model, which any public numbers make."""
    layout = LAYOUTS[2]
    rng = np.random.default_rng(0)
    first, second = (NoisedCounts(rng.integers(0, 99, size=n), 5.0) for n in layout.sizes())
    read = read_columns(layout, first)
    return model_of(layout, read, read_projections(layout, second, read)).score_leaves


SCORE_LEAVES = fitted_scores()
ROUNDS = {
    "columns": (LAYOUTS[2].moved[0], lambda p, n: count_columns(LAYOUTS[2], p, n_jobs=n)),
    "projections": (8, lambda p, n: count_projections(LAYOUTS[2], TABLE, p, n_jobs=n)),
    "one round": (LAYOUTS[1].moved[0], lambda p, n: count_columns(LAYOUTS[1], p, n_jobs=n)),
    "scores": (len(SHORT_LEVELS), lambda p, n: count_leaves_of(SCORE_LEAVES, p, n_jobs=n)),
}


def counted(name: str, rows: np.ndarray, n_jobs: int = 1, **kind) -> np.ndarray:
    raw = ROUNDS[name][1]([records(rows, **kind)], n_jobs)
    return raw._held().copy()


def check_insertions(name: str, tries: int) -> None:
    """Insert records anywhere into tables: at most K cells move, each by exactly one."""
    rng, K = np.random.default_rng(1), ROUNDS[name][0]
    kinds = itertools.cycle(itertools.product((np.float64, np.float32), ("C", "F"), (1, 2)))
    for dtype, order, n_jobs in itertools.islice(kinds, tries):
        # Sizes about those at which the rows are cut: parts have 7 rows here.
        table = random_records(rng, int(rng.choice([0, 1, 6, 7, 8, 13, 14, 20])))
        record = random_records(rng, 1)
        larger = np.insert(table, rng.integers(0, len(table) + 1), record, axis=0)
        kind = {"dtype": dtype, "order": order, "n_jobs": n_jobs}
        moved = counted(name, larger, **kind) - counted(name, table, **kind)
        assert set(np.unique(moved)) <= {0, 1}
        missing = np.isnan(record[0, :D]).sum() if name in ("columns", "one round") else 0
        assert moved.sum() == K - 2 * missing  # of a tree, a missing value moves the root alone
        np.testing.assert_array_equal(counted(name, larger, **kind | {"n_jobs": 1}),
                                      counted(name, larger[::-1], **kind))  # fmt: skip


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(module, "_PART", 7)


@pytest.mark.parametrize("name", ROUNDS)
def test_a_record_more_moves_at_most_so_many_cells_by_one(name):
    check_insertions(name, 60)


@pytest.mark.parametrize("name", ["projections", "one round"])
def test_a_record_that_is_counted_in_one_bin_more_is_seen(name, monkeypatch):
    true = module.count_bins

    def off_by_one(X, low, width, table, W, shift, per_bin, n_bins, counts):
        true(X, low, width, table, W, shift, per_bin, n_bins, counts)
        counts[-1] += len(X)

    monkeypatch.setattr(module, "count_bins", off_by_one)
    with pytest.raises(AssertionError):
        check_insertions(name, 60)


@pytest.mark.parametrize("name", ["columns", "projections"])
def test_bounds_that_are_read_from_the_table_are_seen(name, monkeypatch):
    def learned(true):
        def count(X, low, width, *others):
            least = np.nan_to_num(X, posinf=0, neginf=0).min(axis=0, initial=0.0)
            true(X, least.astype(np.float64), width, *others)

        return count

    kernel = {"columns": "count_leaves", "projections": "count_bins"}[name]
    monkeypatch.setattr(module, kernel, learned(getattr(module, kernel)))
    with pytest.raises(AssertionError):
        check_insertions(name, 60)


@pytest.mark.parametrize("name", ROUNDS)
def test_counts_are_the_same_however_the_rows_are_cut(name, monkeypatch):
    rows = random_records(np.random.default_rng(2), 500)
    whole = counted(name, rows)
    parts = [records(part) for part in np.array_split(rows, 7)]
    raw = ROUNDS[name][1](parts, 2)
    np.testing.assert_array_equal(raw._held(), whole)
    monkeypatch.setattr(module, "_PART", 1 << 16)
    np.testing.assert_array_equal(counted(name, rows, order="F"), whole)


def test_the_levels_of_a_tree_agree_and_missing_values_have_a_cell_of_their_own():
    rows = random_records(np.random.default_rng(3), 200)
    found = counted("columns", rows)
    root, middle, lowest, codes = module.split(found, module.tree_shapes(LAYOUTS[2]))
    np.testing.assert_array_equal(root[:, 16], np.isnan(rows[:, :D]).sum(axis=0))
    np.testing.assert_array_equal(root.sum(axis=1), 200)
    np.testing.assert_array_equal(root[:, :16], middle.reshape(D, 16, 16).sum(axis=2))
    np.testing.assert_array_equal(middle, lowest.reshape(D, 256, 16).sum(axis=2))
    np.testing.assert_array_equal(codes, np.bincount(rows[:, D].astype(int), minlength=3))


def test_raw_counts_do_not_print_are_not_copied_and_get_noise_once():
    raw = RawCounts(3)
    raw.fill(lambda counts: counts.__iadd__(77_777))
    assert "7" not in repr(raw)
    assert not hasattr(raw, "__dict__")
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="raw counts cannot be"):
            leave(raw)
    noised = raw.noised(RoundNoise(1, 1, 5.0, False))
    assert abs(noised.values - 77_777).max() < 100
    assert "77" not in repr(noised)
    with pytest.raises(ValueError, match="get noise once"):
        raw.noised(RoundNoise(1, 1, 5.0, False))


def ambient():
    """The context of any error raised here: tests of interrupts may have left one behind."""
    try:
        raise ValueError
    except ValueError as error:
        return error.__context__


def test_an_error_leads_to_no_frame_that_holds_raw_counts(monkeypatch):
    def broken(*arguments):
        counts = arguments[-1]
        counts += 77_777
        raise MemoryError("no memory")

    monkeypatch.setattr(module, "count_leaves", broken)
    with pytest.raises(MemoryError) as first:
        count_columns(LAYOUTS[2], [records(random_records(np.random.default_rng(0), 9))])
    monkeypatch.setattr(module, "add_noise", lambda counts, noise, n_jobs: broken(counts))
    raw = RawCounts(3)
    with pytest.raises(MemoryError) as second:
        raw.noised(RoundNoise(1, 1, 5.0, False))
    for error in (first.value, second.value):
        told = traceback.TracebackException.from_exception(error, capture_locals=True)
        assert "77777" not in "".join(told.format())
        assert error.__context__ is ambient()


def test_raw_counts_are_overwritten_when_they_are_done_with(monkeypatch):
    def held(raw):
        counts = raw._held()
        counts += 77_777
        return counts

    raw = RawCounts(3)
    counts = held(raw)
    raw.noised(RoundNoise(1, 1, 5.0, False))
    assert not counts.any()

    with RawCounts(3) as raw:
        counts = held(raw)
    assert not counts.any()

    raw = RawCounts(3)
    counts = held(raw)
    del raw
    assert not counts.any()

    seen = []
    monkeypatch.setattr(module, "count_leaves", lambda *given: seen.append(given[-1]))
    true = RawCounts._held
    monkeypatch.setattr(RawCounts, "_held", lambda self: seen.append(true(self)) or true(self))

    def parts():
        yield records(random_records(np.random.default_rng(0), 9))
        raise KeyError("a reader that fails in its second part")

    with pytest.raises(KeyError):
        count_columns(LAYOUTS[2], parts())
    assert len(seen) > 2
    assert not any(counts.any() for counts in seen)


def test_two_threads_that_ask_for_noise_do_not_both_get_it():
    asked = []

    def ask(raw):
        try:
            asked.append(raw.noised(RoundNoise(1, 1, 5.0, False)).values)
        except ValueError:
            asked.append(None)

    for _ in range(20):
        raw = RawCounts(3000)
        both = [threading.Thread(target=ask, args=(raw,)) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
    assert sum(values is None for values in asked) == 20


def test_counts_of_owners_add_up_and_so_does_their_noise():
    one, two = (NoisedCounts(np.array([n, 5]), 3.0) for n in (1, 2))
    total = one + two + one
    assert total.values.tolist() == [4, 15]
    assert total.owners == 3
    assert total.deviation == pytest.approx(3 * 3**0.5)
    for other in (NoisedCounts(np.array([1, 2]), 4.0), NoisedCounts(np.array([1]), 3.0)):
        with pytest.raises(ValueError, match="one layout and one price"):
            one + other
