"""Locks of open files on Windows: `LockFileEx` (Microsoft's documentation of fileapi.h).

Such a lock belongs to one handle and ends with it, as that of `flock` does, but it keeps others from the bytes that it
covers. It therefore covers one byte far behind the end, which no file has.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes
    from typing import Final

    _FAIL_IMMEDIATELY: Final = 0x1
    _EXCLUSIVE: Final = 0x2
    _LOCK_VIOLATION: Final = 33
    _IO_PENDING: Final = 997
    _OFFSET_HIGH: Final = 0x4000_0000
    """Upper half of the offset of the byte: 2**62."""

    class _Overlapped(ctypes.Structure):
        """`OVERLAPPED` of minwinbase.h."""

        _fields_ = [
            ("Internal", ctypes.c_size_t),
            ("InternalHigh", ctypes.c_size_t),
            ("Offset", wintypes.DWORD),
            ("OffsetHigh", wintypes.DWORD),
            ("hEvent", wintypes.HANDLE),
        ]

    _lock_file = ctypes.WinDLL("kernel32", use_last_error=True).LockFileEx
    _lock_file.restype = wintypes.BOOL
    _lock_file.argtypes = (
        *(wintypes.HANDLE, wintypes.DWORD, wintypes.DWORD),
        *(wintypes.DWORD, wintypes.DWORD, ctypes.POINTER(_Overlapped)),
    )

    def try_lock(descriptor: int, *, shared: bool) -> bool:
        """Lock an open file without waiting; return False while somebody else has it.

        Raises:
            OSError: The file system has no locks.
        """
        flags = _FAIL_IMMEDIATELY | (0 if shared else _EXCLUSIVE)
        place = _Overlapped(OffsetHigh=_OFFSET_HIGH)
        if _lock_file(msvcrt.get_osfhandle(descriptor), flags, 0, 1, 0, ctypes.byref(place)):
            return True
        error = ctypes.get_last_error()
        if error in {_LOCK_VIOLATION, _IO_PENDING}:
            return False
        raise ctypes.WinError(error)
