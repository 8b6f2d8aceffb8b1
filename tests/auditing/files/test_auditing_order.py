"""Foreign files whose rows stand in another order than the table's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import isinglass as ig
from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.files.row_order import find_order
from isinglass.auditing.findings import NOT_MEASURED, RECOVERED, RESISTED
from isinglass.auditing.policy import Policy
from isinglass.auditing.report.sentences import sentences

RNG = np.random.default_rng(5)
X = RNG.normal(size=(200, 4)) @ (np.eye(4) + 0.3 * RNG.normal(size=(4, 4))) * [1, 3, 10, 2] + 10
MIXED = X @ RNG.normal(size=(4, 4))
ORDER = RNG.permutation(200)
LAGS = (37, 101, 5, 150)


def skewed(seed):
    return np.exp(np.random.default_rng(seed).normal(size=(200, 4)))


def audited(released, tmp_path, *, table=X, ids=None, **options):
    frames = (pd.DataFrame(m, columns=[f"{c}{j}" for j in range(m.shape[1])])
              for c, m in (("c", table), ("z", released)))  # fmt: skip
    frame, release = frames
    if ids is not None:
        frame["id"], release["id"] = np.arange(200), ids
        options["id_column"] = "id"
    frame.to_csv(tmp_path / "t.csv", index=False)
    release.to_csv(tmp_path / "r.csv", index=False)
    report = audit_files(tmp_path / "t.csv", tmp_path / "r.csv", random_state=1, **options)
    return report.findings


def linked(found):
    return next(a.linked for a in found.attackers if a.name == "insider")


@pytest.mark.parametrize(
    "released",
    [
        MIXED[ORDER],
        np.roll(MIXED, 10, axis=0),
        MIXED[np.argsort(MIXED[:, 0])],
        X.T.reshape(200, 4),
        (np.abs(X - X.mean(axis=0)) * [3, 0.1, 20, 1] + 5)[ORDER],
        np.column_stack([np.roll(c, lag) for c, lag in zip(X.T, LAGS, strict=True)]),
    ],
    ids=["shuffled", "rolled", "sorted by a released column", "by column", "sizes", "lags"],
)
def test_rows_in_another_order_hide_nothing(released, tmp_path):
    found = audited(released, tmp_path)
    assert found.verdict == RECOVERED
    assert linked(found) > 0.9
    assert any("do not stand in the table's order" in note for note in sentences(found.notes))


def test_identifiers_that_lead_astray_hide_nothing(tmp_path):
    found = audited(MIXED, tmp_path, ids=ORDER)
    assert found.verdict == RECOVERED
    assert linked(found) > 0.9


@pytest.mark.parametrize("ids", [None, np.arange(200)])
def test_where_no_order_is_found_pairs_count_as_missing(tmp_path, ids):
    fresh = np.random.default_rng(9).normal(size=X.shape)
    found = audited(fresh, tmp_path, ids=ids, policy=Policy(maximum_gain=0.5))
    assert found.verdict == RESISTED
    assert any("Nobody can tell" in note for note in sentences(found.notes))
    assert {"known_input", "linkage"} <= {s.name for s in found.skipped if s.applicable}
    assert any("known_input" in line.demand and not line.met for line in found.policy)


def test_rows_in_the_tables_order_are_attacked_so(tmp_path):
    found = audited(MIXED, tmp_path, policy=Policy(maximum_gain=0.5))
    assert not any("order" in note for note in sentences(found.notes))
    assert "known_input" not in {s.name for s in found.skipped}


@pytest.mark.parametrize("seed", range(3))
def test_fresh_tables_are_in_no_order(seed):
    """Of skewed columns rows far out are large on both sides, whoever they belong to."""
    rng = np.random.default_rng(100 + seed)
    codes = rng.integers(0, 3, size=(200, 4)).astype(float)
    for table, fresh in (
        (X, rng.normal(size=X.shape)),
        (skewed(seed), skewed(seed + 50)),
        (codes, codes[rng.integers(0, 200, 200)] + 0.0),
        (X, np.column_stack([rng.permutation(c) for c in X.T])),
    ):
        assert find_order(table, fresh) is None


def shuffled(veil, tmp_path, **options):
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "t.csv", index=False)
    written = ig.write_release(
        tmp_path / "t.csv", tmp_path / "r.parquet", veil, shuffle=True, **options
    )
    return audit_files(tmp_path / "t.csv", written.release, random_state=1)


def test_a_join_on_kept_columns_needs_no_order(tmp_path):
    found = shuffled(ig.AdditiveNoise(scale=9.0, random_state=1), tmp_path, keep=["a"]).findings
    assert found.verdict == RECOVERED
    assert (found.linkage.linked, linked(found)) == (1.0, 1.0)


def test_what_was_not_run_for_a_secret_order_is_not_measured(tmp_path):
    report = shuffled(ig.AdditiveNoise(scale=9.0, random_state=1), tmp_path)
    verdicts = {a.name: a.verdict for a in report.findings.attackers}
    assert report.verdict == verdicts["insider"] == NOT_MEASURED
    assert verdicts["outsider"] == RESISTED
    assert "Not enough was measured" in report.html()


def test_a_secret_order_of_a_rotation_is_found(tmp_path):
    found = shuffled(ig.Rotation(random_state=1), tmp_path).findings
    assert linked(found) > 0.9
    assert any("secret order, and it was found" in note for note in sentences(found.notes))
