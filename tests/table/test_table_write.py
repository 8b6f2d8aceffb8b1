"""Whole files or none."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from isinglass.errors import ReleaseError
from isinglass.table import write
from isinglass.table.write import refuse_unwritable, whole_file


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
    real = write.sync

    def picky(path):
        if path.is_dir():
            raise OSError(errno.EINVAL, "no")
        real(path)

    monkeypatch.setattr(write, "sync", picky)
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
