"""syslog_relay of a stand-in iPhone: lines of its log, from the moment a client listens."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

_POLL_S: Final = 0.05


def serve(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Send lines as they are written until the client hangs up."""
    sent = len(phone.log)
    phone.write_log("syslog_relay", 61, "a client listens")
    ended = threading.Event()
    threading.Thread(target=_wait_for_end, args=(connection, ended), daemon=True).start()
    while True:
        lines = phone.log[sent:]
        if lines:
            connection.send(b"".join(os.fsencode(line) + b"\n\0" for line in lines))
        sent = min(sent + len(lines), len(phone.log))
        if ended.wait(_POLL_S):
            return


def _wait_for_end(connection: ServiceConnection, ended: threading.Event) -> None:
    try:
        while True:
            connection.recv()
    except ConnectionEnded:
        ended.set()
