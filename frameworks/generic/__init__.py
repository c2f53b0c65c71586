"""Any program that prints observer lines, started by the commands of the specification."""

from __future__ import annotations

from frameworks.generic.framework import Generic
from harness.config.settings import Settings


def create(settings: Settings) -> Generic:
    """Make the framework, as the entry point of the plug-in."""
    return Generic(settings.program)
