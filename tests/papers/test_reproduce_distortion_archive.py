"""The paper's own number of rows: streamed when asked for, and told as it was found."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.progress import quiet
from isinglass_papers.core.result import How
from isinglass_papers.distortion import printed
from isinglass_papers.distortion.full_size import Searched, archive, archive_note
from isinglass_papers.distortion.rules import Repeated
from isinglass_papers.distortion.setting import PreparedTable, unit


def small_table():
    X = unit(np.random.default_rng(3).normal(size=(500, 29)))
    known = {(f, 29): Repeated(95.0, 1.0, 10) for f in printed.KINDS}
    return PreparedTable("t", "t", X, None, 20, "no flights"), known


def test_the_archive_waits_to_be_asked_and_then_streams():
    table, known = small_table()
    waiting = archive(How(), quiet, table, known, rows=30_000)
    assert (waiting.numbers, waiting.notes) == ([], [])
    part = archive(How(archive=True), quiet, table, known, rows=30_000)
    assert [number.printed for number in part.numbers] == [91.28, 87.48, 78.72]
    assert all(60 < number.ours <= 100 for number in part.numbers)
    assert all("95.0 % of the top 20 of 500 rows" in number.note for number in part.numbers)
    (note,) = part.notes
    assert note.startswith(
        "With `--archive`, 30,000 generated rows were searched as well, with one"
    )
    for number in part.numbers:
        assert f"{number.ours:.1f} %" in note


def searched(rates, level, keys=1):
    found = dict(zip(printed.KINDS, (Repeated(r, 1.0, keys) for r in rates), strict=True))
    return Searched(1000, 500, level, found)


@pytest.mark.parametrize(
    ("rates", "level", "said", "unsaid"),
    [
        ((58, 46, 42), 0.95, "denser crowd of like scores, which any noise", "not the paper's"),
        ((58, 46, 42), 0.2, "unexplained", "which any noise reorders"),
        ((46, 58, 42), 0.95, "not the paper's", "unexplained"),
        ((92, 92, 89), 0.95, "makes it no lower", "come from the number of rows"),
        ((94, 92, 42), 0.95, "the fewer found (tanh)", "makes it no lower"),
    ],
)
def test_the_archives_paragraph_follows_from_its_numbers(rates, level, said, unsaid):
    note = archive_note(searched(rates, level), searched((94, 91, 89), 0.4, 50), 254.0, 60.0)
    assert said in note
    assert unsaid not in note
    assert "50 trials of each kind would take 2.5 hours" in note
