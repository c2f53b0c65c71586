"""Folders that one process of a run of tests fills, and the others read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frameworks.executorch.exporting.exporter import EXPORTER
from frameworks.exporting.companions import REPORT, beside
from harness import shell
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.command import Command
from harness.files.locks import FileLock
from harness.testing.progress import RecordedProgress
from tests.conftest import folder_of_run

SCRIPTS = Path(__file__).parent / "frameworks" / "executorch"


def share_folder(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder of that name, filled by whoever needs it first. Tests must not change it."""
    folder = folder_of_run(factory) / "shared" / name
    partial = folder.with_suffix(".partial")
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            assert not partial.exists(), f"filling {folder} failed before: see the first failure"
            partial.mkdir(parents=True)
            fill(partial)
            partial.rename(folder)
    return folder


def share_cache_of_runners(factory: pytest.TempPathFactory) -> Path:
    """Return the cache where `native_build` finds the runner: one process of this run of tests compiles it."""
    return folder_of_run(factory) / "shared" / "runners"


def share_tiny_programs(factory: pytest.TempPathFactory) -> Path:
    """Return the folder of programs that `tiny_programs.py` exports."""
    return share_folder(factory, "tiny_programs", lambda folder: _run("tiny_programs.py", folder))


def share_language_models(factory: pytest.TempPathFactory) -> Path:
    """Return the folder of tiny language models, and of what eager torch generates with them."""
    return share_folder(factory, "language_models", lambda folder: _run("language_models.py", folder))


def share_mobilenet_v2(factory: pytest.TempPathFactory) -> tuple[Path, ExportReport]:
    """Return MobileNetV2, lowered by the recipe `xnnpack_fp32` in a process of its own, and what that one reports."""

    def export(folder: Path) -> None:
        with RecordedProgress().task("exporting") as task:
            EXPORTER.export(Export(definition="mv2", recipe="xnnpack_fp32"), folder / "mv2.pte", task)

    program = share_folder(factory, "mobilenet_v2", export) / "mv2.pte"
    return program, ExportReport.model_validate_json(beside(program, REPORT).read_bytes())


def _run(script: str, folder: Path) -> None:
    completed = shell.run(Command((sys.executable, str(SCRIPTS / script), str(folder)), timeout_s=1100))
    assert completed.ok, completed.stderr
