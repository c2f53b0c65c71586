from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import is_running, wait_until, written

HARNESS = """
import sys
from pathlib import Path
from harness.core.benchmark import HostStep
from harness.running.staging import run_step
from harness.running.placeholder_values import PlaceholderValues
folder = Path(sys.argv[1])
(folder / "step.sh").write_text("echo $$ > pid; sleep 60")
step = HostStep(commands=("/bin/sh step.sh",))
run_step("preprocess", step, PlaceholderValues({}, {}), {}, scratch=folder, env={}, timeout_s=60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_a_step_on_the_host_does_not_outlive_a_harness_that_is_killed(tmp_path: Path) -> None:
    harness = subprocess.Popen((sys.executable, "-c", HARNESS, str(tmp_path)))
    try:
        wait_until(lambda: written(tmp_path / "pid"))
    finally:
        harness.kill()
        harness.wait()
    wait_until(lambda: not is_running(int((tmp_path / "pid").read_text())), within_s=10)


RUN = """
import sys
from harness import shell
from harness.core.command import Command
script = "sh -c 'echo $$ > child; exec sleep 60' & echo $$ > pid; wait"
shell.run(Command(("/bin/sh", "-c", script), cwd=sys.argv[1]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_the_children_of_a_program_do_not_outlive_a_harness_that_is_killed(
    tmp_path: Path, number: signal.Signals
) -> None:
    harness = subprocess.Popen((sys.executable, "-c", RUN, str(tmp_path)))
    try:
        wait_until(lambda: written(tmp_path / "child") and written(tmp_path / "pid"))
    finally:
        harness.send_signal(number)
        harness.wait()
    pids = [int((tmp_path / name).read_text()) for name in ("pid", "child")]
    wait_until(lambda: not any(map(is_running, pids)), within_s=10)
