"""ONNX Runtime as a framework: its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from frameworks.backend_options import BackendOption
from frameworks.exporting.exporter import FileExporter
from frameworks.onnxruntime.options import CHOICES, MEANINGS
from frameworks.onnxruntime.perf_test import read_output
from frameworks.python_framework import PythonFrameworkParts

EXTRAS: Final = {
    "onnxruntime": "onnxruntime",
    "numpy": "onnxruntime",
    "onnx": "onnxruntime",
    "onnxscript": "onnxruntime",
    "torch": "onnxruntime",
}
"""The extra that brings a package."""

OPTIONS: Final = tuple(BackendOption(name, MEANINGS[name], values) for name, values in CHOICES.items())
"""Options of a session."""

EXPORTER: Final = FileExporter(
    framework="onnxruntime",
    process="frameworks.onnxruntime.exporting",
    packages=("torch", "onnx", "onnxscript", "onnxruntime"),
    required=("torch", "onnx", "onnxscript"),
    extras=EXTRAS,
)

PARTS: Final = PythonFrameworkParts(
    name="onnxruntime",
    engine="frameworks.onnxruntime.engine:ENGINE",
    sources=Path(__file__).parent,
    runtime=("onnxruntime", "numpy"),
    exporter=EXPORTER,
    options=OPTIONS,
    extras=EXTRAS,
    read_output=read_output,
)
