"""Files that are whole or not there at all, private ones, and their locks."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from isinglass.errors import ReleaseError
from isinglass.messages import spell

try:
    import fcntl
except ImportError:  # Windows has none
    LOCKS = False
else:
    LOCKS = True

OWNER_ONLY = 0o600
#: what asks a program to end, and must not leave half of a file; Windows has no SIGHUP
STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_BINARY = getattr(os, "O_BINARY", 0)  # without it Windows changes line ends
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY


def home() -> Path:
    """The folder for what this machine remembers: the register of releases, ledgers' secrets."""
    if chosen := os.environ.get("ISINGLASS_HOME"):
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "isinglass"


@contextlib.contextmanager
def whole_file(target: str | Path, *, mode: int = 0o644, force: bool = True) -> Iterator[Path]:
    """Give a temporary path beside `target`; on success sync it and rename it into place.

    On any error, Ctrl-C included, the temporary file is removed and `target` is as it was.
    Without `force` an existing target is never replaced.
    """
    target = Path(target)
    refuse_unwritable(target, force=force)
    temporary = _beside(target)
    try:
        os.close(os.open(temporary, _NEW, mode))
        final = os.stat(temporary).st_mode & 0o777  # what the user's mask leaves of `mode`
        # For its owner alone until it has its name: a draft may yet be refused.
        os.chmod(temporary, final & OWNER_ONLY)
        yield temporary
        sync(temporary)
        os.chmod(temporary, final)
        if force:
            os.replace(temporary, target)
        else:
            _rename_to_new(temporary, target)
        # The file is whole and in place; some network file systems refuse to sync a folder.
        with contextlib.suppress(OSError):
            sync(target.parent)
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


@contextlib.contextmanager
def linked_file(path: Path) -> Iterator[Path]:
    """Give a free name beside `path`; what is written there becomes `path`, if that is still free.

    Unlike `whole_file`, whoever uses it creates the file, and errors stay as they are:
    FileExistsError where `path` is taken.
    """
    new = _beside(path)
    try:
        if path.exists():
            raise FileExistsError
        yield new
        sync(new)
        os.link(new, path)
        sync(path.parent)
    finally:
        new.unlink(missing_ok=True)


def write_new(path: Path, data: bytes) -> None:
    """Write a file for its owner alone, in a folder for its owner alone, and put it on the disk.

    Nobody ever reads half of it. FileExistsError where there is a file already.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = _beside(path)
    try:
        handle = os.open(new, _NEW, OWNER_ONLY)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        try:
            os.link(new, path)
        finally:
            sync(path.parent)  # whoever made the file that is there may not have done so yet
    finally:
        new.unlink(missing_ok=True)


def create_private(path: Path) -> None:
    """Make an empty file for its owner alone; FileExistsError where there is a file already."""
    os.close(os.open(path, _NEW, OWNER_ONLY))


def open_to_update(path: Path) -> int:
    """Open a file that exists, to read and to write it."""
    return os.open(path, os.O_RDWR | _BINARY)


@contextlib.contextmanager
def open_to_append(path: Path) -> Iterator[int]:
    """Open a file for its owner alone, made if need be; other processes wait for the end.

    Where the system has no locks they do not.
    """
    handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR | _BINARY, OWNER_ONLY)
    try:
        if LOCKS:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def append_line(handle: int, line: str) -> bool:
    """Add a line and put it on the disk; True if it is the first one."""
    size = os.fstat(handle).st_size
    if size:
        os.lseek(handle, size - 1, os.SEEK_SET)
        if os.read(handle, 1) != b"\n":  # a line that a crash cut short must not swallow this one
            line = "\n" + line
    data = (line + "\n").encode()
    while data:
        data = data[os.write(handle, data) :]
    os.fsync(handle)
    return size == 0


def lock_at_once(handle: int) -> None:
    """Lock an open file against other processes; BlockingIOError while one of them has it."""
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock(handle: int) -> None:
    """Let other processes lock the file."""
    fcntl.flock(handle, fcntl.LOCK_UN)


def after_fork(work: Callable[[], object]) -> None:
    """Have every forked process begin with `work`; where no process can fork, there is no need."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=work)


def identity(file: str | int) -> tuple[int, int]:
    """Which file a name or a descriptor stands for: another one may be put in its place."""
    found = os.stat(file)
    return found.st_dev, found.st_ino


def open_to_others(path: Path) -> bool:
    """Whether other users of this machine may read or write a file; Windows does not say."""
    return os.name != "nt" and bool(path.stat().st_mode & 0o077)


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


def sync(path: Path | int) -> None:
    """Put the bytes of a file, by name or descriptor, or a folder's names on the disk itself."""
    if isinstance(path, int):
        os.fsync(path)
        return
    if os.name == "nt" and path.is_dir():
        return  # Windows does not open folders, and keeps names without being asked
    # Windows syncs only what is open for writing.
    handle = os.open(path, os.O_RDWR | _BINARY if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _beside(path: Path) -> Path:
    """A hidden name in the same folder that nobody else has."""
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")


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


def refuse_targets(targets: dict[str, Path], sources: Iterable[Any], *, force: bool) -> None:
    """Refuse targets that cannot be written, are one file, or are a file that is read.

    Names are compared as the files they lead to: a key written over by its release is lost for
    good, and a key under a name that says public is worse.
    """
    seen: dict[str, str] = {}
    for what, target in targets.items():
        refuse_unwritable(target, force=force)
        real = os.path.realpath(target)
        if real in seen:
            raise ReleaseError(f"{what} and {seen[real]} need different names, not {target}")
        seen[real] = what
    for source in sources:
        if isinstance(source, str | Path) and os.path.realpath(source) in seen:
            raise ReleaseError(f"{source} is read for this release; choose another name")


class Finishing:
    """From `begin` to the end of the block, being asked to stop waits until all is finished.

    Between naming a key and naming its release there must be no stop: one without the other is
    worth nothing. Signals come back to whoever handled them before once the block ends.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def begin(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                self._before[number] = signal.signal(number, signal.SIG_IGN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
