"""`--quiet` leaves results and errors, `--verbose` adds the commands that are run, `-V` prints the version."""

from __future__ import annotations

import pytest

import harness
from harness.cli import main
from harness.config.arguments import insert_default_command
from tests.cli.project import Project, generic, observe, one_test


@pytest.mark.slow
def test_quiet_leaves_results_and_errors(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("good", observe(5, 6, 7)), one_test("bad", "false")))
    done = project.harness("-q", "-b", spec, "--only", "*good")
    assert (done.code, done.stderr) == (0, "")
    assert "good" in done.stdout
    broken = project.harness("-b", spec, "--quiet", "--reporter", "html=/dev/null/page.html")
    assert broken.code == 3
    assert "/dev/null" in broken.stderr


@pytest.mark.slow
def test_verbose_shows_the_commands_that_are_run(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("good", observe(5, 6, 7))))
    done = project.harness("-v", "-b", spec)
    assert done.code == 0
    assert "PyTorchObserver" in done.stderr
    assert "PyTorchObserver" not in project.harness("-b", spec).stderr


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_printed(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([flag])
    assert ended.value.code == 0
    assert capsys.readouterr().out.strip() == harness.__version__


def test_switches_of_the_display_may_precede_the_command() -> None:
    assert insert_default_command(["-q", "compare", "-b", "x.json"], ["compare"]) == ["compare", "-q", "-b", "x.json"]
    assert insert_default_command(["-q", "-b", "x.json"], ["compare"]) == ["run", "-q", "-b", "x.json"]
    assert insert_default_command(["-v", "--interval", "3"], ["compare"]) == ["watch", "-v", "--interval", "3"]
