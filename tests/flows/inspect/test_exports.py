"""Exporting every file of a specification into a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.flows.inspect.exports import export_files
from harness.testing.progress import RecordedProgress


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two models whose files have one name, and a third file."""
    specifications = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.bin").write_text(name)
        (tmp_path / name / f"{name}.txt").write_text("the same")
        files = {
            "model": {"filename": "model.bin", "location": str(tmp_path / name / "model.bin")},
            "text": {"filename": "text", "location": str(tmp_path / name / f"{name}.txt")},
        }
        test = {"metric": "delay", "identifier": name, "command": "true"}
        model = {"name": name, "format": "f", "framework": "generic", "files": files}
        specifications.append(tmp_path / f"{name}.json")
        specifications[-1].write_text(json.dumps({"model": model, "tests": [test]}))
    return Settings(benchmark_file=tuple(specifications), model_cache=tmp_path / "models")


def test_files_of_equal_name_do_not_overwrite_each_other(settings: Settings, tmp_path: Path) -> None:
    progress = RecordedProgress()
    assert export_files(settings, progress, tmp_path / "out")[0].failed == 1
    assert (tmp_path / "out" / "model.bin").read_text() == "one"
    (refused,) = [line for line in progress.lines if line.startswith("✗")]
    assert refused.startswith(f"✗ {tmp_path / 'out' / 'model.bin'} is another file")
    assert Path(refused.partition(" stays at ")[2]).read_text() == "two"


def test_without_a_folder_files_stay_in_the_cache(settings: Settings) -> None:
    progress = RecordedProgress()
    document, code = export_files(settings, progress, None)
    assert (document.failed, code) == (0, 0)
    assert [exported.output for exported in document.files] == [None] * 4
    assert sum("  md5 " in line for line in progress.lines) == 4
