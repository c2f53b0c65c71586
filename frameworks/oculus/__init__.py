"""FAI-PEP's framework `oculus`, for programs that somebody still has: they were never published.

framework   the plug-in, and the command line that FAI-PEP composed
report      the figures in `report.json`
"""

from __future__ import annotations

from frameworks.oculus.framework import Oculus
from harness.config.settings import Settings


def create(settings: Settings) -> Oculus:
    """Make the framework, as the entry point of the plug-in."""
    return Oculus(settings.program)
