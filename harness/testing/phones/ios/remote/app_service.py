"""`com.apple.coredevice.appservice`: start of apps, list of processes, signals, restart.

go-ios 1.2 takes it for tests of Xcode; `launch`, `kill` and `ps` speak DTX.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from harness.testing.phones.ios.developer.processes import LaunchRefused, StandInProcess
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.remote.connection import RemoteXpcConnection
from harness.testing.phones.ios.remote.core_device import CoreDeviceRefusal, FeatureInput, serve_features
from harness.testing.phones.ios.remote.standard_streams import StandardStreams
from harness.testing.phones.ios.remote.xpc import XpcDictionary

_PREFIX: Final = "com.apple.coredevice.feature."
FEATURES: Final = tuple(
    f"{_PREFIX}{name}" for name in ("launchapplication", "listprocesses", "sendsignaltoprocess", "rebootdevice")
)
"""Names of what it does."""


class AppService:
    """The service, for any number of phones.

    Args:
        streams: Connections that clients opened for the output of apps.
    """

    def __init__(self, streams: StandardStreams) -> None:
        self._streams = streams

    def serve(self, connection: RemoteXpcConnection, phone: StandInIPhone) -> None:
        """Answer requests of a client until it ends the connection."""
        features = (self._launch, self._list, self._signal, self._restart)
        serve_features(dict(zip(FEATURES, features, strict=True)))(connection, phone)

    def _launch(self, phone: StandInIPhone, given: FeatureInput) -> XpcDictionary:
        bundle = given.text("applicationSpecifier", "bundleIdentifier", "_0")
        app = phone.apps.get(bundle)
        if app is None:
            raise CoreDeviceRefusal(f"no app {bundle!r} is installed", code=10_002)
        if phone.conditions.locked:
            raise CoreDeviceRefusal("the device is locked", code=10_004)
        arguments, env = given.texts("options", "arguments"), given.variables("options", "environmentVariables")
        stream = given.find("standardIOIdentifiers", "standardOutput")
        output = self._streams.find(stream) if isinstance(stream, UUID) else None
        try:
            process = phone.process_table.start(app, arguments, env, output=output)
        except LaunchRefused as error:
            raise CoreDeviceRefusal(f"{bundle} cannot be started: {error}", code=10_003) from error
        return {"processToken": _describe_process(process)}

    def _list(self, phone: StandInIPhone, _: FeatureInput) -> XpcDictionary:
        return {"processTokens": [_describe_process(process) for process in phone.process_table.list_running()]}

    def _signal(self, phone: StandInIPhone, given: FeatureInput) -> XpcDictionary:
        pid, number = given.number("process", "processIdentifier"), given.number("signal")
        if not phone.process_table.send_signal(pid, number):
            raise CoreDeviceRefusal(f"no process {pid}", code=3)
        return {}

    def _restart(self, phone: StandInIPhone, _: FeatureInput) -> XpcDictionary:
        phone.restart()
        return {}


def _describe_process(process: StandInProcess) -> XpcDictionary:
    program = process.app.folder / str(process.app.info.get("CFBundleExecutable", ""))
    return {"executableURL": {"relative": program.as_uri()}, "processIdentifier": process.pid}
