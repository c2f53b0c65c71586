"""The exporter of LiteRT: its packages, a converter that fails, and a real conversion."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from frameworks import tflite
from frameworks.tflite.exporting.packages import describe_converter, prepare_converter
from frameworks.tflite.options import TfliteOptions
from harness.config.settings import Settings
from harness.core.benchmark import Export
from harness.core.errors import EnvironmentProblem, ExportFailed
from harness.files.digests import md5_of_file

VERSIONS = '#!/bin/sh\ncase "$1" in -c) echo litert-torch 0.10.0; exit 0;; esac\n'


class Steps:
    """Progress that is kept."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        self.texts.append(text or "")


def test_packages_that_cannot_be_had_are_told_and_leave_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    converter = describe_converter(None, tmp_path)
    steps = Steps()
    with pytest.raises(EnvironmentProblem, match="litert-torch cannot be installed") as problem:
        prepare_converter(converter, steps)
    assert "--tflite-converter" in str(problem.value.hint)
    assert "770 MB" in steps.texts[0]
    assert converter.folder is not None
    assert not converter.folder.exists()
    assert [path.name for path in converter.folder.parent.iterdir()] == [f".{converter.folder.name}.lock"]


def test_packages_that_are_there_are_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    converter = describe_converter(None, tmp_path)
    assert converter.folder is not None
    converter.folder.mkdir(parents=True)
    prepare_converter(converter, Steps())
    assert converter.python == Path(sys.executable)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ('echo "I0000 noise" >&2; echo "ValueError: no such operator" >&2; exit 1', "no such operator"),
        ("exit 0", "exit status 0"),
        ("kill -9 $$", "SIGKILL"),
    ],
)
def test_converter_that_fails_is_told_in_its_own_words(script: str, message: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="exports need torch (the extra `tflite`)")
    python = tmp_path / "python"
    python.write_text(f"{VERSIONS}{script}\n")
    python.chmod(0o755)
    framework = tflite.create(Settings(plug_ins=(TfliteOptions(tflite_converter=python),), cache_dir=tmp_path))
    with pytest.raises(ExportFailed, match=message):
        framework.export(Export(definition="add", recipe="fp32"), tmp_path / "out" / "add.tflite", Steps())
    assert [path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")] == ["add.tflite.log"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_exporting_again_gives_the_same_bytes_of_the_same_weights(litert: None, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="exports need torch (the extra `tflite`)")
    framework = tflite.create(Settings(cache_dir=tmp_path))
    export = Export(definition="mlp", recipe="q8", calibration=2)
    try:
        first = framework.export(export, tmp_path / "first.tflite", Steps())
    except EnvironmentProblem as problem:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no index has litert-torch: {problem.message}")
    again = framework.export(export, tmp_path / "again.tflite", Steps())
    assert first.md5 == again.md5 == md5_of_file(tmp_path / "again.tflite")
    assert first.versions["litert-torch"] == "0.10.0"
    assert first.weights_md5 == again.weights_md5 is not None
    assert [tensor.dtype for tensor in first.inputs] == ["float32"]
