"""Whole files or none: written beside the target, synced, then renamed into place."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from isinglass.errors import ReleaseError
from isinglass.naming import spell


@contextlib.contextmanager
def whole_file(target: str | Path, *, mode: int = 0o644, force: bool = True) -> Iterator[Path]:
    """Give a temporary path beside `target`; on success sync it and rename it into place.

    On any error, Ctrl-C included, the temporary file is removed and `target` is as it was.
    Without `force` an existing target is never replaced.
    """
    target = Path(target)
    refuse_unwritable(target, force=force)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        final = os.stat(temporary).st_mode & 0o777  # what the user's mask leaves of `mode`
        # For its owner alone until it has its name: a draft may yet be refused.
        os.chmod(temporary, final & 0o600)
        yield temporary
        sync(temporary)
        os.chmod(temporary, final)
        if force:
            os.replace(temporary, target)
        else:
            _rename_to_new(temporary, target)
        _sync_folder(target.parent)
    except FileExistsError:
        raise ReleaseError(
            f"{target} exists; choose another name or pass {spell('force', True)}"
        ) from None
    except OSError as error:
        raise ReleaseError(
            f"{target} cannot be written: {_reason(error)}; nothing was left behind"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def refuse_unwritable(target: Path, *, force: bool = True) -> None:
    """Complain early, before hours of work, about a target that cannot be written."""
    if os.path.isdir(target):
        raise ReleaseError(f"{target} is a folder; name a file")
    if not os.path.isdir(target.parent):
        raise ReleaseError(f"the folder {target.parent} does not exist; create it first")
    if not os.access(target.parent, os.W_OK):
        raise ReleaseError(f"the folder {target.parent} is not writable; choose another target")
    if os.path.lexists(target) and not force:
        raise ReleaseError(f"{target} exists; choose another name or pass {spell('force', True)}")


def _rename_to_new(temporary: Path, target: Path) -> None:
    """Rename, but fail when the target has appeared meanwhile."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links; there, look once more and rename.
        if os.path.lexists(target):
            raise FileExistsError from None
        os.rename(temporary, target)


def _reason(error: OSError) -> str:
    # A library's own wording can be long; the system's is short and known.
    return os.strerror(error.errno) if error.errno else type(error).__name__


def _sync_folder(folder: Path) -> None:
    # The file is whole and in place; some network file systems refuse to sync a folder.
    with contextlib.suppress(OSError):
        sync(folder)


def sync(path: Path) -> None:
    """Put a file's bytes, or a folder's names, on the disk itself."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
