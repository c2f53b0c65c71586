"""The HTTP API at which go-ios looks up the tunnels that `ios tunnel start` keeps."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import unquote

from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.remote.discovery import RemoteServiceEntry
from harness.testing.phones.ios.remote.tunnels import PhoneTunnel, Tunnels

_TUNNEL: Final = "/tunnel/"
_POLL_S: Final = 0.05


class TunnelApi(ThreadingHTTPServer):
    """Server of the API at a free port of this machine.

    Args:
        tunnels: The tunnels that it tells about.
    """

    daemon_threads = True

    def __init__(self, tunnels: Tunnels) -> None:
        super().__init__(("127.0.0.1", 0), _TunnelRequest)
        self.tunnels = tunnels

    @property
    def address(self) -> str:
        """`HOST:PORT` of the server."""
        return f"127.0.0.1:{self.server_port}"


class _TunnelRequest(BaseHTTPRequestHandler):
    """One request of the API: `/health`, `/ready`, `/tunnels`, `/tunnel/UDID`."""

    server: TunnelApi

    def do_GET(self) -> None:
        if self.path in ("/health", "/ready"):
            self._answer(HTTPStatus.OK)
        elif self.path == "/tunnels":
            self._answer(HTTPStatus.OK, [tunnel.describe() for tunnel in self.server.tunnels.list_up()])
        elif tunnel := self._find():
            self._answer(HTTPStatus.OK, tunnel.describe())
        else:
            self._answer(HTTPStatus.NOT_FOUND)

    def do_DELETE(self) -> None:
        # The real one makes a tunnel that was ended again within seconds.
        if tunnel := self._find():
            tunnel.drop()
            self._answer(HTTPStatus.NO_CONTENT)
        else:
            self._answer(HTTPStatus.NOT_FOUND)

    def log_message(self, *_: object) -> None:
        """Write nothing: the output belongs to the tests."""

    def _find(self) -> PhoneTunnel | None:
        udid = unquote(self.path.removeprefix(_TUNNEL)) if self.path.startswith(_TUNNEL) else ""
        up = (tunnel for tunnel in self.server.tunnels.list_up() if tunnel.phone.model.udid == udid)
        return next(up, None)

    def _answer(self, status: HTTPStatus, content: object = None) -> None:
        body = b"tunnel not found\n" if status == HTTPStatus.NOT_FOUND else b""
        if content is not None:
            body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def start_tunnels(phones: Sequence[StandInIPhone], entries: Sequence[RemoteServiceEntry]) -> Iterator[TunnelApi]:
    """Start tunnels to phones, and the API that tells about them.

    Args:
        phones: The phones; those with an iOS before 17 have no tunnel.
        entries: Services at the far end.
    """
    tunnels = Tunnels(phones, entries)
    api = TunnelApi(tunnels)
    thread = threading.Thread(target=api.serve_forever, args=(_POLL_S,), name="stand-in tunnel API", daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.shutdown()
        thread.join()
        api.server_close()
        tunnels.close()
