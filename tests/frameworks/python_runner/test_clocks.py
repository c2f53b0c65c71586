from __future__ import annotations

import hashlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from frameworks.python_runner import clocks
from frameworks.python_runner.failure import ExitStatus, RunnerFailure


@pytest.mark.parametrize("content", [None, "", "0 0 0\n", "none"], ids=["no file", "empty", "zeros", "no numbers"])
def test_a_system_that_does_not_tell_how_long_a_thread_waited_is_refused(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel without this accounting tells zeros: times would be those of both programs."""
    file = tmp_path / "schedstat"
    if content is not None:
        file.write_text(content)
    monkeypatch.setattr(clocks, "_THREAD", str(file))
    with pytest.raises(RunnerFailure, match="--own-time: the system does not tell") as caught:
        clocks.open_own_time()
    assert caught.value.status is ExitStatus.USAGE


@pytest.mark.skipif(sys.platform != "linux", reason="reads how long a thread waited from proc(5)")
def test_the_clock_leaves_out_what_the_thread_waited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "schedstat"
    file.write_text("5 1000 1\n")
    monkeypatch.setattr(clocks, "_THREAD", str(file))
    monkeypatch.setattr(time, "monotonic_ns", lambda: 1_500_000)
    now_ns = clocks.open_own_time()
    assert now_ns() == 1_499_000
    file.write_text("5 401000 2\n")
    assert now_ns() == 1_099_000


@pytest.mark.skipif(sys.platform != "linux", reason="reads the clocks of threads as Linux numbers them")
def test_the_clock_of_the_process_knows_what_its_running_threads_used() -> None:
    """The kernel's own is late by up to a tick, 1 ms to 10 ms, while the thread runs on another CPU."""
    now_ns = clocks.open_process_time()
    over = threading.Event()
    worker = threading.Thread(target=_compute_until, args=(over,))  # begins after the clock was opened
    worker.start()
    try:
        late_ns = sorted(_lateness(now_ns, worker) for _ in range(200))
    finally:
        over.set()
        worker.join()
    assert late_ns[len(late_ns) * 9 // 10] < 0.2e6  # the rest allows for readings between which others had the CPU
    begin = time.process_time_ns()
    assert begin <= now_ns() <= time.process_time_ns()  # with threads that have ended


@pytest.mark.skipif(sys.platform == "win32", reason="has no such folder")
def test_threads_with_ids_of_another_namespace_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container that shows the processes of its host, each reading would list them anew and update nothing."""
    (tmp_path / "4194303").mkdir()
    monkeypatch.setattr(clocks, "_TASKS", tmp_path)
    assert clocks.open_process_time() is time.process_time_ns


def _compute_until(over: threading.Event) -> None:
    while not over.is_set():
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 50_000)  # without the interpreter's lock


def _lateness(now_ns: Callable[[], int], worker: threading.Thread) -> int:
    """Return the CPU nanoseconds that a clock of the process does not know yet."""
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 3_000)  # about a millisecond, at any phase of the ticks
    known_ns = now_ns()
    time.clock_gettime_ns(time.pthread_getcpuclockid(worker.ident or 0))  # brings its account up to date
    return time.process_time_ns() - known_ns
