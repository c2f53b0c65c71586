"""Programs that run until they exit."""

from __future__ import annotations

import os
import resource
import selectors
import sys
import threading
import time
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.shell import process


def python(code: str, *arguments: str, timeout_s: float = 20.0, **env: str) -> Command:
    return Command((sys.executable, "-c", code, *arguments), timeout_s=timeout_s, env=env)


def test_output_and_resource_usage_are_recorded() -> None:
    more_than_ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + (100 << 20)
    code = (
        "import sys; x = bytearray(int(sys.argv[1])); print('out'); print('err', file=sys.stderr); sum(range(2000000))"
    )
    completed = shell.run(python(code, str(more_than_ours)))
    assert (completed.stdout, completed.stderr, completed.exit_code) == ("out\n", "err\n", 0)
    assert completed.cpu_s is not None
    assert 0 < completed.cpu_s <= completed.wall_s + 0.1
    assert completed.peak_memory_bytes is not None
    assert completed.peak_memory_bytes > more_than_ours


def test_the_memory_of_a_small_program_is_not_reported_as_the_harness_s() -> None:
    ballast = bytearray(50 << 20)
    assert shell.run(Command(("true",))).peak_memory_bytes is None
    assert len(ballast) == 50 << 20


def test_a_program_that_cannot_be_started_is_an_environment_problem() -> None:
    with pytest.raises(EnvironmentProblem, match="no such program"):
        shell.run(Command(("/nowhere/program",)))


def test_a_relative_program_is_looked_up_where_it_would_start_and_the_hint_says_what_is_meant(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="no such program in the folder in which programs start") as missing:
        shell.locate_program(Command(("./my_program",), cwd=tmp_path))
    assert "`{program}`" in (missing.value.hint or "")
    assert "`files`" in (missing.value.hint or "")


def test_a_missing_working_folder_is_not_reported_as_a_missing_program(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=f"no folder {tmp_path}/gone"):
        shell.run(Command(("true",), cwd=tmp_path / "gone"))


def test_the_harness_s_own_environment_is_not_changed() -> None:
    before = dict(os.environ)
    shell.run(python("pass", EDGE_HARNESS_LEAK="1"))
    assert dict(os.environ) == before


def test_programs_do_not_see_the_harness_s_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_REMOTE_TOKEN", "s3cret")
    assert "s3cret" not in shell.run(Command(("env",))).stdout


@pytest.mark.slow
def test_a_program_that_closes_its_output_and_goes_on_is_still_killed() -> None:
    started = time.monotonic()
    completed = shell.run(python("import os, time; os.close(1); os.close(2); time.sleep(60)", timeout_s=0.5))
    assert completed.timed_out
    assert time.monotonic() - started < 30


def test_a_grandchild_that_keeps_the_output_open_does_not_block() -> None:
    started = time.monotonic()
    completed = shell.run(Command(("/bin/sh", "-c", "sleep 60 & echo done"), timeout_s=30))
    assert completed.ok
    assert completed.stdout == "done\n"
    assert time.monotonic() - started < 30


@pytest.mark.slow
def test_output_written_just_before_the_exit_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program writes and ends after we looked at its pipes, and before we look whether it ended."""
    go = tmp_path / "go"
    select = selectors.DefaultSelector.select
    first = True

    def look(self: selectors.DefaultSelector, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        nonlocal first
        found = select(self, 0.0 if first else timeout)
        if first:
            first = False
            go.touch()
            time.sleep(0.5)
        return found

    monkeypatch.setattr(selectors.DefaultSelector, "select", look)
    script = Command(("/bin/sh", "-c", 'while ! [ -e "$0" ]; do sleep 0.01; done; echo last', str(go)), timeout_s=20)
    assert shell.run(script).stdout == "last\n"
    assert not first


@pytest.mark.slow
def test_no_output_is_lost_beside_a_busy_thread() -> None:
    over = threading.Event()
    busy = threading.Thread(target=lambda: [sum(range(10_000)) for _ in iter(over.is_set, True)])
    busy.start()
    try:
        said = [shell.run(Command(("/bin/sh", "-c", "sleep 0.2; echo said"))).stdout for _ in range(60)]
    finally:
        over.set()
        busy.join()
    assert said == ["said\n"] * 60


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_program_that_floods_its_output_is_killed_and_fails(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT_BYTES", 2 << 20)
    code = f"import sys\nwhile True: print('y' * 1000, file=sys.{stream})"
    completed = shell.run(python(code))
    assert not completed.ok
    assert not completed.timed_out
    assert completed.describe() == (
        "was killed because it printed too much: it wrote more than 2 MiB to one of its outputs"
    )
    assert len(completed.stdout) + len(completed.stderr) < 3 << 20


def test_a_program_that_wrote_too_much_and_exited_well_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT_BYTES", 1 << 10)
    completed = shell.run(python("print('y' * 2000)"))
    assert not completed.ok


MOVED = """
import os, time
os.setpgid(0, os.getpgid(os.getppid()))
print("moved", flush=True)
time.sleep(60)
"""


def test_a_program_that_leaves_its_group_does_not_outlive_its_limit() -> None:
    started = time.monotonic()
    with shell.start(python(MOVED)) as moved:
        assert moved.wait_for_line("moved")
        moved._left_s = 0.1
        completed = moved.finish()
    assert completed.timed_out
    assert time.monotonic() - started < 30


def test_a_child_that_left_the_group_and_keeps_the_output_open_does_not_block() -> None:
    code = "import os, time\nif os.fork() == 0:\n os.setsid(); time.sleep(30)\nelse:\n print('done')"
    started = time.monotonic()
    assert shell.run(python(code)).stdout == "done\n"
    assert time.monotonic() - started < 20


def test_a_missing_program_is_named_even_behind_a_prefix(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot start nowhere"):
        shell.kill_with_harness(Command(("nowhere",)))
    own = tmp_path / "own"
    own.write_text("#!/bin/sh\necho mine\n")
    own.chmod(0o755)
    for command in (Command(("own",), env={"PATH": f"{tmp_path}:/bin"}), Command(("./own",), cwd=tmp_path)):
        assert shell.run(shell.kill_with_harness(command)).stdout == "mine\n"


def test_lines_of_standard_error_are_reported_as_they_arrive() -> None:
    lines: list[str] = []
    shell.run(python("import sys; print('a\\nb', file=sys.stderr); sys.stderr.write('c')"), on_line=lines.append)
    assert lines[:2] == ["a", "b"]


def test_invalid_utf_8_does_not_lose_the_rest() -> None:
    completed = shell.run(python("import sys; sys.stdout.buffer.write(b'good\\xff\\n')"))
    assert completed.stdout.startswith("good")


@pytest.mark.slow
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
def test_a_failure_is_described_in_words(code: str, words: str) -> None:
    completed = shell.run(python(code, timeout_s=0.5 if "sleep" in code else 20))
    assert not completed.ok
    assert words in completed.describe()


def test_a_small_tool_that_is_missing_or_fails_has_no_output() -> None:
    assert shell.read_output(("/nowhere/tool",)) is None
    assert shell.read_output(("false",)) is None
    assert shell.read_output(("echo", "hello")) == "hello\n"


def test_a_program_that_gets_on_is_not_ended(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    script = f"for i in 1 2 3 4 5 6; do sleep 0.5; echo x >>{file}; done; echo done"
    completed = shell.run(Command(("/bin/sh", "-c", script), timeout_s=2.0), progress=lambda: file.stat().st_size)
    assert (completed.timed_out, completed.stdout) == (False, "done\n")


def test_a_program_that_does_not_get_on_any_more_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    script = f"echo x >>{file}; sleep 600"
    completed = shell.run(Command(("/bin/sh", "-c", script), timeout_s=1.0), progress=lambda: file.stat().st_size)
    assert completed.timed_out
