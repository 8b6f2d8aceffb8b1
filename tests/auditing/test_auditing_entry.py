"""`ig.audit` of arrays, frames, files and releases."""

import numpy as np
import pandas as pd
import pytest

import isinglass as ig
from isinglass.auditing.report.sentences import sentence

X = ig.datasets.flights(300, n_features=4, random_state=0).X
FRAME = pd.DataFrame(X.astype(np.float64), columns=list("abcd"))


@pytest.fixture
def written(tmp_path):
    return ig.write_release(
        FRAME.assign(tail=[f"t{i % 7}" for i in range(300)]), tmp_path / "r.parquet",
        ig.Rotation(optimize=None), drop=["tail"], shuffle=True, again=True,
    )  # fmt: skip


def test_paths_frames_and_releases_are_audited_as_the_command_does(written, tmp_path, given):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    release = ig.Release.read(written.release)
    seen = []
    for table, left in ((tmp_path / "t.csv", written.release), (FRAME, release)):
        report = ig.audit(table, left, key=written.key, random_state=1)
        assert sentence(report.findings.notes[0]) == "its own"
        assert given["perturbation"].method == "rotation"
        assert (given["rows_correspond"], given["order_known"]) == (True, True)
        seen.append(given["released"])
    for other in seen[1:]:
        np.testing.assert_array_equal(other, seen[0])
    line = "report = ig.audit(table, release, key='r.key', random_state=1)"
    assert given["settings"]["code"] == line


def test_a_frame_that_left_is_matched_by_its_columns(given):
    left = FRAME.sample(frac=1, axis=1, random_state=1) + 1e-3
    ig.audit(FRAME.assign(tail="x"), left, drop=["tail"], random_state=1)
    assert given["column_names"] == list("abcd")
    np.testing.assert_allclose(given["table"], FRAME.to_numpy())


def test_the_name_of_a_key_file_locked_with_a_passphrase_is_all_a_report_says(tmp_path, given):
    written = ig.write_release(
        FRAME, tmp_path / "r.parquet", ig.Rotation(optimize=None), passphrase="hush", again=True
    )
    ig.audit(FRAME, written.release, key=written.key, passphrase="hush")
    assert given["perturbation"].seeded is False
    assert "hush" not in str(given["settings"])


def test_arguments_of_the_other_kind_are_refused_by_name(written):
    with pytest.raises(ValueError, match="detector, attacks must be left out unless"):
        ig.audit(FRAME, written.release, detector=ig.DistanceOutliers(), attacks=["naive"])
    with pytest.raises(ValueError, match="drop must be left out where the release is an array"):
        ig.audit(FRAME, FRAME.to_numpy(), drop=["a"])
    with pytest.raises(TypeError, match="no argument 'color'"):
        ig.audit(FRAME, written.release, color="red")
    with pytest.raises(ValueError, match="perturbation must be left out where key is given"):
        ig.audit(FRAME, written.release, key=written.key, perturbation=ig.Rotation())


def test_an_array_beside_a_frame_takes_the_frames_names():
    report = ig.audit(FRAME, FRAME.to_numpy(), attacks=["naive"], random_state=1)
    assert {a.worst_column for a in report.findings.attacks} <= set("abcd")


def test_a_release_written_again_says_the_same(written, tmp_path):
    release = ig.Release.read(written.release)
    release.write(tmp_path / "again.parquet")
    again = ig.Release.read(tmp_path / "again.parquet")
    assert again.facts == release.facts
    assert again.table.equals(release.table)
