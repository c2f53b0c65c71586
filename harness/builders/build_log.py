"""Logs of builds: the first error, the last lines, and how far a build is while it runs."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from pathlib import Path
from typing import Final

from harness.core.protocols import Task

_ERROR: Final = re.compile(
    r"""(?ix)
    \berror(\[\w+\])?:            # compilers, linkers, ninja, our own recipes, pip
    | undefined\ reference\ to    # GNU ld, before the `error:` of the compiler driver
    | multiple\ definition\ of
    | cannot\ find\ -l
    """
)
_NOT_AN_ERROR: Final = re.compile(r"^-- |\bwarning:|\bnote:", re.IGNORECASE)
"""CMake's status lines quote anything that a check prints."""
_CMAKE_ERROR: Final = re.compile(r"^CMake Error\b")
_TRACEBACK: Final = "Traceback (most recent call last):"
_MAKE_ERROR: Final = re.compile(r"^\w*make(\[\d+\])?: \*\*\* ")

_NINJA_STEP: Final = re.compile(rb"^\[(\d+)/(\d+)\] ", re.MULTILINE)
_MAKE_STEP: Final = re.compile(rb"^\[ *(\d+)%\] ", re.MULTILINE)
_CONFIGURING: Final = re.compile(rb"^-- ", re.MULTILINE)
_STAGE: Final = re.compile(rb"^stage: (.+)$", re.MULTILINE)
"""A recipe of any kind can print such a line."""

_PARAGRAPH_LINES: Final = 5
"""Lines that a message of CMake has at most here: the rest is advice."""

_LOOK_S: Final = 0.5
_TAIL_BYTES: Final = 1 << 16


def first_error(log: Path) -> str:
    """Return the first error in a log as one line, whatever wrote it; empty when there is none.

    The last lines of a build often say only that it failed. CMake tells an error in a paragraph below its heading, and
    Python in the line below a traceback; linkers do not say `error`.
    """
    if not log.is_file():
        return ""
    with log.open(encoding="utf-8", errors="replace") as stream:
        return _first_error(stream)


def _first_error(lines: Iterable[str]) -> str:
    remaining = iter(lines)
    make_error = ""
    for text in remaining:
        line = text.rstrip()
        if line.startswith(_TRACEBACK):
            return next((below.rstrip() for below in remaining if below.strip() and not below.startswith(" ")), line)
        if _CMAKE_ERROR.match(line):
            return " ".join((line, *_paragraphs(remaining)))
        if _ERROR.search(line) and not _NOT_AN_ERROR.search(line):
            return line.strip()
        if not make_error and _MAKE_ERROR.match(line):
            make_error = line
    return make_error


def _paragraphs(lines: Iterator[str]) -> Iterator[str]:
    """Yield the first indented lines that come next, which may have gaps between them."""
    indented = takewhile(lambda text: not text.strip() or text.startswith(" "), lines)
    return islice((text.strip() for text in indented if text.strip()), _PARAGRAPH_LINES)


def last_lines(log: Path, count: int) -> list[str]:
    """Return the last lines of a log, without blank ones; none when there is no log."""
    if not log.is_file():
        return []
    with log.open("rb") as stream:
        stream.seek(-min(log.stat().st_size, _TAIL_BYTES), os.SEEK_END)
        text = stream.read().decode(errors="replace")
    return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]


class LogFollower:
    """Reader of a growing log, which shows the stage of a build and its steps.

    Args:
        log: The log, which need not exist yet.
        task: Shows them.
    """

    def __init__(self, log: Path, task: Task) -> None:
        self._log = log
        self._task = task
        self._read_bytes = 0

    def look(self) -> None:
        """Show what was written since the last look. A line is read once it is whole."""
        with contextlib.suppress(OSError), self._log.open("rb") as stream:
            stream.seek(self._read_bytes)
            text = stream.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._read_bytes += len(whole)
            self._show(whole)

    def _show(self, text: bytes) -> None:
        """Show the last step in some lines, or the stage when there is none."""
        if steps := _NINJA_STEP.findall(text):
            done, total = map(int, steps[-1])
            self._task.update(completed=done, total=total, text=f"compiling [{done}/{total}]")
        elif percents := _MAKE_STEP.findall(text):
            self._task.update(completed=int(percents[-1]), total=100, text="compiling")
        elif stages := _STAGE.findall(text):
            self._task.update(text=stages[-1].decode(errors="replace").strip())
        elif _CONFIGURING.search(text):
            self._task.update(text="configuring")


@contextlib.contextmanager
def follow(log: Path, task: Task | None) -> Iterator[None]:
    """Show how far a build is, from its log, until the context ends."""
    if task is None:
        yield
        return
    follower = LogFollower(log, task)
    ended = threading.Event()

    def look_repeatedly() -> None:
        while not ended.wait(_LOOK_S):
            follower.look()

    thread = threading.Thread(target=look_repeatedly, name="build log", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
