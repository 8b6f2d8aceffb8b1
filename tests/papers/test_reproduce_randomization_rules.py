"""Verdicts on Aggarwal's claims follow from numbers: other numbers, another verdict."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isinglass_papers.core.result import How
from isinglass_papers.randomization import (
    adaptive,
    density_claims,
    dimension,
    dimension_claims,
    growth,
    other_methods,
    pairs,
)
from isinglass_papers.randomization.levels import Measured
from isinglass_papers.randomization.other_methods import ALONE, NOISE, ROTATION


def level(average: float, worst: float = 5.0) -> Measured:
    """As if measured in one draw."""
    return Measured(np.array([average]), np.array([worst]), 0.0, 1.0, 10_000)


def figure_1(**changed: Measured) -> dict[tuple[str, int], Measured]:
    """Levels as the paper has them, but for some: "gaussian_100" and so on."""
    found = {
        ("gaussian", 1): level(4552.2), ("uniform", 1): level(9646.1, 2907),
        ("gaussian", 72): level(2200, 7), ("uniform", 72): level(430, 1),
        ("gaussian", 100): level(1824.4, 6), ("uniform", 100): level(151.7, 1),
    }  # fmt: skip
    for name, value in changed.items():
        law, d = name.split("_")
        found[law, int(d)] = value
    return found


VARIANCE = {("gaussian", 100): 67.0, ("uniform", 100): 1.04}
DEVIATION = {("gaussian", 100): 1830.0, ("uniform", 100): 150.0}


@pytest.mark.parametrize(
    ("rule", "given", "expected_verdict"),
    [
        ("_reading", (VARIANCE, figure_1()), "does not hold"),
        ("_reading", (DEVIATION, figure_1()), "holds"),
        ("_reading", (VARIANCE, figure_1(gaussian_100=level(900))), "not reproduced"),
        ("_crosses", (figure_1(),), "holds"),
        ("_crosses", (figure_1(uniform_100=level(1800)),), "does not hold"),
        ("_crosses", (figure_1(uniform_1=level(4600)),), "does not hold"),
    ],
)
def test_rules_of_figure_1(rule, given, expected_verdict):
    assert getattr(dimension_claims, rule)(*given).verdict == expected_verdict


@pytest.mark.parametrize(
    ("other", "found", "words"),
    [
        (VARIANCE, figure_1(), "ruled out"),
        (DEVIATION, figure_1(), "gives the printed averages"),
        (VARIANCE, figure_1(gaussian_100=level(900)), "unexplained: neither"),
    ],
)
def test_a_reading_is_ruled_out_only_where_the_other_explains_the_print(other, found, words):
    reading = dimension_claims.variance_reading(other, found)
    made = dimension._variance_numbers(other, reading)
    assert len(made) == 2
    assert all(words in number.note for number in made)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (1000.5, ""),  # within 1 %, and two standard errors, which are 20 here
        (1019.0, "within two standard errors of an average over 10,000 records"),
        (1050.0, "over 1,000 records it would be +1.6, so it may have been taken over a part"),
        (1200.0, "over 1,000 records it would be +6.3, which leaves it unexplained"),
    ],
)
def test_a_print_is_laid_to_a_part_of_the_records_only_where_that_explains_it(said, words):
    ours = Measured(np.array([1000.0]), np.array([5.0]), 0.0, 1000.0, 10_000)
    note = dimension._aside(ours, said)
    assert words in note
    assert bool(note) == bool(words)


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, ["holds", "holds"]),
        ({"uniform_72": level(430, 2)}, ["does not hold", "holds"]),
        ({"gaussian_100": level(1824, 3)}, ["holds", "not reproduced"]),
    ],
)
def test_rules_of_the_worst_levels_beyond_64_columns(changed, verdicts):
    assert [c.verdict for c in dimension_claims._beyond(figure_1(**changed))] == verdicts


def test_levels_that_stay_high_or_rise_change_what_is_said_of_the_curse(monkeypatch):
    assert dimension_claims._curse().verdict == "holds"
    monkeypatch.setattr(dimension_claims, "uniform_cube_average", lambda n, d, ratio, law: 9.0)
    assert dimension_claims._curse().verdict == "does not hold"
    monkeypatch.setattr(dimension_claims, "expected", lambda X, law, ratio: X.shape[1] + X[:, 0])
    falls = dimension_claims._falls(How())
    assert falls.verdict == "does not hold"
    assert "none rises" not in falls.ours


def figure_3(**changed: Measured) -> dict[tuple[str, float], Measured]:
    """Levels by share of outliers as the paper draws them, but for some of gaussian noise."""
    found = {
        (law, share): level(average, worst)
        for law in ("gaussian", "uniform")
        for share, average, worst in (
            (0.0, 2400, 18), (0.1, 2380, 8), (0.2, 2350, 4), (1.0, 2200, 5.5),
        )
    }  # fmt: skip
    for name, value in changed.items():
        found["gaussian", float(name.removeprefix("at_").replace("_", "."))] = value
    return found


SKEW = {
    (law, theta): level(average, worst)
    for law in ("gaussian", "uniform")
    for theta, average, worst in ((0.0, 2400, 24), (1.0, 2500, 18), (2.0, 2700, 13))
}
GAINS = {1: 0.01, 100: 0.1}
EXACT = {
    "UniDis": (0.22, 0.21, 0.22), "VGauDis(0)": (0.245, 0.23, 0.24), "VGauDis(2)": (0.27, 0.14, 0),
    "OGauDis(0.1)": (0.24, 0.2, 0.2), "OGauDis(0.2)": (0.236, 0.2, 0.2),
    "OGauDis(1)": (0.22, 0.2, 0.223),
}  # fmt: skip


def with_(table, key, value):
    return {**table, key: value}


@pytest.mark.parametrize(
    ("rule", "given", "expected_verdict"),
    [
        ("_clusters_help", (SKEW, figure_3(), GAINS), "holds"),
        ("_clusters_help", (SKEW, figure_3(at_1_0=level(2500)), GAINS), "does not hold"),
        ("_clusters_help", (SKEW, figure_3(), {1: -0.01, 100: 0.1}), "does not hold"),
        ("_unlike_density", (SKEW, figure_3(), EXACT), "holds conditionally"),
        ("_unlike_density", (SKEW, figure_3(at_1_0=level(2200, 900)), EXACT), "holds"),
        (
            "_unlike_density",
            (with_(SKEW, ("gaussian", 2.0), level(2700, 900)), figure_3(), EXACT),
            "does not hold",
        ),
        ("_few_outliers", (figure_3(),), "holds"),
        ("_few_outliers", (figure_3(at_0_1=level(2380, 17)),), "does not hold"),
        ("_few_outliers", (figure_3(at_0_1=level(1900, 8)),), "does not hold"),
        ("_skewed", (SKEW,), "holds"),
        ("_skewed", (with_(SKEW, ("gaussian", 2.0), level(2300, 13)),), "does not hold"),
        ("_skewed", (with_(SKEW, ("gaussian", 2.0), level(2700, 30)),), "does not hold"),
        ("_average_falls", (figure_3(), EXACT), "holds"),
        (
            "_average_falls",
            (figure_3(), with_(EXACT, "OGauDis(0.2)", (0.25, 0.2, 0.2))),
            "holds conditionally",
        ),
        (
            "_average_falls",
            (figure_3(), with_(EXACT, "OGauDis(1)", (0.3, 0.2, 0.2))),
            "does not hold",
        ),
        ("_turns", (figure_3(), EXACT), "holds"),
        ("_turns", (figure_3(at_1_0=level(2200, 4)), EXACT), "not reproduced"),
        ("_turns", (figure_3(at_0_0=level(2400, 3)), EXACT), "not reproduced"),
        ("_widest_gap", (figure_3(),), "holds"),
        ("_widest_gap", (figure_3(at_1_0=level(2200, 3)),), "not reproduced"),
        ("alone_claim", (1.0, 4.5, 6.0, 0.96), "holds conditionally"),
        ("alone_claim", (1.0, 6.5, 6.0, 0.96), "holds"),
        ("alone_claim", (4.0, 3.0, 2.0, 0.96), "does not hold"),
    ],
)
def test_rules_of_figures_2_and_3(rule, given, expected_verdict):
    assert getattr(density_claims, rule)(*given).verdict == expected_verdict


def test_what_is_said_of_the_turn_follows_the_numbers():
    turned = density_claims._turns(figure_3(), EXACT)
    assert "rises again." in turned.ours
    assert "worst twentieth" not in turned.ours
    flat = density_claims._turns(figure_3(at_1_0=level(2200, 4)), EXACT)
    assert "does not rise again" in flat.ours
    wrong = density_claims._turns(figure_3(), with_(EXACT, "OGauDis(1)", (0.22, 0.2, 0.1)))
    assert "reason given is wrong" in wrong.ours


def noise_needed(gaussian=0.5, uniform=1.0, copies=None):
    """Rows of noise that grows with a power of the columns; copies' power may be another."""
    power = {"gaussian": gaussian, "uniform": uniform}
    return [
        {"columns": d, "noise": law, "made_of": what,
         "ratio": d ** (copies if what == growth.COPIES and copies is not None else power[law])}
        for law in power for what in (growth.CUBE, growth.FEW, growth.COPIES) for d in (8, 64, 512)
    ]  # fmt: skip


def most_columns(gaussian: tuple[int, ...]):
    """Figure 4 at ratios 2, 4, 8, 16, where uniform noise serves 5, 12, 26 and 52 columns."""
    served = {"gaussian": gaussian, "uniform": (5, 12, 26, 52)}
    return [
        {"noise": law, "ratio": ratio, "columns": columns}
        for law, many in served.items()
        for ratio, columns in zip((2, 4, 8, 16), many, strict=True)
    ]


@pytest.mark.parametrize(
    ("served", "needed", "verdicts"),
    [
        ((2, 6, 25, 99), {}, ["holds conditionally", "holds conditionally", "holds"]),
        ((2, 6, 25, 99), {"copies": 0.0}, ["holds", "holds", "holds"]),
        ((2, 6, 25, 99), {"gaussian": 1.0}, ["does not hold", "holds conditionally",
                                             "does not hold"]),
        ((2, 6, 25, 99), {"uniform": 0.5}, ["holds conditionally", "does not hold", "holds"]),
        ((2, 13, 25, 99), {}, ["holds conditionally"] * 3),
        ((2, 6, 25, 50), {}, ["holds conditionally"] * 2 + ["does not hold"]),
    ],
)  # fmt: skip
def test_rules_of_figure_4(served, needed, verdicts):
    claims = growth._claims(most_columns(served), noise_needed(**needed))
    assert [claim.verdict for claim in claims] == verdicts


@pytest.mark.parametrize(
    ("rule", "given", "expected_verdict"),
    [
        ("_approximation", (2.0, How()), "holds"),
        ("_approximation", (6.0, How()), "does not hold"),
        ("_chebyshev", ([{"S": 9.0, "chance": 0.07, "bound": 4 / 9}],), "holds"),
        ("_chebyshev", ([{"S": 9.0, "chance": 0.5, "bound": 4 / 9}],), "does not hold"),
        ("_far", (lambda S: 0.00135 * math.exp(36 - S),), "holds conditionally"),
        ("_far", (lambda S: 1e-6,), "holds"),
        ("_far", (lambda S: 0.2,), "does not hold"),
        ("_product", (1.0, 1.0, 15.0, How()), "holds"),
        ("_product", (6.0, 1.0, 15.0, How()), "does not hold"),
        ("_product", (1.0, 0.9, 15.0, How()), "does not hold"),
        ("_told_apart", (1000, 1.0, 0.1, 500.0, 300.0), "holds conditionally"),
        ("_told_apart", (1000, 1.0, 0.0, 500.0, 500.0), "holds"),
        ("_told_apart", (1000, 1.5, 0.1, 500.0, 300.0), "does not hold"),
    ],
)
def test_rules_for_pairs_and_levels(rule, given, expected_verdict):
    assert getattr(pairs, rule)(*given).verdict == expected_verdict


def attacked(**changed: tuple[float, float]):
    """Rows of (average level, share named), as measured but for some, at 5 and 20 columns."""
    found = {
        (other_methods.NOISE, ALONE): (150, 0.0), (ROTATION, ALONE): (1, 1.0),
        (other_methods.TANH, ALONE): (197, 0.0), (other_methods.STEEP, ALONE): (200, 0.0),
        (other_methods.RMP_WEAK, ALONE): (5, 0.5), (other_methods.RMP_STRONG, ALONE): (75, 0.03),
    }  # fmt: skip
    found |= {
        (method, other_methods.RECOGNIZED): (1.5, 0.8)
        for method, _ in list(found)
        if method != NOISE
    }
    for name, value in changed.items():
        who, attacker = name.rsplit("_", 1)
        found[getattr(other_methods, who), getattr(other_methods, attacker)] = value
    return [
        {"method": method, "attacker": attacker, "columns": d, "named": named,
         "average": average if d == 20 else 20.0}
        for (method, attacker), (average, named) in found.items() for d in (5, 20)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, ["does not hold", "holds conditionally", "holds conditionally", "holds"]),
        ({"ROTATION_ALONE": (190, 0.01)}, ["holds", "holds conditionally", "holds conditionally",
                                           "holds"]),
        ({"RMP_STRONG_ALONE": (9, 0.13)}, ["does not hold", "does not hold", "holds conditionally",
                                           "holds"]),
        ({"TANH_ALONE": (5, 0.3), "STEEP_ALONE": (5, 0.3)},
         ["does not hold", "holds conditionally", "does not hold", "holds"]),
        ({"TANH_RECOGNIZED": (150, 0.0), "STEEP_RECOGNIZED": (150, 0.0)},
         ["does not hold", "holds conditionally", "holds", "holds conditionally"]),
    ],
)  # fmt: skip
def test_rules_for_other_methods(changed, verdicts):
    claims = other_methods._claims(attacked(**changed), 400, 20, 20)
    assert [claim.verdict for claim in claims] == verdicts


def test_two_methods_with_the_same_numbers_get_the_same_verdict():
    """Distortion and multiparty releases change places, setting by setting."""
    swap = {
        other_methods.TANH: other_methods.RMP_WEAK,
        other_methods.STEEP: other_methods.RMP_STRONG,
    }
    swap |= {there: here for here, there in swap.items()}
    for alone in ((0.3, 0.3), (0.3, 0.03), (0.03, 0.03)):
        for told in ((0.8, 0.8), (0.8, 0.0), (0.0, 0.0)):
            rows = attacked(
                TANH_ALONE=(5, alone[0]), STEEP_ALONE=(5, alone[1]),
                TANH_RECOGNIZED=(5, told[0]), STEEP_RECOGNIZED=(5, told[1]),
            )  # fmt: skip
            swapped = [row | {"method": swap.get(row["method"], row["method"])} for row in rows]
            _, _, tanh, _ = other_methods._claims(rows, 400, 20, 20)
            _, multiparty, _, _ = other_methods._claims(swapped, 400, 20, 20)
            assert tanh.verdict == multiparty.verdict


@pytest.mark.parametrize(
    ("sizes", "lowest", "expected_verdict"),
    [
        ((0.6, 0.9), 12, "holds"),
        ((0.6, 1.1), 12, "holds conditionally"),
        ((1.2, 1.1), 12, "does not hold"),
        ((0.6, 0.9), 7, "does not hold"),
    ],
)
def test_rule_for_adaptive_noise(sizes, lowest, expected_verdict):
    rows = [
        {"columns": d, "noise": noise, "lowest_expected": lowest,
         "size": size if noise == adaptive.ADAPTIVE else 1.0}
        for d, size in zip((2, 10), sizes, strict=True)
        for noise in (adaptive.ADAPTIVE, adaptive.ONE_SIZE, adaptive.SAME_MEAN)
    ]  # fmt: skip
    assert adaptive._claim(rows, 400).verdict == expected_verdict
