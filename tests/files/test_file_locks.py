from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness.files.locks import FileLock


def test_a_lock_keeps_others_out_until_it_is_released(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert not FileLock(tmp_path / "lock").acquire()
    assert not FileLock(tmp_path / "lock", shared=True).acquire()
    lock.release()
    lock.release()
    with FileLock(tmp_path / "lock", shared=True):
        assert FileLock(tmp_path / "lock", shared=True).acquire()
        assert not FileLock(tmp_path / "lock").acquire()


def test_the_end_of_the_context_releases_the_lock(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock"):
        assert not FileLock(tmp_path / "lock").acquire()
    assert FileLock(tmp_path / "lock").acquire()


def test_a_context_waits_until_the_lock_is_free(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    threading.Timer(0.2, lock.release).start()
    with FileLock(tmp_path / "lock"):
        assert not FileLock(tmp_path / "lock").acquire()


def test_a_lock_that_is_held_can_be_acquired_again(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert lock.acquire()
    lock.release()
    assert FileLock(tmp_path / "lock").acquire()


def test_waiting_ends_when_the_lock_is_free(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    threading.Timer(0.2, lock.release).start()
    assert FileLock(tmp_path / "lock").acquire(timeout_s=60)


def test_waiting_ends_when_the_time_is_over(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock"):
        began = time.monotonic()
        assert not FileLock(tmp_path / "lock").acquire(timeout_s=0.2)
        assert time.monotonic() - began >= 0.2


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    program = "import sys, time; from pathlib import Path; from harness.files.locks import FileLock\n"
    program += "lock = FileLock(Path(sys.argv[1])); print(lock.acquire(), flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "lock")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        assert not FileLock(tmp_path / "lock").acquire()
        process.kill()
    assert FileLock(tmp_path / "lock").acquire(timeout_s=60)


def test_the_folder_of_a_lock_is_made(tmp_path: Path) -> None:
    assert FileLock(tmp_path / "deep" / "down" / "lock").acquire()


def test_a_lock_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        FileLock(tmp_path / "file" / "lock").acquire()


def test_a_lock_is_not_inherited_by_programs(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert lock._descriptor is not None
    assert not os.get_inheritable(lock._descriptor)
    lock.release()
