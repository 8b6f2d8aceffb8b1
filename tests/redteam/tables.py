"""The tables that leave: real ones by name, and generated ones with a weakness each."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def real(name: str, rows: int = 1500, *, ordered: bool = False) -> pd.DataFrame:
    """Features of a data set, different rows only; `ordered` takes the first in their order."""
    folder = os.environ.get("ISINGLASS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ISINGLASS_DATA does not name a folder of data sets")
    file = Path(folder) / f"{name}.parquet"
    table = pd.read_parquet(file).astype(float)
    table = table[[c for c in table if c != "label" and not c.startswith("meta_")]]
    table = table.drop_duplicates().round(6)
    rows = min(rows, len(table))
    return (table[:rows] if ordered else table.sample(rows, random_state=5)).reset_index(drop=True)


def _named(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"c{j}" for j in range(values.shape[1])])


def factors(rows: int, width: int, rank: int, *, rest: float = 0.1, seed: int = 0) -> pd.DataFrame:
    """Correlated columns: a few skewed factors, mixed, and a rest of their own."""
    rng = np.random.default_rng(seed)
    common = rng.gamma(2.0, size=(rows, rank)) @ rng.normal(size=(rank, width))
    return _named(common + rest * rng.normal(size=(rows, width)))


def independent(rows: int, width: int, seed: int = 0) -> pd.DataFrame:
    """Columns that know nothing of each other: uniform, skewed and two-humped by turns."""
    rng = np.random.default_rng(seed)
    humps = rng.normal(size=(rows, width)) * 0.3 + rng.choice([-1, 1], size=(rows, width))
    kinds = [rng.random((rows, width)), rng.exponential(size=(rows, width)), humps]
    return _named(np.column_stack([kinds[j % 3][:, j] for j in range(width)]))


def clusters(rows: int, width: int, groups: int = 8, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(groups, width)) * 3
    return _named(centers[rng.integers(groups, size=rows)] + rng.normal(size=(rows, width)))


def waves(rows: int = 1500, width: int = 8, seed: int = 0) -> pd.DataFrame:
    """Sensors read in time order: slow waves and drifts, hardly any noise of their own."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 1, rows)[:, None]
    slow = np.sin(2 * np.pi * (time * rng.uniform(2, 9, 4) + rng.random(4)))
    return _named(slow @ rng.normal(size=(4, width)) + 0.05 * rng.normal(size=(rows, width)))


def cities(rows: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Households: 150 cities explain most; place, rent and income tell each one apart."""
    rng = np.random.default_rng(seed)
    city = rng.integers(150, size=rows)
    effect = rng.normal(size=(150, 7))
    own = effect[city] + 0.22 * rng.normal(size=(rows, 7))
    table = pd.DataFrame({"city": [f"city {c:03d}" for c in city]})
    table["lat"] = (48 + effect[city, 0] + 0.01 * rng.normal(size=rows)).round(4)
    table["lon"] = (9 + effect[city, 1] + 0.01 * rng.normal(size=rows)).round(4)
    table["rent"] = (900 + 200 * own[:, 2]).round()
    table["income"] = (3000 + 700 * own[:, 3]).round()
    for j, name in enumerate(("debt", "age", "visits")):
        table[name] = 40 + 10 * own[:, 4 + j]
    return table


def small_numbers(rows: int = 1200, width: int = 8, seed: int = 0) -> pd.DataFrame:
    """Whole numbers with uneven frequencies, as in answers to a questionnaire."""
    rng = np.random.default_rng(seed)
    mood = rng.normal(size=(rows, 1))
    raw = np.exp(0.8 * (mood * rng.normal(size=width) + rng.normal(size=(rows, width))))
    return _named(np.minimum(np.floor(4 * raw), 40.0)).drop_duplicates(ignore_index=True)


def items(rows: int = 1000, width: int = 8, levels: int = 4, seed: int = 0) -> pd.DataFrame:
    """A questionnaire: the same few answers to every question, given independently."""
    rng = np.random.default_rng(seed)
    return _named(1.0 + rng.binomial(levels - 1, 0.5, size=(rows, width)))


def scales(rows: int = 800, width: int = 8, seed: int = 0) -> pd.DataFrame:
    """Answers from 1 to 7, nearly normal and correlated, each question with a mean of its own."""
    rng = np.random.default_rng(seed)
    raw = 0.45 * rng.normal(size=(rows, 1)) + 0.9 * rng.normal(size=(rows, width))
    return _named(np.clip(np.round(raw + 4 + np.linspace(-1, 1, width)), 1, 7))


def visits(persons: int = 40, each: int = 20, width: int = 8, seed: int = 0) -> pd.DataFrame:
    """Several records a person, all alike; the persons one after another."""
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.normal(size=(persons, width)), each, axis=0)
    table = _named(own + 0.2 * rng.normal(size=own.shape))
    return table.assign(patient=[f"P{i // each}" for i in range(len(table))])


def appointments(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Visits to a clinic: the weekday decides, and each visit has a minute of its own."""
    rng = np.random.default_rng(seed)
    minutes = rng.integers(0, 200 * 1440, rows)
    day = minutes // 1440 % 7
    table = _named(20 * (rng.normal(size=(7, 6))[day] + 0.3 * rng.normal(size=(rows, 6))))
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(minutes, unit="min")
    return table.assign(at=at.strftime("%Y-%m-%d %H:%M"))


def parcels(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Parcels: the first letters of the code say from which depot, and that decides."""
    rng = np.random.default_rng(seed)
    depots = np.array(["AX", "BR", "DU", "KQ", "LM", "NO", "PT", "RY", "ST", "VW", "XE", "ZA"])
    depot = rng.integers(len(depots), size=rows)
    effects = rng.normal(size=(len(depots), 6))
    table = _named(20 * (effects[depot] + 0.4 * rng.normal(size=(rows, 6))))
    numbers = rng.integers(100, 180, rows).astype(str)
    return table.assign(code=np.char.add(np.char.add(depots[depot], "-"), numbers))


def patients(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Patients with three diagnoses of nine each, which add up."""
    rng = np.random.default_rng(seed)
    names = np.array(["A10", "B20", "C34", "E11", "F32", "G43", "I10", "J45", "K21"])
    has = np.array([rng.permutation(len(names)) < 3 for _ in range(rows)])
    table = _named(20 * (has @ rng.normal(size=(9, 6)) + 0.3 * rng.normal(size=(rows, 6))))
    return table.assign(diagnoses=[";".join(names[row]) for row in has])


def _dates(rng: np.random.Generator, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    day, nights = rng.integers(0, 700, rows), rng.integers(1, 13, rows)
    dates = [pd.Timestamp("2023-01-01") + pd.to_timedelta(d, unit="D") for d in (day, day + nights)]
    return pd.DataFrame({"admitted": dates[0], "discharged": dates[1]}), nights


def stays(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Stays in a hospital: their length decides, the dates do not."""
    rng = np.random.default_rng(seed)
    dates, nights = _dates(rng, rows)
    values = rng.normal(size=(13, 6))[nights] + 0.3 * rng.normal(size=(rows, 6))
    return pd.concat([_named(20 * values), dates], axis=1)


def idle_dates(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """The same dates beside records that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    dates, _ = _dates(rng, rows)
    return pd.concat([_named(20 * rng.normal(size=(rows, 6))), dates], axis=1)


def areas_and_ages(rows: int = 2000, seed: int = 0) -> pd.DataFrame:
    """A frequent or a rare area and an age beside records that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 201) ** 0.9
    area = rng.choice(200, rows, p=share / share.sum())
    return _named(rng.normal(size=(rows, 6))).assign(
        area=[f"Z{a:03d}" for a in area], age=rng.integers(20, 70, rows)
    )


def labeled(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """A label of two values beside records that have nothing to do with it."""
    rng = np.random.default_rng(seed)
    table = _named(20 * rng.normal(size=(rows, 6)))
    return table.assign(label=np.where(rng.random(rows) < 0.4, "ill", "well"))


def senders(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Parcels between offices of ten countries: what matters is whether one stays at home."""
    rng = np.random.default_rng(seed)
    countries = np.array(["AT", "BE", "CH", "DE", "DK", "ES", "FR", "IT", "NL", "PL"])
    first, second = rng.integers(10, size=(2, rows))
    second = np.where(rng.random(rows) < 0.45, first, second)
    sides = np.outer(2.0 * (first == second) - 1, rng.choice([-1, 1], 6))
    table = _named(20 * (sides + 0.3 * rng.normal(size=(rows, 6))))
    codes = [[f"{countries[c]}{rng.integers(10, 25)}" for c in some] for some in (first, second)]
    return table.assign(sender=codes[0], receiver=codes[1])


def bodies(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Weight and height: the class of one by the square of the other decides."""
    rng = np.random.default_rng(seed)
    height = rng.normal(1.7, 0.12, rows).round(2)
    weight = (rng.uniform(17, 38, rows) * height**2).round(1)
    group = np.digitize(weight / height**2, [18.5, 22, 25, 27.5, 30, 35])
    values = rng.normal(size=(7, 6))[group] + 0.3 * rng.normal(size=(rows, 6))
    return _named(20 * values).assign(weight=weight, height=height)


def plots(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Every other plot of a field was treated, as on a checkerboard of 12 by 12."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 300, (2, rows))
    sides = np.outer(2.0 * ((x // 12 + y // 12) % 2) - 1, rng.choice([-1, 1], 6))
    return _named(20 * (sides + 0.3 * rng.normal(size=(rows, 6)))).assign(x=x, y=y)


def tides(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Measurements at a coast, at any minute of a year: the tide of 12.42 hours decides."""
    rng = np.random.default_rng(seed)
    minutes = rng.integers(0, 365 * 1440, rows)
    turns = 2 * np.pi * minutes[:, None] / (60 * 12.42) + rng.uniform(0, 2 * np.pi, 6)
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(minutes, unit="min")
    return _named(20 * (1.4 * np.sin(turns) + 0.3 * rng.normal(size=(rows, 6)))).assign(at=at)


def one_quantity(rows: int = 1000, width: int = 60, seed: int = 0) -> pd.DataFrame:
    """Many columns that all measure the same, with an error of a tenth."""
    rng = np.random.default_rng(seed)
    return _named(rng.normal(size=(rows, 1)) + 0.1 * rng.normal(size=(rows, width)))


def households(rows: int = 1000, width: int = 40, seed: int = 0) -> pd.DataFrame:
    """One quantity in many columns, the same for five rows in turn."""
    rng = np.random.default_rng(seed)
    quantity = np.repeat(rng.normal(size=(rows // 5, 1)), 5, axis=0)
    return _named(quantity + 0.1 * rng.normal(size=(rows, width)))


def scores(rows: int = 800, width: int = 12, seed: int = 0) -> pd.DataFrame:
    """Test scores of one ability, of which few have much."""
    rng = np.random.default_rng(seed)
    ability = rng.gamma(2.0, size=(rows, 1))
    return _named(10 * (ability + 0.5 * rng.normal(size=(rows, width))))


def kinds(rows: int = 1000, width: int = 60, seed: int = 0) -> pd.DataFrame:
    """Machines of eight models, each with its own readings."""
    rng = np.random.default_rng(seed)
    models = rng.normal(size=(8, width))
    return _named(models[rng.integers(8, size=rows)] + 0.15 * rng.normal(size=(rows, width)))


def active_rows(rows: int = 2000, width: int = 40, seed: int = 1) -> pd.DataFrame:
    """A tenth of the customers is active: fifteen times as large in all columns."""
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(rows) < 0.1, 3.1, 0.2)
    return _named(rng.normal(size=(rows, width)) * size[:, None])


def profiles(rows: int = 300, width: int = 48, seed: int = 0) -> pd.DataFrame:
    """Curves of a day, half an hour a column."""
    rng = np.random.default_rng(seed)
    apart = np.subtract.outer(np.arange(width), np.arange(width))
    return _named(
        rng.multivariate_normal(np.zeros(width), np.exp(-((apart / 4.0) ** 2)), rows, method="eigh")
    )


def gauges(rows: int = 600, width: int = 60, seed: int = 0) -> pd.DataFrame:
    """Readings far from zero that all follow one quantity, each a little its own way."""
    rng = np.random.default_rng(seed)
    one = rng.normal(size=(rows, 1)) + 0.3 * rng.normal(size=(rows, width))
    return _named(rng.uniform(50, 200, width) * (1 + 0.02 * one))


def one_far(rows: int = 1000, width: int = 6, seed: int = 0) -> pd.DataFrame:
    """Incomes, and in each column a single one that is a hundred times as large."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(8, 0.5, size=(rows, width))
    values[rng.choice(rows, width, replace=False), np.arange(width)] = 4e5
    return _named(values)


def by_region(rows: int = 1500, width: int = 10, seed: int = 0) -> pd.DataFrame:
    """Thirty regions, incomes and what has nothing to do with either; sorted by the first two."""
    rng = np.random.default_rng(seed)
    table = _named(rng.normal(size=(rows, width)))
    table["c0"] = rng.integers(1, 31, rows).astype(float)
    table["c1"] = rng.lognormal(10, 0.5, rows).round(2)
    return table.sort_values(["c0", "c1"], ignore_index=True)


def log(rows: int = 1600, width: int = 12, seed: int = 0) -> pd.DataFrame:
    """Readings one after the other, each near to the one before and soon far from it."""
    rng = np.random.default_rng(seed)
    weights = np.exp(-np.square(np.arange(-8, 9)) / 8.0)
    draws = rng.normal(size=(rows + 16, width))
    values = np.stack([np.convolve(c, weights, "valid") for c in draws.T], axis=1)
    return _named(values / values.std(axis=0) * rng.uniform(1, 30, width))
