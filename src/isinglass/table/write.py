"""Whole files or none: written beside the target, synced, then renamed into place."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from isinglass.errors import ReleaseError


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
        # Created here, with its final rights, so that a secret is never readable, even briefly.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield temporary
        sync(temporary)
        if force:
            os.replace(temporary, target)
        else:
            os.link(temporary, target)  # fails when the target has appeared meanwhile
            temporary.unlink()
        sync(target.parent)
    except FileExistsError:
        raise ReleaseError(f"{target} exists; choose another name or pass --force") from None
    except OSError as error:
        raise ReleaseError(
            f"{target} cannot be written: {error.strerror or type(error).__name__}; nothing was "
            "left behind"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def refuse_unwritable(target: Path, *, force: bool = True) -> None:
    """Complain early, before hours of work, about a target that cannot be written."""
    if target.is_dir():
        raise ReleaseError(f"{target} is a folder; name a file")
    if not target.parent.is_dir():
        raise ReleaseError(f"the folder {target.parent} does not exist; create it first")
    if not os.access(target.parent, os.W_OK):
        raise ReleaseError(f"the folder {target.parent} is not writable; choose another target")
    if target.exists() and not force:
        raise ReleaseError(f"{target} exists; choose another name or pass --force")


def sync(path: Path) -> None:
    """Put a file's bytes, or a folder's names, on the disk itself."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
