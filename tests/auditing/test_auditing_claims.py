"""What a file says of itself and is not so: reported, and of no help to it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import isinglass as ig
from isinglass.attack.knowledge import PublicParameters
from isinglass.auditing.claims import contradiction
from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.notes import Kind
from isinglass.auditing.policy import Policy
from isinglass.auditing.report.sentences import sentences

N, D = 150, 3
RNG = np.random.default_rng(0)
X = RNG.gamma(2.0, size=(N, 2)) @ RNG.normal(size=(2, D)) + 0.3 * RNG.normal(size=(N, D))
X = X * [1, 20, 300] + [5, -90, 1000]
NAMES = ["a", "b", "c"]
GATE = Policy.parse('[release]\norigin = "any"\norder = "any"\n[attacks]\nmaximum_gain = 0.2\n')


def audited(folder, numbers, method, parameters):
    """The audit of a file that says how it was made."""
    pd.DataFrame(X, columns=NAMES).to_csv(folder / "table.csv", index=False)
    facts = {"method": method, "parameters": parameters, "version": "1.0", "rows": len(numbers)}
    facts |= {"columns": NAMES, "kept": [], "promise": {"kind": "heuristic"}}
    made = pa.table(dict(zip(NAMES, numbers.T, strict=False)))
    said = {"isinglass": json.dumps(facts)}
    pq.write_table(made.replace_schema_metadata(said), folder / "release.parquet")
    report = audit_files(
        folder / "table.csv", folder / "release.parquet", policy=GATE, random_state=1
    )
    return report.findings


def bent(rows):
    veil = ig.Distortion("tanh", bounds="scaled", clip=True, random_state=3)
    return veil.fit_transform((rows - rows.min(axis=0)) / np.ptp(rows, axis=0))


@pytest.mark.parametrize(
    ("numbers", "method", "parameters", "kind"),
    [
        (bent(X), "condensation", {"k": 10}, Kind.MOMENTS_NOT_AS_CLAIMED),
        (bent(X), "additive_noise", {"scale": 1.0}, Kind.VALUES_NOT_AS_CLAIMED),
        (X * (1 + 1e-3 * RNG.normal(size=X.shape)), "additive_noise", {"scale": 2.0},
         Kind.NOISE_NOT_AS_CLAIMED),
    ],
    ids=["moments", "values", "noise"],
)  # fmt: skip
def test_a_claim_that_numbers_refute_is_reported_and_hides_nothing(
    numbers, method, parameters, kind, tmp_path
):
    found = audited(tmp_path, numbers, method, parameters)
    assert [n.kind for n in found.notes if n.kind.name.endswith("NOT_AS_CLAIMED")] == [kind]
    assert any("as on a file that says nothing" in said for said in sentences(found.notes))
    assert found.method == "unknown"
    assert found.verdict == "recovered"
    assert not all(line.met for line in found.policy)


def test_columns_that_are_not_those_claimed_are_reported(tmp_path):
    for method in ("condensation", "additive_noise"):
        note = contradiction(PublicParameters(method), X, X[:, :2])
        assert note.kind is Kind.COLUMNS_NOT_AS_CLAIMED
    wider = ig.RandomProjection(n_components=2, bounds="scaled", clip=True, random_state=0)
    report = ig.audit(
        X, wider.fit_transform(X), attacks=["naive"], random_state=0,
        parameters=PublicParameters("condensation", {"k": 10}),
    )  # fmt: skip
    (note,) = [n for n in report.findings.notes if n.kind is Kind.COLUMNS_NOT_AS_CLAIMED]
    assert "its columns are not the table's" in sentences([note])[0]


def test_an_honest_condensation_is_believed(tmp_path):
    released = ig.Condensation(k=5, random_state=2).fit_transform(X)
    found = audited(tmp_path, released, "condensation", {"k": 5})
    assert not [n for n in found.notes if n.kind.name.endswith("NOT_AS_CLAIMED")]
    assert found.method == "condensation"


WIDE = np.random.default_rng(4).gamma(1.0, size=(120, 8)) @ np.random.default_rng(5).normal(
    size=(8, 60)
)
FAR = np.vstack([np.random.default_rng(6).lognormal(size=(200, 4)), [[500.0] * 4]])


@pytest.mark.parametrize("table", [X, WIDE, FAR, X[:40]], ids=["usual", "wide", "far", "few"])
@pytest.mark.parametrize("k", [2, 10, 20])
@pytest.mark.parametrize("fill", [True, False])
def test_no_condensation_is_doubted(table, k, fill):
    made = ig.Condensation(k=k, fill=fill, random_state=1).fit_transform(table)
    said = PublicParameters("condensation", {"k": k})
    assert contradiction(said, table, made) is None
    assert contradiction(said, table, made[: len(made) // 2 + 20]) is None


@pytest.mark.parametrize(
    "made",
    [
        ig.Rotation(optimize=None, bounds="scaled", clip=True, random_state=1).fit_transform(X),
        X + 5 * X.std(axis=0) * RNG.normal(size=X.shape),
        (X - X.mean(axis=0)) / X.std(axis=0),
        np.column_stack([RNG.permutation(column) for column in X.T]),
        np.tile(X.mean(axis=0), (N, 1)) + 1e-3 * RNG.normal(size=X.shape),
    ],
    ids=["rotated", "strong noise", "standardized", "columns apart", "means"],
)
def test_what_is_no_condensation_is_doubted(made):
    found = contradiction(PublicParameters("condensation", {"k": 10}), X, made)
    assert found.kind is Kind.MOMENTS_NOT_AS_CLAIMED
