"""Programs whose standard input and output are used while they run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.shell import process as process_module
from tests.processes import is_running, wait_until, written

ECHO = """
import sys
print("hello", flush=True)
for line in sys.stdin:
    print("noise", flush=True)
    print("heard", line.strip(), flush=True)
print("bye")
"""
SLEEPER = "sleep 60 & echo $! > $0; echo begun; wait"


def python(code: str, *arguments: str | Path, timeout_s: float = 20.0) -> Command:
    return Command((sys.executable, "-c", code, *map(str, arguments)), timeout_s=timeout_s)


def test_a_program_answers_line_by_line_and_its_whole_output_is_kept() -> None:
    with shell.start(python(ECHO)) as running:
        assert running.wait_for_line("hello")
        for line in ("one", "two"):
            running.write_line(line)
            assert running.wait_for_line(f"heard {line}")
        completed = running.finish()
    assert completed.ok
    assert completed.stdout == "hello\nnoise\nheard one\nnoise\nheard two\nbye\n"


def test_a_line_is_found_once_and_only_when_complete() -> None:
    with shell.start(python("print('ready or not'); print('ready'); print('ready', end='')")) as running:
        assert running.wait_for_line("ready")
        assert not running.wait_for_line("ready")
        assert running.finish().ok


def test_a_program_that_exits_does_not_answer_and_its_error_output_is_kept() -> None:
    with shell.start(python("import sys; input(); sys.exit('no more')")) as running:
        running.write_line("go")
        assert not running.wait_for_line("done")
        running.write_line("still there?")
        completed = running.finish()
    assert (completed.exit_code, completed.timed_out) == (1, False)
    assert "no more" in completed.describe()


def test_a_program_that_does_not_answer_in_time_is_killed_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with shell.start(Command(("/bin/sh", "-c", SLEEPER, str(pid)), timeout_s=20.0)) as running:
        assert running.wait_for_line("begun")
        running._left_s = 0.3
        assert not running.wait_for_line("ready")
        completed = running.finish()
    assert completed.timed_out
    wait_until(lambda: not is_running(int(pid.read_text())))


class _Clock:
    """The time module, as far as programs are timed with it, some time ahead."""

    sleep = staticmethod(time.sleep)
    ahead_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s


def test_time_in_which_nobody_waits_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock()
    monkeypatch.setattr(process_module, "time", clock)
    with shell.start(python(ECHO)) as running:
        assert running.wait_for_line("hello")
        clock.ahead_s = 3600.0
        running.write_line("late")
        assert running.wait_for_line("heard late")
        assert running.finish().ok


def test_waiting_more_than_once_shares_one_limit() -> None:
    with shell.start(python("import time; print('ready', flush=True); time.sleep(60)", timeout_s=30.0)) as running:
        assert running.wait_for_line("ready")
        assert running._left_s < 30.0
        running._left_s = 0.3
        assert not running.wait_for_line("done")
        assert running._left_s <= 0.0
        assert not running.wait_for_line("done")
        assert running.finish().timed_out


def test_output_is_kept_when_the_time_limit_expires_after_the_exit() -> None:
    """As when this machine was suspended: the program had exited in time, and nobody had read its output."""
    with shell.start(python("print('one'); print('two', end='')")) as running:
        os.waitid(os.P_PID, running._process.pid, os.WEXITED | os.WNOWAIT)
        running._left_s = 0.0
        assert running.wait_for_line("one")
        completed = running.finish()
    assert completed.ok
    assert completed.stdout == "one\ntwo"


def test_a_program_that_writes_a_lot_does_not_block() -> None:
    code = "import sys; sys.stderr.write('e' * (1 << 20)); print('o' * (1 << 20)); print('ready', flush=True); input()"
    with shell.start(python(code)) as running:
        assert running.wait_for_line("ready")
        running.write_line("")
        completed = running.finish()
    assert (len(completed.stderr), len(completed.stdout)) == (1 << 20, (1 << 20) + 7)


def test_no_process_is_left_when_the_context_ends_with_an_error(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with contextlib.suppress(KeyError), shell.start(Command(("/bin/sh", "-c", SLEEPER, str(pid)))):
        wait_until(lambda: written(pid))
        raise KeyError
    wait_until(lambda: not is_running(int(pid.read_text())))


def test_a_missing_program_cannot_be_started() -> None:
    with pytest.raises(EnvironmentProblem, match="no such program"), shell.start(Command(("/nowhere/program",))):
        pass


MAIN = """
import sys
from harness import shell
from harness.core.command import Command
script = "echo $$ > $0; echo ready; read line; sleep 60"
try:
    with shell.handle_signals(), shell.start(Command(("/bin/sh", "-c", script, sys.argv[1]))) as first:
        with shell.start(Command(("/bin/sh", "-c", script, sys.argv[2]))) as second:
            assert first.wait_for_line("ready") and second.wait_for_line("ready")
            second.write_line("go")
            second.wait_for_line("done")
except KeyboardInterrupt as error:
    print("stopped by", error, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_ends_the_working_and_the_idle_program(tmp_path: Path, number: signal.Signals) -> None:
    pids = [tmp_path / "first", tmp_path / "second"]
    main = subprocess.Popen((sys.executable, "-c", MAIN, *map(str, pids)), stdout=subprocess.PIPE, text=True)
    wait_until(lambda: all(written(pid) for pid in pids))
    main.send_signal(number)
    output, _ = main.communicate(timeout=20)
    assert f"stopped by {number.name}" in output
    for pid in pids:
        assert not is_running(int(pid.read_text()))
