"""LiteRT, which was TensorFlow Lite: its runner, its tools and its exporter.

framework.py        the plug-in                                     options.py      its options
logs.py             which of its tools printed an output            tool_command.py that of benchmark_model
benchmark_model.py  the log of `benchmark_model`                    operator_tables.py   the tables in that log
litert_benchmark.py results of `litert-benchmark`
runner/             the engine, in the launched process
exporting/          from a definition and a recipe to a file        recipes/        ways to convert
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frameworks.python_framework import PythonFramework
    from harness.config.settings import Settings


def create(settings: Settings) -> PythonFramework:
    """Create the plug-in."""
    from frameworks.tflite.framework import make_framework  # noqa: PLC0415 - listing frameworks imports none of them

    return make_framework(settings)
