"""A stand-in phone without its cable: started in namespaces of its own, asked through its power switch, ended."""

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
from harness.testing.phones.android.guest.controller import READY
from harness.testing.phones.android.guest.model import Model
from harness.testing.phones.unavailable import StandInUnavailable

_BOOT_S: Final = 60.0
_ANSWER_S: Final = 20.0
NAMESPACES: Final = (
    "--user",
    "--map-root-user",
    "--mount",
    "--pid",
    "--net",
    "--ipc",
    "--uts",
    "--fork",
    "--kill-child",
)


class Machine:
    """A running phone, from outside. Any thread may use it.

    Args:
        control: Socket of its power switch.
    """

    def __init__(self, control: Path) -> None:
        self._control = control

    def ask(self, do: str, **words: str) -> int | None:
        """Ask its power switch for something.

        Returns:
            Descriptor of the open file that came with the answer, if one was asked for. The caller closes it.

        Raises:
            OSError: What the phone answered, or it is gone.
        """
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_S)
            connection.connect(str(self._control))
            connection.sendall(f"{json.dumps({'do': do, **words})}\n".encode())
            said, handles, _, _ = socket.recv_fds(connection, 4096, 1)
        answer: dict[str, str] = json.loads(said or '{"error": "the phone is gone", "number": "5"}')
        if "error" in answer:
            raise OSError(int(answer["number"]), answer["error"])
        return handles[0] if handles else None

    def read(self, path: str) -> bytes:
        """The content of a file of the phone.

        Raises:
            OSError: As if it were a file of this machine.
        """
        with os.fdopen(self._open(path, os.O_RDONLY), "rb") as file:
            return file.read()

    def write(self, path: str, content: bytes) -> None:
        """Replace the content of a file of the phone, which is made, with its folders, where it is missing.

        Raises:
            OSError: As if it were a file of this machine.
        """
        with os.fdopen(self._open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(content)

    def exists(self, path: str) -> bool:
        """Whether the phone has such a file or folder."""
        try:
            os.close(self._open(path, os.O_PATH))
        except FileNotFoundError:
            return False
        return True

    def _open(self, path: str, flags: int) -> int:
        handle = self.ask("open", path=path, flags=str(flags))
        if handle is None:
            raise OSError(f"the phone did not open {path}")
        return handle


@contextlib.contextmanager
def running(folder: Path, model: Model) -> Iterator[Machine]:
    """Switch a phone on. It ends with the context, and with this process, however that ends.

    Args:
        folder: An empty folder of its own.
        model: What kind of phone it is.

    Raises:
        StandInUnavailable: This machine cannot have one; says why.
    """
    command = Command(
        (
            "unshare",
            *NAMESPACES,
            sys.executable,
            "-S",
            "-s",
            "-m",
            "harness.testing.phones.android.guest.controller",
            str(folder),
            model.to_json(),
        ),
        env={"PYTHONPATH": str(Path(harness.__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout_s=_BOOT_S,
    )
    with shell.start(command) as process:
        if not process.wait_for_line(READY):
            raise StandInUnavailable(f"no stand-in phone boots here: {process.finish().describe()}")
        try:
            yield Machine(folder / "control")
        finally:
            with contextlib.suppress(shell.Interrupted):  # then it was killed
                process.finish()
