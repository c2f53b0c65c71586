"""Programs that a build left running: of a harness that was killed, or that put themselves into groups of their own.

Ninja starts every compiler in its own process group, so ending the group of the build does not end them; and what they
write later would appear in the next build in the same folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

_ROUNDS: Final = 20
_ROUND_S: Final = 0.5


BUILD_DIR: Final = "HARNESS_BUILD_DIR"
"""What every process that a recipe starts has in its environment: the folder of its intermediate files."""


def end_strays(folder: Path) -> None:
    """End every process of ours that a build in this folder started, and wait until they are gone.

    They are known by their environment. Whoever looks into the folder with a shell of their own is left alone.

    Gives up silently after some seconds: whoever empties the folder then fails if that matters.
    """
    for _ in range(_ROUNDS):
        strays = list(_started_for(folder))
        if not strays:
            return
        for process in strays:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                process.kill()
        psutil.wait_procs(strays, timeout=_ROUND_S)


def _started_for(folder: Path) -> Iterator[psutil.Process]:
    home = folder.absolute()
    ourselves = psutil.Process().pid
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess, OSError):
            built_in = process.environ().get(BUILD_DIR) if process.pid != ourselves else None
            if built_in is not None and Path(built_in).is_relative_to(home):
                yield process
