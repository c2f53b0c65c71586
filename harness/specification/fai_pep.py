"""What FAI-PEP's specifications leave to FAI-PEP's command line."""

from __future__ import annotations

from typing import Final

COMMANDS_FRAMEWORK: Final = "generic"
"""FAI-PEP's framework of any program that prints observer lines: its tests have commands, and it composes none. Tests
with commands belong to it where nobody names a framework."""
