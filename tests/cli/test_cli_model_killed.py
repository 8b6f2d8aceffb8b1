"""`isinglass model`, killed outright at any moment: spent once or not at all, and never lost."""

import os

import numpy as np
import pytest
from tests.cli.commands import inside
from tests.cli.model_kills import ROWS, SINCE, Kills, raw_counts, write_table

from isinglass.detect.private import counts


def test_the_raw_counts_that_are_looked_for_are_those_of_a_model(tmp_path, monkeypatch):
    seen = []
    door = counts.add_noise

    def noting(raw, noise, *, n_jobs):
        seen.append(np.array(raw[:16]))
        return door(raw, noise, n_jobs=n_jobs)

    monkeypatch.setattr(counts, "add_noise", noting)
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path)
    done = inside(
        "model", "t.csv", "--epsilon", 1, "--bounds", "b.csv", "--no-ledger", "-o", "m.zip"
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(seen[0], raw_counts(tmp_path))
    assert seen[0].sum() == ROWS


@pytest.mark.parametrize("renew", [False, True])
def test_killed_at_any_moment_it_costs_one_price_or_none(tmp_path, monkeypatch, renew):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISINGLASS_HOME", os.environ["ISINGLASS_HOME"])  # is put back
    kills = Kills(tmp_path, seed=int(renew))
    for since in ("ledger", "paid") if renew else SINCE:
        kills.one(since, renew=renew)
