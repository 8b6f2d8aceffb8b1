"""Sensitive privacy, run again: what the paper's tables, figures and theorems come to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.papers.telling import told_whole

from isinglass.progress import quiet
from isinglass_papers.core.data import Sets
from isinglass_papers.core.result import How
from isinglass_papers.sensitive import paper as sensitive
from isinglass_papers.sensitive import proofs as sensitive_proofs
from isinglass_papers.sensitive.cases import CASES, Case, in_components, loaded
from isinglass_papers.sensitive.example import example
from isinglass_papers.sensitive.printed import TABLES
from isinglass_papers.sensitive.records import measured, mechanisms
from isinglass_papers.sensitive.tables import numbers

# Mean error on anomalies of sparse and of sensitive is at most this share of dp's, at epsilon .1.
# Small tables have a small beta: about a lone record thyroid's errs .087 at best, and most of its
# anomalies are not alone.
SHARES = {"thyroid": 1 / 2.5, "mammography": 1 / 9}


@pytest.fixture(scope="module")
def found(real_data):
    return sensitive.reproduce(How(folder=str(real_data)), quiet)


@pytest.fixture(scope="module", params=SHARES)
def table(request, real_data):
    (case,) = (case for case in CASES if case.name == request.param)
    return measured(*loaded(case, Sets(real_data)))


def _ours(found, start):
    (number,) = (n for n in found.numbers if n.what.startswith(start))
    return number


def test_every_printed_number_has_one_of_ours_beside_it(found):
    for name, printed in TABLES.items():
        beside = [n for n in found.numbers if n.what.startswith(name)]
        assert all(n.ours is not None for n in beside)
        assert {value for _, value in printed.flat()} <= {n.printed for n in beside}
    assert [n.printed for n in found.numbers if n.where.startswith("Figure 5")] == [0.44, 0.56]


def test_what_differs_is_explained_or_said_to_be_unexplained(found):
    assert [number for number in found.numbers if not number.agrees and not number.note] == []


def test_lone_records_have_the_printed_errors(found):
    close = {"APS Trucks": 2e-5, "Synthetic": 2e-5, "Mammography": 0.03, "Thyroid": 0.003}
    for name, rel in close.items():
        assert _ours(found, f"{name}: SP, a lone").ours == pytest.approx(
            TABLES[name].random_anomalies_sp, rel=rel
        )
        made = mechanisms(TABLES[name].beta, 1.0)
        for mode in ("sparse", "sensitive"):
            error = made[mode].error_probability(1, 1)
            assert error == pytest.approx(TABLES[name].random_sp, rel=rel)
    # Theirs lies between a lone record's and a mean over our box: orders of magnitude apart.
    fraud = _ours(found, "Credit Fraud (the whole, estimated): SP")
    assert _ours(found, "Credit Fraud: SP, a lone").ours < 1e-40 < fraud.printed < fraud.low


def test_labels_lead_to_the_printed_radius_of_mammography(found):
    assert _ours(found, "Mammography: r by labels").ours == pytest.approx(1.7, abs=0.05)
    assert _ours(found, "Mammography: beta").ours == 55
    assert _ours(found, "Thyroid: beta").ours == 18


def test_labeled_anomalies_and_all_are_counted_apart(found):
    counts = {
        name: (
            _ours(found, f"{name}: anomalies, labeled"),
            _ours(found, f"{name}: anomalies, all"),
        )
        for name in ("Mammography", "Thyroid", "Synthetic (a draw of our own)")
    }
    values = {name: (few.printed, few.ours, every.ours) for name, (few, every) in counts.items()}
    assert values == {
        "Mammography": (75, 74, 269),
        "Thyroid": (61, 84, 532),
        "Synthetic (a draw of our own)": (201, 198, 209),
    }
    assert counts["Thyroid"][0].note == counts["Mammography"][0].note == "unexplained"
    assert "the paper counts true anomalies" in counts["Thyroid"][1].note
    for name in ("Mammography", "Thyroid"):
        every, few = (n for n in found.numbers if n.what.startswith(f"{name}: recall of SP"))
        # Over labeled ones it is nearer to the print, and still not it.
        assert every.ours < few.ours < few.printed
        assert every.note.endswith("unexplained")
        assert few.note.endswith("unexplained")


def test_verdicts(found):
    verdicts = {(c.where, c.verdict) for c in found.claims}
    assert {where for where, verdict in verdicts if verdict == "does not hold"} == {
        "Section 4.1.2", "Theorem 4.4b", "Section 5", "Table 3", "Table 3 against Figure 8",
    }  # fmt: skip
    assert ("Section 5, Figure 10", "not tested") in verdicts
    conditional = {where for where, verdict in verdicts if verdict == "holds conditionally"}
    assert conditional == {
        "Section 1.1, abstract", "Sections 1.2, 3", "Section 5", "Section 5, Figure 6",
    }  # fmt: skip
    assert sum(c.verdict == "holds" for c in found.claims) == 17


def test_every_figure_is_there_with_rows(found):
    names = [figure.name for figure in found.figures]
    wanted = ["1a", "1b", "2a", "2bc", "2de", *map(str, range(3, 10)), "10ab", "10c"]
    assert names == [f"figure-{name}" for name in wanted]
    rows = {figure.name: figure.rows for figure in found.figures}
    assert {row["panel"] for row in rows["figure-3"]} == {
        "(a) k = 1", "(b) k = 7", "(c) k = 14",
    }  # fmt: skip
    assert {row["panel"] for row in rows["figure-6"]} == {
        "epsilon 0.01", "epsilon 0.1", "epsilon 1",
    }  # fmt: skip
    assert {row["curve"] for row in rows["figure-9"]} == {
        "DP", *(f"SP, k = {share} of beta" for share in ("10%", "20%", "30%")),
    }  # fmt: skip
    assert all(rows.values())


def test_the_command_tells_the_run_as_a_whole(found, tmp_path):
    told_whole(found, tmp_path)


def test_missing_sets_are_reported_and_the_rest_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sensitive_proofs, "claims", lambda named, compiled: [])
    monkeypatch.setattr(sensitive, "_draws", lambda how, found: found)
    run = sensitive.reproduce(How(folder=str(tmp_path)), quiet)
    gone = [m.what for m in run.missing if "is missing" in m.why]
    assert len(gone) == 5
    assert "Thyroid (thyroid)" in gone
    lacking = [n for n in run.numbers if n.ours is None]
    assert {n.note for n in lacking} == {"data missing"}
    assert {n.printed for n in lacking if n.what.startswith("Thyroid")} == {
        value for _, value in TABLES["Thyroid"].flat()
    }
    assert any(n.what.startswith("Synthetic") and n.ours is not None for n in run.numbers)
    # Of the claims about tables, what is about several is judged on too few, and none vanishes.
    told = [c for c in run.claims if c.where.startswith("Section 5")]
    assert len(told) == 9
    assert {c.verdict for c in told} == {"not tested"}
    assert sum(c.ours.startswith("on 1 of 5 sets: ") for c in told) == 7
    assert sum(c.ours == "the card-fraud table is missing" for c in told) == 2


def test_the_same_seed_gives_the_same_numbers():
    one, two, other = (example(200, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.accuracy["SP"], two.accuracy["SP"])
    np.testing.assert_array_equal(one.X, two.X)
    assert not np.array_equal(one.X, other.X)
    X = np.random.default_rng(0).normal(size=(300, 2))
    labels = (X**2).sum(axis=1) > 8
    case = Case("thyroid", 4, 0.3, "Thyroid")
    first, again = (measured(case, X, labels, seed=5, drawings=2) for _ in range(2))
    assert first.errors == again.errors
    assert first.scores == again.scores


def test_sparse_and_sensitive_err_far_less_than_dp_on_anomalies(table):
    errors = table.errors
    assert errors.sparse == errors.sensitive < SHARES[table.case.name] * errors.dp
    # Presence alone makes dp a coin: most anomalies have no copy.
    assert errors.dp == pytest.approx(1 / (1 + math.exp(0.1)), abs=1e-3)


def test_all_three_err_alike_on_normal_records(table):
    errors = table.errors
    assert errors.normal_gap == 0
    assert errors.normal_sparse == errors.normal_sensitive == errors.normal_dp < 0.02


def test_errors_on_random_records_are_the_printed_ones(table):
    printed = TABLES[table.case.printed]
    # Two of four printed digits are the most that a box of our own can promise.
    assert np.mean(table.errors.random_sensitive) == pytest.approx(printed.random_sp, rel=0.03)
    assert np.mean(table.errors.random_dp) == pytest.approx(printed.random_dp, abs=2e-4)


def test_finding_half_by_dp_and_more_by_the_others(table):
    score = table.score
    assert score("dp").recall == pytest.approx(0.525, abs=1e-3)  # as printed for both tables
    assert score("sparse").recall > 0.8
    assert score("sparse").f1 > score("dp").f1 + 0.2
    for name in ("B1", "B2"):  # no better than calling everything an anomaly
        assert score(name).f1 < score("dp").f1
        # The share of anomalies, whatever is answered.
        assert score(name).precision == pytest.approx(table.anomalous.mean(), rel=1e-6)


def test_a_table_of_six_records_by_hand():
    # On a line with r = 1, beta = 2: records at 0, 0, 1, 2 are crowded; 10 and 20 are alone.
    X = np.array([[0.0], [0.0], [1.0], [2.0], [10.0], [20.0]])
    found = measured(
        Case("thyroid", 2, 1.0, "Thyroid"), X, np.array([0, 0, 0, 0, 1, 0]).astype(bool)
    )
    q = math.exp(-0.1)

    def error(distance):
        return q**distance / (1 + q)

    # Within r: 3, 3, 4, 2, 1, 1, so the record at 2 is an anomaly as well, at distance 1.
    errors = found.errors
    assert (errors.anomalies, errors.labeled) == (3, 1)
    assert errors.sparse == pytest.approx((error(1) + 2 * error(2)) / 3)
    assert errors.dp == pytest.approx(error(1))
    assert errors.labeled_sensitive == pytest.approx(error(2))
    assert errors.normal_dp == pytest.approx((2 * error(1) + error(2)) / 3)
    sparse = found.score("sparse")
    hits, alarms = 3 - error(1) - 2 * error(2), 2 * error(1) + error(2)
    assert sparse.recall == pytest.approx(hits / 3)
    assert sparse.precision == pytest.approx(hits / (hits + alarms))
    assert sparse.f1 == pytest.approx(2 / (1 / sparse.precision + 1 / sparse.recall))
    assert sparse.labeled_precision == pytest.approx((1 - error(2)) / (hits + alarms))
    beside = {n.what: n for n in numbers([found], [])}
    dp = found.score("dp")
    assert beside["Thyroid: precision of DP"].ours == dp.precision
    assert beside["Thyroid: precision of DP"].printed == 0.1427


def test_printed_precisions_imply_false_calls():
    # Equal on normal records, as the paper states, for three tables; not for the last two.
    for name in ("Credit Fraud", "APS Trucks", "Synthetic"):
        assert TABLES[name].false_calls(2) == pytest.approx(TABLES[name].false_calls(3), rel=0.02)
    for name in ("Mammography", "Thyroid"):
        assert TABLES[name].false_calls(2) > 1.5 * TABLES[name].false_calls(3)


def test_which_printed_scores_contradict_each_other():
    fraud, synthetic = TABLES["Credit Fraud"], TABLES["Synthetic"]
    for at in (0, 2, 3):  # all but B2 are the same three numbers
        assert fraud.precision[at] == synthetic.precision[at]
        assert fraud.recall[at] == synthetic.recall[at]
        assert fraud.f1[at] == synthetic.f1[at]
    wrong = [
        (name, at)
        for name, printed in TABLES.items()
        for at in range(4)
        if abs(printed.implied_f1(at) - printed.f1[at]) > 2e-4
    ]
    assert wrong == [("Mammography", 2)]


def test_components_are_uncorrelated_and_fall_in_size():
    X = np.random.default_rng(0).normal(size=(200, 5)) @ np.diag([5.0, 1, 3, 0.1, 2])
    spread = np.cov(in_components(X, 3), rowvar=False)
    np.testing.assert_allclose(spread, np.diag(np.diag(spread)), atol=1e-10)
    assert (np.diff(np.diag(spread)) < 0).all()
    assert np.diag(spread)[0] == pytest.approx(np.linalg.eigvalsh(np.cov(X, rowvar=False))[-1])
