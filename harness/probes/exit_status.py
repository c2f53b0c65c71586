"""Commands under a tool that hides how its program ended: `perf stat` and `simpleperf` end well when it crashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_OUTER: Final = """\
status=$1; shift
"$@"
code=$?
[ ! -s "$status" ] || read -r code <"$status"
[ "$code" -le 128 ] || kill -"$((code - 128))" $$
exit "$code"
"""
_INNER: Final = 'status=$1; shift; "$@"; echo $? >"$status"'


def keep_exit_status(tool: Sequence[str], program: Sequence[str], status: str) -> tuple[str, ...]:
    """Return the words that start a program under a tool and end as the program does, also by a signal.

    A tool that does not start its program ends as the tool does.

    Args:
        tool: Words that start the tool, without its program.
        program: Words that start the program.
        status: A file that does not exist yet, on the device.
    """
    return ("sh", "-c", _OUTER, "sh", status, *tool, "sh", "-c", _INNER, "sh", status, *program)
