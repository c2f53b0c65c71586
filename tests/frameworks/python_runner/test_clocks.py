from __future__ import annotations

import sys
import time
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
