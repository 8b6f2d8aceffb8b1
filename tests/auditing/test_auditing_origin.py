"""A gate opens for files of which it is known how they were made, under a key drawn in secret."""

import numpy as np
import pandas as pd
import pytest

import isinglass as ig
from isinglass.auditing.files import audit_files
from isinglass.auditing.origin import ORIGIN, SECRET, origin_line
from isinglass.auditing.policy import Policy
from isinglass.errors import AuditError
from isinglass.release import Facts

RNG = np.random.default_rng(918273)
X = RNG.gamma(2.0, size=(800, 3)) * [1, 5, 20]
LOOSE = Policy.parse("[attacks]\nmaximum_gain = 1.0\n")


def facts(method="additive_noise", **parameters):
    return Facts(
        method=method, parameters=parameters, version="1", rows=800, columns=("a", "b", "c"),
        kept=(), promise={"kind": "heuristic"},
    )  # fmt: skip


def borne_out(Z, **parameters):
    return origin_line(facts(**parameters), X, Z, shown=False, aligned=True).met


def test_noise_is_what_it_says_or_it_is_not():
    size = 6 * X.std(axis=0, ddof=1)
    normal, flat = RNG.normal(size=X.shape), RNG.uniform(-np.sqrt(3), np.sqrt(3), size=X.shape)
    assert borne_out(X + size * normal, scale=6.0)
    assert borne_out(X + size * flat, scale=6.0, distribution="uniform")
    # Another law, another size, noise of one number a row, of neighbors, or of the table itself.
    assert not borne_out(X + size * flat, scale=6.0)
    assert not borne_out(X + size * normal, scale=3.0)
    assert not borne_out(X + size * np.tile(normal[:, :1], 3), scale=6.0)
    assert not borne_out(X + size * (normal + np.roll(normal, 1, axis=0)) / np.sqrt(2), scale=6.0)
    itself = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    assert not borne_out(X + size * (0.8 * normal + 0.6 * itself), scale=6.0)
    assert not borne_out(X + size * normal, method="tanh", scale=6.0)
    # Noise that comes back: far on, turned round, from a pool, of one size a row, of a record.
    half = normal[:400]
    assert not borne_out(X + size * np.vstack([half, half]), scale=6.0)
    assert not borne_out(X + size * np.vstack([half, -half[::-1]]), scale=6.0)
    assert not borne_out(X + size * normal[RNG.integers(0, 30, size=800)], scale=6.0)
    assert not borne_out(X + size * np.abs(normal[:, :1]) * np.sign(normal), scale=6.0)
    shifted = np.column_stack([np.roll(normal[:, 0], 11 * j) for j in range(3)])
    assert not borne_out(X + size * shifted, scale=6.0)


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))
    pd.DataFrame(X, columns=list("abc")).to_csv(tmp_path / "t.csv", index=False)

    def make(method, name="r.parquet", **parameters):
        veil = method(**parameters)
        ig.write_release(tmp_path / "t.csv", tmp_path / name, veil, again=True)
        return tmp_path / "t.csv", tmp_path / name

    return make


def lines(report):
    return {line.demand: line.met for line in report.findings.policy}


def test_a_file_that_nobody_explains_does_not_pass(tmp_path):
    for name, values in (("t", X), ("r", RNG.gamma(2.0, size=X.shape))):
        pd.DataFrame(values, columns=list("abc")).to_csv(tmp_path / f"{name}.csv", index=False)
    files = tmp_path / "t.csv", tmp_path / "r.csv"
    assert lines(audit_files(*files, policy=LOOSE, random_state=0))[ORIGIN] is False
    anyhow = Policy.parse('[attacks]\nmaximum_gain = 1.0\n[release]\norigin = "any"\n')
    assert ORIGIN not in lines(audit_files(*files, policy=anyhow, random_state=0))


def test_a_key_from_a_common_seed_is_guessed(made):
    with pytest.warns(ig.PrivacyWarning):
        files = made(ig.AdditiveNoise, scale=6.0, random_state=42)
    report = audit_files(*files, policy=LOOSE, random_state=0)
    assert lines(report)[SECRET] is False
    outsider = next(a for a in report.findings.attackers if a.name == "outsider")
    assert outsider.r2 > 0.99
    assert any("guessed" in note for note in report.findings.notes)


def test_noise_from_secret_randomness_is_known_by_its_numbers(made):
    files = made(ig.AdditiveNoise, scale=6.0)
    found = lines(audit_files(*files, policy=LOOSE, random_state=0))
    assert ORIGIN not in found  # no line where there is nothing to say
    assert SECRET not in found


def test_a_policy_that_misspells_the_origin_is_refused():
    with pytest.raises(AuditError, match="origin must be among known, any"):
        Policy.parse('[attacks]\nmaximum_gain = 1.0\n[release]\norigin = "who knows"\n')
    with pytest.raises(AuditError, match="demands nothing"):
        Policy.parse('[release]\norigin = "any"\n')
