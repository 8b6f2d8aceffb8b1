"""The benchmarks' own arithmetic: what is skipped, who is fastest, which bars are met."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import outliers, peers
from benchmarks.outliers import FEW, FILES, NONE, PLANTED, Result


def result(data, contender, seconds=1.0, *, family=PLANTED, rows=100_000, status="done", run="1"):
    return Result(run, data, family, rows, 29, contender, status, seconds)


def collect(*found):
    return {(r.data, r.contender): r for r in found}


def table(name="flights-1M", family=PLANTED, rows=1_000_000):
    return outliers.Data(name, family, rows, lambda: pytest.fail("must not be made"))


def brute_force(X, n, k):
    X = X.astype(np.float64)
    squares = np.zeros((len(X), len(X)))
    for column in X.T:
        squares += (column[:, None] - column) ** 2
    np.fill_diagonal(squares, np.inf)
    scores = np.sqrt(np.sort(squares, axis=1)[:, :k]).cumsum(axis=1)[:, -1] / k
    rows = np.lexsort((np.arange(len(X)), -scores))[:n]
    return rows, scores[rows]


# The reference.


@pytest.mark.parametrize("n", [1, 40, 900])
def test_reference_agrees_with_numpy_on_ties_and_duplicates(n):
    rng = np.random.default_rng(3)
    # Whole numbers in few places: most rows have doubles, and scores tie everywhere.
    X = rng.integers(0, 5, size=(2500, 3)).astype(np.float32)
    X[::97] *= 3
    rows, scores = peers.reference(X, n, 5)
    expected_rows, expected_scores = brute_force(X, n, 5)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_array_equal(scores, expected_scores)


def test_reference_agrees_with_numpy_to_the_last_bit():
    X = np.random.default_rng(4).normal(size=(2100, 29)).astype(np.float32)
    expected_rows, expected_scores = brute_force(X, 50, 5)
    rows, scores = peers.reference(X, 50, 5)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_array_equal(scores, expected_scores)
    np.testing.assert_array_equal(peers.exact_scores(X, rows, 5, block=300), expected_scores)


def test_agreement_counts_rows_order_and_the_worst_score():
    truth = np.array([7, 3, 5]), np.array([4.0, 2.0, 1.0])
    assert peers.agreement(truth, truth) == (3, True, 0.0)
    swapped = np.array([3, 7, 9]), np.array([2.5, 4.0, 1.0])
    assert peers.agreement(swapped, truth) == (2, False, 0.25)


# One measurement.


@pytest.mark.parametrize(("patient", "runs"), [(True, 3), (False, 1)])
def test_only_ours_repeats_a_long_search(monkeypatch, patient, runs):
    monkeypatch.setattr(peers, "LONG", -1.0)
    sizes = []

    def find(X, n, k):
        sizes.append(len(X))
        return np.arange(n), np.ones(n)

    X = np.zeros((1000, 2), dtype=np.float32)
    facts, rows, _ = peers.measure(find, X, times=3, limit=0.0, patient=patient)
    assert sizes == [peers.WARM_UP_ROWS] + [1000] * runs
    assert facts["times"] == runs
    assert len(rows) == peers.N_OUTLIERS


# The results file.


def test_results_survive_the_file(tmp_path):
    path = tmp_path / "deep" / "results.csv"
    assert outliers.read_results(path) == {}
    full = Result("1", "a", FILES, 11_000, 6, "ours", "done", 0.25, 3, 90.5, 2.0, 500, True, 0.0)
    bare = Result("1", "a", FILES, 11_000, 6, "pyod-knn", "failed: MemoryError")
    outliers.write_results(path, collect(full, bare))
    assert outliers.read_results(path) == collect(full, bare)


def test_a_rerun_skips_what_finished_or_was_stopped_and_nothing_else(monkeypatch):
    results = collect(
        result("flights-100k", "ours"),
        result("flights-100k", "faiss-flat", 240.0, status="stopped at 240 s"),
        result("flights-100k", "pyod-knn", None, status="failed: MemoryError"),
    )
    asked = []
    monkeypatch.setattr(outliers, "measure", lambda data, names, *rest: asked.append(names))
    settings = outliers.Settings("2", 3, 240.0, 0)
    names = ["ours", "faiss-flat", "pyod-knn", "scipy-ckdtree"]
    small = table("flights-100k", rows=100_000)
    outliers.measure_unknown(small, names, results, settings, pytest.fail)
    outliers.measure_unknown(small, names, results, settings, pytest.fail, fresh=True)
    patient = outliers.Settings("3", 3, 600.0, 0)
    outliers.measure_unknown(small, names, results, patient, pytest.fail)
    assert asked == [["pyod-knn", "scipy-ckdtree"], names, names[1:]]


def test_large_flights_meet_only_the_two_fastest_peers():
    results = collect(
        *(
            result("flights-320k", name, seconds, rows=320_000)
            for name, seconds in [("ours", 1), ("faiss-flat", 9), ("pyod-knn", 5)]
        ),
        result("flights-320k", "scipy-ckdtree", 7.0, rows=320_000),
    )

    def spared(data):
        return {c for c in peers.CONTENDERS if outliers.why_not(data, c, results)}

    runs = {"ours", "pyod-knn", "scipy-ckdtree"}
    assert spared(table()) == set(peers.CONTENDERS) - runs
    assert spared(table("flights-3.2M", rows=3_200_000)) == set(peers.PEERS)
    assert spared(table("http", FILES, 567_498)) == set()
    assert spared(table("few-1M", FEW)) == set()  # nothing is known about that family yet


def test_a_peer_stopped_on_fewer_rows_is_spared_more():
    stopped = result("flights-100k", "pyod-knn", 240.0, status="stopped at 240 s")
    larger = table("flights-320k", rows=320_000)
    reason = outliers.why_not(larger, "pyod-knn", collect(stopped))
    assert reason == "not run: stopped at 100,000 rows already"
    assert outliers.why_not(larger, "scipy-ckdtree", collect(stopped)) is None
    assert outliers.why_not(table("few-320k", FEW, 320_000), "pyod-knn", collect(stopped)) is None


# Verdicts.


@pytest.mark.parametrize("power", [0.5, 1.0, 1.15, 2.0])
def test_growth_exponent_of_a_power_is_the_power(power):
    rows = np.array([1e5, 3.2e5, 1e6, 3.2e6])
    assert outliers.growth_exponent(rows, 3.7 * rows**power) == pytest.approx(power)


def test_growth_exponent_of_two_sizes_is_the_ratio_of_logarithms():
    assert outliers.growth_exponent([10, 1000], [2, 32]) == pytest.approx(np.log(16) / np.log(100))


@pytest.mark.parametrize(
    ("family", "rows", "bar"),
    [
        (PLANTED, 100_000, None),
        (PLANTED, 1_000_000, 50),
        (FEW, 100_000, None),
        (FEW, 150_000, 8),
        (FEW, 320_000, 8),
        (FEW, 1_000_000, 50),
        (FEW, 3_200_000, None),
        (NONE, 100_000, 10),
        (FILES, 11_183, 2),
    ],
)
def test_every_table_has_the_bar_of_its_family_and_size(family, rows, bar):
    (verdict,) = outliers.verdicts(collect(result("x", "ours", family=family, rows=rows)))
    assert verdict.bar == bar
    assert verdict.met is None  # without a peer there is nothing to say


@pytest.mark.parametrize(
    ("seconds", "status", "met"),
    [
        (20.0, "done", True),
        (19.9, "done", False),
        (20.0, "stopped at 20 s", True),
        (19.9, "stopped at 19.9 s", None),  # it might have met the bar
    ],
)
def test_a_bar_is_met_by_the_ratio_and_a_limit_only_bounds_it(seconds, status, met):
    ours = result("gaussian", "ours", 2.0, family=NONE)
    peer = result("gaussian", "scipy-ckdtree", seconds, family=NONE, status=status)
    (verdict,) = outliers.verdicts(collect(ours, peer))
    assert verdict.ratio == seconds / 2
    assert verdict.met is met


def test_a_finished_peer_is_faster_than_any_stopped_one():
    stopped = result("x", "faiss-flat", 60.0, status="stopped at 60 s")
    done = result("x", "scipy-ckdtree", 70.0)
    assert outliers.fastest_peer(collect(stopped, done), "x") is done
    assert outliers.fastest_peer(collect(stopped), "x") is stopped
    assert outliers.fastest_peer({}, "x") is None


def test_the_report_says_which_bars_are_met_and_which_ratios_mix_runs():
    sizes = {"100k": 100_000, "320k": 320_000, "1M": 1_000_000, "3.2M": 3_200_000}
    found = [
        result(f"flights-{size}", "ours", 1e-6 * rows, rows=rows) for size, rows in sizes.items()
    ]
    found.append(
        result("flights-1M", "faiss-flat", 240.0, rows=1_000_000, status="stopped at 240 s")
    )
    found.append(result("shuttle", "ours", 1.0, family=FILES, rows=49_097))
    found.append(result("shuttle", "scipy-ckdtree", 1.5, family=FILES, rows=49_097, run="0"))
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in outliers.report(collect(*found)).splitlines()
    ]
    large = ["1,000,000", "29", "1.000", "faiss-flat", ">240.00", "≥ 240.0", "50", "yes"]
    assert ["flights-1M", *large] in cells
    small = ["49,097", "29", "1.000", "scipy-ckdtree", "1.50", "1.5†", "2", "no"]
    assert ["shuttle", *small] in cells
    assert [PLANTED, "ours", "100,000", "3,200,000", "1.00", "1.15", "yes"] in cells
