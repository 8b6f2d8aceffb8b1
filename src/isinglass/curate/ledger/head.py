"""Secret file and noted head of a ledger."""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import struct
import time
import weakref
from pathlib import Path
from typing import NamedTuple

from isinglass import files
from isinglass.curate.ledger.backends import base as store
from isinglass.curate.ledger.entries import START, keyed
from isinglass.errors import LedgerError

_SLOT = struct.Struct("<8sq32s")
_WIDTH = _SLOT.size + 32
_MARK = b"isinhead"
_SLOTS = 16
_NOTHING = bytes(_SLOTS * _WIDTH)


class Head(NamedTuple):
    """The newest entry of a chain: its number and its seal."""

    seq: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash.hex()}"

    @classmethod
    def read(cls, text: str) -> Head:
        """As `str` wrote it."""
        seq, _, seal = text.strip().partition(":")
        try:
            head = cls(int(seq), bytes.fromhex(seal))
        except ValueError:
            head = cls(0, b"")
        if head.seq < 1 or len(head.hash) != 32:
            raise ValueError(f"head must be a number, a colon and 64 hex digits, got {text!r}")
        return head


#: what is noted before a ledger's first entry is written
BEGUN = Head(0, START)


def kept(name: str, ending: str) -> Path:
    """Where this machine keeps what belongs to the ledger called `name`."""
    return files.home() / "ledgers" / f"{name}.{ending}"


def new_secret(path: Path) -> bytes:
    """Draw a ledger's secret and write it, durably, before anything is sealed with it."""
    secret = secrets.token_bytes(32)
    with _told(path):
        files.write_new(path, secret)
    return secret


def read_secret(path: Path) -> bytes:
    """The secret of a ledger that is in use."""
    with _told(path):
        if not path.exists():
            raise LedgerError(
                f"the ledger's secret is not at {path}; it was written where the ledger was first "
                "used: copy it from there, or name the file"
            )
        secret = path.read_bytes()
    if len(secret) != 32:
        raise LedgerError(f"{path} is not a ledger's secret, or is damaged")
    return secret


class Note:
    """A file with a few slots, written in turn, each a head that the ledger had.

    Noting is one short write, not synchronized: after a loss of power the note may be a little
    old, never newer than the ledger, which was on the disk before. So every whole slot must be in
    the chain: one that is not was noted by another copy of the ledger. Whoever adds a head to a
    note has held it since before looking at the others, so that none is overwritten unseen.
    """

    def __init__(self, path: Path, secret: bytes) -> None:
        self.path, self._name, self._secret = path, str(path), secret
        self._told = _told(path)
        self._handle: int | None = None
        self._identity = (0, 0)  # of the file that is open
        self._held = False
        self._turn = 0
        self._data = b""  # what the file held when it was last read or written
        self._found: dict[int, Head] = {}  # the heads in it, by slot
        _NOTES.add(self)

    def heads(self) -> list[Head] | None:
        """The heads noted last; None where nothing is noted, empty where it cannot be read."""
        with self._told:
            if not self._held:
                self._follow()
            try:
                return self._read()
            except FileNotFoundError:
                return None

    def hold(self, first: Head | None = None) -> list[Head] | None:
        """Keep other writers out until `free`, and read the heads.

        Where there is no note, one is made with the head `first`; without that, there is no hold,
        and None comes back. Should this process die, it is over.
        """
        until = time.monotonic() + store.LOCK_TIMEOUT_S
        with self._told:
            while True:
                try:
                    handle = self._file()
                    self._held = True  # before it is true: an interrupt may come in between
                    files.lock_at_once(handle)
                    if not self._follow():
                        return self._read()
                except FileNotFoundError:
                    if first is None or time.monotonic() > until:
                        return None
                    self.make(first)
                except OSError as error:
                    self._held = False
                    if not isinstance(error, BlockingIOError):
                        raise
                    if time.monotonic() > until:
                        raise LedgerError(
                            f"{self.path} cannot be used: another process, or a copy of the "
                            f"ledger, has held it for {store.LOCK_TIMEOUT_S:.0f} s"
                        ) from None
                    time.sleep(0.001)

    def free(self) -> None:
        """Let others write."""
        if self._held and self._handle is not None:
            files.unlock(self._handle)
        self._held = False

    def refuse_replaced(self) -> None:
        """Refuse to go on where what was held is no longer the note: a copy may have one, too."""
        with self._told:
            if self._held and self._follow():
                raise LedgerError(f"{self.path} was replaced while it was held; ask again")

    def write(self, head: Head) -> None:
        """Note a head in what is held; where nothing is held, as the first one."""
        if not self._held:
            self.make(head)
            return
        turn = self._turn = (self._turn + 1) % _SLOTS
        at, slot = turn * _WIDTH, self._slot(head)
        with self._told:
            os.pwrite(self._file(), slot, at)
        self._data = self._data[:at].ljust(at, b"\0") + slot + self._data[at + _WIDTH :]
        self._found[turn] = head

    def make(self, head: Head) -> None:
        """A note with one head, unless there is a note already."""
        with self._told, contextlib.suppress(FileExistsError):
            files.write_new(self.path, self._slot(head))

    def clear(self) -> None:
        """Take everything out of what is held, which then cannot be read as a note."""
        with self._told:
            handle = self._file()
            os.pwrite(handle, _NOTHING, 0)
            files.sync(handle)
        self._read()

    def remove(self) -> None:
        """Take away what was made for a ledger that did not begin."""
        self.close()
        with self._told:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file."""
        handle, self._handle, self._held = self._handle, None, False
        if handle is not None:
            os.close(handle)

    def _file(self) -> int:
        if self._handle is None:
            self._handle = files.open_to_update(self.path)
            self._identity = files.identity(self._handle)
        return self._handle

    def _follow(self) -> bool:
        """Let go of a file that is no longer the note: another one was put in its place."""
        if self._handle is None:
            return False
        try:
            same = files.identity(self._name) == self._identity
        except FileNotFoundError:
            same = False
        if not same:
            self.close()
        return not same

    def _read(self) -> list[Head]:
        data = os.pread(self._file(), _SLOTS * _WIDTH, 0)
        if data != self._data:
            slots = [data[at : at + _WIDTH] for at in range(0, len(data), _WIDTH)]
            heads = enumerate(map(self._head, slots))
            found = {turn: head for turn, head in heads if head is not None}
            self._turn = max(found, key=lambda turn: found[turn].seq, default=-1)
            self._data, self._found = data, found
        noted = list(self._found.values())
        return [head for head in noted if head != BEGUN] or noted

    def _head(self, slot: bytes) -> Head | None:
        """The head in a slot; None where it is empty, cut short or another ledger's."""
        facts, check = slot[: _SLOT.size], slot[_SLOT.size :]
        if not hmac.compare_digest(keyed(self._secret, facts), check):
            return None
        _, seq, seal = _SLOT.unpack(facts)
        return Head(seq, seal)

    def _slot(self, head: Head) -> bytes:
        data = _SLOT.pack(_MARK, head.seq, head.hash)
        return data + keyed(self._secret, data)


_NOTES: weakref.WeakSet[Note] = weakref.WeakSet()


def _forget() -> None:
    """In a forked process: what its parent holds is the parent's, to keep and to let go."""
    for note in list(_NOTES):
        note.close()


files.after_fork(_forget)


def _told(path: Path) -> store.RedactedErrors:
    return store.RedactedErrors(str(path), _why)


def _why(error: BaseException) -> str | None:
    return str(error.strerror) if isinstance(error, OSError) else None
