"""Services of stand-in iPhones by name: where a service is registered so that lockdown starts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.developer import instruments, test_manager
from harness.testing.phones.ios.services import (
    afc,
    developer_images,
    diagnostics,
    installation,
    system_log,
    zip_conduit,
)
from harness.testing.phones.ios.usbmux.connection import ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

Service = Callable[[ServiceConnection, "StandInIPhone"], None]
"""Serves a connection with a phone until it ends, in a thread of its own; may raise `ConnectionEnded`."""


@dataclass(frozen=True, slots=True)
class ServiceEntry:
    """A service and what it needs.

    Attributes:
        serve: The service.
        needs_tls: Whether its connections go on by TLS after lockdown started it.
        developer: Whether it is part of the developer image, and needs developer mode.
    """

    serve: Service
    needs_tls: bool = True
    developer: bool = False


SERVICES: Final[Mapping[str, ServiceEntry]] = {
    "com.apple.afc": ServiceEntry(afc.serve_media),
    "com.apple.crashreportcopymobile": ServiceEntry(afc.serve_crash_reports),
    "com.apple.crashreportmover": ServiceEntry(afc.serve_crash_report_mover),
    "com.apple.instruments.remoteserver.DVTSecureSocketProxy": ServiceEntry(
        instruments.serve_instruments, developer=True
    ),
    "com.apple.mobile.diagnostics_relay": ServiceEntry(diagnostics.serve),
    "com.apple.mobile.house_arrest": ServiceEntry(afc.serve_container),
    "com.apple.mobile.installation_proxy": ServiceEntry(installation.serve_proxy),
    "com.apple.mobile.mobile_image_mounter": ServiceEntry(developer_images.serve),
    "com.apple.testmanagerd.lockdown.secure": ServiceEntry(test_manager.serve_test_manager, developer=True),
    "com.apple.streaming_zip_conduit": ServiceEntry(zip_conduit.serve),
    "com.apple.syslog_relay": ServiceEntry(system_log.serve),
}
"""Services by the names that clients ask lockdown for."""
