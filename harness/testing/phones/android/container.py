"""The namespaces of one stand-in phone: started, asked for things through a socket, ended."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import harness
from harness import shell
from harness.core.command import Command
from harness.testing.phones import StandInUnavailable
from harness.testing.phones.android.guest import controller
from harness.testing.phones.android.guest.model import PhoneModel

_BOOT_S: Final = 60.0
_ANSWER_S: Final = 20.0
NAMESPACES: Final = (
    *("--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--uts"),
    *("--fork", "--kill-child"),
)
"""Arguments of unshare(1)."""


class PhoneContainer:
    """Running phone without its cable. Any thread may use it.

    Args:
        control: Socket of its controller (`guest.controller`).
    """

    def __init__(self, control: Path) -> None:
        self._control = control

    def request(self, action: str, **arguments: str) -> int | None:
        """Ask the controller to do something.

        Returns:
            Descriptor of the open file that came with the answer, if the action opens one. The caller closes it.

        Raises:
            OSError: The phone refuses, or is gone.
        """
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_S)
            connection.connect(str(self._control))
            connection.sendall(f"{json.dumps({'action': action, **arguments})}\n".encode())
            message, descriptors, _, _ = socket.recv_fds(connection, 4096, 1)
        answer: dict[str, str] = json.loads(message or '{"error": "the phone is gone", "errno": "5"}')
        if "error" in answer:
            raise OSError(int(answer["errno"]), answer["error"])
        return descriptors[0] if descriptors else None

    def read(self, path: str) -> bytes:
        """Return the content of a file of the phone.

        Raises:
            OSError: As for a file of this machine.
        """
        with os.fdopen(self._open(path, os.O_RDONLY), "rb") as file:
            return file.read()

    def write(self, path: str, content: bytes) -> None:
        """Replace the content of a file of the phone; the file and its folders are made when needed.

        Raises:
            OSError: As for a file of this machine.
        """
        with os.fdopen(self._open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(content)

    def exists(self, path: str) -> bool:
        """Return whether the phone has such a file or folder."""
        try:
            os.close(self._open(path, os.O_PATH))
        except FileNotFoundError:
            return False
        return True

    def _open(self, path: str, flags: int) -> int:
        descriptor = self.request("open", path=path, flags=str(flags))
        if descriptor is None:
            raise OSError(f"the phone did not open {path}")
        return descriptor


@contextlib.contextmanager
def run_container(folder: Path, model: PhoneModel) -> Iterator[PhoneContainer]:
    """Start a phone. It ends with the context, and with this process, however that ends.

    Args:
        folder: An empty folder of its own.
        model: What kind of phone it is.

    Raises:
        StandInUnavailable: It does not boot on this machine.
    """
    python = (sys.executable, "-S", "-s", "-m", controller.__name__)
    command = Command(
        ("unshare", *NAMESPACES, *python, str(folder), model.to_json()),
        env={"PYTHONPATH": str(Path(harness.__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout_s=_BOOT_S,
    )
    with shell.start(command, tidies_up=True) as process:
        if not process.wait_for_line(controller.READY):
            raise StandInUnavailable(f"no stand-in phone boots here: {process.finish().describe()}")
        try:
            yield PhoneContainer(folder / "control")
        finally:
            with contextlib.suppress(shell.Interrupted):  # then it was killed
                process.finish()
