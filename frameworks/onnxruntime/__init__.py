"""ONNX Runtime: its runner, its tool and its exporter.

framework.py    the plug-in                                 options.py   options of the session, and how they are set
engine.py       the engine, in the launched process         profile.py   times of operators, from the session's profile
perf_test.py    the output of `onnxruntime_perf_test`
exporting.py    the process of an export                    writing.py   from a model to a file, by a recipe
recipes/        ways to make a file
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frameworks.python_framework import PythonFramework
    from harness.config.settings import Settings


def create(settings: Settings) -> PythonFramework:
    """Create the plug-in."""
    from frameworks.onnxruntime.framework import PARTS  # noqa: PLC0415 - listing frameworks imports none of them
    from frameworks.python_framework import PythonFramework  # noqa: PLC0415 - the engine is in this package, and light

    return PythonFramework(PARTS, settings)
