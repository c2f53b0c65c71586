"""The client of adbutils, for every adb server that `adb` itself reaches."""

from __future__ import annotations

import os
import socket
import sys
from typing import Final

_PORT: Final = "ANDROID_ADB_SERVER_PORT"

_named_port = os.environ.pop(_PORT, None)  # adbutils reads it while it is imported, and fails where it is no number
try:
    from adbutils import AdbClient, AdbConnection, AdbError
finally:
    if _named_port is not None:
        os.environ[_PORT] = _named_port

__all__ = ["AdbError", "ServerClient"]

_KEEPALIVE_S: Final = 10
_KEEPALIVES: Final = 3
"""Silence after which a host is asked whether it is still there, and how often before it is taken for gone."""


class ServerClient(AdbClient):  # type: ignore[misc]
    """Client that reaches servers by IPv6 too, and starts none: `AdbServer.start` does, at the port that was asked for.

    Args:
        host: Name or address of the server's host.
        port: Its port.
        timeout_s: How long it may take to answer.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        super().__init__(host, port, socket_timeout=timeout_s)
        self._timeout_s = timeout_s

    def make_connection(self, timeout: float | None = None) -> AdbConnection:
        """Connect to the server.

        Args:
            timeout: Seconds in which it has to connect, and then to answer; by default those of the client.

        Raises:
            OSError: There is no server.
        """
        return _Connection(self.host, self.port, timeout or self._timeout_s)


class _Connection(AdbConnection):  # type: ignore[misc]
    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self._address, self._timeout_s = (host, port), timeout_s
        super().__init__(host, port)

    def check_okay(self) -> None:
        """Read whether the server agrees. Where it does not, adbutils leaves the connection open."""
        try:
            super().check_okay()
        except BaseException:
            self.close()
            raise

    def _create_socket(self) -> socket.socket:
        """Connect, by IPv4 or IPv6; adbutils knows the former only."""
        opened = socket.create_connection(self._address, timeout=self._timeout_s)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if sys.platform == "linux":
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_S)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_S)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVES)
        return opened
