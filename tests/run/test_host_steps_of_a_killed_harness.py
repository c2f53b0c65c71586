from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import is_running, wait_until, written

HARNESS = """
import sys
from pathlib import Path
from harness.core.benchmark import HostStep
from harness.run.staging import run_step
from harness.run.placeholder_values import PlaceholderValues
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
