"""Glow as a framework, for programs that somebody still has: the project was archived in 2023.

framework   the plug-in: tests need commands
output      figures of Glow's programs: benchmarks of operators, `net_runner`, `repro`, observations as JSON
trace       spans of the trace that its runtime writes
"""

from __future__ import annotations

from frameworks.glow.framework import Glow
from harness.config.settings import Settings


def create(settings: Settings) -> Glow:
    """Make the framework, as the entry point of the plug-in."""
    return Glow(settings.program)
