"""Both runners, where there is no number to be had: a status, and a sentence."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from frameworks.executorch.python.failures import explain_failures
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from harness import shell
from harness.core.build import Build
from harness.core.command import Command, Completed
from tests.processes import is_running, wait_until

NOT_A_PROGRAM = "{model} is not an ExecuTorch program, or is of a version this runtime cannot read ("

CANNOT_BE_LOADED = {
    "unknown_operator": "the program needs operator aten::adx.out, which this runtime does not have",
    "unknown_backend": "the program uses backend XnnpackBackenX, which this runtime does not have",
    "garbage": NOT_A_PROGRAM,
    "text": NOT_A_PROGRAM,
    "empty": NOT_A_PROGRAM,
    "truncated": NOT_A_PROGRAM,
    "overwritten": NOT_A_PROGRAM,
    "missing": "no such file: {model}",
    "scaled": "input 1 of the method is not a tensor; the runner feeds tensors only",
}


def run(*words: str | Path) -> Completed:
    return shell.run(Command(tuple(map(str, words))))


def last_line(completed: Completed) -> str:
    return completed.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", CANNOT_BE_LOADED)
def test_a_program_that_cannot_be_loaded_is_explained(runner: Path, programs: Path, name: str) -> None:
    model = programs / f"{name}.pte"
    completed = run(runner, "--model", model)
    assert completed.exit_code == 3
    assert completed.stdout == ""
    assert last_line(completed).startswith("error: " + CANNOT_BE_LOADED[name].format(model=model))


@pytest.mark.slow
def test_a_folder_is_not_a_program(runner: Path, tmp_path: Path) -> None:
    completed = run(runner, "--model", tmp_path)
    assert (completed.exit_code, last_line(completed)) == (3, f"error: not a file: {tmp_path}")


@pytest.mark.slow
def test_an_unknown_method_lists_the_known_ones(runner: Path, programs: Path) -> None:
    completed = run(runner, "--model", programs / "add.pte", "--method", "encode")
    assert completed.exit_code == 3
    assert last_line(completed) == "error: the program has no method encode; it has: forward"


@pytest.mark.slow
def test_inputs_of_the_wrong_size_name_file_and_bytes(runner: Path, programs: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.bin", tmp_path / "bad.bin"
    good.write_bytes(bytes(16))
    bad.write_bytes(bytes(15))
    completed = run(runner, "--model", programs / "add.pte", "--inputs", f"{good},{bad}")
    assert completed.exit_code == 2
    assert last_line(completed) == f"error: {bad} has 15 bytes; input 1 of the method needs 16"


@pytest.mark.slow
def test_inputs_of_the_wrong_number_are_counted(runner: Path, programs: Path) -> None:
    completed = run(runner, "--model", programs / "add.pte", "--inputs", "a,b,c")
    assert completed.exit_code == 2
    assert last_line(completed) == "error: argument --inputs: 3 files given; the method has 2 inputs"


@pytest.mark.slow
def test_a_missing_input_is_named(runner: Path, programs: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere.bin"
    completed = run(runner, "--model", programs / "add.pte", "--inputs", f"{nowhere},{nowhere}")
    assert (completed.exit_code, last_line(completed)) == (2, f"error: no such file: {nowhere}")


@pytest.mark.slow
def test_outputs_that_cannot_be_written_leave_no_numbers(runner: Path, programs: Path) -> None:
    completed = run(runner, "--model", programs / "add.pte", "--outputs", "/nowhere/out")
    assert completed.exit_code == 4
    assert completed.stdout == ""
    assert last_line(completed) == "error: cannot write /nowhere/out-0.bin"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space with prlimit")
def test_out_of_memory_is_reported_as_such(native: Build, programs: Path) -> None:
    limit = ("prlimit", f"--as={100 << 20}")  # the program plans 128 MiB, and the runner itself needs less than 64
    completed = run(*limit, native.programs["program"], "--model", programs / "wide.pte")
    assert completed.exit_code == 5
    assert last_line(completed).startswith("error: out of memory: ")
    assert run(*limit, native.programs["program"], "--model", programs / "add.pte").ok


@pytest.mark.parametrize("message", ["loading failed, error: 0x:21", "failed with error 0x31"])
def test_python_runner_recognises_out_of_memory_errors_of_the_runtime(message: str) -> None:
    log = io.StringIO("[malloc_memory_allocator.h:81] Malloc failed to allocate 99 bytes\n")
    with pytest.raises(RunnerFailure) as caught, explain_failures(ExitStatus.NOT_EXECUTED, "it failed", log):
        raise RuntimeError(message)
    assert caught.value.status == 5
    assert str(caught.value) == "out of memory: Malloc failed to allocate 99 bytes"


PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_a_runner_does_not_outlive_its_parent(runner: Path, programs: Path) -> None:
    endless = ("--model", str(programs / "chain.pte"), "--warmup", "1000000000")
    with subprocess.Popen([sys.executable, "-c", PARENT, str(runner), *endless], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            wait_until(lambda: cpu_ticks(child) > 50)  # beyond its start
            assert is_running(child)
            parent.kill()
            parent.wait()
            wait_until(lambda: not is_running(child))
        finally:
            if is_running(child):
                os.kill(child, signal.SIGKILL)


def cpu_ticks(process: int) -> int:
    """User time in the kernel's ticks, from proc(5)'s stat."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()[11])
