"""Files that other tools made: fewer rows or more, in any order, in other units, as codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import isinglass as ig
from isinglass.auditing.files import audit_files
from isinglass.auditing.result import RECOVERED, RESISTED

COLUMNS = list("abcde")


def correlated(n, seed=0):
    """Five columns of different shapes that go together."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    X = hidden @ rng.normal(size=(2, 5)) + 0.5 * rng.normal(size=(n, 5))
    X[:, 0], X[:, 1] = np.exp(X[:, 0]), X[:, 1] ** 3
    return X * [1, 10, 100, 0.1, 5] + [0, 5, -50, 3, 1000]


POPULATION = correlated(4000)
TABLE, REST = POPULATION[:1000], POPULATION[1000:]


def audited(released, tmp_path, *, table=TABLE):
    """Two files as their owner would audit them; the release says nothing of itself."""
    for name, rows in (("table", table), ("release", released)):
        pd.DataFrame(rows, columns=COLUMNS[: rows.shape[1]]).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    return audit_files(tmp_path / "table.csv", tmp_path / "release.csv", random_state=1).findings


def noisy(rows, size, seed=3):
    return rows + size * TABLE.std(axis=0) * np.random.default_rng(seed).normal(size=rows.shape)


def test_half_of_the_rows_are_as_much_of_a_leak_as_all_of_them(tmp_path):
    half = np.random.default_rng(2).permutation(TABLE)[:500]
    found = audited(noisy(half, 1e-3), tmp_path)
    assert found.verdict == RECOVERED
    assert found.rows == 500
    assert found.strongest().scored_by == "nearest record"
    assert found.strongest().gain > 0.85
    assert any("has 1,000 rows" in note and "has 500" in note for note in found.notes)


def test_half_of_the_rows_under_much_noise_resist(tmp_path):
    assert audited(noisy(TABLE[::2], 3.0), tmp_path).verdict == RESISTED


@pytest.mark.parametrize("n", [400, 1000, 2500])
def test_a_fresh_table_with_the_same_mean_and_covariance_gives_no_record_away(n, tmp_path):
    rng = np.random.default_rng(5)
    fresh = rng.multivariate_normal(TABLE.mean(axis=0), np.cov(TABLE.T), size=n)
    assert audited(fresh, tmp_path).verdict == RESISTED


@pytest.mark.parametrize("n", [400, 2500])
def test_fresh_records_of_the_same_population_give_no_record_away(n, tmp_path):
    assert audited(REST[:n], tmp_path).verdict == RESISTED


def test_row_attacks_that_could_not_run_fail_a_policy_on_files_of_other_length(tmp_path):
    found = audited(noisy(TABLE[::2], 3.0), tmp_path)
    missing = {s.name for s in found.skipped if s.applicable}
    assert {"known_input", "linkage"} <= missing


def test_a_key_beside_a_file_of_other_length_is_refused():
    veil = ig.Distortion(random_state=1)
    with pytest.raises(ig.errors.AuditError, match="rows cannot be matched"):
        ig.audit(TABLE, veil.fit_transform(TABLE)[:500], perturbation=veil)
