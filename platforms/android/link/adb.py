"""The adb server of this machine (or another's): found, started, asked which phones it sees."""

from __future__ import annotations

import contextlib
import importlib.resources
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from adbutils import AdbClient, AdbError

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem, UsageError
from platforms.android.link.connection import ANSWER_S, Wire
from platforms.android.link.errors import told

_LOCAL: Final = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of `adb devices`.

    Attributes:
        serial: How the server calls it.
        state: `device` when it can be used; else `unauthorized`, `offline`, `no permissions (...); see [...]`, ...
    """

    serial: str
    state: str

    @classmethod
    def parse(cls, text: str) -> tuple[Self, ...]:
        """All lines of the server's answer: a serial, a tab, a state. Both may have blanks."""
        lines = (line.partition("\t") for line in text.splitlines())
        return tuple(cls(serial, state) for serial, tab, state in lines if serial and tab)


class AdbServer:
    """Where phones are reached through.

    Args:
        address: `HOST:PORT`; None takes what adb itself would take.

    Raises:
        UsageError: The address is none.
    """

    def __init__(self, address: str | None = None) -> None:
        self.host, self.port = _address(address)
        self._client = AdbClient(self.host, self.port, socket_timeout=ANSWER_S)

    @property
    def name(self) -> str:
        """Its address."""
        return f"{self.host}:{self.port}"

    def answers(self) -> bool:
        """Whether there is one now."""
        with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), timeout=ANSWER_S):
            return True
        return False

    def start(self) -> None:
        """Start it, if it is not there.

        Raises:
            EnvironmentProblem: It is not there and cannot be started.
        """
        if self.answers():
            return
        program = adb_program()
        if self.host not in _LOCAL or program is None:
            raise EnvironmentProblem(
                f"there is no adb server at {self.name}" + ("" if program else ", and no `adb` to start one"),
                hint="install Android's platform-tools, or check HARNESS_ADB_SERVER",
            )
        completed = shell.run(Command((str(program), "-P", str(self.port), "start-server"), timeout_s=30.0))
        if not completed.ok:
            raise EnvironmentProblem(f"`adb start-server` {completed.describe()}", hint="run it by hand")

    def listed(self) -> Sequence[Listed]:
        """Everything it sees, usable or not.

        Raises:
            EnvironmentProblem: There is no server.
        """
        self.start()
        asked = told(f"the adb server at {self.name}", "it was asked for its devices")
        with asked, contextlib.closing(self._wire(_go_on)) as wire:
            _ask(wire, "host:devices")
            return Listed.parse(wire.exactly(int(wire.exactly(4), 16)).decode(errors="replace"))

    def state(self, serial: str) -> str:
        """The state of one phone; `absent` when the server does not see it."""
        return next((found.state for found in self.listed() if found.serial == serial), "absent")

    def connect(self, serial: str, patience_s: float = ANSWER_S) -> None:
        """Ask it to look for a phone that is reached over the network; one that is there stays.

        Args:
            serial: Of the phone.
            patience_s: How long the server may take.

        Raises:
            EnvironmentProblem: There is no server.
        """
        self.start()
        with told(f"the adb server at {self.name}", f"it was asked to look for {serial}"):
            self._client.connect(serial, timeout=patience_s)

    def version(self) -> int:
        """Its protocol version, for example 41.

        Raises:
            EnvironmentProblem: There is no server.
        """
        self.start()
        with told(f"the adb server at {self.name}", "it was asked for its version"):
            return int(self._client.server_version())

    def features(self, serial: str) -> frozenset[str]:
        """What a phone's daemon can do, as the server knows it.

        Raises:
            EnvironmentProblem: There is no server, or no such phone.
        """
        self.start()
        with told(serial, "it was asked what it can do"):
            return frozenset(str(self._client.device(serial).get_features()).split(","))

    def open(self, serial: str, service: str, heed: Callable[[], None] = shell.check_stopping) -> Wire:
        """Open a service on a phone.

        The caller maps what goes wrong then and later (`faults.told`), and closes.

        Args:
            serial: Of the phone.
            service: As in AOSP's `packages/modules/adb/SERVICES.TXT`.
            heed: See `Wire`.

        Raises:
            EnvironmentProblem: There is no server. Beside it, everything that `faults.told` maps.
        """
        self.start()  # else adbutils would start one itself, on a port of its own choice
        wire = self._wire(heed)
        try:
            _ask(wire, f"host:transport:{serial}")
            _ask(wire, service)
        except BaseException:
            wire.close()
            raise
        return wire

    def _wire(self, heed: Callable[[], None]) -> Wire:
        return Wire(self._client.make_connection(timeout=ANSWER_S).conn, heed)


def over_network(serial: str) -> bool:
    """Whether this is the serial of a phone that is reached over the network: `HOST:PORT`, or a name of mDNS."""
    return ":" in serial or "._adb-tls" in serial


def adb_program() -> Path | None:
    """The `adb` that starts servers: `ADBUTILS_ADB_PATH`, PATH's, or the one that comes with adbutils."""
    named = os.environ.get("ADBUTILS_ADB_PATH")
    bundled = Path(str(importlib.resources.files("adbutils.binaries") / "adb"))
    return Path(named) if named else shell.which("adb") or (bundled if bundled.is_file() else None)


def _ask(wire: Wire, request: str) -> None:
    wire.send(f"{len(request.encode()):04x}{request}".encode())
    if (answer := wire.exactly(4)) != b"OKAY":
        raise AdbError(wire.exactly(int(wire.exactly(4), 16)).decode() if answer == b"FAIL" else repr(answer))


def _go_on() -> None:
    """Which phones there are is also asked when the harness is being stopped: settings are to be put back."""


def _address(text: str | None) -> tuple[str, int]:
    host, colon, port = (text or "").rpartition(":")
    if text is None:
        host = os.environ.get("ANDROID_ADB_SERVER_ADDRESS") or os.environ.get("ANDROID_ADB_SERVER_HOST") or "127.0.0.1"
        colon, port = ":", os.environ.get("ANDROID_ADB_SERVER_PORT") or "5037"
    if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
        raise UsageError(f"{text or port!r} is no address of an adb server", hint="HOST:PORT, as in 127.0.0.1:5037")
    return host, int(port)
