"""Releases with missing cells, and cells that left as they were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from isinglass.auditing.cells import exact_cells, exact_cells_anywhere
from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.findings import RECOVERED, RESISTED
from isinglass.auditing.report.sentences import sentence, sentences

RNG = np.random.default_rng(4)
N, NAMES = 200, list("abcd")
TABLE = RNG.normal(size=(N, 4)) @ (np.eye(4) + 0.3 * RNG.normal(size=(4, 4))) * [1, 3, 10, 2] + 5
HALF = RNG.random(TABLE.shape) < 0.5


def audited(rows, tmp_path, **options):
    for name, values in (("t", TABLE), ("r", rows)):
        frame = pd.DataFrame(values, columns=NAMES)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return audit_files(tmp_path / "t.csv", tmp_path / "r.csv", random_state=1, **options).findings


def attacker(found, name):
    return next(a for a in found.attackers if a.name == name)


def test_what_is_left_of_suppressed_cells_is_exact(tmp_path):
    rows = np.where(HALF, TABLE, np.nan)
    found = audited(rows, tmp_path)
    filled = np.where(HALF, TABLE, np.nanmean(rows, axis=0))
    script = 1 - np.mean(np.square(filled - TABLE).mean(axis=0) / TABLE.var(axis=0))
    outsider, insider = (attacker(found, name) for name in ("outsider", "insider"))
    assert outsider.r2 > script - 0.05
    assert outsider.gain > 0.45
    assert insider.linked > 0.9  # all rows but those without a single cell
    assert found.verdict == RECOVERED
    missing = int((~HALF).sum())
    assert any(
        note.startswith(f"{missing} cells of r.csv are missing") for note in sentences(found.notes)
    )
    assert any("of the cells are values of the table" in note for note in sentences(found.notes))


def test_a_quarter_of_all_cells_is_no_resistance(tmp_path):
    rng = np.random.default_rng(6)
    noise = 6 * TABLE.std(axis=0) * rng.normal(size=TABLE.shape)
    exact = rng.random(TABLE.shape) < 0.25
    found = audited(np.where(exact, TABLE, TABLE + noise), tmp_path)
    assert attacker(found, "outsider").verdict != RESISTED
    assert attacker(found, "outsider").gain == pytest.approx(exact.mean(), abs=0.02)


def test_where_cells_are_missing_tells_what_stood_there(tmp_path):
    noise = np.random.default_rng(7).normal(size=TABLE.shape)
    found = audited(np.where(np.median(TABLE, axis=0) < TABLE, noise, np.nan), tmp_path)
    # Which half a normal value is in explains 2 / pi of its variance.
    assert attacker(found, "insider").r2 > 0.5


def test_missing_cells_of_noise_resist_even_a_column_of_nothing_else(tmp_path):
    noise = 6 * TABLE.std(axis=0) * np.random.default_rng(8).normal(size=TABLE.shape)
    rows = np.where(HALF, noise, np.nan)
    rows[:, 2] = np.nan
    assert audited(rows, tmp_path).verdict == RESISTED


def test_cells_are_counted_beyond_chance():
    rng = np.random.default_rng(9)
    suppressed = np.where(HALF, TABLE, TABLE.mean(axis=0))
    mixed = np.column_stack([rng.permutation(column) for column in suppressed.T])
    assert exact_cells(TABLE, suppressed[:, ::-1], rng) == pytest.approx(HALF.mean(), abs=0.02)
    assert exact_cells(TABLE, mixed, rng) < 0.03
    assert exact_cells_anywhere(TABLE, rng.permutation(suppressed), rng) > 0.3
    assert exact_cells_anywhere(TABLE, mixed, rng) < 0.03
    codes = rng.integers(0, 3, size=(500, 5)).astype(float)
    fresh = rng.integers(0, 3, size=(500, 5)).astype(float)
    assert exact_cells(codes, fresh, rng) < 0.03
    assert exact_cells_anywhere(codes, fresh, rng) < 0.03


def test_rows_that_are_left_out_of_the_audit_but_not_of_the_release_are_attacked(tmp_path):
    rng = np.random.default_rng(8)
    values = rng.normal(size=(200, 4)) * [1, 3, 10, 2]
    table = pd.DataFrame(values, columns=list("abcd"))
    table.loc[rng.random(200) < 0.8, "d"] = np.nan
    empty = table["d"].isna()
    release = table + 8 * values.std(axis=0) * rng.normal(size=values.shape)
    release.loc[empty, ["a", "b", "c"]] = table.loc[empty, ["a", "b", "c"]]
    table.to_csv(tmp_path / "t.csv", index=False)
    release.to_csv(tmp_path / "r.csv", index=False)
    report = audit_files(tmp_path / "t.csv", tmp_path / "r.csv", missing="drop", random_state=1)
    found = report.findings
    assert (found.verdict, found.rows) == (RECOVERED, 200)
    assert not any("1,000,000" in note for note in sentences(found.notes))
    assert not any("no pairs" in sentence(skipped.reason) for skipped in found.skipped)
