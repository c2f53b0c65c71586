"""OpenVINO's runtime: its own model format, its options, and the output of `benchmark_app`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frameworks.python_framework import PythonFramework
    from harness.config.settings import Settings


def create(settings: Settings) -> PythonFramework:
    """Make the framework, as the entry point of the plug-in."""
    from frameworks.openvino.framework import PARTS  # noqa: PLC0415 - the engine is in this package, and light
    from frameworks.python_framework import PythonFramework  # noqa: PLC0415 - likewise

    return PythonFramework(PARTS, settings)
