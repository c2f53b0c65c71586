"""One cache shared by several processes and threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.builders.cache import BuildCache
from harness.builders.workdirs import Workdir, open_workdir
from harness.core.build import Build
from harness.core.protocols import Task
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import key_of, writes
from tests.processes import is_running, wait_until, written

ROOT = Path(__file__).parents[2]

BUILDER = """
import sys, time
from pathlib import Path
from harness.builders.cache import BuildCache
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import key_of, writes

folder, seconds = Path(sys.argv[1]), float(sys.argv[2])

def make(workdir, task):
    print("making", flush=True)
    writes("half")(workdir, task)
    time.sleep(seconds)
    writes("whole")(workdir, task)

with BuildCache(folder) as cache:
    print(cache.get_or_build(key_of("c1"), make, progress=RecordedProgress()).programs["program"].stat().st_ino)
"""


def start(folder: Path, seconds: float) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", BUILDER, str(folder), str(seconds)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.mark.slow
def test_concurrent_processes_build_once(tmp_path: Path) -> None:
    processes = [start(tmp_path, 0.5) for _ in range(3)]
    outputs = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sum("making" in words for words in outputs) == 1
    assert len({words[-1] for words in outputs}) == 1, "all have the same file"


@pytest.mark.slow
def test_a_killed_builder_leaves_no_complete_looking_build(tmp_path: Path) -> None:
    process = start(tmp_path, 600.0)
    assert process.stdout is not None
    assert process.stdout.readline() == "making\n"
    wait_until(lambda: any(tmp_path.glob("workshops/*/result/programs/program")))
    process.kill()
    process.communicate()
    assert BuildCache(tmp_path).entries() == []
    with BuildCache(tmp_path) as cache:
        build = cache.get_or_build(key_of("c1"), writes("whole"), progress=RecordedProgress())
    assert "whole" in build.programs["program"].read_text()
    assert not list(tmp_path.glob("workshops/*/")), "the remains are cleared away"


LEAVER = """
import sys
from pathlib import Path
from harness import shell
from harness.builders.workdirs import open_workdir
from harness.core.command import Command

with open_workdir(Path(sys.argv[1]), Path(sys.argv[1], "log")) as workdir:
    environment = {"HARNESS_BUILD_DIR": str(workdir.build)}
    leave = 'setsid sleep 600 & echo $! > "$1"; wait'  # out of the process group, which ends with the harness
    shell.run(Command(("sh", "-c", leave, "sh", sys.argv[2]), env=environment))
"""


@pytest.mark.slow
def test_processes_left_by_a_killed_harness_are_ended_before_the_next_build(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    process = subprocess.Popen([sys.executable, "-c", LEAVER, str(tmp_path / "workshops"), str(pid_file)], cwd=ROOT)
    wait_until(lambda: written(pid_file))
    process.kill()
    process.communicate()
    pid = int(pid_file.read_text())
    assert is_running(pid), "otherwise the test proves nothing"
    with open_workdir(tmp_path / "workshops", tmp_path / "log"):
        assert not is_running(pid)


def test_a_left_over_process_in_its_own_group_is_ended(tmp_path: Path) -> None:
    with open_workdir(tmp_path / "workshops", tmp_path / "log") as workdir:
        own = {"HARNESS_BUILD_DIR": str(workdir.build)}
        orphan = subprocess.Popen(["sleep", "600"], env={**os.environ, **own}, start_new_session=True)
        shell_in_folder = subprocess.Popen(["sleep", "600"], cwd=workdir.build)
        other = {"HARNESS_BUILD_DIR": f"{workdir.folder}0/build"}
        other_build = subprocess.Popen(["sleep", "600"], env={**os.environ, **other}, start_new_session=True)
    try:
        wait_until(lambda: not is_running(orphan.pid))  # killed, it may take a moment to end
        orphan.wait()
        assert shell_in_folder.poll() is None, "a user's shell in the folder is left alone"
        assert other_build.poll() is None, "nor is another build"
    finally:
        for process in (shell_in_folder, other_build):
            process.kill()
            process.wait()


def test_threads_build_each_commit_once_and_do_not_block_each_other(tmp_path: Path) -> None:
    made: list[Path] = []
    builds: list[Build] = []
    both_at_work = threading.Barrier(2, timeout=30)

    def make(workdir: Workdir, task: Task) -> None:
        made.append(workdir.folder)
        both_at_work.wait()
        writes("x")(workdir, task)

    with BuildCache(tmp_path) as cache:
        threads = [
            threading.Thread(
                target=lambda commit=commit: builds.append(
                    cache.get_or_build(key_of(commit), make, progress=RecordedProgress())
                )
            )
            for commit in ("c1", "c1", "c2", "c2")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(builds) == 4
    assert len(made) == 2, "each commit once"
    assert len(set(made)) == 2, "each in a workdir of its own"


def test_waiting_for_another_process_is_reported(tmp_path: Path) -> None:
    begun = threading.Event()
    progress = RecordedProgress()

    def wait_until_other_waits(workdir: Workdir, task: Task) -> None:
        begun.set()
        wait_until(lambda: progress.lines != [])
        writes("x")(workdir, task)

    def make(cache: BuildCache) -> None:
        cache.get_or_build(key_of("c1"), wait_until_other_waits, progress=RecordedProgress())

    with BuildCache(tmp_path) as first, BuildCache(tmp_path) as second:
        thread = threading.Thread(target=make, args=(first,))
        thread.start()
        assert begun.wait(30)
        built = second.get_or_build(key_of("c1"), writes("y"), progress=progress)
        thread.join()
    assert progress.lines == ["thing/host at c1: waiting for another process that is building it"]
    assert "echo x" in built.programs["program"].read_text(), "the build of the other process is used"
