"""The page cache of the kernel: loading from a file that is not in it is loading from the disk."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NO_WAY: Final = "this system has no way to drop a file from its page cache"


@dataclass(frozen=True, slots=True)
class CachedPages:
    """Pages of a file after it was dropped from the page cache.

    Attributes:
        pages: Number of pages of the file.
        cached: Number of those that are still in the page cache.
        problem: Why nothing is known of them; None where it is.
    """

    pages: int = 0
    cached: int = 0
    problem: str | None = None

    @property
    def unavailable(self) -> str | None:
        """Why loading is not cold; None where it is."""
        if self.problem is None and self.cached:
            return f"{self.cached} of {self.pages} pages of the program stayed in the page cache"
        return self.problem


def drop_from_page_cache(path: Path) -> CachedPages:
    """Drop a file from the page cache, and look what is left of it there. Other files stay."""
    if sys.platform != "linux" or not hasattr(os, "posix_fadvise"):
        return CachedPages(problem=_NO_WAY)
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError as error:
        return CachedPages(problem=f"the file cannot be opened: {error.strerror}")
    try:
        size = os.fstat(file).st_size
        if not size:
            return CachedPages()
        os.fsync(file)  # pages that are not written yet are not dropped
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        return _count_cached(file, size)
    except OSError as error:
        return CachedPages(problem=f"the file cannot be dropped: {error.strerror}")
    finally:
        os.close(file)


def _count_cached(file: int, size: int) -> CachedPages:
    """Count by `mincore` of a mapping; `mmap.mmap` does not tell the address of one that is read-only."""
    if sys.platform != "linux":
        return CachedPages(problem=_NO_WAY)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int),
        *(ctypes.c_int, ctypes.c_long),
    )
    for function in (libc.munmap, libc.mincore):
        function.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    mapped = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    if mapped == ctypes.c_void_p(-1).value:
        return CachedPages(problem=f"the file cannot be mapped: {os.strerror(ctypes.get_errno())}")
    resident = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    failed, reason = libc.mincore(mapped, size, resident), ctypes.get_errno()
    libc.munmap(mapped, size)
    if failed:
        return CachedPages(problem=f"mincore failed: {os.strerror(reason)}")
    return CachedPages(len(resident), sum(flags & 1 for flags in resident))
