"""testmanagerd, the daemon between the one who starts tests of Xcode and the app that runs them.

On an iPhone the app connects to the daemon, which only carries calls. Here the app is a program of this machine that
writes what a test of Xcode writes to the console, and the daemon makes the calls of it. A client opens two connections:
one controls, and allows the process; with the other a session begins, and there the calls of the app arrive.

1. `_IDE_initiateControlSessionWithCapabilities:` and `_IDE_initiateSessionWithIdentifier:capabilities:`
2. the client starts the app with `XCTestSessionIdentifier`, on another service
3. the app opens a channel, and asks for the configuration of its tests
4. `_IDE_startExecutingTestPlanWithProtocolVersion:`; then the app tells of its tests, and of their end
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from harness.testing.phones.ios.developer.archives import ArchivedObject, ArchiveValue, MalformedArchive
from harness.testing.phones.ios.developer.callbacks import ConsoleReader
from harness.testing.phones.ios.developer.channels import DtxConnection, MethodCall, RefusedCall, refuse_selector
from harness.testing.phones.ios.developer.processes import StandInProcess
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

_DAEMON: Final = "dtxproxy:XCTestManager_IDEInterface:XCTestManager_DaemonConnectionInterface"
_DRIVER: Final = "dtxproxy:XCTestDriverInterface:XCTestManager_IDEInterface"
_CHANNEL: Final = 1
"""Channel of the driver, that of the app. Calls of the client on it have the negative number."""
_REPLY_S: Final = 300.0
_LINGER_S: Final = 0.2
"""Time in which a client reads the output of an app that has ended."""
_POLL_S: Final = 0.02
_PRINTS_BY_ITSELF: Final = 17
"""Version of iOS from which clients read the output of the app themselves."""
_CAPABILITIES: Final[Mapping[str, ArchiveValue]] = {
    "XCTIssue capability": 1,
    "skipped test capability": 1,
    "test case run configurations": 1,
    "test timeout capability": 1,
    "ubiquitous test identifiers": 1,
}
_ERRORS: Final = "XCTestErrorDomain"


def serve_test_manager(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Answer calls of a client until it hangs up.

    Raises:
        ConnectionEnded: It did.
    """
    session = _Session(phone)
    dtx = DtxConnection(connection, {_DAEMON: lambda: session.answer})
    session.connection = dtx
    try:
        dtx.serve()
    finally:
        session.ended.set()


class _Session:
    """What happens on one connection of a client."""

    def __init__(self, phone: StandInIPhone) -> None:
        self._phone = phone
        self._started = threading.Event()
        self._identifier: UUID | None = None
        self.ended = threading.Event()
        self.connection: DtxConnection | None = None

    def answer(self, call: MethodCall) -> ArchiveValue:
        match call.selector:
            case "_IDE_initiateControlSessionWithCapabilities:":
                return _list_capabilities()
            case "_IDE_initiateSessionWithIdentifier:capabilities:":
                self._begin(_read_identifier(call))
                return _list_capabilities()
            case "_IDE_authorizeTestSessionWithProcessID:":
                return any(process.pid == call.number(0) for process in self._phone.processes())
            case "_IDE_startExecutingTestPlanWithProtocolVersion:":
                self._started.set()
                return None
            case _:
                raise refuse_selector(call)

    def _begin(self, identifier: UUID) -> None:
        if self._identifier is not None or self.connection is None:
            raise RefusedCall(_ERRORS, 1, "a session has begun on this connection")
        self._identifier = identifier
        arguments = (self.connection, identifier)
        threading.Thread(target=self._run, args=arguments, name="test-session", daemon=True).start()

    def _run(self, connection: DtxConnection, identifier: UUID) -> None:
        """Do what the app under test does, once it is started."""
        process = self._wait_for_app(identifier)
        if process is None:
            return
        with contextlib.suppress(ConnectionEnded, MalformedArchive):
            connection.call(0, "_requestChannelWithCode:identifier:", _DRIVER, opened=_CHANNEL)
            capabilities = _list_capabilities()
            connection.ask(_CHANNEL, "_XCT_testRunnerReadyWithCapabilities:", capabilities, timeout_s=_REPLY_S)
            if not _has_tests(process):
                connection.call(_CHANNEL, "_XCT_didFailToBootstrapWithError:", _no_tests(process))
                return
            self._wait_for_start()
            self._tell(connection, process)

    def _wait_for_app(self, identifier: UUID) -> StandInProcess | None:
        while not self.ended.is_set():
            process = self._phone.process_table.find_tests(identifier)
            if process is not None:
                return process
            self.ended.wait(_POLL_S)
        return None

    def _wait_for_start(self) -> None:
        while not self._started.wait(_POLL_S):
            if self.ended.is_set():
                raise ConnectionEnded("the client hung up")

    def _tell(self, connection: DtxConnection, process: StandInProcess) -> None:
        """Tell of the tests of a process. If it crashes, the daemon loses it, and ends the connection."""
        connection.call(_CHANNEL, "_XCT_didBeginExecutingTestPlan")
        prints = int(self._phone.model.version.partition(".")[0]) >= _PRINTS_BY_ITSELF
        log = ConsoleReader()
        for line in process.follow():
            if not prints:
                connection.call(_CHANNEL, "_XCT_logDebugMessage:", f"{line}\n")
            for callback in log.read_line(line):
                connection.call(_CHANNEL, callback.selector, *callback.arguments)
        process.wait()
        if prints:  # a client that hears of the end reads no output any more
            process.output_sent.wait(_REPLY_S)
            self.ended.wait(_LINGER_S)
        if (process.exit_code or 0) < 0:
            connection.close()
        else:
            connection.call(_CHANNEL, "_XCT_didFinishExecutingTestPlan")


def _list_capabilities() -> ArchivedObject:
    return ArchivedObject("XCTCapabilities", {"capabilities-dictionary": dict(_CAPABILITIES)})


def _read_identifier(call: MethodCall) -> UUID:
    value = call.arguments[0] if call.arguments else None
    content = value.members.get("NS.uuidbytes") if isinstance(value, ArchivedObject) else None
    if not isinstance(content, bytes) or len(content) != len(UUID(int=0).bytes):
        raise RefusedCall(_ERRORS, 1, "a session without an identifier")
    return UUID(bytes=content)


def _has_tests(process: StandInProcess) -> bool:
    """Return whether the bundle of tests that the client named is in the app."""
    bundle, plug_ins = Path(process.env.get("XCTestBundlePath", "")), process.app.folder / "PlugIns"
    return bundle.parent == plug_ins and bundle.suffix == ".xctest" and bundle.is_dir()


def _no_tests(process: StandInProcess) -> ArchivedObject:
    name = Path(process.env.get("XCTestBundlePath", "")).name
    reason = f"The bundle {name} is missing in {process.app.bundle}."
    return RefusedCall(_ERRORS, 1, reason).error
