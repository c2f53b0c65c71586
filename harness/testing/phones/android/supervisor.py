"""Runs an adb server, and ends it when the owner of the phones ends, however that ends (`python -m`, see `adb_server`).

Clients that find no adb server start one themselves, which nobody would end: that one is ended too.
It imports nothing beyond the standard library, so that it starts in a moment.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

_ANSWER_S: Final = 10.0


def query(port: int, request: str) -> str:
    """Return the answer of an adb server to a request (packages/modules/adb/SERVICES.TXT).

    Raises:
        OSError: Nobody listens, or it refuses; then with its reason.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_S) as connection:
        connection.sendall(f"{len(request):04x}{request}".encode())
        with connection.makefile("rb") as answer:
            status = answer.read(4)
            text = answer.read(int(answer.read(4) or b"0", 16)).decode(errors="replace")
    if status != b"OKAY":
        raise OSError(f"the adb server refuses {request}: {text or 'no reason given'}")
    return text


def main() -> None:
    """Run the server until standard input ends. Not by `harness.shell`: nobody reads its pipes, which would fill."""
    port, home, adb = sys.argv[1:]
    with (Path(home) / "adb.log").open("wb") as log:
        argv = (adb, "-L", f"tcp:localhost:{port}", "server", "nodaemon")
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    with process:
        sys.stdin.read()
        with contextlib.suppress(OSError):
            query(int(port), "host:kill")
        process.kill()
    shutil.rmtree(home, ignore_errors=True)  # an owner that was killed could not


if __name__ == "__main__":
    main()
