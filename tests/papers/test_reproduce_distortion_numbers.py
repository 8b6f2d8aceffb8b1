"""Notes beside the distortion paper's numbers: owed, judged by chance, true of the data found."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass_papers.core.result import How
from isinglass_papers.distortion.rates import deviation_interval, deviation_note, rate_number
from isinglass_papers.distortion.rules import Repeated
from isinglass_papers.distortion.setting import engine_tables


@pytest.mark.parametrize(
    ("mean", "note"), [(91.0, ""), (93.0, "the two spreads overlap"), (96.0, "no flights")]
)
def test_a_rate_owes_a_note_where_the_printed_one_is_out_of_its_reach(mean, note):
    number = rate_number("", "", Repeated(mean, 1.0, 50), (91.28, 2.36), "no flights")
    assert number.note[: len(note)] == note
    assert bool(number.note) == (not number.agrees)


@pytest.mark.parametrize(
    ("deviation", "keys", "chance"),
    [
        (1.93, 50, True),
        (3.0, 50, True),
        (3.2, 50, False),
        (1.7, 50, False),
        (4.4, 3, True),
        (5.5, 3, False),
    ],
)
def test_a_deviation_is_judged_by_the_chance_of_its_keys(deviation, keys, chance):
    rate = Repeated(90, deviation, keys)
    note = deviation_note(rate, 2.36, "no flights", told=True)
    assert note.startswith("within chance") == chance
    assert ("no flights" in note) == (not chance)
    low, high = deviation_interval(rate)
    assert low < deviation < high


def test_the_chance_of_a_deviation_is_what_draws_show():
    rng = np.random.default_rng(7)
    pairs = np.std(rng.normal(size=(4000, 2, 50)), axis=2, ddof=1)
    notes = [deviation_note(Repeated(90, a, 50), b, "", told=True) for a, b in pairs.tolist()]
    inside = np.mean([note.startswith("within chance") for note in notes])
    assert inside == pytest.approx(0.95, abs=0.012)


def test_a_table_says_how_many_rows_and_columns_were_found(tmp_path):
    import pandas as pd

    rows = np.random.default_rng(1).random((7000, 3))
    pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(tmp_path / "cmapss_fd001_train.parquet")
    (quick,), _ = engine_tables(How(folder=str(tmp_path)))
    (full,), _ = engine_tables(How(full=True, folder=str(tmp_path)))
    assert quick.unlike.endswith("the first 6,000 of 7,000 rows of 3 columns")
    assert full.unlike.endswith("second: 7,000 rows of 3 columns")
