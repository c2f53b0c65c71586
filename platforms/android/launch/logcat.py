"""What a phone's log says about a program that failed. It is read, and never cleared."""

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
"""Tags under which Android tells how a process died, from other processes."""


def about(phone: Phone, pid: int, since: str) -> str:
    """Lines of the log since a moment that are the program's own, fatal, or about a death. Bounded.

    Args:
        phone: The phone.
        pid: The program's process.
        since: The moment, in the phone's time and logcat's format.

    Returns:
        Nothing where there are none, or where the log cannot be read.

    Raises:
        DeviceLost: The phone went away.
    """
    try:
        said = phone.sh(_SCRIPT, since)
    except EnvironmentProblem as error:
        if isinstance(error, DeviceLost):
            raise
        return ""
    lines = list(chosen(said.stdout.splitlines(), pid))[-_MOST_LINES:]
    return "\n".join(("--- the phone's log about this program:", *lines, "")) if lines else ""


def chosen(lines: Iterable[str], pid: int) -> Iterator[str]:
    """Those of a process, fatal ones, and those of the system about deaths."""
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            continue
        process, level, tag = found.groups()
        if int(process) == pid or level == "F" or (tag in _ABOUT_DEATHS and level in "EF") or f"({pid})" in line:
            yield line
