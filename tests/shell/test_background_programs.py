"""Programs in the background: what they write is kept in bounds, and nothing of them stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from tests.processes import is_running, wait_until


def sh(script: str) -> Command:
    return Command(("/bin/sh", "-c", script))


def test_whole_lines_can_be_read_while_it_runs() -> None:
    with shell.run_in_background(sh("printf 'a\\nb\\377\\nhalf'; sleep 600")) as program:
        wait_until(lambda: len(program.lines()) == 2)
        assert program.lines() == ("a", "b\N{REPLACEMENT CHARACTER}")


def test_what_it_wrote_can_be_read_after_its_end() -> None:
    with shell.run_in_background(sh("echo a; echo b")) as program:
        wait_until(lambda: program.lines() == ("a", "b"))
    assert program.lines() == ("a", "b")


def test_only_the_end_of_much_output_is_kept() -> None:
    script = "i=0; while [ $i -lt 5000 ]; do echo line-$i; i=$((i+1)); done; echo last; sleep 600"
    with shell.run_in_background(sh(script), keep_bytes=1000) as program:
        wait_until(lambda: program.lines()[-1:] == ("last",))
        lines = program.lines()
    assert 900 <= len("\n".join(lines)) <= 2000
    assert all(line == "last" or line.startswith("line-") for line in lines)


def test_a_line_without_end_is_bounded() -> None:
    script = "head -c 1000000 /dev/zero; echo; echo last; sleep 600"
    with shell.run_in_background(sh(script), keep_bytes=1000) as program:
        wait_until(lambda: program.lines()[-1:] == ("last",))
        assert len(program.lines()[0]) <= 2000


def test_its_children_end_with_it(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! >{tmp_path}/child; echo $$ >{tmp_path}/self; echo ready; trap '' TERM INT; wait"
    with shell.run_in_background(sh(script)) as program:
        wait_until(lambda: program.lines() == ("ready",))
    pids = [int((tmp_path / name).read_text()) for name in ("child", "self")]
    wait_until(lambda: not any(map(is_running, pids)))


def test_a_program_that_left_its_group_does_not_block(tmp_path: Path) -> None:
    script = f"setsid sleep 600 & echo $! >{tmp_path}/child; echo ready; sleep 600"
    try:
        with shell.run_in_background(sh(script)) as program:
            wait_until(lambda: program.lines() == ("ready",))
        assert program.lines() == ("ready",)
    finally:
        shell.run(Command(("/bin/kill", "-KILL", (tmp_path / "child").read_text().strip())))


def test_a_program_that_is_missing_is_refused() -> None:
    with pytest.raises(EnvironmentProblem, match="no such program"), shell.run_in_background(Command(("/nowhere/x",))):
        pass


def test_the_lines_of_a_program_are_reported_and_its_signal_is_known() -> None:
    lines: list[str] = []
    with shell.run_in_background(
        sh("echo a; echo b >&2; printf c; kill -9 $$"), keep_errors=True, on_line=lines.append
    ) as program:
        assert shell.poll_until(program.has_ended, 60)
    assert lines == ["a", "b", "c"]
    assert program.has_ended()
    program.send_signal(15)
    assert program.exit_code == -9


def test_a_signal_reaches_the_group_of_a_program() -> None:
    lines: list[str] = []
    with shell.run_in_background(sh("sleep 600 & echo up; wait"), on_line=lines.append) as program:
        assert shell.poll_until(lambda: bool(lines), 60)
        program.send_signal(15)
        assert shell.poll_until(program.has_ended, 60)
    assert program.exit_code == -15
