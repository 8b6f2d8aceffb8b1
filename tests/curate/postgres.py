"""A PostgreSQL server for tests: made, started and stopped by them, in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

# Quick where it costs no durability: that is what the tests are about.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
}


def binaries() -> Path | None:
    """The folder of `initdb` and `pg_ctl`, from the path or where Debian puts them."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if all((folder / name).exists() for name in ("initdb", "pg_ctl")):
            return folder
    return None


def missing() -> str | None:
    """Why no server can be started here, or None."""
    if binaries() is None:
        return "PostgreSQL's initdb and pg_ctl are neither on the path nor in /usr/lib/postgresql"
    if os.geteuid() == 0 and (shutil.which("runuser") is None or _unprivileged() is None):
        return "PostgreSQL does not run as root, and there is no user to run it as"
    return None


class Server:
    """One server; each ledger gets a schema of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._password, self._schemas = folder, secrets.token_hex(8), 0
        self._user = _unprivileged() if os.geteuid() == 0 else None
        password = folder / "password"
        password.write_text(self._password)
        if self._user is not None:
            for path in (folder, password):
                shutil.chown(path, self._user)
        self._command(
            "initdb", "-D", folder / "data", "-U", "owner", "-A", "scram-sha-256", "-E", "UTF8",
            "--locale", "C", "--no-sync", "--pwfile", password,
        )  # fmt: skip
        options = SETTINGS | {"unix_socket_directories": str(folder)}
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in options.items())
        for tries_left in (4, 3, 2, 1, 0):  # somebody may take the port before the server does
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self._port = probe.getsockname()[1]
            try:
                self.start()
                return
            except RuntimeError:
                if not tries_left:
                    raise

    def start(self) -> None:
        """Start, or start again."""
        self._command(
            "pg_ctl", "-D", self._folder / "data", "-l", self._folder / "log", "-w", "-t", "60",
            "-o", f"-p {self._port}", "start",
        )  # fmt: skip

    @contextlib.contextmanager
    def changed(self, setting: str, value: str) -> Iterator[None]:
        """The server with another setting, until the end of the block."""
        self._change(f"ALTER SYSTEM SET {setting} = '{value}'", setting, value)
        try:
            yield
        finally:
            self._change(f"ALTER SYSTEM RESET {setting}", setting, SETTINGS[setting])

    def _change(self, statement: str, setting: str, value: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute(f"SHOW {setting}").fetchone() != (value,):
                time.sleep(0.01)

    def stop(self) -> None:
        """Stop as if it had crashed: the next start recovers from the log."""
        self._command("pg_ctl", "-D", self._folder / "data", "-m", "immediate", "stop")

    @property
    def url(self) -> str:
        """The address of the server's own database."""
        return f"postgresql://owner:{self._password}@127.0.0.1:{self._port}/postgres"

    def schema(self) -> str:
        """The address of an empty schema."""
        self._schemas += 1
        name = f"ledger_{self._schemas}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url}?options=-csearch_path%3D{name}"

    def _command(self, name: str, *words: object) -> None:
        folder = binaries()
        assert folder is not None
        as_user = [] if self._user is None else ["runuser", "-u", self._user, "--"]
        # To a file, not a pipe: the server inherits it, and would keep a pipe open.
        said = self._folder / "said"
        with said.open("w") as out:
            done = subprocess.run(
                [*as_user, str(folder / name), *map(str, words)],
                cwd=self._folder, stdout=out, stderr=out, timeout=180,
            )  # fmt: skip
        if done.returncode:
            log = self._folder / "log"
            told = said.read_text() + (log.read_text() if log.exists() else "")
            raise RuntimeError(f"{name} failed:\n{told[-3000:]}")


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """A server until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="isinglass-pg-") as name:
        server = Server(Path(name))
        try:
            yield server
        finally:
            server.stop()


def _unprivileged() -> str | None:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None
