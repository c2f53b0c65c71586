"""Services at the far end of a tunnel: lockdown's own behind a check-in, and those of developers.

go-ios asks for lockdown's services under their names with `.shim.remote`, and first checks in. Services that speak DTX
have new names, and no check-in; nothing in a tunnel is encrypted again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.remote.app_service import FEATURES, AppService
from harness.testing.phones.ios.remote.discovery import RemoteServiceEntry, serve_xpc
from harness.testing.phones.ios.remote.standard_streams import StandardStreams
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection
from harness.testing.phones.ios.usbmux.services import SERVICES, Service

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

_RENAMED: Final[Mapping[str, str]] = {
    "com.apple.instruments.dtservicehub": "com.apple.instruments.remoteserver.DVTSecureSocketProxy",
    "com.apple.dt.testmanagerd.remote": "com.apple.testmanagerd.lockdown.secure",
}
"""Names of services in a tunnel that speak as those of lockdown do, without a check-in."""


def list_services() -> tuple[RemoteServiceEntry, ...]:
    """Return the services of a phone with iOS 17 or later."""
    shims = (
        RemoteServiceEntry(f"{name}.shim.remote", serve_shim(entry.serve))
        for name, entry in SERVICES.items()
        if not entry.developer
    )
    renamed = (
        RemoteServiceEntry(name, SERVICES[older].serve, developer=True)
        for name, older in _RENAMED.items()
        if older in SERVICES
    )
    return (*shims, *renamed, *_list_core_device())


def _list_core_device() -> tuple[RemoteServiceEntry, ...]:
    streams = StandardStreams()
    apps = serve_xpc(AppService(streams).serve)
    return (
        RemoteServiceEntry("com.apple.coredevice.appservice", apps, developer=True, uses_xpc=True, features=FEATURES),
        RemoteServiceEntry("com.apple.coredevice.openstdiosocket", streams.serve, developer=True),
    )


def serve_shim(service: Service) -> Service:
    """Return a service of lockdown that lets a client check in first."""

    def serve(connection: ServiceConnection, phone: StandInIPhone) -> None:
        request = connection.read_plist()
        if request.get("Request") != "RSDCheckin":
            raise ConnectionEnded("a client that does not check in")
        connection.send_plist({"Request": "RSDCheckin"})
        connection.send_plist({"Request": "StartService"})
        service(connection, phone)

    return serve
