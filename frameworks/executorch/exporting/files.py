"""The files of one export: the program, and what stands beside it under its name and a suffix."""

from __future__ import annotations

from pathlib import Path
from typing import Final

REPORT: Final = ".report.json"
"""How the program was made: an `ExportReport`."""

GRAPH: Final = ".graph.txt"
"""The lowered graph, with the inside of each delegate."""

LOG: Final = ".log"
"""Everything the process wrote; only there when it failed."""


def beside(program: Path, suffix: str) -> Path:
    """The file beside the program."""
    return program.with_name(program.name + suffix)
