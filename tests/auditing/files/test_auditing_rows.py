"""Several rows a record, one column a record, and orders that are only said to be secret."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import isinglass as ig
from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.files.dependence import dependence
from isinglass.auditing.files.key_match import KeyFacts
from isinglass.auditing.findings import NOT_MEASURED, RECOVERED, RESISTED
from isinglass.auditing.report.sentences import sentences
from isinglass.perturb.key import read_key

RNG = np.random.default_rng(2)
N, D, K = 200, 4, 6
NAMES = list("abcd")
TABLE = RNG.normal(size=(N, D)) @ (np.eye(D) + 0.3 * RNG.normal(size=(D, D))) * [1, 3, 10, 2] + 5
pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


def audited(frame, tmp_path, **options):
    pd.DataFrame(TABLE, columns=NAMES).to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "r.csv", index=False)
    return audit_files(tmp_path / "t.csv", tmp_path / "r.csv", random_state=1, **options).findings


def outsider(found):
    return next(a for a in found.attackers if a.name == "outsider")


def noisy(scale=1.5):
    return TABLE + scale * TABLE.std(axis=0) * RNG.normal(size=TABLE.shape)


def long_format(by_variable=False, shuffled=False):
    """One value a row; a little off, so that no value is a copy."""
    row, var = np.divmod(np.arange(N * D), D)
    if by_variable:
        var, row = np.divmod(np.arange(N * D), N)
    frame = pd.DataFrame({"row": row, "var": var, "value": TABLE[row, var] + 1e-7})
    return frame.sample(frac=1, random_state=1) if shuffled else frame


@pytest.mark.parametrize("stacked", [True, False])
def test_noise_averages_out_over_several_rows_of_a_record(stacked, tmp_path):
    copies = [noisy() for _ in range(K)]
    rows = np.vstack(copies) if stacked else np.stack(copies, axis=1).reshape(-1, D)
    found = audited(pd.DataFrame(rows, columns=NAMES), tmp_path)
    # The mean of six copies explains 1 / (1 + 1.5**2 / 6) of the variance, and one of them .31.
    assert outsider(found).r2 > 0.65
    assert any("6 rows for each record" in note for note in sentences(found.notes))


@pytest.mark.parametrize("how", [{}, {"by_variable": True}, {"shuffled": True}])
def test_the_long_format_is_the_table(how, tmp_path):
    found = audited(long_format(**how), tmp_path)
    assert outsider(found).verdict == RECOVERED
    assert outsider(found).r2 > 0.99


@pytest.mark.parametrize("numbered", [False, True])
def test_a_transposed_table_is_the_table(numbered, tmp_path):
    frame = pd.DataFrame(TABLE.T + 1e-7, columns=[f"r{i}" for i in range(N)])
    if numbered:
        frame.insert(0, "row", range(D))
    found = audited(frame, tmp_path)
    assert outsider(found).r2 > 0.99
    assert any("transposed" in note for note in sentences(found.notes))


def test_a_fresh_table_of_as_many_times_the_rows_resists(tmp_path):
    rng = np.random.default_rng(8)
    fresh = rng.multivariate_normal(TABLE.mean(axis=0), np.cov(TABLE.T), size=3 * N)
    found = audited(pd.DataFrame(fresh, columns=NAMES), tmp_path)
    assert found.verdict == RESISTED
    assert not any("rows for each record" in note for note in sentences(found.notes))


def test_rows_in_a_random_order_depend_on_no_record():
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(300, 40))
    rare = (rng.random((300, 20)) < 0.06).astype(float)
    for X in (wide, rare, np.round(wide)):
        by_chance = [dependence(X, rng.permutation(X)) for _ in range(20)]
        assert max(by_chance) < 1.0 <= dependence(X, X)
    mixed = wide @ rng.normal(size=(40, 40))
    assert dependence(wide, mixed) >= 1.0
    signs = rng.choice([-1, 1], size=(300, 1))
    assert dependence(wide[:, :3], wide[:, :3] * signs) >= 1.0  # ranks alone would not show it


def claimed(rows, tmp_path, **said):
    """A release that says it was made here, by rotation, in a secret order."""
    names = [f"z{i}" for i in range(rows.shape[1])]
    facts = {
        "method": "rotation", "parameters": {}, "version": "1.0", "rows": len(rows),
        "columns": names, "promise": {"kind": "heuristic"}, "order": "keyed",
    }  # fmt: skip
    table = pa.table(dict(zip(names, rows.T, strict=True)))
    table = table.replace_schema_metadata({"isinglass": json.dumps(facts | said)})
    pq.write_table(table, tmp_path / "r.parquet")
    pd.DataFrame(TABLE, columns=NAMES).to_csv(tmp_path / "t.csv", index=False)
    return audit_files(tmp_path / "t.csv", tmp_path / "r.parquet", random_state=1).findings


@pytest.mark.parametrize("step", [1, -1])
def test_an_order_that_is_only_said_to_be_secret_is_seen(step, tmp_path):
    mixed = (TABLE / TABLE.std(axis=0)) @ np.random.default_rng(5).normal(size=(D, D))
    found = claimed(mixed[::step], tmp_path)
    assert found.verdict == RECOVERED
    assert any("stand in the table's order" in note for note in sentences(found.notes))


def test_a_secret_order_stays_one(tmp_path):
    pd.DataFrame(TABLE, columns=NAMES).to_csv(tmp_path / "t.csv", index=False)
    noise = ig.AdditiveNoise(scale=6.0, random_state=1)
    written = ig.write_release(
        tmp_path / "t.csv", tmp_path / "r.parquet", noise, shuffle=True, again=True
    )
    found = audit_files(tmp_path / "t.csv", written.release, random_state=1).findings
    assert found.verdict == NOT_MEASURED
    assert any(
        "secret order" in note and "key was not given" in note for note in sentences(found.notes)
    )
    assert found.settings["order_shows"] is False
    order = read_key(written.key).arrays["shuffle"]
    undone = audit_files(
        tmp_path / "t.csv", written.release, key=KeyFacts(tuple(NAMES), shuffle=order),
        random_state=1,
    ).findings  # fmt: skip
    assert undone.settings["order_shows"] is False
    assert undone.settings["rows_correspond"] is True
