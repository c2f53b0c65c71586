"""Reading a file in the container of an app, where it may not be there yet."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from platforms.ios.link.client import PhoneClient

_MOST_BYTES: Final = 64 << 20
"""What is longer is cut: nobody reads it, and it must fit into memory."""


def read_text(client: PhoneClient, udid: str, bundle: str, remote: str) -> str | None:
    """Return the text of a file in a container; None if there is none.

    Raises:
        DeviceLost: The phone became unreachable.
        EnvironmentProblem: The phone refuses, or it is no file.
    """
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        local = Path(folder, "file")
        try:
            client.pull(udid, bundle, remote, local)
        except FileNotFoundError:
            return None
        with local.open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace")
