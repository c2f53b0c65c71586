"""Files beside a model file, which the process that made it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Final

REPORT: Final = ".report.json"
"""Suffix of the report on how the file was made: an `ExportReport`."""

LOG: Final = ".log"
"""Suffix of everything that the process wrote; only there when it failed."""


def beside(program: Path, suffix: str) -> Path:
    """Return the path of a file beside a model file."""
    return program.with_name(program.name + suffix)
