"""The adb server of this machine or another: finding it, starting it, and asking which phones it sees."""

from __future__ import annotations

import contextlib
import importlib.resources
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from harness import shell
from harness.core.command import Command
from harness.core.errors import DeviceLost, EnvironmentProblem, UsageError
from platforms.android.link.adb_client import AdbError, ServerClient
from platforms.android.link.errors import map_errors
from platforms.android.link.protocol import ANSWER_S, Connection, never_stop
from platforms.android.link.states import ABSENT

_LOCAL: Final = frozenset({"127.0.0.1", "localhost"})
"""Addresses at which a server listens that is started here: it takes ::1 only where there is no IPv4."""
_DEFAULT_PORT: Final = "5037"


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
        self._client = ServerClient(self.host, self.port, ANSWER_S)

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
        doing = "it was asked for its devices"
        with self._mapped(doing), contextlib.closing(self._connect(never_stop)) as connection:
            _request(connection, "host:devices")
            return ListedPhone.parse(_read_text(connection))

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
            self._client.connect(serial, timeout=timeout_s)

    def version(self) -> int:
        """Return the version of its protocol, for example 41.

        Raises:
            EnvironmentProblem: There is no server.
        """
        self.start()
        with self._mapped("it was asked for its version"):
            return int(self._client.server_version())

    def features(self, serial: str) -> frozenset[str]:
        """Return the features of a phone's daemon, as the server knows them.

        Raises:
            EnvironmentProblem: There is no server, or no such phone.
        """
        self.start()
        with map_errors(serial, "it was asked for its features"):
            return frozenset(str(self._client.device(serial).get_features()).split(","))

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

    def _mapped(self, doing: str) -> contextlib.AbstractContextManager[None]:
        return map_errors(f"the adb server at {self.name}", doing)

    def _connect(self, check_waiting: Callable[[], None]) -> Connection:
        return Connection(self._client.make_connection().conn, check_waiting)


def is_network_serial(serial: str) -> bool:
    """Return whether a phone with this serial is reached over the network: `HOST:PORT`, or a name of mDNS."""
    return ":" in serial or "._adb-tls" in serial


def adb_program() -> Path | None:
    """Find the `adb` that starts servers: `ADBUTILS_ADB_PATH`, PATH's, or the one that comes with adbutils."""
    named = os.environ.get("ADBUTILS_ADB_PATH")
    bundled = Path(str(importlib.resources.files("adbutils.binaries") / "adb"))
    return Path(named) if named else shell.which("adb") or (bundled if bundled.is_file() else None)


def _request(connection: Connection, request: str) -> None:
    connection.send(f"{len(request.encode()):04x}{request}".encode())
    if (answer := connection.read_exactly(4)) != b"OKAY":
        raise AdbError(_read_text(connection) if answer == b"FAIL" else repr(answer))


def _read_text(connection: Connection) -> str:
    return connection.read_exactly(int(connection.read_exactly(4), 16)).decode(errors="replace")


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
