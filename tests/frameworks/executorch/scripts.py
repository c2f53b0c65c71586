"""Stand-ins for programs."""

from __future__ import annotations

import stat
from pathlib import Path


def script(path: Path, text: str) -> Path:
    """A program of a few words of shell."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
