"""Functions of two kept columns, and periods: what no part of one column says."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.kept.column_readings import read_column
from isinglass.attack.kept.joint_search import cuts
from isinglass.attack.kept.parts import noise_on, with_parts
from isinglass.attack.kept.waves import periods
from isinglass.attack.kept_columns import KeptColumnsAttack
from isinglass.attack.knowledge import ColumnStatistics, KeptColumns

ROWS, SCALE = 1200, 6.0
NAMES = ["a", "b"]


def explained(guess, truth):
    return float((1 - ((guess - truth) ** 2).mean(axis=0) / truth.var(axis=0)).mean())


def numbers(*columns, units=()):
    return KeptColumns(np.column_stack(columns).astype(float), None, units)


def by_stay(rng):
    day, nights = rng.integers(0, 700, ROWS), rng.integers(0, 8, ROWS)
    kept = numbers(19_000 + day, 19_000 + day + nights, units=("D", "D"))
    return kept, nights, "days between a and b"


def by_country(rng):
    first, second = rng.integers(0, 24, (2, ROWS))
    second = np.where(rng.random(ROWS) < 0.4, first // 3 * 3 + second % 3, second)
    names = np.array([f"{'KLMNPQRS'[i // 3]}{i % 3}" for i in range(24)])
    kept = KeptColumns(
        np.column_stack([first, second]).astype(float), np.array([True, True]), (names, names)
    )
    same = (first // 3 == second // 3).astype(int)
    return kept, same, "equality of the first character of a and b"


def by_age(rng):
    year, age = rng.integers(1995, 2024, ROWS), rng.integers(0, 90, ROWS)
    return numbers(year - age, year), age // 15, "difference of a and b"


def by_index(rng):
    height, index = rng.normal(170, 12, ROWS).round(), rng.uniform(17, 38, ROWS)
    weight = (index * (height / 100) ** 2).round(1)
    group = np.digitize(weight / (height / 100) ** 2, [18.5, 22, 25, 30])
    return numbers(weight, height), group, "ratio of a to the square of b"


def by_plot(rng):
    x, y = rng.integers(0, 200, (2, ROWS))
    return numbers(x, y), (x // 9 + y // 9) % 2, "checkerboard of a and b by 9"


CASES = [by_stay, by_country, by_age, by_index, by_plot]


def attacked(kept, table, seed=1):
    rng = np.random.default_rng(seed)
    released = table + SCALE * table.std(axis=0) * rng.normal(size=table.shape)
    known = with_parts(kept, kept.values, table, noise_on(table, released))
    guess = KeptColumnsAttack(random_state=0).guess(released, known | ColumnStatistics.of(table))
    said = {part.words(NAMES) for part in known.parts if part.effect[0] > 0}
    return explained(guess, table), said


@pytest.mark.parametrize("case", CASES)
def test_a_function_of_two_kept_columns_tells_the_others(case):
    rng = np.random.default_rng(0)
    kept, group, name = case(rng)
    effects = rng.normal(size=(int(group.max()) + 1, 6))
    effects = (effects - effects.mean(axis=0)) / effects.std(axis=0)
    found, said = attacked(kept, effects[group] + 0.3 * rng.normal(size=(ROWS, 6)))
    assert name in said
    assert found > 0.55


def test_a_period_that_is_no_part_of_the_calendar_is_found():
    rng = np.random.default_rng(2)
    seconds = rng.integers(0, 365 * 86_400, ROWS) + 1_700_000_000
    turns = 2 * np.pi * seconds[:, None] / (12.42 * 3600) + rng.uniform(0, 6, 6)
    table = np.sin(turns) + 0.2 * rng.normal(size=turns.shape)
    found, said = attacked(numbers(seconds, units=("s",)), table)
    assert said == {"phase of a in a period of 12.42 hours"}
    assert found > 0.7


@pytest.mark.parametrize("case", [by_stay, by_country, by_plot])
def test_records_that_have_nothing_to_do_with_kept_columns_have_no_part_in_them(case):
    rng = np.random.default_rng(3)
    kept, _, _ = case(rng)
    found, said = attacked(kept, rng.lognormal(size=(ROWS, 6)))
    assert not said
    assert found < 0.05


def test_effects_that_add_up_are_not_crossed():
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 10, (2, ROWS))
    table = rng.normal(size=(10, 6))[a] + rng.normal(size=(10, 6))[b]
    _, said = attacked(numbers(a, b), table + 0.3 * rng.normal(size=table.shape))
    assert said == {"value of a", "value of b"}


def test_values_that_were_never_seen_are_a_group_of_their_own():
    rng = np.random.default_rng(5)
    kept, group, name = by_stay(rng)
    table = np.eye(8)[group] + 0.1 * rng.normal(size=(ROWS, 8))
    known = with_parts(kept, kept.values, table, 9.0)
    (part,) = (part for part in known.parts if part.words(NAMES) == name)
    groups = part.of(np.vstack([kept.values[:3], [[1.0, 2.0]]]))
    np.testing.assert_array_equal(groups[:3], part.of(kept.values)[:3])
    assert groups[3] == part.groups.max() + 1


def test_cuts_lie_where_records_change():
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 10, 600)
    values = rng.normal(size=(3, 4))[np.digitize(x, [3.0, 7.0])] + 0.3 * rng.normal(size=(600, 4))
    np.testing.assert_allclose(cuts(x, values), [3.0, 7.0], atol=0.1)
    assert len(cuts(x, rng.normal(size=(600, 4)))) == 0


def test_the_best_period_is_that_of_the_wave():
    rng = np.random.default_rng(7)
    x = rng.uniform(0, 500, 800)
    values = np.cos(2 * np.pi * x / 3.7)[:, None] + rng.normal(size=(800, 2))
    assert periods(x, values)[0] == pytest.approx(3.7, rel=2e-3)
    assert periods(np.ones(800), values) == []


def test_texts_are_read_as_numbers_where_most_are():
    texts = np.array(["1.5", "2", "x", *map(str, range(3, 30))])
    found = read_column(np.arange(30.0), texts, is_category=True)
    assert found.numbers is not None
    assert found.numbers[0] == 1.5
    assert read_column(np.arange(2.0), np.array(["KQ", "1"]), is_category=True).numbers is None
