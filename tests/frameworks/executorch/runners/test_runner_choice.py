"""Which runner it is: native, Python, or a program that the user gave."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from frameworks.executorch.options import ExecuTorchOptions
from frameworks.executorch.runners import choice
from harness.config.layers import resolve
from harness.config.options import OptionTable
from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.errors import BuildFailed, UsageError
from harness.core.protocols import Progress
from harness.testing.progress import RecordedProgress
from tests.frameworks.executorch.scripts import script

Kind = Literal["auto", "native", "python"]
MakeSettings = Callable[[Kind], Settings]


@pytest.fixture
def without_native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeSettings:
    def fail(cache_dir: Path, progress: Progress) -> Build:
        raise BuildFailed("no c++ to compile the native runner with", hint="apt install g++")

    monkeypatch.setattr(choice, "native_build", fail)
    return lambda runner: Settings(plug_ins=(ExecuTorchOptions(runner=runner),), cache_dir=tmp_path)


def test_auto_falls_back_to_python_with_a_reason(without_native: MakeSettings, progress: RecordedProgress) -> None:
    assert choice.installed_build(without_native("auto"), progress).recipe == "python"
    assert len(progress.lines) == 1
    assert "no c++ to compile" in progress.lines[0]
    assert "apt install g++" in progress.lines[0]


def test_an_unknown_kind_of_runner_is_rejected() -> None:
    table = OptionTable(Settings, ExecuTorchOptions)
    with pytest.raises(UsageError, match="--runner natve: input should be 'auto', 'native', 'python' or 'llm'"):
        resolve({}, table=table, config={"runner": "natve"}, environment={}, default_args={})


def test_native_does_not_fall_back(without_native: MakeSettings, progress: Progress) -> None:
    with pytest.raises(BuildFailed):
        choice.installed_build(without_native("native"), progress)


def test_an_explicit_python_runner_gives_no_note(without_native: MakeSettings, progress: RecordedProgress) -> None:
    assert choice.installed_build(without_native("python"), progress).recipe == "python"
    assert progress.tasks + progress.lines == []


def test_a_given_program_is_identified_by_its_content(tmp_path: Path, progress: Progress) -> None:
    program = script(tmp_path / "executor_runner", "exit 0")
    first = choice.installed_build(Settings(program={"program": program}), progress)
    assert (first.source, first.programs) == ("prebuilt", {"program": program})
    script(program, "exit 1")
    second = choice.installed_build(Settings(program={"program": program}), progress)
    assert first.commit != second.commit
    assert first.digest != second.digest


NATIVE = Build(source="installed", commit="1.5.1", recipe="native")
HEADER = struct.pack("<I4s4sIQQ", 0, b"ET12", b"eh00", 24, 64, 64)


def program(folder: Path, content: bytes) -> Path:
    file = folder / "net.pte"
    file.write_bytes(content)
    return file


def settings_of(folder: Path, runner: Kind = "auto") -> Settings:
    return Settings(plug_ins=(ExecuTorchOptions(runner=runner),), cache_dir=folder)


def test_a_program_with_operators_of_language_models_gets_the_python_runner(tmp_path: Path) -> None:
    model = program(tmp_path, HEADER + b"llama::custom_sdpa".ljust(64))
    assert choice.substitute_build(NATIVE, settings_of(tmp_path), model).recipe == "python"


@pytest.mark.parametrize(
    ("build", "runner"),
    [
        (NATIVE, "native"),
        (NATIVE.model_copy(update={"flags": {"layouts": "3"}}), "auto"),
        (NATIVE.model_copy(update={"recipe": "cross"}), "auto"),
        (NATIVE.model_copy(update={"source": "git"}), "auto"),
    ],
)
def test_a_runner_that_was_asked_for_stays(tmp_path: Path, build: Build, runner: Kind) -> None:
    model = program(tmp_path, HEADER + b"llama::custom_sdpa".ljust(64))
    assert choice.substitute_build(build, settings_of(tmp_path, runner), model) is build


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"ET12",
        HEADER + b"aten::add",
        HEADER + b"aten::add".ljust(64) + b"llama::custom_sdpa, in the weights",
        HEADER[:16] + b"\xff" * 16 + b"aten::add",
    ],
)
def test_other_programs_and_files_that_are_none_keep_the_native_runner(tmp_path: Path, content: bytes) -> None:
    assert choice.substitute_build(NATIVE, settings_of(tmp_path), program(tmp_path, content)) is NATIVE


def test_a_file_that_is_not_there_keeps_the_native_runner(tmp_path: Path) -> None:
    assert choice.substitute_build(NATIVE, settings_of(tmp_path), tmp_path / "none.pte") is NATIVE
