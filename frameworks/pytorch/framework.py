"""PyTorch as a framework: its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from frameworks.backend_options import BackendOption
from frameworks.exporting.exporter import FileExporter
from frameworks.python_framework import PythonFrameworkParts

_EXTRAS: Final = {"torch": "pytorch"}

OPTIONS: Final = (
    BackendOption(
        "compile",
        "compile the model with torch.compile before it is measured: `inductor`, or `aot_eager` without a C++ compiler",
        ("none", "inductor", "aot_eager"),
    ),
    BackendOption("precision", "data type of weights and computation", ("f32", "bf16")),
    BackendOption("memory_format", "layout of four-dimensional inputs and weights", ("contiguous", "channels_last")),
    BackendOption("freeze", "freeze a TorchScript module and optimise it for inference", ("true", "false")),
)

EXPORTER: Final = FileExporter(
    framework="pytorch",
    process="frameworks.pytorch.exporting",
    packages=("torch",),
    required=("torch",),
    extras=_EXTRAS,
)

PARTS: Final = PythonFrameworkParts(
    name="pytorch",
    engine="frameworks.pytorch.engine:ENGINE",
    sources=Path(__file__).parent,
    runtime=("torch",),
    exporter=EXPORTER,
    options=OPTIONS,
    extras=_EXTRAS,
)
