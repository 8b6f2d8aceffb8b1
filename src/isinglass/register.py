"""The owner's private register of releases: has this table, or most of it, left before?"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from isinglass import stated
from isinglass.documents import read_json
from isinglass.errors import ReleaseError
from isinglass.naming import spell
from isinglass.table.fingerprint import Fingerprint, Fingerprinter
from isinglass.table.write import sync


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the register."""

    when: str
    release: str
    method: str
    fingerprint: Fingerprint


class Register:
    """An append-only file in the owner's home, with the secret that keys its digests beside it."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = Path(folder) if folder is not None else _home()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._secret = self._read_secret()
        except OSError as error:
            raise ReleaseError(
                f"the register of releases in {self._folder} cannot be used: {error.strerror}; "
                "name another folder in ISINGLASS_HOME"
            ) from None

    @classmethod
    def begun(cls) -> bool:
        """Whether a release was ever noted here; unlike opening the register, writes nothing."""
        return (_home() / "releases.jsonl").exists()

    @property
    def folder(self) -> Path:
        """Where the register is kept."""
        return self._folder

    @property
    def _path(self) -> Path:
        return self._folder / "releases.jsonl"

    def fingerprinter(self, names: Sequence[str]) -> Fingerprinter:
        """Something to feed a table's rows to."""
        return Fingerprinter(self._secret, names)

    def earlier(self, fingerprint: Fingerprint) -> list[Entry]:
        """Releases of the same rows that were made before."""
        return [e for e in self._entries() if e.fingerprint.same_rows_as(fingerprint)]

    def add(
        self, fingerprint: Fingerprint, *, release: str, method: str, again: bool = False
    ) -> None:
        """Note a release, durably, before it is handed over; two at once do not both pass."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        facts = {"when": now, "release": release, "method": method}
        line = json.dumps(facts | {"fingerprint": fingerprint.to_json()}) + "\n"
        try:
            with self._locked() as handle:
                if not again and self.earlier(fingerprint):
                    raise ReleaseError(
                        "the same rows were released by someone else at this very moment; pass "
                        f"{spell('again', True)} if that is meant"
                    )
                # A line that a crash cut short must not swallow this one.
                size = os.fstat(handle).st_size
                whole = size == 0 or os.pread(handle, 1, size - 1) == b"\n"
                data = (line if whole else "\n" + line).encode()
                while data:
                    data = data[os.write(handle, data) :]
                os.fsync(handle)
            if size == 0:
                sync(self._folder)
        except OSError as error:
            raise ReleaseError(
                f"the register of releases cannot be written: {error.strerror}"
            ) from None

    def _entries(self) -> Iterator[Entry]:
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise ReleaseError(
                f"the register of releases {self._path} cannot be read: {error.strerror}"
            ) from None
        for line in lines:
            try:
                facts = read_json(line)
                prints = Fingerprint.from_json(facts["fingerprint"])
                when, release, method = (
                    stated.word(facts[name], name, longest=stated.LONGEST_NAME)
                    for name in ("when", "release", "method")
                )
                yield Entry(when, release, method, prints)
            except (ValueError, LookupError, TypeError, AttributeError):
                continue  # a line cut short by a crash: its release was never handed over

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        try:
            with contextlib.suppress(ImportError):
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)

    def _read_secret(self) -> bytes:
        path = self._folder / "register.secret"
        if not path.exists():
            # Written aside and linked, so that two first uses at once agree on one secret.
            aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            handle = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(32))
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(aside, path)
            except FileExistsError:
                pass
            finally:
                aside.unlink()
        secret = path.read_bytes()
        if len(secret) != 32:
            raise ReleaseError(
                f"{path} is damaged; move the folder away to start a new register of releases"
            )
        return secret


def _home() -> Path:
    if home := os.environ.get("ISINGLASS_HOME"):
        return Path(home)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "isinglass"
