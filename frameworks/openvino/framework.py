"""OpenVINO as a framework: its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from frameworks.backend_options import BackendOption
from frameworks.exporting.exporter import FileExporter
from frameworks.openvino.benchmark_app import read_output
from frameworks.openvino.notes import note_openvino
from frameworks.python_framework import PythonFrameworkParts

_EXTRAS: Final = {"openvino": "openvino-runtime", "torch": "pytorch", "nncf": "openvino-int8"}
"""The extra `openvino` is for ExecuTorch's delegate, and its releases are older (docs/decisions/0037)."""

OPTIONS: Final = (
    BackendOption(
        "precision",
        "what floating-point operations are computed in; f32 by default, and `auto` is what OpenVINO takes by itself",
        ("f32", "bf16", "f16", "auto"),
    ),
    BackendOption(
        "hint",
        "what OpenVINO optimises for; the runner executes one request at a time, so that `throughput` shows what a "
        "single request takes among the streams",
        ("latency", "throughput", "none"),
    ),
    BackendOption("streams", "number of requests that can be executed at once", is_count=True),
    BackendOption("cpu_pinning", "bind OpenVINO's threads to processors", ("true", "false")),
    BackendOption("device", "device of OpenVINO, such as CPU (the default), GPU or NPU"),
)

EXPORTER: Final = FileExporter(
    framework="openvino",
    process="frameworks.openvino.exporting",
    packages=("openvino", "torch", "torchvision"),
    required=("openvino", "torch"),
    extras=_EXTRAS,
)

PARTS: Final = PythonFrameworkParts(
    name="openvino",
    engine="frameworks.openvino.engine:ENGINE",
    sources=Path(__file__).parent,
    runtime=("openvino",),
    exporter=EXPORTER,
    options=OPTIONS,
    extras=_EXTRAS,
    read_output=read_output,
    make_notes=note_openvino,
)
