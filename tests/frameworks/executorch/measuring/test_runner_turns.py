"""Both runners, taking turns: iterations when they are told, nothing between, and everything told at the end."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from frameworks.command_line import interleaved_command
from frameworks.executorch.python.engine import ENGINE
from frameworks.python_runner.arguments import parse_arguments
from frameworks.python_runner.failure import RunnerFailure
from frameworks.python_runner.runner import main
from frameworks.python_runner.turns import Turn, Turns
from harness import shell
from harness.core.build import Build
from harness.core.command import Command, Completed
from tests.frameworks.executorch.mostly_native import build

__all__ = ["build"]

BAD = {
    "stop": "on standard input: 'stop' is neither 'run N' nor 'end'",
    "": "on standard input: '' is neither 'run N' nor 'end'",
    "run": "on standard input: 'run' is neither 'run N' nor 'end'",
    "END": "on standard input: 'END' is neither 'run N' nor 'end'",
    "run 0": "argument run: '0' is not a whole number from 1 to 1000000000",
    "run -1": "argument run: '-1' is not a whole number from 1 to 1000000000",
    "run  5": "argument run: ' 5' is not a whole number from 1 to 1000000000",
    "run 5x": "argument run: '5x' is not a whole number from 1 to 1000000000",
    "run 1 by 0": "argument run: '0' is not a whole number from 1 to 1000000000",
    "run 1 by": "argument run: '1 by' is not a whole number from 1 to 1000000000",
    "run 1 by 8 after 0": "argument run: '0' is not a whole number from 1 to 1000000000",
    "run 1 after 2": "argument run: '1 after 2' is not a whole number from 1 to 1000000000",
    "run by 8": "argument run: 'by 8' is not a whole number from 1 to 1000000000",
    "run 99999999999999999999": "argument run: '99999999999999999999' is not a whole number from 1 to 1000000000",
}


def command(runner: Path, model: Path, *words: str) -> Command:
    return interleaved_command(Command((str(runner), "--model", str(model), *words), timeout_s=60))


def converse(start: Command, lines: Sequence[str]) -> Completed:
    """Everything is told at once, and then nothing more."""
    done = subprocess.run(
        start.argv, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, check=False
    )
    return Completed(start, done.returncode, stdout=done.stdout, stderr=done.stderr)


def observed(stdout: str) -> list[dict[str, str]]:
    lines = [line.removeprefix("PyTorchObserver ") for line in stdout.splitlines() if line.startswith("PyTorch")]
    return [json.loads(line) for line in lines]


def metrics(stdout: str) -> list[tuple[str, str, str]]:
    return [(line["type"], line["metric"], line["unit"]) for line in observed(stdout)]


def value(stdout: str, metric: str) -> int:
    (value_found,) = [int(line["value"]) for line in observed(stdout) if line["metric"] == metric]
    return value_found


@pytest.mark.slow
def test_each_batch_is_run_and_acknowledged_and_all_samples_come_at_the_end(runner: Path, programs: Path) -> None:
    with shell.start(command(runner, programs / "linear.pte", "--warmup", "3")) as live:
        assert live.wait_for_line("ready")
        for count in (5, 1, 7):
            live.write_line(f"run {count}")
            assert live.wait_for_line(f"done {count}")
        live.write_line("end")
        completed = live.finish()
    assert completed.ok, completed.describe()
    assert completed.stdout.startswith("ready\ndone 5\ndone 1\ndone 7\nPyTorchObserver ")
    assert value(completed.stdout, "iterations_done") == 13
    assert value(completed.stdout, "warmup_done") == 3


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--warmup", "0"), ("--warmup", "2", "--threads", "2")], ids=" ".join)
def test_interleaved_and_plain_runs_print_the_same_metrics(
    runner: Path, programs: Path, words: tuple[str, ...]
) -> None:
    model = programs / "linear.pte"
    plain = shell.run(Command((str(runner), "--model", str(model), "--iter", "9", *words)))
    turned = converse(command(runner, model, *words), ["run 4", "run 5", "end"])
    assert plain.ok
    assert turned.ok, turned.describe()
    assert metrics(turned.stdout) == metrics(plain.stdout)
    for metric in ("threads", "warmup_done", "iterations_done"):
        assert value(turned.stdout, metric) == value(plain.stdout, metric)


@pytest.mark.slow
def test_the_end_of_standard_input_ends_the_run(runner: Path, programs: Path) -> None:
    completed = converse(command(runner, programs / "add.pte"), ["run 2"])
    assert completed.ok, completed.describe()
    assert value(completed.stdout, "iterations_done") == 2


@pytest.mark.slow
def test_a_run_without_batches_has_no_samples_and_does_not_fail(runner: Path, programs: Path) -> None:
    completed = converse(command(runner, programs / "add.pte"), [])
    assert completed.ok, completed.describe()
    assert value(completed.stdout, "iterations_done") == 0
    assert "latency" not in {launch["metric"] for launch in observed(completed.stdout)}


@pytest.mark.slow
@pytest.mark.parametrize(("line", "sentence"), BAD.items(), ids=BAD)
def test_native_runner_rejects_unknown_requests_and_reports_no_numbers(
    native: Build, programs: Path, line: str, sentence: str
) -> None:
    completed = converse(command(native.programs["program"], programs / "add.pte"), ["run 1", line, "run 1"])
    assert (completed.exit_code, completed.stdout) == (2, "ready\ndone 1\n")
    assert completed.stderr.splitlines()[-1] == f"error: {sentence}"


@pytest.mark.parametrize(("line", "sentence"), BAD.items(), ids=BAD)
def test_python_runner_rejects_the_same_requests(line: str, sentence: str) -> None:
    output = io.StringIO()
    with pytest.raises(RunnerFailure) as caught:
        list(Turns(io.StringIO(f"run 1\n{line}\n"), output))
    assert (caught.value.status, str(caught.value)) == (2, sentence)
    assert output.getvalue() == "ready\ndone 1\n"


def test_batches_are_run_lazily() -> None:
    output = io.StringIO()
    batches = iter(Turns(io.StringIO("run 5\nend\nrun 6\n"), output))
    assert next(batches) == Turn(5)
    assert output.getvalue() == "ready\n"
    assert list(batches) == []
    assert output.getvalue() == "ready\ndone 5\n"


def test_a_pause_ends_when_it_is_told_to() -> None:
    output = io.StringIO()
    turns = Turns(io.StringIO("run 1 by 8\ngo on\nrun 2\n"), output)
    batches = iter(turns)
    assert next(batches) == Turn(1, 8)
    turns.pause()
    assert next(batches) == Turn(2)
    turns.pause()
    turns.pause()
    assert list(batches) == []
    assert output.getvalue() == "ready\npaused\ndone 1\npaused\ndone 2\n", "alone there are no more pauses"


def test_a_turn_may_begin_with_further_prompts() -> None:
    assert next(iter(Turns(io.StringIO("run 1 by 8 after 3\n"), io.StringIO()))) == Turn(1, 8, 3)


def test_nothing_else_ends_a_pause() -> None:
    with pytest.raises(RunnerFailure, match="'run 1' is not 'go on'"):
        Turns(io.StringIO("run 1\n"), io.StringIO()).pause()


@pytest.mark.slow
def test_the_time_limit_ends_warm_up_and_not_a_batch(runner: Path, programs: Path) -> None:
    limited = ("--warmup", "1000000000", "--time-limit", "0.1")
    completed = converse(command(runner, programs / "chain.pte", *limited), ["run 300", "end"])
    assert value(completed.stdout, "iterations_done") == 300
    assert "stopped_early" not in {launch["metric"] for launch in observed(completed.stdout)}


@pytest.mark.slow
def test_every_execution_of_every_batch_receives_the_same_input(runner: Path, programs: Path, tmp_path: Path) -> None:
    # The plan of this program reuses the input's memory: see `test_every_execution_receives_the_same_input`.
    words = ("--warmup", "1", "--outputs", str(tmp_path / "turned"))
    assert converse(command(runner, programs / "chain.pte", *words), ["run 1", "run 1"]).ok
    plain = ("--model", str(programs / "chain.pte"), "--iter", "2", "--outputs", str(tmp_path / "plain"))
    assert shell.run(Command((str(runner), *plain))).ok
    assert (tmp_path / "turned-0.bin").read_bytes() == (tmp_path / "plain-0.bin").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads proc(5)")
def test_a_waiting_runner_uses_no_cpu(runner: Path, programs: Path) -> None:
    argv = command(runner, programs / "linear.pte", "--threads", "2").argv
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b"run 10\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"done 10\n"
        # The pool's threads look for work a little longer before they sleep, on a busy machine also in later seconds.
        assert any(ticks_in_a_second(process.pid) <= 2 for _ in range(5))
        process.communicate(b"end\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads how long a thread waited from proc(5)")
def test_own_time_leaves_out_when_another_program_had_the_cpu(runner: Path, programs: Path) -> None:
    cpu = str(max(os.sched_getaffinity(0)))
    requests = ["run 25"]
    busy = subprocess.Popen(("taskset", "-c", cpu, sys.executable, "-c", "while True: pass"))
    try:
        shares = []
        for words in (("--own-time",), ()):
            start = command(runner, programs / "large_square.pte", "--threads", "1", *words)
            done = converse(start.replace_argv(("taskset", "-c", cpu, *start.argv)), requests)
            assert done.ok, done.describe()
            wall, used = (
                sum(int(line["value"]) for line in observed(done.stdout) if line["metric"] == metric)
                for metric in ("latency", "cpu_time")
            )
            shares.append(wall / used)
    finally:
        busy.kill()
        busy.wait()
    own, whole = shares
    assert own < 1.2 < whole, shares


@pytest.mark.slow
def test_own_time_is_that_of_one_thread(native: Build, programs: Path) -> None:
    words = ("--threads", "2", "--own-time")
    completed = converse(command(native.programs["program"], programs / "linear.pte", *words), ["run 1"])
    sentence = "error: argument --own-time: needs a runtime with one thread"
    assert (completed.exit_code, completed.stdout, completed.stderr.splitlines()[-1]) == (2, "", sentence)


def ticks_in_a_second(process: int) -> int:
    before = cpu_ticks(process)
    time.sleep(1.0)
    return cpu_ticks(process) - before


def cpu_ticks(process: int) -> int:
    """User and system time in the kernel's ticks of 10 ms, from proc(5)'s stat."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return int(fields[11]) + int(fields[12])


def test_the_flag_takes_no_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ENGINE, ["--model", "a.pte", "--turns=5"]) == 2
    assert capsys.readouterr().err == "error: argument --turns: ignored explicit argument '5'\n"
    assert parse_arguments(["--model", "a.pte", "--turns"]).turns
    assert not parse_arguments(["--model", "a.pte"]).turns


@pytest.mark.slow
def test_native_runner_rejects_a_value_of_the_flag_with_the_same_message(native: Build) -> None:
    completed = shell.run(Command((str(native.programs["program"]), "--model", "a.pte", "--turns=5")))
    assert (completed.exit_code, completed.stderr) == (2, "error: argument --turns: ignored explicit argument '5'\n")
