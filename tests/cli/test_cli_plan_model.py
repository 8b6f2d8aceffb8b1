"""`isinglass plan --model`: how many models fit, what they cost together, what a table needs."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import inside
from tests.cli.test_cli_model import document, refused, write

import isinglass as ig
from isinglass.curate.ledger.model_spend import ModelSpend, ModelTotals
from isinglass.detect.private.public_data import public_data
from isinglass.publish.model_plan import Budget, plan_models

PLAN = ("plan", "--model", "--epsilon", "0.25")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("epsilon", "budget", "delta", "cap", "fits"),
    [
        ("0.25", "3", "1e-6", None, 12), ("0.25", "3", "1e-6", "5.9e-6", 5),
        ("0.25", "3", "0", None, 12), ("0.3", "1", "1e-6", None, 3), ("1", "1", "1e-6", None, 1),
        ("1", "0.999999", "1e-6", None, 0), ("0.1", "0.3", "1e-6", None, 3),
        ("1", "3", "1e-6", "0", 0), ("0.000001", "1000000", "1e-15", None, 10**12),
    ],
)  # fmt: skip
def test_as_many_fit_as_the_budget_holds_exactly(epsilon, budget, delta, cap, fits):
    """0.3 is three times 0.1, which in floats it is not."""
    words = ("--budget", budget, "--delta", delta, *(() if cap is None else ("--delta-cap", cap)))
    found = document("plan", "--model", "--epsilon", epsilon, *words)
    assert found["models"] == fits
    assert found["together"]["models"] == fits
    assert found["together"]["epsilon"] == pytest.approx(fits * float(epsilon))
    assert found["together"]["delta"] == pytest.approx(fits * float(delta))


def test_a_year_of_months(monkeypatch):
    shown = inside(*PLAN, "--budget", 3).stdout.splitlines()
    assert shown[0] == (
        "12 models at epsilon 0.25, delta 0.000001 fit under a budget of 3: one a month lasts 12 "
        "months."
    )
    assert "epsilon 3 and delta 0.000012 for all 12 together: both add up" in shown[1]
    found = document(*PLAN, "--budget", 3)
    assert list(found) == [
        "models", "epsilon", "delta", "budget", "left", "delta_cap", "delta_left", "together",
        "columns", "records_per_person", "noise", "reliable", "settled", "by_records_per_person",
        "on_public_data", "sentence",
    ]  # fmt: skip
    assert found["on_public_data"] == public_data(2, pure=False)
    assert found["sentence"] == shown[0]


def test_losses_are_added_up_as_the_ledger_s_totals_do():
    found = plan_models(Budget.new(3_000_000, 12 * 10**9), epsilon="0.25")
    _, price = ig.PrivateDetector("0.25", bounds=(0, 1)).priced(["a"])
    spend = ModelSpend(price.micro, price.femto, price.rho, 1)
    assert found.epsilon_together == ModelTotals((spend,) * 12).epsilon_for(1)
    # Independently: rho adds up, and sqrt of it decides; never above the plain sum.
    rho = 12 * float(price.rho)
    crude = rho + 2 * math.sqrt(rho * math.log(1 / 12e-6))
    assert 0.7 * crude < found.epsilon_together < crude < 3
    assert f"at most {found.epsilon_together:.4f}"[:-1] in found.together_sentence()


@pytest.mark.parametrize("threshold", [None, 0.1])
@pytest.mark.parametrize("n_columns", [1, 10, 29])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.25", "1e-6"), ("1", "0")])
def test_the_noise_is_that_of_a_model(n_columns, epsilon, delta, threshold):
    found = plan_models(
        Budget.new(10**6, 10**9), epsilon=epsilon, delta=delta, n_columns=n_columns,
        records_per_person=2, threshold_share=threshold,
    )  # fmt: skip
    detector = ig.PrivateDetector(
        epsilon, delta, (0, 1), records_per_person=2, threshold_share=threshold
    )
    _, price = detector.priced([str(i) for i in range(n_columns)])
    assert found.needed.noise == price.rounds[0].deviation
    assert found.needed.settled == math.ceil(20 * found.needed.noise)
    assert found.needed.reliable == math.ceil(5 * found.needed.noise)
    one, two, five, ten = found.others
    assert two == found.needed
    for more, k in ((two, 2), (five, 5), (ten, 10)):  # a person's records: that many times
        assert more.noise == pytest.approx(k * one.noise, rel=1e-6)


def test_the_noise_at_epsilon_1_is_that_of_the_mathematics():
    """MATH F.7: s1 is about 11 sqrt(d) at epsilon 1."""
    for d in (1, 9, 29):
        found = plan_models(Budget.new(10**6, 10**9), epsilon=1, n_columns=d)
        assert found.needed.noise == pytest.approx(11 * math.sqrt(d), rel=0.02)
        assert Fraction(3 * d) / Fraction(found.needed.noise) ** 2 <= Fraction(24350, 10**6) + 1


def test_what_a_ledger_has_left(here):
    write("t.csv", np.random.default_rng(0).normal(size=(800, 3)))
    Path("b.csv").write_text("a,-10,10\nb,-10,10\nc,-10,10\n")
    make = ("model", "t.csv", "--bounds", "b.csv", "--ledger", "l.db", "--records-per-person", 2)
    document(*make, "--epsilon", "0.25", "--budget", 3, "-o", "m.zip")
    Path("t.csv").unlink()  # no table is needed
    before = Path("l.db").read_bytes()
    found = document(*PLAN, "--ledger", "l.db", "--n-columns", 3)
    assert (found["models"], found["left"], found["budget"]) == (11, 2.75, 3)
    assert found["records_per_person"] == 2  # as in the contract
    assert (found["together"]["models"], found["together"]["epsilon"]) == (12, 3.0)
    whole = document(*PLAN, "--budget", 3, "--n-columns", 3, "--records-per-person", 2)
    closely = [f["together"]["epsilon_added_up_closely"] for f in (found, whole)]
    assert closely[0] == pytest.approx(closely[1], rel=1e-9)
    shown = inside(*PLAN, "--ledger", "l.db").stdout
    assert shown.startswith(
        "11 more models at epsilon 0.25, delta 0.000001 fit under a budget of 3, of which 2.75 is "
    )
    assert Path("l.db").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model"], "--epsilon must be given"),
        ([], "PUBLIC is missing"),
        (["--model", "t.csv", "--epsilon", "1", "--beta", "3"], "leave PUBLIC, --beta out"),
        (["--model", "--epsilon", "1", "--drop", "a"], "leave --drop out"),
        (
            ["t.csv", "--outlier-fraction", ".1", "--n-columns", "3"],
            "--n-columns: only with --model",
        ),
        (["t.csv", "--outlier-fraction", ".1", "--ledger", "l"], "--ledger: only with --model"),
        ([*PLAN[1:], "--n-columns", "0"], "--n-columns must be >= 1 and <= 1,024, got 0"),
        ([*PLAN[1:], "--n-columns", "2000"], "--n-columns must be"),
        (["--model", "--epsilon", "x"], "--epsilon must be a number"),
        ([*PLAN[1:], "--delta", "2"], "--delta must be"),
        ([*PLAN[1:], "--delta-cap", "2"], "--delta-cap must be"),
        ([*PLAN[1:], "--budget", "-1"], "--budget must be"),
        ([*PLAN[1:], "--threshold", "2"], "--threshold must be"),
        ([*PLAN[1:], "--records-per-person", "0"], "--records-per-person must be"),
        ([*PLAN[1:], "--ledger", "none.db"], "there is no ledger at"),
        ([*PLAN[1:], "--ledger", "l.db", "--budget", "3"], "leave --budget and --delta-cap out"),
        ([*PLAN[1:], "--note", "n"], "--secret and --note go with --ledger"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(words, said):
    assert said in refused("plan", *words)
    assert not any(Path().glob("*.db"))


def test_a_price_that_promises_nothing_is_not_planned():
    for price, said in (
        (("--epsilon", "20.5", "--budget", 30), "--epsilon must be at most 20 for a model"),
        (("--epsilon", 1, "--budget", 3, "--delta", "0.01"), "--delta must be at most 0.001"),
    ):
        done = inside("plan", "--model", *price)
        assert (done.returncode, said in done.stderr) == (2, True), done


def test_what_adds_up_to_nothing_is_said():
    many = (*PLAN, "--delta", "0.001", "--budget", 250)
    assert "promise nothing" in inside(*many).stdout
    found = json.loads(inside(*many, "--json").stdout)
    assert found["together"]["epsilon_added_up_closely"] is None
    assert "no model, and so nothing" in inside(*PLAN, "--budget", "0.1").stdout
    one = inside(*PLAN, "--budget", "0.25").stdout
    assert "1 model at epsilon 0.25, delta 0.000001 fits under a budget of 0.25." in one
