"""System calls that Python 3.11 has no names for: mounts, namespaces, and the death signal of a child."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

# include/uapi/linux/mount.h
READ_ONLY: Final = 1
NO_SUID: Final = 2
NO_DEVICES: Final = 4
REMOUNT: Final = 32
BIND: Final = 4096
RECURSIVE: Final = 16384

# include/uapi/linux/sched.h
NEW_TIME: Final = 0x00000080
NEW_MOUNTS: Final = 0x00020000
NEW_USERS: Final = 0x10000000
NEW_PROCESSES: Final = 0x20000000

_DETACH: Final = 2
"""`MNT_DETACH`, include/linux/fs.h."""
_DEATH_SIGNAL: Final = 1
"""`PR_SET_PDEATHSIG`, include/uapi/linux/prctl.h."""

_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def mount(kind: str, target: Path, flags: int = 0, options: str = "", source: str = "stand-in") -> None:
    """Mount a file system.

    Raises:
        OSError: The kernel refuses.
    """
    _LIBC.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
    arguments = [os.fsencode(text) for text in (source, str(target), kind)]
    _check(_LIBC.mount(*arguments, flags, os.fsencode(options)), f"mount {kind or 'bind'} on {target}")


def bind(source: Path, target: Path, *, read_only: bool = True) -> None:
    """Mount a file or folder of the machine at a path of the phone, which is made.

    A user namespace may not remove flags from a mount that it was given, so they are repeated.

    Raises:
        OSError: The kernel refuses.
    """
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    mount("", target, BIND | RECURSIVE, source=str(source))
    if read_only:
        kept = os.statvfs(target).f_flag & ~os.ST_RDONLY
        mount("", target, BIND | REMOUNT | READ_ONLY | kept)


def pivot_root(root: Path) -> None:
    """Make a mounted folder the root, and unmount everything else (pivot_root(2), "pivot_root(., .)").

    Raises:
        OSError: The kernel refuses.
    """
    os.chdir(root)
    _check(_LIBC.pivot_root(b".", b"."), f"enter {root}")
    _check(_LIBC.umount2(b".", _DETACH), "unmount the machine's files")
    os.chdir("/")


def unshare(flags: int) -> None:
    """Leave namespaces of the parent for new ones.

    Raises:
        OSError: The kernel refuses, or does not know them.
    """
    _check(_LIBC.unshare(flags), f"unshare {flags:#x}")


def die_with_parent(signal: int) -> None:
    """Let the kernel send this process a signal when its parent ends."""
    _check(_LIBC.prctl(_DEATH_SIGNAL, signal, 0, 0, 0), "prctl")


def _check(result: int, action: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{action}: {os.strerror(number)}")
