"""A private PostgreSQL for tests, on a socket in a temporary folder: nothing else on the machine is touched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from harness.files.locks import FileLock
from tests.processes import is_running, wait_until

_ACCOUNT: Final = "postgres"
"""PostgreSQL refuses to run as root; Debian's package makes this account."""

_SETTINGS: Final = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "200",
    "shared_buffers": "32MB",
}


def find_programs() -> Path | None:
    """Return the folder of the newest PostgreSQL, whose programs Debian keeps off the search path; None without one."""
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    on_path = shutil.which("postgres")
    folders += [Path(on_path).resolve().parent] if on_path else []
    return max(folders, key=lambda folder: folder.parent.name.zfill(4), default=None)


def require_programs() -> Path:
    """Return the folder of PostgreSQL; skip the test without one, and fail it in CI."""
    programs = find_programs()
    if programs is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no PostgreSQL: apt install postgresql")
    return programs


@dataclass(frozen=True, slots=True)
class PostgreSqlServer:
    """Server of one folder.

    Attributes:
        folder: Its data and its socket.
    """

    folder: Path

    @classmethod
    def create(cls) -> PostgreSqlServer:
        """Make an empty one, which does not run yet."""
        folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a path of a socket has at most 107 bytes
        if os.geteuid() == 0:
            shutil.chown(folder, _ACCOUNT, _ACCOUNT)
        server = cls(folder)
        options = ("--username=test", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        subprocess.run(
            [require_programs() / "initdb", f"--pgdata={folder / 'data'}", *options],
            check=True,
            capture_output=True,
            user=_account(),
            group=_account(),
            extra_groups=() if _account() else None,
            cwd="/",
        )
        return server

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = " ".join(f"-c {name}={value!r}" for name, value in {**_SETTINGS, "port": 5432}.items())
        options = ("-w", "-t", "120", "-D", self.folder / "data", "-l", self.folder / "log")
        subprocess.run(
            [require_programs() / "pg_ctl", "start", *options, "-o", f"-k {self.folder} {settings}"],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            user=_account(),
            group=_account(),
            extra_groups=() if _account() else None,
            cwd="/",
        )

    def stop(self) -> None:
        """End it at once, by its process id; its data stay."""
        pid = int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGINT)  # ends connections, and then itself
        wait_until(lambda: not is_running(pid))

    def remove(self) -> None:
        """Remove its data."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, name: str = "postgres") -> str:
        """Return the address of a database."""
        return f"postgresql://test@/{name}?host={self.folder}"

    def create_database(self, template: str = "") -> str:
        """Make a database and return its address: an empty one, or a copy of the one at an address, which is unused."""
        import psycopg  # noqa: PLC0415 - only these tests need it

        name = f"d{uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            like = f' TEMPLATE "{urlsplit(template).path[1:]}"' if template else ""
            connection.execute(f'CREATE DATABASE "{name}"{like}'.encode())
        return self.url(name)


@contextmanager
def run_postgresql() -> Iterator[PostgreSqlServer]:
    """Run a server of its own, for tests that stop it."""
    server = PostgreSqlServer.create()
    try:
        server.start()
        try:
            yield server
        finally:
            if (server.folder / "data" / "postmaster.pid").exists():
                server.stop()
    finally:
        server.remove()


@contextmanager
def share_postgresql(folder: Path) -> Iterator[PostgreSqlServer]:
    """Run one server for all processes that name the same folder; the last one stops it."""
    note, lock = folder / "postgresql.json", FileLock(folder / "postgresql.lock")
    with lock:
        users, place = json.loads(note.read_text()) if note.exists() else (0, "")
        if users:
            server = PostgreSqlServer(Path(place))
        else:
            server = PostgreSqlServer.create()
            server.start()
        note.write_text(json.dumps([users + 1, str(server.folder)]))
    try:
        yield server
    finally:
        with lock:
            users, place = json.loads(note.read_text())
            note.write_text(json.dumps([users - 1, place]))
            if users == 1:
                server.stop()
                server.remove()


def _account() -> str | None:
    """Return the account that a process of PostgreSQL runs as; None for that of the tests."""
    return _ACCOUNT if os.geteuid() == 0 else None
