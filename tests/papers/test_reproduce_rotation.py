"""The rotation paper run again: what it printed, what holds, and what does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.papers.doctored_rotation import DOCTORED, judged, only
from tests.papers.telling import told_whole

from isinglass.progress import quiet
from isinglass_papers.core import write
from isinglass_papers.core.data import Sets
from isinglass_papers.core.result import How
from isinglass_papers.rotation import paper as rotation
from isinglass_papers.rotation.measurements import measure
from isinglass_papers.rotation.numbers import differs
from isinglass_papers.rotation.printed import TABLE_1
from isinglass_papers.rotation.sets import tables


@pytest.fixture(scope="module")
def measured(real_data):
    """What the quick run measures, before anybody judges it."""
    there, _ = tables(Sets(real_data), 0)
    return measure(there, How(), quiet)


@pytest.fixture(scope="module")
def found(real_data, measured):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rotation, "measure", lambda *_: measured)
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


def test_every_number_of_table_1_stands_beside_ours(found):
    printed = []
    for row in TABLE_1:
        for cells in (row.knn, row.svm, row.perceptron):
            printed += [] if cells is None else [cells[0], cells[1]]
        printed += [*row.lop, *row.ica]
    assert len(printed) == 114
    assert [n.printed for n in found.numbers] == printed
    assert all(n.ours is not None for n in found.numbers)


def test_a_number_without_a_note_agrees_with_the_print(found):
    """Within our spread, widened by a unit of the last digit printed."""
    unsaid = [n for n in found.numbers if not n.note]
    assert len(unsaid) > 30
    for n in unsaid:
        # Percent and points have one digit after the point, levels two.
        unit = 0.01 if n.what.startswith(("LOP", "ICA")) else 0.1
        assert n.agrees, n
        assert n.low - unit <= n.printed <= n.high + unit, n


def test_the_printed_deviations_are_shown(found):
    shown = [n.what for n in found.numbers if "theirs ±" in n.what]
    assert len(shown) == 33
    assert shown[0] == "KNN, points gained by rotation (theirs ± 0.3)"


def test_a_radial_machine_is_not_moved_by_any_rotation(found):
    changes = [n.ours for n in found.numbers if n.what.startswith("SVM (RBF), points")]
    assert changes == [0.0] * 12


def test_neighbors_move_by_ties_alone(ours):
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
    # Eleven of twelve averages are near one, as printed: only one component is named. FastICA's
    # starts differ between processors, so single sets are known to a tenth at best.
    assert all(
        ours[row.called, "ICA avg"].ours == pytest.approx(1.0, abs=0.15)
        for row in TABLE_1
        if row.name != "iris"
    )


@pytest.mark.parametrize(
    ("where", "says", "verdict"),
    [
        ("Lemma 1", "A classifier by nearest", "holds conditionally"),
        ("Theorem 1", "Kernel regression", "holds"),
        ("Theorem 2", "Support vector machines", "holds"),
        ("Section 4.5", "A random center", "holds conditionally"),  # D4
        ("Theorem 3", "A perceptron", "holds conditionally"),  # D5
        ("Table 1, section 5.1", "The accuracy", "holds conditionally"),
        ("Section 4.2", "With s = 1", "does not hold"),  # D1
        ("Section 4.2", "The variance of difference", "does not hold"),  # D3
        ("Section 4.3, observation 1", "Columns of larger", "holds"),
        ("Section 4.3, observation 2", "The variance of VoD", "does not hold"),
        ("Section 4.3", "Swapping rows", "holds"),
        ("Section 4.5", "The rotation's center", "holds"),
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


@pytest.mark.parametrize(
    ("says", "change", "verdict"), DOCTORED, ids=[f"{d[0]}, {d[2]}" for d in DOCTORED]
)
def test_other_numbers_turn_the_verdict(measured, claims, says, change, verdict):
    (before,) = [c for c in claims.values() if c.says.startswith(says)]
    (after,) = [c for c in judged(change(measured)) if c.says.startswith(says)]
    assert after.verdict == verdict != before.verdict
    assert after.ours != before.ours  # the sentence follows, too


def test_every_rule_is_doctored(found):
    for claim in found.claims:
        assert any(claim.says.startswith(says) for says, _, _ in DOCTORED), claim.says


def test_what_differs_is_read_from_the_data(measured):
    breast, votes, wine = (measured.tables[n] for n in ("breast_w", "votes", "wine"))
    assert "699 records of 10 columns, the file has 699 of 9" in differs(breast)
    whole = replace(breast, X=np.zeros((699, 10)), low=np.zeros(10), high=np.ones(10))
    assert "the file has" not in differs(whole)
    assert "16 of 16 columns hold at most 10 whole numbers" in differs(votes)
    fine = np.random.default_rng(0).random(votes.X.shape)
    assert "whole numbers" not in differs(replace(votes, X=fine))
    assert differs(wine) == ""


def test_figures_of_the_paper_are_there(found):
    names = [figure.name for figure in found.figures]
    assert [n for n in names if n.startswith("figure")] == [f"figure-{i}" for i in range(3, 9)]
    by_name = {figure.name: figure for figure in found.figures}
    # All twelve sets are in the comparisons.
    for name in ("figure-7", "figure-8", "table-1-accuracy", "table-1-lop", "attackers"):
        assert len({row["set"] for row in by_name[name].rows}) == 12, name


def test_a_mean_of_iterations_is_called_one(found, measured):
    (figure,) = [f for f in found.figures if f.name == "attackers"]
    assert "both ICA bars are means of 4 iterations" in figure.caption
    (bar,) = [
        row["level"]
        for row in figure.rows
        if (row["set"], row["attacker"]) == ("Iris", "ICA, components of variance one")
    ]
    pairs = [it.pair for it in measured.levels["iris"].iterations]
    assert bar == pytest.approx(np.mean(pairs), abs=1e-5)
    assert len(pairs) == 4


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


def test_the_command_tells_the_run_as_a_whole(found, tmp_path):
    told_whole(found, tmp_path)


def test_missing_sets_are_reported_and_not_replaced(tmp_path):
    found = rotation.reproduce(How(folder=str(tmp_path)), quiet)
    there = {n.where for n in found.numbers if n.ours is not None}
    assert there == {"Table 1, Iris", "Table 1, Wine"}  # scikit-learn ships these two
    assert len(found.numbers) == 114
    assert {n.note for n in found.numbers if n.ours is None} == {"data missing"}
    missing = {m.what for m in found.missing}
    assert {"Votes in Table 1", "Figure 3 (breast_w)", "Figure 6 (diabetes)"} <= missing
    by_says = {c.says: c for c in found.claims}
    assert len(by_says) == 21  # none vanishes
    # Two of twelve sets are less than half of those of any claim.
    assert {c.verdict for c in by_says.values()} == {"not tested"}
    perceptron = by_says["A perceptron is invariant to rotation."]
    assert perceptron.ours.startswith("on 0 of 9 sets: No set with two classes")
    assert sum(c.ours.startswith("on 2 of 12 sets: ") for c in by_says.values()) == 17


def test_claims_say_on_how_many_of_the_sets_they_were_judged(measured, found):
    assert not any(c.ours.startswith("on ") for c in found.claims)
    half = ("breast_w", "diabetes", "ecoli", "iris", "votes", "wine")
    some = {c.says[:20]: c for c in judged(only(measured, *half))}
    assert len(some) == 21
    regression = some["Kernel regression of"]
    assert (regression.verdict, regression.ours[:17]) == ("holds", "on 6 of 12 sets: ")
    # Three of the nine sets with two classes, three of the seven marked, two of the three named.
    for says, begins, verdict in (
        ("A perceptron is inva", "on 3 of 9 sets: ", "not tested"),
        ("The accuracy of the ", "on 6 of 12 sets: ", "not tested"),
        ("ICA does not converg", "on 3 of 7 sets: ", "not tested"),
        ("ICA has no effect on", "on 2 of 3 sets: ", "holds conditionally"),
    ):
        assert some[says].ours.startswith(begins)
        assert some[says].verdict == verdict
    assert "on 3 of 9 sets with two classes" in some["The accuracy of the "].ours
    fewer = judged(only(measured, *half[:5]))
    told = [c for c in fewer if c.ours.startswith("on 5 of 12 sets: ")]
    assert len(told) == 17
    assert {c.verdict for c in told} == {"not tested"}
