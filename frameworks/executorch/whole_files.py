"""Files that are there whole or not at all, also for whoever looks at the same time."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_whole(file: Path, content: bytes, *, executable: bool = False) -> None:
    """Write the file under another name, and give it its own when it is complete.

    Raises:
        OSError: It cannot be written; then what was there before is still there.
    """
    partial = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}.partial")
    try:
        partial.write_bytes(content)
        if executable:
            partial.chmod(partial.stat().st_mode | 0o111)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
