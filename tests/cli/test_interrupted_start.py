"""Ctrl-C before a command does anything: while its modules are being imported."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from tests.cli.project import Project, generic, observe, one_test

pytestmark = pytest.mark.slow

ROOT = Path(harness.__file__).parents[1]
START = """
import os, signal, sys
wanted = sys.argv.pop(1)
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == wanted:
            os.kill(os.getpid(), {signal})
sys.meta_path.insert(0, Interrupting())
from harness.__main__ import main
main()
"""


def _start(project: Project, module: str, number: str = "signal.SIGINT") -> subprocess.CompletedProcess[str]:
    spec = project.write("spec.json", generic(one_test("a", observe(1, 2))))
    return subprocess.run(
        (sys.executable, "-c", START.format(signal=number), module, "-b", str(spec)),
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("module", ["harness.cli", "cyclopts", "harness.config.arguments", "pydantic", "rich.console"])
def test_an_interruption_while_modules_are_imported_ends_in_words(module: str, project: Project) -> None:
    done = _start(project, module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "harness: interrupted (SIGINT)\n")
    assert not (project.folder / "results").exists()


def test_a_job_in_the_background_is_not_interrupted(project: Project) -> None:
    number = "signal.SIGINT if signal.signal(signal.SIGINT, signal.SIG_IGN) else 0"
    assert _start(project, "cyclopts", number).returncode == 0


def test_an_interruption_that_nobody_can_read_has_its_exit_code(project: Project) -> None:
    script = f"exec {sys.executable} -c '{START.format(signal='signal.SIGINT')}' cyclopts --help 2>&-"
    done = subprocess.run(("/bin/sh", "-c", script), cwd=project.folder, env=project.environment, check=False)
    assert done.returncode == 128 + signal.SIGINT


def test_nothing_that_takes_long_is_imported_before_interruptions_are_handled() -> None:
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import harness.__main__; print(*sys.modules)"
    command = (sys.executable, "-I", "-S", "-c", script)
    imported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert {"contextlib", "re", "typing"}.isdisjoint(imported)
