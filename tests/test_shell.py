from __future__ import annotations

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
from tests.processes import is_running, wait_until, written


def python(code: str, *arguments: str, timeout_s: float = 20.0, **env: str) -> Command:
    return Command((sys.executable, "-c", code, *arguments), timeout_s=timeout_s, env=env)


def test_what_a_program_writes_and_costs_is_kept() -> None:
    code = "import sys; x = bytearray(400 << 20); print('out'); print('err', file=sys.stderr); sum(range(2000000))"
    completed = shell.run(python(code))
    assert (completed.stdout, completed.stderr, completed.exit_code) == ("out\n", "err\n", 0)
    assert completed.cpu_s is not None
    assert 0 < completed.cpu_s <= completed.wall_s + 0.1
    assert completed.peak_memory_bytes is not None
    assert completed.peak_memory_bytes > 400 << 20


def test_the_memory_of_a_small_program_is_not_told_as_ours() -> None:
    ballast = bytearray(50 << 20)
    assert shell.run(Command(("true",))).peak_memory_bytes is None
    assert len(ballast) == 50 << 20


def test_a_program_that_cannot_be_started_is_a_problem_of_the_environment() -> None:
    with pytest.raises(EnvironmentProblem, match="no such program"):
        shell.run(Command(("/nowhere/program",)))


def test_the_harness_own_environment_is_not_changed() -> None:
    before = dict(os.environ)
    shell.run(python("pass", EDGE_HARNESS_LEAK="1"))
    assert dict(os.environ) == before


def test_programs_do_not_see_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_REMOTE_TOKEN", "s3cret")
    assert "s3cret" not in shell.run(Command(("env",))).stdout


def test_a_program_that_closes_its_output_and_goes_on_is_still_ended() -> None:
    started = time.monotonic()
    completed = shell.run(python("import os, time; os.close(1); os.close(2); time.sleep(60)", timeout_s=0.5))
    assert completed.timed_out
    assert time.monotonic() - started < 10


def test_a_grandchild_that_keeps_the_output_open_does_not_hold_us() -> None:
    started = time.monotonic()
    completed = shell.run(Command(("/bin/sh", "-c", "sleep 60 & echo done"), timeout_s=30))
    assert completed.ok
    assert completed.stdout == "done\n"
    assert time.monotonic() - started < 10


def test_lines_of_standard_error_are_told_as_they_come() -> None:
    lines: list[str] = []
    shell.run(python("import sys; print('a\\nb', file=sys.stderr); sys.stderr.write('c')"), on_line=lines.append)
    assert lines[:2] == ["a", "b"]


def test_bytes_that_are_no_text_do_not_lose_the_rest() -> None:
    completed = shell.run(python("import sys; sys.stdout.buffer.write(b'good\\xff\\n')"))
    assert completed.stdout.startswith("good")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise SystemExit(3)", "ended with exit status 3"),
        ("import os; os.kill(os.getpid(), 11)", "was ended by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", "out-of-memory killer"),
        ("import time; time.sleep(60)", "did not end within 0.5 s"),
        ("import sys; print('why', file=sys.stderr); sys.exit(1)", "exit status 1: why"),
    ],
)
def test_a_failure_is_told_in_words(code: str, words: str) -> None:
    completed = shell.run(python(code, timeout_s=0.5 if "sleep" in code else 20))
    assert not completed.ok
    assert words in completed.describe()


def test_a_small_tool_that_is_missing_or_fails_says_nothing() -> None:
    assert shell.output(("/nowhere/tool",)) is None
    assert shell.output(("false",)) is None
    assert shell.output(("echo", "hello")) == "hello\n"


MAIN = """
import sys
from harness import shell
from harness.core.command import Command
try:
    with shell.interruptible():
        print("ready", flush=True)
        shell.run(Command(("/bin/sh", "-c", "echo $$ > " + sys.argv[1] + "; sleep 60")))
except KeyboardInterrupt as error:
    print("stopped by", error, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_ends_children_and_unwinds(tmp_path: Path, number: signal.Signals) -> None:
    pid = tmp_path / "pid"
    main = subprocess.Popen((sys.executable, "-c", MAIN, str(pid)), stdout=subprocess.PIPE, text=True)
    wait_until(lambda: written(pid))
    main.send_signal(number)
    output, _ = main.communicate(timeout=20)
    assert f"stopped by {number.name}" in output
    assert not is_running(int(pid.read_text()))
