"""Locks of open files on Linux and macOS: `flock`."""

from __future__ import annotations

import sys

if sys.platform != "win32":
    import fcntl

    def try_lock(descriptor: int, *, shared: bool) -> bool:
        """Lock an open file without waiting; return False while somebody else has it.

        Raises:
            OSError: The file system has no locks.
        """
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
