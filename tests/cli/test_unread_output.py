"""Standard output that nobody reads, or that is full, in every command: a table that is lost is no regression."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import IO

import pytest

from harness.core.errors import ExitCode
from tests.cli.project import Project, command, generic, observe, one_test

pytestmark = pytest.mark.slow


def _calls(project: Project) -> list[tuple[str | Path, ...]]:
    """Calls that end well where their output can be written."""
    spec = project.write("spec.json", generic(one_test("a", observe(5, 6, 7))))
    return [
        (),
        ("--help",),
        ("run", "-b", spec),
        ("validate", spec),
        ("report",),
        ("builds",),
    ]


def _call(project: Project, words: tuple[str | Path, ...], stdout: IO[bytes] | int) -> tuple[int, str]:
    done = subprocess.run(
        command(*words),
        cwd=project.folder,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_reader_that_has_gone_changes_no_exit_code(project: Project) -> None:
    for words in _calls(project):
        reader, writer = os.pipe()
        os.close(reader)
        code, errors = _call(project, words, writer)
        os.close(writer)
        assert code == ExitCode.OK, (words, errors)
        assert "hint: a bug" not in errors, words
        assert "Exception ignored" not in errors, words


def test_a_full_disk_behind_standard_output_is_an_environment_problem(project: Project) -> None:
    for words in _calls(project):
        with Path("/dev/full").open("wb") as full:
            code, errors = _call(project, words, full)
        assert code == ExitCode.ENVIRONMENT, (words, code, errors)
        assert "No space left on device" in errors, words
        assert "Exception ignored" not in errors, words


def test_marks_of_the_doctor_are_no_markup(project: Project) -> None:
    assert project.harness("doctor").stdout.startswith("\N{CHECK MARK}")
