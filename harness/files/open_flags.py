"""Flags of `os.open` that not every system has; there they are 0, and the caller's checks of the opened file remain.

Python itself keeps descriptors from programs that are started (PEP 446), so that no flag is needed for that.
"""

from __future__ import annotations

import os
from typing import Final

BINARY: Final[int] = getattr(os, "O_BINARY", 0)
"""Windows: line ends stay as they are, and the byte 0x1A is no end of the file."""
NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
"""A symbolic link is an error."""
NO_WAIT: Final[int] = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""A pipe without a writer is not waited for, and a terminal does not become this process's own."""
