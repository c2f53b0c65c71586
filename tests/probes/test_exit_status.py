"""Commands under tools that hide how their program ended, with real shells."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command, Completed
from harness.probes.exit_status import keep_exit_status

HIDING = ("sh", "-c", '"$@"; true', "hiding")
"""A tool that always ends well, as `perf stat` does when a signal ends its program."""


def run(tmp_path: Path, *program: str, tool: tuple[str, ...] = HIDING) -> Completed:
    return shell.run(Command(keep_exit_status(tool, program, str(tmp_path / "status")), timeout_s=60))


@pytest.mark.parametrize("status", [0, 1, 7, 127, 128])
def test_the_status_of_the_program_is_that_of_the_command(tmp_path: Path, status: int) -> None:
    assert run(tmp_path, "sh", "-c", f"exit {status}").exit_code == status


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_program_that_a_signal_ended_ends_by_that_signal(tmp_path: Path, number: signal.Signals) -> None:
    assert run(tmp_path, "sh", "-c", f"kill -{int(number)} $$").signal == number


def test_a_tool_that_starts_nothing_ends_as_it_does(tmp_path: Path) -> None:
    assert run(tmp_path, "true", tool=("sh", "-c", "exit 3")).exit_code == 3


def test_words_arrive_unchanged(tmp_path: Path) -> None:
    words = ("a b", "$HOME", "'", '"', "*", "")
    assert run(tmp_path, "printf", "%s|", *words).stdout == "".join(f"{word}|" for word in words)
