"""The adb server of this machine or another: finding it, starting it, and asking which phones it sees."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from harness import shell
from harness.core.command import Command
from harness.core.errors import DeviceLost, EnvironmentProblem, UsageError
from platforms.android.link.errors import AdbRefusal, map_errors
from platforms.android.link.protocol import ANSWER_S, Connection, never_stop
from platforms.android.link.states import ABSENT

_LOCAL: Final = frozenset({"127.0.0.1", "localhost"})
"""Addresses at which a server listens that is started here: it takes ::1 only where there is no IPv4."""
_DEFAULT_PORT: Final = "5037"
_KEEPALIVE_S: Final = 10
_KEEPALIVES: Final = 3
"""Silence after which a host is asked whether it is still there, and how often before it is taken for gone."""


class ListedPhone(Struct, frozen=True):
    """A line of `adb devices`.

    Attributes:
        serial: Its name for the server.
        state: `device` when it can be used; else `unauthorized`, `offline`, `no permissions (...); see [...]`, ...
    """

    serial: str
    state: str

    @classmethod
    def parse(cls, text: str) -> tuple[Self, ...]:
        """Parse the server's answer, in lines of serial, tab, state. Both may contain blanks."""
        lines = (line.partition("\t") for line in text.splitlines())
        return tuple(cls(serial, state) for serial, tab, state in lines if serial and tab)


class AdbServer:
    """An adb server, through which phones are reached.

    Args:
        address: `HOST:PORT`, or `[HOST]:PORT` for IPv6; None for the one that adb itself would use.

    Raises:
        UsageError: The address is invalid.
    """

    def __init__(self, address: str | None = None) -> None:
        self.host, self.port = _own_address() if address is None else _parse_address(address)

    @property
    def name(self) -> str:
        """Address of the server."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def answers(self) -> bool:
        """Return whether the server is running."""
        with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), timeout=ANSWER_S):
            return True
        return False

    def start(self) -> None:
        """Start the server if it is not running.

        Raises:
            EnvironmentProblem: It is not running and cannot be started.
        """
        if self.answers():
            return
        program = adb_program()
        if self.host not in _LOCAL or program is None:
            raise EnvironmentProblem(
                f"there is no adb server at {self.name}" + ("" if program else ", and no `adb` to start one"),
                hint="install Android's platform-tools, or check --adb-server and ADB_SERVER_SOCKET",
            )
        completed = shell.run(Command((str(program), "-P", str(self.port), "start-server"), timeout_s=30.0))
        if not completed.ok:
            raise EnvironmentProblem(f"`adb start-server` {completed.describe()}", hint="run it by hand")

    def list_phones(self) -> Sequence[ListedPhone]:
        """List everything that the server sees, usable or not.

        A server that ends while it is asked is started again, once: a list may be asked for twice.

        Raises:
            EnvironmentProblem: There is no server.
        """
        try:
            return self._list_phones()
        except DeviceLost:
            return self._list_phones()

    def _list_phones(self) -> Sequence[ListedPhone]:
        self.start()
        with self._mapped("it was asked for its devices"):
            return ListedPhone.parse(self._ask("host:devices"))

    def state(self, serial: str) -> str:
        """Return the state of one phone; `absent` when the server does not see it."""
        return next((listed.state for listed in self.list_phones() if listed.serial == serial), ABSENT)

    def connect(self, serial: str, timeout_s: float = ANSWER_S) -> None:
        """Make the server look for a phone on the network; one that is connected stays so.

        Args:
            serial: Serial number of the phone.
            timeout_s: How long the server may take.

        Raises:
            EnvironmentProblem: There is no server.
        """
        self.start()
        with self._mapped(f"it was asked to look for {serial}"):
            self._ask(f"host:connect:{serial}", timeout_s)

    def version(self) -> int:
        """Return the version of its protocol, for example 41.

        Raises:
            EnvironmentProblem: There is no server.
        """
        self.start()
        with self._mapped("it was asked for its version"):
            return int(self._ask("host:version"), 16)

    def features(self, serial: str) -> frozenset[str]:
        """Return the features of a phone's daemon, as the server knows them.

        Raises:
            EnvironmentProblem: There is no server, or no such phone.
        """
        self.start()
        with map_errors(serial, "it was asked for its features"):
            return frozenset(self._ask(f"host-serial:{serial}:features").split(","))

    def open(self, serial: str, service: str, check_waiting: Callable[[], None] = shell.check_stopping) -> Connection:
        """Open a service on a phone.

        The caller maps errors then and later (`map_errors`), and closes the connection.

        Args:
            serial: Serial number of the phone.
            service: As in AOSP's `packages/modules/adb/SERVICES.TXT`.
            check_waiting: See `Connection`.

        Raises:
            EnvironmentProblem: There is no server. Beside it, everything that `map_errors` maps.
        """
        self.start()
        connection = self._connect(check_waiting)
        try:
            _request(connection, f"host:transport:{serial}")
            _request(connection, service)
        except BaseException:
            connection.close()
            raise
        return connection

    def _ask(self, request: str, timeout_s: float = ANSWER_S) -> str:
        with contextlib.closing(self._connect(never_stop)) as connection:
            _request(connection, request, timeout_s)
            return _read_text(connection, timeout_s)

    def _mapped(self, doing: str) -> contextlib.AbstractContextManager[None]:
        return map_errors(f"the adb server at {self.name}", doing)

    def _connect(self, check_waiting: Callable[[], None]) -> Connection:
        opened = socket.create_connection((self.host, self.port), timeout=ANSWER_S)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if sys.platform == "linux":
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_S)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_S)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVES)
        return Connection(opened, check_waiting)


def is_network_serial(serial: str) -> bool:
    """Return whether a phone with this serial is reached over the network: `HOST:PORT`, or a name of mDNS."""
    return ":" in serial or "._adb-tls" in serial


def adb_program() -> Path | None:
    """Find the `adb` that starts servers: `ADBUTILS_ADB_PATH`, PATH's, or the one that comes with adbutils."""
    named = os.environ.get("ADBUTILS_ADB_PATH")
    return Path(named) if named else shell.which("adb") or _bundled_adb()


def _bundled_adb() -> Path | None:
    """Find the `adb` of adbutils without importing it, which fails where ANDROID_ADB_SERVER_PORT is no number."""
    package = importlib.util.find_spec("adbutils")
    folders = package.submodule_search_locations if package is not None else None
    programs = (Path(folder) / "binaries" / "adb" for folder in folders or ())
    return next((program for program in programs if program.is_file()), None)


def _request(connection: Connection, request: str, timeout_s: float = ANSWER_S) -> None:
    connection.send(f"{len(request.encode()):04x}{request}".encode())
    if (answer := connection.read_exactly(4, timeout_s)) != b"OKAY":
        raise AdbRefusal(_read_text(connection) if answer == b"FAIL" else repr(answer))


def _read_text(connection: Connection, timeout_s: float = ANSWER_S) -> str:
    length = int(connection.read_exactly(4, timeout_s), 16)
    return connection.read_exactly(length).decode(errors="replace")


def _own_address() -> tuple[str, int]:
    """Return the address that adb itself would use (`adb help`): ADB_SERVER_SOCKET prevails, as there."""
    named = os.environ.get("ADB_SERVER_SOCKET")
    if not named:
        host = os.environ.get("ANDROID_ADB_SERVER_ADDRESS") or os.environ.get("ANDROID_ADB_SERVER_HOST") or "127.0.0.1"
        return _checked_address(host, os.environ.get("ANDROID_ADB_SERVER_PORT") or _DEFAULT_PORT)
    kind, _, address = named.partition(":")
    if kind != "tcp":
        raise UsageError(
            f"ADB_SERVER_SOCKET={named} is no address of an adb server that the harness can use",
            hint="tcp:HOST:PORT; or --adb-server HOST:PORT",
        )
    return _checked_address("127.0.0.1", address) if address.isdigit() else _parse_address(address)


def _parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return _checked_address(host.removeprefix("[").removesuffix("]"), port, text)


def _checked_address(host: str, port: str, text: str | None = None) -> tuple[str, int]:
    if not (host and port.isdigit() and 0 < int(port) < 65536):
        raise UsageError(
            f"{text if text is not None else port!r} is no address of an adb server",
            hint="HOST:PORT, as in 127.0.0.1:5037",
        )
    return host, int(port)
