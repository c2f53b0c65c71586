"""Guardian: a process that ends the process groups of running programs when the harness is killed.

The kernel can end one process with its parent (`PR_SET_PDEATHSIG`, see `kill_with_harness`), but not the children of
that process; ending whole groups takes a process that outlives the harness. The guardian is a shell that waits for the
end of a pipe whose other end is the harness: it wakes up once, when the harness ends in whatever way, and never before,
so that it disturbs no measurement. The groups that run at that moment stand in a file in memory that both share.

A program that leaves its process group (a daemon) is not found by it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from functools import cache
from typing import Final

_SLOT: Final = 16
"""Bytes of one entry: a process group, padded with blanks, and a line end. Writing one is one system call."""
_HIGH: Final = 20
"""Lowest descriptor of the file in the guardian; shells name those below ten themselves."""
_SCRIPT: Final = """
exec 9<&0
(
    trap '' HUP INT TERM
    read -r nothing
    while read -r group; do
        [ -z "$group" ] || kill -KILL "-$group" 2> /dev/null
    done < "/dev/fd/$1"
) <&9 > /dev/null 2>&1 &
"""
"""A command in the background gets no standard input but one that is named by another number."""


class Guardian:
    """Guardian of the process groups of one harness. Any thread may call.

    Args:
        table: Descriptor of the file that the guardian reads at the end.
        pipe: Descriptor that the guardian waits for; it is closed with this process.
    """

    def __init__(self, table: int, pipe: int) -> None:
        self._table = table
        self._pipe = pipe
        self._slots: list[int | None] = []
        self._lock = threading.Lock()

    def add(self, group: int) -> None:
        """Kill this process group when the harness ends."""
        with self._lock, contextlib.suppress(OSError):
            slot = self._slots.index(None) if None in self._slots else len(self._slots)
            self._slots[slot : slot + 1] = [group]
            self._write(slot, str(group))

    def remove(self, group: int) -> None:
        """Leave this process group alone from now on. Call it while the number of the group is still taken."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            slot = self._slots.index(group)
            self._slots[slot] = None
            self._write(slot, "")

    def _write(self, slot: int, text: str) -> None:
        if sys.platform != "win32":
            os.pwrite(self._table, f"{text:<{_SLOT - 1}}\n".encode(), slot * _SLOT)


@cache
def start_guardian() -> Guardian | None:
    """Start the guardian of this process, once; None where it cannot be, as without process groups."""
    if not hasattr(os, "killpg"):
        return None
    with contextlib.suppress(OSError):
        table = _memory_file()
        reader, writer = os.pipe()
        try:
            # The shell ends at once: the guardian becomes a child of process 1, and outlives this session.
            subprocess.run(
                ("/bin/sh", "-c", _SCRIPT, "harness-guardian", str(table)),
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(table,),
                start_new_session=True,
                cwd="/",
                env={},
                check=False,
            )
        finally:
            os.close(reader)
        return Guardian(table, writer)
    return None


def _memory_file() -> int:
    """Return a descriptor of a file without a name, in memory where the system has such files.

    Raises:
        OSError: There can be none.
    """
    if sys.platform == "win32":
        raise OSError("no guardian on Windows")
    import fcntl  # noqa: PLC0415 - not on Windows

    if hasattr(os, "memfd_create"):
        low = os.memfd_create("harness-guardian")
    else:
        with tempfile.TemporaryFile() as file:
            low = os.dup(file.fileno())
    try:
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    finally:
        os.close(low)
