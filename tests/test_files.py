"""Whole files or none."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys

import pytest

from isinglass import files
from isinglass.errors import ReleaseError
from isinglass.files import refuse_unwritable, whole_file


@pytest.fixture(params=[True, False], ids=["new", "old"])
def target(request, tmp_path):
    """A target that is not there yet, or is."""
    path = tmp_path / "out.bin"
    if not request.param:
        path.write_bytes(b"old")
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_success_gives_the_content_and_the_rights(target, mode):
    with whole_file(target, mode=mode) as temporary:
        assert temporary.parent == target.parent
        assert stat.S_IMODE(temporary.stat().st_mode) & 0o077 & ~mode == 0
        temporary.write_bytes(b"new")
    assert contents(target.parent) == {"out.bin": b"new"}
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interruption_leaves_things_as_they_were(target, kind):
    before = contents(target.parent)
    with pytest.raises(kind), whole_file(target) as temporary:  # noqa: PT012
        temporary.write_bytes(b"half")
        raise kind
    assert contents(target.parent) == before


@pytest.mark.parametrize("force", [True, False])
def test_a_full_disk_is_named_and_nothing_is_left(tmp_path, monkeypatch, force):
    def full(handle):
        raise OSError(errno.ENOSPC, "a wording of its own")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(ReleaseError, match=r"out.bin cannot be written: No space left on device"),
        whole_file(tmp_path / "out.bin", force=force) as temporary,
    ):
        temporary.write_bytes(b"new")
    assert contents(tmp_path) == {}


def test_a_full_disk_met_while_writing(target):
    before = contents(target.parent)
    with (
        pytest.raises(ReleaseError, match="No space left on device; nothing was left"),
        whole_file(target),
        open("/dev/full", "wb", buffering=0) as full,
    ):
        full.write(b"new")
    assert contents(target.parent) == before


def test_a_folder_that_cannot_be_synced_does_not_undo_a_whole_file(tmp_path, monkeypatch):
    real = files.sync

    def picky(path):
        if path.is_dir():
            raise OSError(errno.EINVAL, "no")
        real(path)

    monkeypatch.setattr(files, "sync", picky)
    with whole_file(tmp_path / "out.bin") as temporary:
        temporary.write_bytes(b"new")
    assert contents(tmp_path) == {"out.bin": b"new"}


def test_without_force_nothing_is_replaced(tmp_path):
    path = tmp_path / "out.bin"
    with whole_file(path, force=False) as temporary:
        temporary.write_bytes(b"first")
    with pytest.raises(ReleaseError, match=r"exists; .*force=True"), whole_file(path, force=False):
        pytest.fail("the body must not run")
    path.unlink()
    with (  # noqa: PT012 - the target appears while we write
        pytest.raises(ReleaseError, match=r"exists; .*force=True"),
        whole_file(path, force=False) as temporary,
    ):
        temporary.write_bytes(b"second")
        path.write_bytes(b"theirs")
    assert contents(tmp_path) == {"out.bin": b"theirs"}


def test_file_systems_without_links(tmp_path, monkeypatch):
    def refused(*paths):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refused)
    path = tmp_path / "out.bin"
    with whole_file(path, force=False) as temporary:
        temporary.write_bytes(b"new")
    assert contents(tmp_path) == {"out.bin": b"new"}
    path.unlink()
    with pytest.raises(ReleaseError, match="exists"), whole_file(path, force=False):
        path.write_bytes(b"theirs")
    assert contents(tmp_path) == {"out.bin": b"theirs"}


def test_targets_that_are_refused_before_any_work(tmp_path):
    with pytest.raises(ReleaseError, match="is a folder"):
        refuse_unwritable(tmp_path)
    with pytest.raises(ReleaseError, match="does not exist; create it"):
        refuse_unwritable(tmp_path / "none" / "out.bin")
    with pytest.raises(ReleaseError, match="cannot be written: File name too long"):
        whole_file(tmp_path / ("x" * 300)).__enter__()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ReleaseError, match="exists"):
        refuse_unwritable(tmp_path / "link", force=False)


# As on a system without fcntl, fork and hang-ups: Windows.
ELSEWHERE = """
import os, signal, sys
sys.modules["fcntl"] = None
del os.register_at_fork, os.fork, os.pread, os.pwrite, signal.SIGHUP
import numpy as np
import isinglass as ig
from isinglass.cli import doctor

for name in ig.__all__:
    getattr(ig, name)
folder = sys.argv[1]
X = np.random.default_rng(0).random((60, 3))
veil = ig.Distortion(bounds=([0.0] * 3, [1.0] * 3))
ig.write_release(X, folder + "/out.parquet", veil)
ig.write_release(X + 1, folder + "/more.parquet", ig.AdditiveNoise())
assert ig.load_key(folder + "/out.key").method == "distortion"
released = ig.Release.read(folder + "/out.parquet").to_numpy()
print(len(ig.DistanceOutliers(n_outliers=5, n_neighbors=3).fit(released).outliers_))
for where in (folder + "/ledger.db", "postgresql://somewhere/ledger"):
    try:
        ig.Ledger(where)
    except ig.errors.LedgerError as error:
        print(error)
print(doctor._ledgers())
"""


def test_without_fcntl_and_fork_all_but_ledgers_works(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    refusal = (
        "ledgers need file locks, which Python does not have on this operating system; keep the "
        "ledger on Linux or macOS"
    )
    assert done.stdout.splitlines() == [
        "5", refusal, refusal, "do not work here: this system has no file locks"
    ]  # fmt: skip
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "more.key", "more.parquet", "out.key", "out.parquet",
    ]  # fmt: skip
