"""The native runner is compiled once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from frameworks.executorch.runners import native as native_runner
from frameworks.executorch.runners import toolchain, wheel
from frameworks.executorch.runners.compiling import RunnerPlan
from frameworks.executorch.runners.native import native_build
from frameworks.executorch.runners.wheel import Wheel
from harness import shell
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress
from harness.files.programs import select_layout
from harness.testing.progress import RecordedProgress
from tests.frameworks.executorch.scripts import script


def refuse_to_start(command: Command) -> Completed:
    raise AssertionError(f"started {command.argv}")


@pytest.mark.slow
def test_the_native_runner_is_built_once(
    native: Build, runner_cache: Path, progress: RecordedProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "run", refuse_to_start)
    assert native_build(runner_cache, progress) == native
    assert progress.tasks + progress.lines == []


@pytest.mark.slow
def test_a_native_build_records_its_inputs(native: Build, runner_cache: Path) -> None:
    assert (native.source, native.recipe) == ("installed", "native")
    assert native.commit == wheel.installed_wheel().version
    assert set(native.flags) == {"executorch", "record", "package", "compiler", "cmake", "options", "sources"}
    assert native.programs == {"program": runner_cache / "runners" / native.digest[:16] / "runner"}
    assert [path.name for path in native.programs["program"].parent.iterdir()] == ["runner"]


@pytest.mark.slow
def test_changed_sources_give_a_different_runner(
    native: Build, runner_cache: Path, progress: Progress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "native"
    shutil.copytree(native_runner.SOURCES, sources)
    (sources / "failure.h").write_text((sources / "failure.h").read_text() + "\n")
    monkeypatch.setattr(native_runner, "SOURCES", sources)
    compiled: list[RunnerPlan[Wheel]] = []
    monkeypatch.setattr(native_runner, "compile_runner", lambda plan, progress: compiled.append(plan))
    assert native_build(runner_cache, progress).digest != native.digest
    assert len(compiled) == 1


@pytest.mark.slow
def test_a_removed_runner_is_rebuilt_without_leftovers(native: Build, tmp_path: Path, progress: Progress) -> None:
    cache = tmp_path / "runners"
    folder = cache / native.digest[:16]
    folder.mkdir(parents=True)
    leftover = cache / f".{folder.name}-killed"
    leftover.mkdir()
    build = native_build(tmp_path, progress)
    assert build.digest == native.digest
    assert shell.run(Command((str(build.programs["program"]), "--help"))).ok
    assert not leftover.exists()


TWO = """
import contextlib, sys
from pathlib import Path
from frameworks.executorch.runners.native import native_build

class Told:
    @contextlib.contextmanager
    def task(self, text, total=None):
        print("compiling")
        yield self

print(native_build(Path(sys.argv[1]), Told()).programs["program"].stat().st_ino)
"""


@pytest.mark.slow
def test_two_concurrent_processes_build_one_runner(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", TWO, str(tmp_path)]
    both = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=300)[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(len(words) for words in outputs) == [1, 2], "one compiles, the other waits for it"
    assert outputs[0][-1] == outputs[1][-1], "both have the same file"


@pytest.mark.slow
def test_a_compiler_failure_is_quoted_and_its_log_is_kept(
    tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = script(
        tmp_path / "cxx", 'case "$1" in --version) echo cxx 0.1;; *) echo no such luck >&2; exit 7;; esac'
    )
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(BuildFailed) as caught:
        native_build(tmp_path, progress)
    (log,) = (tmp_path / "runners").glob("*.log")
    assert caught.value.hint == f"the whole log is {log}"
    assert "no such luck" in caught.value.message
    assert "no such luck" in log.read_text()
    assert [path for path in (tmp_path / "runners").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(("missing", "remedy"), [("c++", "apt install g++"), ("cmake", "pip install cmake")])
def test_a_missing_tool_is_named_with_a_remedy(
    tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch, missing: str, remedy: str
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(toolchain, "_which", lambda name: None if name == missing else Path(sys.executable))
    with pytest.raises(BuildFailed, match=f"no {missing.replace('+', '.')} to compile") as caught:
        native_build(tmp_path, progress)
    assert remedy in (caught.value.hint or "")


def test_a_wheel_without_sdk_suggests_the_python_runner(
    tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = wheel.Wheel(version="1.4.1", package=tmp_path, record="")
    monkeypatch.setattr(wheel, "installed_wheel", lambda: old)
    with pytest.raises(BuildFailed, match=r"executorch 1\.4\.1 contains no C") as caught:
        native_build(tmp_path, progress)
    assert "Python runner" in (caught.value.hint or "")


def test_an_unwritable_path_is_named(tmp_path: Path, progress: Progress) -> None:
    (tmp_path / "runners").write_text("a file where a folder should be")
    with pytest.raises(BuildFailed, match="cannot be kept in") as caught:
        native_build(tmp_path, progress)
    assert "--cache-dir" in (caught.value.hint or "")


@pytest.mark.slow
def test_layouts_of_the_native_runner_are_other_links_that_start(
    native: Build, runner_cache: Path, progress: RecordedProgress
) -> None:
    build = native_runner.link_layouts(native, 1, runner_cache, progress)
    ordinary, layout = (select_layout(build, number).programs["program"] for number in (0, 1))
    assert ordinary.read_bytes() != layout.read_bytes()
    assert len(str(ordinary)) == len(str(layout))
    assert shell.run(Command((str(layout), "--help"))).ok
    progress.tasks.clear()
    assert native_runner.link_layouts(native, 1, runner_cache, progress) == build
    assert progress.tasks == []


@pytest.mark.slow
def test_another_runner_has_no_layouts(native: Build, runner_cache: Path, progress: RecordedProgress) -> None:
    other = native.model_copy(update={"recipe": "python", "digest": "other"})
    with pytest.raises(BuildFailed, match="python runner cannot be linked"):
        native_runner.link_layouts(other, 1, runner_cache, progress)
