"""From the installed wheel to a runner that is made once."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frameworks.executorch import runners
from harness import shell
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BuildFailed, UsageError
from harness.core.protocols import Progress
from harness.settings import Settings


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def refuse_to_start(command: Command) -> Completed:
    raise AssertionError(f"started {command.argv}")


# --- native ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_native_runner_is_made_once(
    native: Build, runner_cache: Path, progress: Progress, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "run", refuse_to_start)
    assert runners.native_build(runner_cache, progress) == native
    assert said == []


@pytest.mark.slow
def test_a_native_build_says_what_determines_it(native: Build, runner_cache: Path) -> None:
    assert (native.source, native.recipe) == ("installed", "native")
    assert native.commit == runners.installed_wheel().version
    assert set(native.flags) == {"executorch", "record", "package", "compiler", "cmake", "options", "sources"}
    assert native.programs == {"program": runner_cache / "runners" / native.digest[:16] / "runner"}
    assert [path.name for path in native.programs["program"].parent.iterdir()] == ["runner"]


@pytest.mark.slow
def test_changed_sources_make_another_runner(
    native: Build, runner_cache: Path, progress: Progress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "native"
    shutil.copytree(runners._SOURCES, sources)
    (sources / "failure.h").write_text((sources / "failure.h").read_text() + "\n")
    monkeypatch.setattr(runners, "_SOURCES", sources)
    made: list[Path] = []
    monkeypatch.setattr(runners, "_make", lambda program, *rest: made.append(program))
    assert runners.native_build(runner_cache, progress).digest != native.digest
    assert len(made) == 1


@pytest.mark.slow
def test_a_runner_that_was_removed_is_made_again_without_leftovers(
    native: Build, tmp_path: Path, progress: Progress
) -> None:
    cache = tmp_path / "runners"
    folder = cache / native.digest[:16]
    folder.mkdir(parents=True)
    leftover = cache / f".{folder.name}-killed"
    leftover.mkdir()
    build = runners.native_build(tmp_path, progress)
    assert build.digest == native.digest
    assert shell.run(Command((str(build.programs["program"]), "--help"))).ok
    assert not leftover.exists()


TWO = """
import contextlib, sys
from pathlib import Path
from frameworks.executorch import runners

class Told:
    @contextlib.contextmanager
    def task(self, text, total=None):
        print("compiling")
        yield self

print(runners.native_build(Path(sys.argv[1]), Told()).programs["program"].stat().st_ino)
"""


@pytest.mark.slow
def test_two_processes_at_once_make_one_runner(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", TWO, str(tmp_path)]
    both = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=300)[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(len(words) for words in said) == [1, 2], "one compiles, the other waits for it"
    assert said[0][-1] == said[1][-1], "both have the same file"


@pytest.mark.slow
def test_a_failing_compiler_is_quoted_and_its_log_kept(
    tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = script(
        tmp_path / "cxx", 'case "$1" in --version) echo cxx 0.1;; *) echo no such luck >&2; exit 7;; esac'
    )
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(BuildFailed) as caught:
        runners.native_build(tmp_path, progress)
    (log,) = (tmp_path / "runners").glob("*.log")
    assert caught.value.hint == f"the whole log is {log}"
    assert "no such luck" in caught.value.message
    assert "no such luck" in log.read_text()
    assert [path for path in (tmp_path / "runners").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(("missing", "remedy"), [("c++", "apt install g++"), ("cmake", "pip install cmake")])
def test_a_missing_tool_is_named_with_its_remedy(
    tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch, missing: str, remedy: str
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(runners, "_which", lambda name: None if name == missing else Path("/bin/sh"))
    with pytest.raises(BuildFailed, match=f"no {missing.replace('+', '.')} to compile") as caught:
        runners.native_build(tmp_path, progress)
    assert remedy in (caught.value.hint or "")


def test_a_compiler_that_was_replaced_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = script(tmp_path / "cxx", "echo cxx 1.0")
    monkeypatch.setenv("CXX", str(compiler))
    assert runners.find_tools(tmp_path).compiler_version == "cxx 1.0"
    script(compiler, "echo cxx 10.0")
    assert runners.find_tools(tmp_path).compiler_version == "cxx 10.0"


def test_damaged_memory_of_versions_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "cxx", "echo cxx 1.0")))
    (tmp_path / "tools.json").write_text("{")
    assert runners.find_tools(tmp_path).compiler_version == "cxx 1.0"


def test_a_wheel_without_sdk_asks_for_the_python_runner(
    tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = runners.Wheel(version="1.4.1", package=tmp_path, record="")
    monkeypatch.setattr(runners, "installed_wheel", lambda: wheel)
    with pytest.raises(BuildFailed, match=r"executorch 1\.4\.1 carries no C") as caught:
        runners.native_build(tmp_path, progress)
    assert "Python runner" in (caught.value.hint or "")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, progress: Progress) -> None:
    (tmp_path / "runners").write_text("a file where a folder should be")
    with pytest.raises(BuildFailed, match="cannot be kept in") as caught:
        runners.native_build(tmp_path, progress)
    assert "--cache_dir" in (caught.value.hint or "")


# --- python, prebuilt, and the choice ----------------------------------------------------------------------------


def test_a_python_build_names_its_interpreter() -> None:
    build = runners.python_build()
    assert build.recipe == "python"
    assert build.variables == {"interpreter": sys.executable}
    assert build.programs["program"].is_file()
    assert set(build.flags) == {"executorch", "record", "torch", "python", "sources"}


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(BuildFailed, match="no-such-package is not installed"):
        runners._distribution("no-such-package")


@pytest.fixture
def without_native(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Settings]:
    def fail(cache_dir: Path, progress: Progress) -> Build:
        raise BuildFailed("no c++ to compile the native runner with", hint="apt install g++")

    monkeypatch.setattr(runners, "native_build", fail)
    return lambda runner: Settings(runner=runner)


def test_auto_falls_back_to_python_and_says_why(
    without_native: Callable[[str], Settings], progress: Progress, said: list[str]
) -> None:
    assert runners.installed_build(without_native("auto"), progress).recipe == "python"
    assert len(said) == 1
    assert "no c++ to compile" in said[0]
    assert "apt install g++" in said[0]


def test_an_unknown_kind_of_runner_is_refused(progress: Progress) -> None:
    with pytest.raises(UsageError, match="no runner `natve`"):
        runners.installed_build(Settings(runner="natve"), progress)


def test_native_does_not_fall_back(without_native: Callable[[str], Settings], progress: Progress) -> None:
    with pytest.raises(BuildFailed):
        runners.installed_build(without_native("native"), progress)


def test_python_is_quiet_about_it(
    without_native: Callable[[str], Settings], progress: Progress, said: list[str]
) -> None:
    assert runners.installed_build(without_native("python"), progress).recipe == "python"
    assert said == []


def test_a_given_program_is_identified_by_its_content(tmp_path: Path, progress: Progress) -> None:
    program = script(tmp_path / "executor_runner", "exit 0")
    first = runners.installed_build(Settings(program={"program": program}), progress)
    assert (first.source, first.programs) == ("prebuilt", {"program": program})
    script(program, "exit 1")
    second = runners.installed_build(Settings(program={"program": program}), progress)
    assert first.commit != second.commit
    assert first.digest != second.digest


def test_a_given_program_must_be_there_and_executable(tmp_path: Path) -> None:
    program = tmp_path / "runner"
    with pytest.raises(BuildFailed, match="is not there"):
        runners.prebuilt_build({"program": program})
    program.write_text("")
    with pytest.raises(BuildFailed, match="cannot be executed"):
        runners.prebuilt_build({"program": program})
