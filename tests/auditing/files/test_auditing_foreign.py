"""Files that other tools made: fewer rows or more, in any order, in other units, as codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import hadamard

import isinglass as ig
from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.findings import RECOVERED, RESISTED
from isinglass.auditing.report.sentences import sentence, sentences

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
    assert found.strongest().gain > 0.95
    assert any("has 1,000 rows" in note and "has 500" in note for note in sentences(found.notes))


@pytest.mark.parametrize("how", ["frequencies", "signs of rows and zeros"])
def test_a_transform_along_the_rows_that_changes_their_number_is_undone(how, tmp_path):
    if how == "frequencies":
        found = np.fft.rfft(TABLE, axis=0)
        released = np.hstack([found.real, found.imag])
    else:
        released = hadamard(1024)[:, :1000] @ TABLE
    columns = [f"f{j}" for j in range(released.shape[1])]
    pd.DataFrame(TABLE, columns=COLUMNS).to_csv(tmp_path / "table.csv", index=False)
    pd.DataFrame(released, columns=columns).to_csv(tmp_path / "release.csv", index=False)
    found = audit_files(tmp_path / "table.csv", tmp_path / "release.csv", random_state=1).findings
    assert found.attackers[0].r2 > 0.99
    assert any("transform along the rows" in note for note in sentences(found.notes))


def test_rows_that_were_added_hide_no_record(tmp_path):
    rng = np.random.default_rng(4)
    added = noisy(TABLE[:600], 2.0)
    found = audited(rng.permutation(np.vstack([noisy(TABLE, 1e-3), added])), tmp_path)
    assert found.verdict == RECOVERED
    assert found.strongest().gain > 0.9


def in_other_units(rows, size=0.01):
    """Every column on a line of its own, columns and rows shuffled, and a little noise."""
    rng = np.random.default_rng(6)
    d = rows.shape[1]
    units = np.exp(rng.normal(0, 3, d)) * rng.choice([-1, 1], d)
    moved = rows * units + rng.normal(size=d)
    moved += size * moved.std(axis=0) * rng.normal(size=rows.shape)
    return rng.permutation(moved)[:, rng.permutation(d)]


@pytest.mark.parametrize("n", [1000, 500])
def test_other_units_and_orders_of_columns_and_rows_hide_nothing(n, tmp_path):
    found = audited(in_other_units(TABLE[:n]), tmp_path)
    assert found.verdict == RECOVERED
    assert found.strongest().name == "matched_columns"
    assert found.strongest().gain > 0.95


def test_mammography_in_other_units_is_recovered(real_data):
    frame = pd.read_parquet(real_data / "mammography.parquet").drop(columns="label")
    X = frame.sample(2000, random_state=1).to_numpy(dtype=float)
    found = ig.audit(X, in_other_units(X), random_state=1).findings
    assert found.strongest().name == "matched_columns"
    assert found.strongest().gain > 0.9


def test_columns_shuffled_one_by_one_resist(tmp_path):
    rng = np.random.default_rng(7)
    shuffled = np.column_stack([rng.permutation(column) for column in TABLE.T])
    assert audited(shuffled, tmp_path).verdict == RESISTED


def test_noise_resists(tmp_path):
    noise = np.random.default_rng(8).normal(size=TABLE.shape)
    assert audited(noise, tmp_path).verdict == RESISTED


def test_a_fresh_table_of_whole_numbers_with_many_copies_resists():
    """Records of few values are often alike: to hit one is no success."""
    rng = np.random.default_rng(9)
    size = rng.gamma(0.5, 2.0, size=(1600, 1))
    X = np.clip(np.round(1 + 3 * size * rng.gamma(2.0, 0.5, size=(1600, 6))), 1, 20)
    table, fresh = X[:800], X[800:]
    normal = rng.multivariate_normal(table.mean(axis=0), np.cov(table.T), size=800)
    for released in (fresh, normal, normal[:300]):
        about = {} if len(released) == 800 else {"order_known": False}
        assert ig.audit(table, released, random_state=1, **about).findings.verdict == RESISTED


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


def test_values_in_further_digits_of_noise_are_found_in_any_order():
    rng = np.random.default_rng(4)
    table = rng.gamma(2.0, size=(300, 4)) * [1, 5, 2, 9]
    share = (table - table.min(axis=0)) / np.ptp(table, axis=0)
    hidden = np.round(6 * rng.normal(size=table.shape), 2) + 0.009 * share
    rows = rng.permutation(300)[:200]
    found = ig.audit(table, hidden[rows], rows_correspond=False, random_state=0).findings
    outsider = next(a for a in found.attackers if a.name == "outsider")
    assert outsider.r2 > 0.9
    noise = np.round(6 * rng.normal(size=table.shape), 2) + 0.009 * rng.random(table.shape)
    assert ig.audit(table, noise, rows_correspond=False, random_state=0).verdict == RESISTED


def test_a_file_of_other_length_is_not_said_to_be_large_or_pairs_to_be_assumed_away(tmp_path):
    found = audited(noisy(TABLE[::2], 3.0), tmp_path)
    assert not any("1,000,000" in note for note in sentences(found.notes))
    assert not any("assumed" in sentence(s.reason) for s in found.skipped)
    assert found.settings["most_pairs"] is None
