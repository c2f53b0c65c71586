from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem
from harness.core.protocols import Interactive
from harness.testing.progress import RecordedProgress
from platforms.host.platform import Host
from tests.processes import is_running, wait_until, written

PLACED = "import os; print(*os.sched_getaffinity(0), flush=True); print('ready', flush=True); input()"

HOLDER = """
import sys
from pathlib import Path
from harness.core.command import Command
from harness.testing.progress import RecordedProgress
from platforms.host.platform import Host
host = Host(Path(sys.argv[1]) / "work", lock_path=Path(sys.argv[1]) / "lock")
script = Command(("/bin/sh", "-c", "echo $$ > " + sys.argv[1] + "/pid; read line"))
with host.open(host.devices()[0], RecordedProgress()) as session, session.start(script) as live:
    live.wait_for_line("never")
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Interactive]:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as held:
        assert isinstance(held, Interactive)
        yield held


def test_interactive_processes_run_on_the_same_cpus_as_others(session: Interactive) -> None:
    command = Command((sys.executable, "-c", PLACED), threads=1)
    alone = session.run(Command((sys.executable, "-c", "pass"), threads=1))
    with session.start(command) as first, session.start(command) as second:
        assert first.wait_for_line("ready")
        assert second.wait_for_line("ready")
        for live in (first, second):
            live.write_line("")
            completed = live.finish()
            assert completed.cpus == alone.cpus
            assert {int(word) for word in completed.stdout.splitlines()[0].split()} == set(alone.cpus or ())


def test_an_interactive_process_starts_in_the_session_s_folder_by_default(session: Interactive, tmp_path: Path) -> None:
    with session.start(Command(("pwd",))) as live:
        here = live.finish().stdout
    assert here == session.run(Command(("pwd",))).stdout
    with session.start(Command(("pwd",), cwd=tmp_path)) as live:
        assert live.finish().stdout.strip() == str(tmp_path)


def test_an_interactive_program_that_cannot_be_started_is_reported_like_others(session: Interactive) -> None:
    with pytest.raises(EnvironmentProblem, match="no such program"), session.start(Command(("nowhere",))):
        pass
    with pytest.raises(BenchmarkUnsupported, match="CPU 4095"), session.start(Command(("true",), cpus=(4095,))):
        pass


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_an_interactive_process_does_not_outlive_a_killed_harness(tmp_path: Path) -> None:
    holder = subprocess.Popen((sys.executable, "-c", HOLDER, str(tmp_path)))
    try:
        wait_until(lambda: written(tmp_path / "pid"))
    finally:
        holder.kill()
        holder.wait()
    wait_until(lambda: not is_running(int((tmp_path / "pid").read_text())))
