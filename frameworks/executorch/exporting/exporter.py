"""Exporter of ExecuTorch programs."""

from __future__ import annotations

from typing import Final

from frameworks.executorch.exporting.companions import GRAPH, NODES
from frameworks.executorch.required import EXPORTS
from frameworks.exporting.exporter import FileExporter

PACKAGES: Final = ("executorch", "torch", "torchao", "torchvision")
"""Packages whose versions can change a program."""

EXPORTER: Final = FileExporter(
    framework="executorch",
    process="frameworks.executorch.exporting.process",
    packages=PACKAGES,
    required=EXPORTS,
    product="a program",
    companions=(GRAPH, NODES),
)
