"""Parts of kept values: weekdays, prefixes, digits and words say what whole values do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isinglass.attack.kept.calendar_parts import (
    calendar_parts,
    seconds_of_numbers,
    seconds_of_texts,
)
from isinglass.attack.kept.derived_columns import recipes
from isinglass.attack.kept.grouping_selection import rate
from isinglass.attack.kept.groups import intersect_groupings
from isinglass.attack.kept.parts import noise_on, with_parts
from isinglass.attack.kept_columns import KeptColumnsAttack
from isinglass.attack.knowledge import ColumnStatistics, KeptColumns, PopulationSample

ROWS, SCALE = 1500, 6.0


def explained(guess, truth):
    return float((1 - ((guess - truth) ** 2).mean(axis=0) / truth.var(axis=0)).mean())


def noisy(table, seed=1):
    return table + SCALE * table.std(axis=0) * np.random.default_rng(seed).normal(size=table.shape)


def as_codes(texts):
    values, codes = np.unique(np.asarray(texts, dtype=str), return_inverse=True)
    return KeptColumns(codes[:, np.newaxis].astype(float), np.array([True]), (values,))


def by_weekday(rng):
    day = rng.integers(0, 250, ROWS)
    return as_codes(np.datetime64("2024-03-01") + day), day % 7


def by_prefix(rng):
    codes = np.array([f"{a}{b}" for a in "KLMNPQRS" for b in rng.integers(1000, 9999, 40)])
    codes = codes[rng.integers(0, len(codes), ROWS)]
    return as_codes(codes), np.unique([c[0] for c in codes], return_inverse=True)[1]


def by_digits(rng):
    kind = rng.integers(0, 9, ROWS)
    numbers = rng.integers(1, 30, ROWS) * 10_000 + 1000 * kind + rng.integers(0, 1000, ROWS)
    return KeptColumns(numbers[:, np.newaxis].astype(float)), kind


def by_hour(rng):
    seconds = rng.integers(0, 40 * 86_400, ROWS)
    moments = 1_700_000_000.0 // 86_400 * 86_400 + seconds
    return KeptColumns(moments[:, np.newaxis]), seconds // 3600 % 24 // 3


def by_time_stamp(rng):
    days = rng.integers(-9000, 9000, ROWS)
    months = np.datetime64(0, "D") + days
    return (
        KeptColumns(1e3 * 86_400 * days[:, np.newaxis].astype(float), None, ("ms",)),
        months.astype("datetime64[M]").astype(int) % 12,
    )


CASES = [by_weekday, by_prefix, by_digits, by_hour, by_time_stamp]


def made(case, seed=0):
    rng = np.random.default_rng(seed)
    kept, group = case(rng)
    table = (
        50 + rng.normal(size=(int(group.max()) + 1, 6))[group] + 0.3 * rng.normal(size=(ROWS, 6))
    )
    return kept, table


def read(kept, table, released):
    return with_parts(kept, kept.values, table, noise_on(table, released))


@pytest.mark.parametrize("case", CASES)
def test_a_part_of_a_kept_value_tells_the_others_from_the_release_alone(case):
    kept, table = made(case)
    released = noisy(table)
    known = read(kept, table, released) | ColumnStatistics.of(table)
    guess = KeptColumnsAttack(random_state=0).guess(released, known)
    whole = replace(kept, parts=()) | ColumnStatistics.of(table)
    without = KeptColumnsAttack(random_state=0).guess(released, whole)
    assert explained(guess, table) > 0.55
    assert explained(without, table) < 0.35


@pytest.mark.parametrize("case", CASES)
def test_a_sample_shows_which_part_it_is(case):
    kept, table = made(case)
    released = noisy(table)
    rows = np.random.default_rng(3).choice(ROWS, 150, replace=False)
    # Nobody looked for parts beforehand: the attack itself finds them in the sample.
    known = kept | ColumnStatistics.of(table) | PopulationSample(table[rows], kept.values[rows])
    guess = KeptColumnsAttack(random_state=0).guess(released, known)
    others = np.setdiff1d(np.arange(ROWS), rows)
    assert explained(guess[others], table[others]) > 0.7


def test_words_of_a_list_add_up():
    rng = np.random.default_rng(4)
    words = np.array(["asthma", "flu", "gout", "mumps", "lupus", "scurvy", "cough"])
    has = np.array([rng.permutation(7) < 3 for _ in range(ROWS)])
    table = has @ rng.normal(size=(7, 6)) + 0.3 * rng.normal(size=(ROWS, 6))
    kept = as_codes([";".join(rng.permutation(words[row])) for row in has])
    released = noisy(table)
    known = read(kept, table, released)
    assert {part.name for part in known.parts if part.effect[0] > 0} == {"single words"}
    guess = KeptColumnsAttack(random_state=0).guess(released, known | ColumnStatistics.of(table))
    assert explained(guess, table) > 0.5


@pytest.mark.parametrize("seed", range(2))
def test_values_without_a_part_in_the_records_have_none(seed):
    rng = np.random.default_rng(seed)
    table = rng.lognormal(size=(ROWS, 6))
    texts = as_codes(["".join(rng.choice(list("ABCDEF"), 5)) for _ in range(ROWS)])
    numbers = rng.integers(1_600_000_000, 1_700_000_000, ROWS)
    kept = replace(
        texts, values=np.column_stack([texts.values, numbers]), categorical=np.array([True, False]),
        meanings=(*texts.meanings, None),
    )  # fmt: skip
    known = read(kept, table, noisy(table))
    assert len(known.parts) <= 1  # of some 200
    guess = KeptColumnsAttack(random_state=0).guess(
        noisy(table), known | ColumnStatistics.of(table)
    )
    assert explained(guess, table) < 0.06


def test_groups_by_chance_are_told_from_groups_that_differ():
    rng = np.random.default_rng(5)
    values, weights = rng.normal(size=(1000, 8)), np.ones(1000)
    beyond = [rate(rng.integers(0, 20, 1000), values, weights).beyond_chance for _ in range(200)]
    assert sum(beyond) <= 2
    groups = rng.integers(0, 20, 1000)
    moved = values + 0.5 * rng.normal(size=(20, 8))[groups]
    rating = rate(groups, moved, weights)
    assert rating.beyond_chance
    assert 0.12 < rating.share < 0.35


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-03-09", "2025-03-09"),
        ("2025-03-09T17:05:30+02:00", "2025-03-09T17:05:30"),
        ("20250309", "2025-03-09"),
        ("09.03.2025", "2025-03-09"),
        ("3/29/2025", "2025-03-29"),
        ("29-Mar-2025", "2025-03-29"),
        ("Sat, 29 March 2025 08:00", "2025-03-29T08:00:00"),
        ("March 29, 2025", "2025-03-29"),
    ],
)
def test_dates_are_read_as_people_write_them(text, expected):
    found = seconds_of_texts([text])
    assert found is not None
    assert found[0] == np.datetime64(expected, "s").astype(float)


def test_texts_that_are_no_dates_are_none():
    assert seconds_of_texts(["KQ-1", "KQ-2", "2025"]) is None
    assert seconds_of_texts(["", ""]) is None


def test_parts_of_the_calendar_are_those_of_the_moment():
    moments = np.array(["2025-03-09T17:20:00", "1969-12-31T23:59:59"], dtype="datetime64[s]")
    parts = dict(calendar_parts(np.append(moments.astype(float), np.nan)))
    assert parts["weekday"].tolist() == [6, 2, -1]
    assert parts["month"].tolist() == [2, 11, -1]
    assert parts["hour"].tolist() == [17, 23, -1]
    assert parts["day of the month"].tolist() == [8, 30, -1]


@pytest.mark.parametrize("size", [1, 1e3, 1e6, 1e9])
def test_numbers_count_time_in_any_usual_unit(size):
    found = seconds_of_numbers(np.array([1_700_000_000.0, 1_750_000_000.0]) * size, None)
    assert any(np.allclose(f, [1_700_000_000, 1_750_000_000]) for f in found)
    assert not seconds_of_numbers(np.array([3.0, 90.0]), None)


def test_a_missing_number_does_not_hide_the_digits_of_others():
    values = np.unique(np.append(np.arange(10_000.0, 90_000.0, 777), 45_678.9))
    names = {recipe.name for recipe in recipes(values, None, is_category=False)}
    assert "number by 1,000" in names


def test_groups_of_two_groupings_together():
    a, b = np.array([0, 0, 1, 1, 0]), np.array([2, 0, 2, 2, 2])
    found = intersect_groupings([a, b])
    same = (a[:, None] == a) & (b[:, None] == b)
    np.testing.assert_array_equal(found[:, None] == found, same)
    assert found.max() == 2
