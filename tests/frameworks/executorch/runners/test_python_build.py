"""The Python runner is a program like any other."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from frameworks import packages, python_build
from frameworks.executorch.python.extension import load_runtime
from frameworks.executorch.runners import choice
from frameworks.python_build import installed_distribution
from frameworks.python_runner.failure import RunnerFailure
from harness import shell
from harness.core.command import Command
from harness.core.errors import BuildFailed
from harness.shell import children


@pytest.fixture(params=[True, False], ids=["scripts", "programs-only"])
def _starts_scripts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scripts are started by their first line, and where they are not."""
    monkeypatch.setattr(shell, "STARTS_SCRIPTS", request.param)
    monkeypatch.setattr(children, "STARTS_SCRIPTS", request.param)


def test_the_python_runner_is_a_single_program_named_by_its_fingerprint(tmp_path: Path) -> None:
    build = choice.python_build(tmp_path)
    assert (build.recipe, build.variables) == ("python", {})
    assert set(build.flags) == {"executorch", "record", "torch", "python", "starter", "sources", "kit"}
    assert build.programs == {"program": tmp_path / "runners" / build.digest[:16] / "runner"}
    assert [path.name for path in build.programs["program"].parent.iterdir()] == ["runner"]


@pytest.mark.usefixtures("_starts_scripts")
def test_the_program_is_executable_and_passes_its_arguments_on(tmp_path: Path) -> None:
    program = choice.python_build(tmp_path).programs["program"]
    completed = shell.run(Command((str(program), "--model", "a b", "--iter", "$HOME")))
    assert completed.exit_code == 2
    assert completed.stderr == "error: argument --iter: '$HOME' is not a whole number from 1 to 1000000000\n"


@pytest.mark.usefixtures("_starts_scripts")
def test_paths_with_shell_characters_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "it's an $(odd) `place`"
    odd.mkdir()
    (odd / "python").symlink_to(sys.executable)
    (odd / "sources").mkdir()
    (odd / "sources" / "__main__.py").write_text("import sys; print(sys.argv[1:])")
    monkeypatch.setattr(sys, "executable", str(odd / "python"))
    monkeypatch.setattr(python_build, "KIT", odd / "sources")
    program = choice.python_build(odd).programs["program"]
    assert shell.run(Command((str(program), "a 'b'", ""))).stdout == f"""['{choice.ENGINE}', "a 'b'", '']\n"""


@pytest.mark.usefixtures("_starts_scripts")
def test_modules_of_the_runner_do_not_shadow_other_packages(tmp_path: Path) -> None:
    """Upstream may import a top-level `program` or `measure`; ours must not be found as such."""
    probe = tmp_path / "probe"
    probe.mkdir()
    (probe / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "atexit.register(lambda: print(sys.path[0], sorted({'arguments', 'program', 'runner'} & set(sys.modules))))\n"
    )
    program = choice.python_build(tmp_path).programs["program"]
    completed = shell.run(Command((str(program),), env={"PYTHONPATH": str(probe)}))
    assert (completed.exit_code, completed.stdout) == (2, f"{probe} []\n")


def test_wrong_arguments_are_rejected_before_heavy_imports(tmp_path: Path) -> None:
    program = choice.python_build(tmp_path).programs["program"]
    completed = shell.run(Command((str(program),), env={"PYTHONPROFILEIMPORTTIME": "1"}))
    imported = {line.rpartition("|")[2].strip() for line in completed.stderr.splitlines() if line.startswith("import")}
    assert "frameworks.executorch.python.extension" in imported
    assert not {"torch", "executorch", "pydantic", "numpy", "harness"} & imported


def test_the_python_runner_is_built_once(tmp_path: Path) -> None:
    first = choice.python_build(tmp_path)
    made = first.programs["program"].stat()
    assert choice.python_build(tmp_path) == first
    assert first.programs["program"].stat() == made


def test_changed_sources_give_a_different_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = choice.python_build(tmp_path)
    changed = tmp_path / "python"
    shutil.copytree(choice.PYTHON_SOURCES, changed)
    (changed / "failures.py").write_text("")
    monkeypatch.setattr(choice, "PYTHON_SOURCES", changed)
    assert choice.python_build(tmp_path).digest != first.digest


def test_an_unwritable_path_is_named_with_its_flag(tmp_path: Path) -> None:
    (tmp_path / "runners").write_text("a file where a folder should be")
    with pytest.raises(BuildFailed, match="cannot be kept in") as caught:
        choice.python_build(tmp_path)
    assert "--cache-dir" in (caught.value.hint or "")


def test_a_package_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packages.EXTRAS, "no-such-package", "executorch")
    with pytest.raises(BuildFailed, match="no-such-package is not installed") as caught:
        installed_distribution("no-such-package")
    assert caught.value.hint == packages.install_command("executorch")


def test_a_runtime_that_cannot_be_imported_names_the_versions_that_belong_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(RunnerFailure, match=r"cannot be imported: .* \(the extra `tested` of edge-harness brings"):
        load_runtime()
