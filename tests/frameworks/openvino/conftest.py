"""Small models of OpenVINO, made by the real library."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from frameworks.openvino.framework import EXPORTER
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.display.quiet import QuietTask

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture(scope="session")
def _library() -> None:
    if find_spec("openvino") is None:
        reason = "openvino is not installed: pip install 'edge-harness[openvino-runtime]'"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.fixture(scope="session")
def exported(_library: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExportReport]:
    """The definition `mlp` as the recipe `fp32` writes it, with its report."""
    path = tmp_path_factory.mktemp("openvino") / "mlp.zip"
    return path, EXPORTER.export(Export(definition="mlp", recipe="fp32"), path, QuietTask())
