"""Ledger transactions: lock, replay new entries, check the noted head, commit."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from isinglass.curate.ledger.backends.base import PIECE, MissingDatabase
from isinglass.curate.ledger.backends.connect import connect
from isinglass.curate.ledger.entries import Entry, intact
from isinglass.curate.ledger.head import BEGUN, Head, Note, kept, new_secret, read_secret
from isinglass.curate.ledger.state import Books
from isinglass.documents import read_json
from isinglass.errors import LedgerError
from isinglass.messages import spell_call


class Keeper:
    """Holds a ledger's database, secret, noted head and books together.

    The books are a copy in memory; what decides is the database, so they are brought up to date
    under its lock before anything is decided, and changed only after a commit.
    """

    def __init__(
        self, where: str | Path, *, secret: Path | None, note: Path | None, create: bool
    ) -> None:
        self._where, self._secret_path, self._note_path = where, secret, note
        self._lock, self._process = threading.RLock(), os.getpid()
        self._books: Books | None = None
        self._added: list[Entry] = []
        self._name = ""
        self._heads: set[Head] = set()  # that are noted, and known to be in the ledger
        self._busy: weakref.ref[_Turn] | None = None
        self._new_secret: Path | None = None
        self._new_note: Note | None = None
        self.secret = b""
        self.note: Note | None = None
        self.db = connect(where)
        if not create and isinstance(self.db, MissingDatabase):
            raise LedgerError(f"there is no ledger at {self.db.name}")

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """One thread at a time, in the process that opened the database."""
        self._refuse_fork()
        with self._lock:
            self._look()
            yield

    def _look(self, *, make: bool = False) -> None:
        """A ledger is made by its first signature, perhaps another process's."""
        if isinstance(self.db, MissingDatabase):
            self.db = connect(self._where, make=make)

    def _refuse_fork(self) -> None:
        if os.getpid() != self._process:
            raise LedgerError("a ledger cannot be carried over a fork; open it again")

    @contextlib.contextmanager
    def writing(self, *, make: bool = False, check: bool = True) -> Iterator[Books | None]:
        """The ledger's one lock, with the books brought up to date; None before the first entry.

        Entries that the block adds are committed when it ends well. Only then do they enter the
        books: were the commit to fail, or to succeed unheard, the database would decide. With
        `make` the ledger is made if it is not there, and taken away again if the block fails.
        A ledger without a head that was noted is refused, unless `check` is False. The note is
        held from then until the newest head is in it: of two copies only the first one used
        goes on.
        """
        self._refuse_fork()
        with self._lock:
            if self._busy is not None and self._busy() is not None:
                raise LedgerError("a ledger cannot be asked by what it is drawing an answer from")
            turn = _Turn()
            try:
                self._busy = weakref.ref(turn)  # over with this frame, however it is left
                yield from self._transaction(make, check)
                if self._books is not None:
                    self._enter(self._books)
                self._let_go()
            except BaseException:
                self._let_go()
                raise
            finally:
                # Once more, and again: an interrupt may come before any line of these.
                try:
                    self._let_go()
                finally:
                    self._let_go()
                    self._busy = None

    def _transaction(self, make: bool, check: bool) -> Iterator[Books | None]:
        committing, absent = False, isinstance(self.db, MissingDatabase)
        # Before anything can fail: a secret of an earlier transaction is in use.
        self._added, self._new_secret, self._new_note = [], None, None
        try:
            self._look(make=make)
            self.db.begin()
            books = self.books()
            if books is not None and self.note is not None and check:
                self._hold(self.note, books)
            yield books
            self._refuse_fork()
            committing = True  # from here on only the database can tell
            self.db.commit()
        except BaseException:
            if not committing:
                self._forget_secret()
            self._let_go()
            if make and absent and not committing:
                self._unmake()
            raise

    def _hold(self, note: Note, books: Books) -> None:
        """Hold the note and see that the ledger has every head in it."""
        heads = note.hold()
        self._refuse_without(heads, self._doubt(heads))
        self._heads = set(heads or ())

    def _enter(self, books: Books) -> None:
        """Take what was committed into the books, and the newest head into the note."""
        if self._added:
            self._changed(books.apply, self._added)
        head = Head(books.seq, books.hash)  # perhaps another's, who died before noting it
        if self.note is not None and head not in self._heads:
            self.note.write(head)
            self._heads.add(head)
        if self.note is not None:
            self.note.refuse_replaced()

    def _let_go(self) -> None:
        if os.getpid() != self._process:  # forked: these are its parent's
            return
        try:
            self.db.rollback()
        finally:
            if self.note is not None:
                self.note.free()

    @property
    def known(self) -> Books | None:
        """The books as they are in memory."""
        return self._books

    def books(self) -> Books | None:
        """The books with every entry taken in, its chain checked; None while there is none."""
        if self._books is None or not self._books.seq:
            if not self.unlocked():
                return None
            self._books, self._heads = Books(self.secret), set()
        books = self._books
        while True:
            # The last known entry comes along: were it gone, this would be an older copy.
            entries = self.db.since(max(1, books.seq))
            if books.seq and (not entries or entries[0].hash != books.hash):
                raise LedgerError(
                    f"{self.db.name} no longer holds entry {books.seq}: it was put back to an "
                    "older copy, or edited, while it was open"
                )
            if new := entries[1:] if books.seq else entries:
                self._changed(books.take, new)
            if len(entries) < PIECE:
                return books

    def _changed(self, change: Callable[[list[Entry]], None], entries: list[Entry]) -> None:
        """Books that were interrupted while they changed are thrown away and read in again."""
        try:
            change(entries)
        except BaseException:
            self._books = None
            raise

    def begin(self) -> Books:
        """A name and a secret for a ledger without entries."""
        name = secrets.token_hex(16)
        path = self._secret_path or kept(name, "secret")
        if path.exists():
            self.secret = read_secret(path)
        else:
            self.secret = new_secret(path)
            self._new_secret = path
        if self.note is not None:
            self.note.close()
        self.note = Note(self._note_path or kept(name, "head"), self.secret)
        # The note comes first, so that a ledger without one was not just made, but is a copy.
        heads = self.note.heads()
        if heads not in (None, [BEGUN]):
            raise LedgerError(
                f"{self.db.name} is empty, but a head is noted in {self.note.path}: put the "
                "ledger back that it belongs to"
            )
        self._new_note = self.note if heads is None else None
        self.note.hold(BEGUN)
        self._name = name
        self._books, self._heads = Books(self.secret), {BEGUN}
        self._books.ledger = name
        return self._books

    def _forget_secret(self) -> None:
        """Under the lock: once it is free, somebody else may seal with what lies there."""
        if self._new_note is not None and os.getpid() == self._process:
            with contextlib.suppress(LedgerError):
                self._new_note.remove()
            self._new_note = None
        if self._new_secret is not None and os.getpid() == self._process:
            with contextlib.suppress(OSError):
                self._new_secret.unlink(missing_ok=True)
            if self.note is not None:
                self.note.close()
            self._new_secret = self._books = self.note = None
            self._name = ""

    def _unmake(self) -> None:
        """Leave no file behind where a first use was refused."""
        if self.db.made and os.getpid() == self._process:
            self.db.discard()
            self.db = MissingDatabase(self.db.name)

    def add(self, rows: Sequence[Entry], *, counts: bytes | None = None) -> None:
        """Write entries at the end of the chain; inside `writing` only, and once.

        With `counts`, the noised counts that the last of them paid for.
        """
        assert self._books is not None
        self._refuse_fork()  # what was drawn may have been drawn in a fork
        self._added = self._books.sealed(rows)
        self.db.add(self._added)
        if counts is not None:
            self.db.add_counts(self._added[-1].seq, counts)

    def refuse_old(self) -> None:
        """Refuse a ledger without a head that was noted: an old copy, another one, or cut short."""
        self._refuse_without(*self.noted())

    def _refuse_without(self, heads: list[Head] | None, doubt: str | None) -> None:
        # The note was read first: what is noted later is in the ledger then.
        if doubt is not None:
            raise LedgerError(doubt)
        for head in sorted(set(heads or ()) - self._heads - {BEGUN}, reverse=True):
            entry = self.db.entry(head.seq)
            if entry is None or entry.hash != head.hash:
                raise LedgerError(
                    f"{self.db.name} does not hold entry {head.seq} as it was noted: it is an old "
                    "copy, its end was cut off, or a copy of it was used on its own; put the "
                    "newest back, a SQLite file together with the -wal and -shm beside it"
                )

    def noted(self) -> tuple[list[Head], str | None]:
        """The heads that are noted here, and what is wrong with the note itself."""
        last = self.db.last() if self.unlocked() else None
        if last is None or self.note is None:
            return [], None
        heads = self.note.heads()
        return heads or [], self._doubt(heads)

    def _doubt(self, heads: list[Head] | None) -> str | None:
        assert self.note is not None
        if heads is None:
            return f"no head of {self.db.name} is noted at {self.note.path}, {_accept()}"
        if not heads:
            return f"{self.note.path} is damaged, or another ledger's note, {_accept()}"
        return None

    def note_anew(self, entry: Callable[[Books], Entry]) -> None:
        """Add an entry, and note it alone in the place of a note that is gone or damaged.

        The entry is committed first: killed in between, the ledger is as unnoted as before.
        """
        with self.writing(check=False) as books:
            if books is None or self.note is None:
                return
            heads = self.note.hold()
            if heads:  # noted meanwhile, perhaps by a copy
                self._refuse_without(heads, None)
                self._heads = set(heads)
                return
            if heads is not None:  # damaged, or another ledger's
                self.note.clear()
            self._heads = set()
            self.add([entry(books)])
        self.refuse_old()  # a copy may have made the note in the same moment

    def answers(self, rows: Sequence[Entry]) -> dict[bytes, int | None]:
        """What entries that were looked up answer to which query, once they are seen to be ours."""
        for row in rows:
            if not intact(self.secret, row):
                raise LedgerError(f"entry {row.seq} of the ledger was edited")
        return {row.query: row.anomalous for row in rows if row.query is not None}

    def close(self) -> None:
        """Let go of the database and the note."""
        with self._lock:
            self.db.close()
            if self.note is not None:
                self.note.close()

    def unlocked(self) -> bool:
        """Find the secret and the note of a ledger that has entries; False if it has none."""
        if self.db.last() is None:  # first: another may be writing the first entry right now
            return False
        first = self.db.entry(1)
        try:
            name = (
                str(read_json(first.facts or "", infinite=True)["ledger"])
                if first is not None
                else ""
            )
            int(name, 16)  # it becomes part of a path
        except (ValueError, LookupError, TypeError):
            raise LedgerError(
                f"{self.db.name} does not begin with its contract: entry 1 is missing or edited"
            ) from None
        if name != self._name:
            self.secret = read_secret(self._secret_path or kept(name, "secret"))
            if self.note is not None:
                self.note.close()
            self.note = Note(self._note_path or kept(name, "head"), self.secret)
            self._name = name
        return True


class _Turn:
    """Whose turn it is to write."""


def _accept() -> str:
    return (
        "so that an old copy, or one that is also used elsewhere, could not be told from it; bring "
        "the note along from where the ledger was used last, or, where it is lost, have the whole "
        f"budget counted as spent: {spell_call('Ledger.accept', reason=...)}"
    )
