"""PyTorch itself: eager, compiled, TorchScript and the Lite Interpreter, as references for what was lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frameworks.python_framework import PythonFramework
    from harness.config.settings import Settings


def create(settings: Settings) -> PythonFramework:
    """Make the framework, as the entry point of the plug-in."""
    from frameworks.python_framework import PythonFramework  # noqa: PLC0415 - the engine is in this package, and light
    from frameworks.pytorch.framework import PARTS  # noqa: PLC0415 - likewise

    return PythonFramework(PARTS, settings)
