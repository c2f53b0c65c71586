"""Lines of a phone's log about a program that failed. The log is read, and never cleared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from harness.core.errors import DeviceLost, EnvironmentProblem
from platforms.android.link.phone import Phone

_MOST_LINES: Final = 200
_SCRIPT: Final = 'logcat -d -v threadtime -T "$1" 2>/dev/null | tail -n 20000'
_LINE = re.compile(r"\S+ \S+ +([0-9]+) +[0-9]+ ([VDIWEFA]) (\S*) *:")
_ABOUT_DEATHS: Final = frozenset({"AndroidRuntime", "DEBUG", "libc", "lowmemorykiller", "lmkd", "tombstoned"})
"""Tags under which other processes of Android log how a process died."""


def read_log(phone: Phone, pid: int, since: str) -> str:
    """Return lines of the log since a moment that are the program's own, fatal, or about a death, 200 at most.

    Args:
        phone: The phone.
        pid: Process of the program.
        since: The moment, in the phone's time and logcat's format.

    Returns:
        An empty text where there are none, or the log cannot be read.

    Raises:
        DeviceLost: The phone became unreachable.
    """
    try:
        result = phone.sh(_SCRIPT, since)
    except EnvironmentProblem as error:
        if isinstance(error, DeviceLost):
            raise
        return ""
    lines = list(select_lines(result.stdout.splitlines(), pid))[-_MOST_LINES:]
    return "\n".join(("--- the phone's log about this program:", *lines, "")) if lines else ""


def select_lines(lines: Iterable[str], pid: int) -> Iterator[str]:
    """Yield lines of a process, fatal ones, and those of the system about deaths."""
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        process, level, tag = match.groups()
        if int(process) == pid or level == "F" or (tag in _ABOUT_DEATHS and level in "EF") or f"({pid})" in line:
            yield line
