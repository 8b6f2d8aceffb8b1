"""The rotation paper run again: what it printed, what holds, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.progress import quiet
from isinglass.reproduce import write
from isinglass.reproduce.data import Sets
from isinglass.reproduce.result import How
from isinglass.reproduce.rotation import paper as rotation
from isinglass.reproduce.rotation.accuracy import accuracies, cross_validated, folds
from isinglass.reproduce.rotation.levels import _one_pair, grouped, iterations, search
from isinglass.reproduce.rotation.nearest import gap
from isinglass.reproduce.rotation.printed import TABLE_1
from isinglass.reproduce.rotation.sets import scaled, tables, turned
from isinglass.reproduce.rotation.undone import general_position


@pytest.fixture(scope="module")
def found(real_data):
    return rotation.reproduce(How(folder=str(real_data)), quiet)


@pytest.fixture(scope="module")
def ours(found):
    """Our number by (set, what), without the remark in brackets."""
    return {
        (n.where.removeprefix("Table 1, "), n.what.partition(" (theirs")[0]): n
        for n in found.numbers
    }


@pytest.fixture(scope="module")
def claims(found):
    return {(c.where, c.says[:25]): c for c in found.claims}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The two sets that need no folder."""
    return tables(Sets(tmp_path_factory.mktemp("none")), seed=3)[0]


def test_every_number_of_table_1_stands_beside_ours(found):
    printed = []
    for row in TABLE_1:
        for cells in (row.knn, row.svm, row.perceptron):
            printed += [] if cells is None else [cells[0], cells[1]]
        printed += [*row.lop, *row.ica]
    assert len(printed) == 114
    assert [n.printed for n in found.numbers] == printed
    assert all(n.ours is not None for n in found.numbers)
    # Every deviation is explained, or said not to be.
    for n in found.numbers:
        assert n.note or n.low - 0.06 <= n.printed <= n.high + 0.06, n


def test_the_printed_deviations_are_shown(found):
    shown = [n.what for n in found.numbers if "theirs ±" in n.what]
    assert len(shown) == 33
    assert shown[0] == "KNN, points gained by rotation (theirs ± 0.3)"


def test_a_radial_machine_is_not_moved_by_any_rotation(found):
    changes = [n.ours for n in found.numbers if n.what.startswith("SVM (RBF), points")]
    assert changes == [0.0] * 12


def test_neighbours_move_by_ties_alone(ours):
    for row in TABLE_1:
        change = ours[row.called, "KNN, points gained by rotation"].ours
        assert abs(change) <= (1.5 if row.name in ("breast_w", "votes") else 0.0), row.name


def test_levels_of_the_search(ours):
    # Printed to two digits; the searches here spread by three hundredths.
    assert ours["Iris", "LOP min"].ours == pytest.approx(0.42, abs=0.05)
    assert ours["Iris", "LOP avg"].ours == pytest.approx(0.50, abs=0.02)
    assert ours["Diabetes", "LOP avg"].ours == pytest.approx(0.285, abs=0.02)
    # The exact order beats what the paper's swaps reached.
    assert ours["Wine", "LOP min"].ours == pytest.approx(0.313, abs=0.01)
    assert "swaps gives" in ours["Wine", "LOP min"].note


def test_ica_as_the_paper_scored_it(ours):
    assert ours["Iris", "ICA min"].ours == pytest.approx(0.69, abs=0.01)
    assert ours["Heart", "ICA min"].ours == pytest.approx(0.50, abs=0.01)
    assert ours["Credit-a", "ICA min"].ours == pytest.approx(0.51, abs=0.01)
    # Eleven of twelve averages are near one, as printed: only one component is named.
    near = [
        abs(ours[row.called, "ICA avg"].ours - row.ica[1]) < 0.12
        for row in TABLE_1
        if row.name != "iris"
    ]
    assert all(near)


@pytest.mark.parametrize(
    ("where", "says", "verdict"),
    [
        ("Lemma 1", "A classifier by nearest", "holds conditionally"),
        ("Theorem 1", "Kernel regression", "holds"),
        ("Theorem 2", "Support vector machines", "holds"),
        ("Section 4.5", "A random centre", "holds conditionally"),  # D4
        ("Theorem 3", "A perceptron", "holds conditionally"),  # D5
        ("Table 1, section 5.1", "The accuracy", "holds conditionally"),
        ("Section 4.2", "With s = 1", "does not hold"),  # D1
        ("Section 4.2", "The variance of difference", "does not hold"),  # D3
        ("Section 4.3, observation 1", "Columns of larger", "holds"),
        ("Section 4.3, observation 2", "The variance of VoD", "does not hold"),
        ("Section 4.3", "Swapping rows", "holds"),
        ("Section 4.5", "The rotation's centre", "holds"),
        ("Section 4.4", "Where attributes", "does not hold"),
        ("Section 5.2", "ICA does not converge", "does not hold"),
        ("Section 5.2, figures 3, 4", "ICA has no effect", "holds conditionally"),
        ("Sections 4.4, 5.2, 6", "ICA is in general", "does not hold"),  # D2
        ("Section 4.4", "One can select", "does not hold"),
        ("Abstract, section 6", "Rotation gives", "does not hold"),  # D7
        ("Section 5.3, figures 5, 6", "The level of condensation", "holds"),
        ("Section 5.3", "On Ionosphere", "holds"),
        ("Section 5.3, figures 7, 8", "Rotation has", "holds conditionally"),  # D6
    ],
)
def test_verdicts(claims, where, says, verdict):
    fits = [c for (w, _), c in claims.items() if w == where and c.says.startswith(says)]
    assert [c.verdict for c in fits] == [verdict]


def test_every_verdict_is_listed_above(found):
    assert len(found.claims) == 21


def test_figures_of_the_paper_are_there(found):
    names = [figure.name for figure in found.figures]
    assert [n for n in names if n.startswith("figure")] == [f"figure-{i}" for i in range(3, 9)]
    by_name = {figure.name: figure for figure in found.figures}
    # All twelve sets are in the comparisons.
    for name in ("figure-7", "figure-8", "table-1-accuracy", "table-1-lop", "attackers"):
        assert len({row["set"] for row in by_name[name].rows}) == 12, name


def test_condensation_grows_with_its_groups_and_stays_low(found):
    for figure in found.figures:
        if figure.name in ("figure-5", "figure-6"):
            levels = [row["level"] for row in figure.rows if row["line"] == "average"]
            assert levels == sorted(levels)
            assert levels[-1] < 0.1


def test_measured_alike_the_gap_to_condensation_shrinks(found):
    rows = next(f for f in found.figures if f.name == "figure-8").rows
    by = {(row["set"], row["method"]): row["level"] for row in rows}
    for row in TABLE_1:
        own, alike, condensed = (
            by[row.called, m]
            for m in (
                "rotation: own record",
                "rotation: nearest record",
                "condensation: nearest record",
            )
        )
        assert own > 1.3 * alike > 1.3 * condensed


def test_the_page_says_how_it_was_made(found):
    page = write.markdown(found)
    assert "isinglass reproduce rotation --quick --seed 0" in page
    assert "lowest of 2 attacks in place of 50" in page
    for word in ("safe", "secure", "anonymous"):
        assert word not in page.lower().split()


def test_missing_sets_are_reported_and_not_replaced(tmp_path):
    found = rotation.reproduce(How(folder=str(tmp_path)), quiet)
    there = {n.where for n in found.numbers if n.ours is not None}
    assert there == {"Table 1, Iris", "Table 1, Wine"}  # scikit-learn ships these two
    assert len(found.numbers) == 114
    assert {n.note for n in found.numbers if n.ours is None} == {"data missing"}
    missing = {m.what for m in found.missing}
    assert {"Votes in Table 1", "Figure 3 (breast_w)", "Figure 6 (diabetes)"} <= missing
    by_says = {c.says: c.verdict for c in found.claims}
    assert by_says["A perceptron is invariant to rotation."] == "not tested"


def test_one_seed_gives_the_same_numbers(shipped):
    iris, wine = shipped
    assert accuracies(iris, 1, 2, 60) == accuracies(iris, 1, 2, 60)
    assert iterations(wine.X, wine.chance(4), 1) == iterations(wine.X, wine.chance(4), 1)
    assert search(iris.X, iris.chance(3), 1) == search(iris.X, iris.chance(3), 1)
    assert search(iris.X, iris.chance(3), 1) != search(iris.X, iris.chance(4), 1)


def test_both_centres_are_rotations_of_the_same_records():
    X = scaled(np.random.default_rng(0).normal(size=(30, 4)))
    origin, centre = turned(X, np.random.default_rng(1))
    np.testing.assert_allclose(origin @ origin.T, X @ X.T, atol=1e-12)  # about the origin
    shift = origin - centre
    np.testing.assert_allclose(shift, np.tile(shift[0], (30, 1)), atol=1e-12)
    assert np.linalg.norm(shift[0]) > 0.1


def test_naming_one_pair_leaves_the_rest_in_the_order_in_which_they_came():
    unit = np.random.default_rng(2).normal(size=(400, 3))
    unit = np.linalg.qr(unit - unit.mean(axis=0))[0] * np.sqrt(399)  # variance 1, uncorrelated
    columns = unit * np.array([0.2, 0.5, 0.3])
    # The best pair is column 1 with component 0, at 1 - 0.5. The others come in an order that
    # happens to be theirs: 1 - 0.2 and 1 - 0.3.
    assert _one_pair(columns, unit[:, [1, 0, 2]]) == pytest.approx((0.5 + 0.8 + 0.7) / 3)
    # In the other order nothing fits, and the sign that ICA returned stays.
    apart = (0.5 + np.sqrt(1.04) + np.sqrt(1.09)) / 3
    assert _one_pair(columns, unit[:, [1, 2, 0]]) == pytest.approx(apart)
    assert _one_pair(columns, unit[:, [1, 0, 2]] * [1, -1, 1]) == pytest.approx(
        (0.5 + 1.2 + 0.7) / 3
    )


def test_the_lowest_of_each_group():
    assert grouped([3.0, 1.0, 2.0, 5.0, 4.0], 2) == (1.0, 2.0)


def test_every_record_is_classified_by_the_other_folds():
    X = np.arange(12.0)[:, np.newaxis]
    split = folds(12, 3, np.random.default_rng(0))
    assert np.bincount(split).tolist() == [4, 4, 4]

    def trained_on(X, y, new, rng):
        assert not set(X[:, 0]) & set(new[:, 0])
        return np.full(len(new), len(X))

    found = cross_validated(trained_on, X, np.zeros(12, int), split, np.random.default_rng(0))
    assert found.tolist() == [8] * 12


def test_the_nearest_record_is_the_yardstick():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    level = gap(X, X[[0, 0, 2, 1]] + np.array([[0.1, 0.0], [-0.1, 0.0], [0.1, 0.0], [-0.1, 0.0]]))
    assert level.minimum == pytest.approx(0.0)
    assert level.average == pytest.approx(np.std([0.1, -0.1, 0.1, -0.1], ddof=1) / 2)


def test_records_in_general_position_span_the_table():
    X = np.zeros((50, 5))
    X[20:24, :4] = np.eye(4)  # all others are the same record
    rows = general_position(X, np.random.default_rng(0))
    assert len(rows) == 5
    assert set(range(20, 24)) < set(rows)
