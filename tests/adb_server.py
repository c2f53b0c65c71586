"""An adb server that knows no phone: commands under test ask it, and neither find a phone nor start a server."""

from __future__ import annotations

import contextlib
import socketserver
import threading
from collections.abc import Iterator

_VERSION = b"0029"


class _Asked(socketserver.BaseRequestHandler):
    """One request: four hexadecimal digits of length, and as many bytes."""

    def handle(self) -> None:
        length = self.request.recv(4)
        if len(length) == 4:
            asked = self.request.recv(int(length, 16))
            answer = _VERSION if asked == b"host:version" else b""
            self.request.sendall(b"OKAY%04x%s" % (len(answer), answer))


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextlib.contextmanager
def empty_adb_server() -> Iterator[int]:
    """Serve on a port of 127.0.0.1 until the context ends."""
    with _Server(("127.0.0.1", 0), _Asked) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
