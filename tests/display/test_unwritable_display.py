"""Nobody's benchmark fails because nobody can watch it."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from harness.core.protocols import BoardRow
from harness.core.verdict import Verdict
from harness.display import open_display
from harness.display.live import LiveDisplay
from harness.display.plain import PlainDisplay

TELL = """
import sys
from harness.core.verdict import Verdict
from harness.core.protocols import BoardRow
from harness.display import open_display
with open_display() as shown:
    with shown.task("measuring", 2) as task:
        task.update(completed=1)
    with shown.board("comparing", ("benchmark", "verdict")) as board:
        board.show([BoardRow(("a", "regression"), Verdict.REGRESSION)])
    shown.say("said")
print("went on")
"""


class _Full(io.StringIO):
    """A terminal, or a file, on a full disk."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.tries = 0
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def write(self, _text: str) -> int:
        self.tries += 1
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("terminal", [False, True])
def test_a_display_that_cannot_be_written_goes_silent(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = _Full(terminal=terminal)
    with open_display(stream) as shown:
        assert isinstance(shown, LiveDisplay if terminal else PlainDisplay)
        for _ in range(3):
            shown.say("text")
        with shown.task("measuring", 2) as task:
            task.update(completed=1, text="half")
        with shown.board("comparing", ("benchmark", "verdict")) as board:
            board.show([BoardRow(("a", "regression"), Verdict.REGRESSION)])
    assert stream.tries == 1


@contextlib.contextmanager
def _full_device() -> Iterator[TextIO]:
    with Path("/dev/full").open("w") as stream:
        yield stream


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_behind_standard_error_changes_nothing() -> None:
    with _full_device() as full:
        done = subprocess.run((sys.executable, "-c", TELL), stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "went on\n")


def test_a_reader_of_standard_error_who_left_changes_nothing() -> None:
    process = subprocess.Popen((sys.executable, "-c", TELL), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stdout is not None
    process.stderr.close()
    with process.stdout as stdout:
        assert stdout.read() == "went on\n"
    assert process.wait() == 0


def test_no_standard_error_at_all_is_no_output() -> None:
    script = f"exec {sys.executable} -c '{TELL}' 2>&-"
    done = subprocess.run(("/bin/sh", "-c", script), stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "went on\n")
