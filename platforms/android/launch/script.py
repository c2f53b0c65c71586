"""Shell line that starts a program on a phone, and the report that comes back: one round trip.

The shell that adb starts stays as the program's parent: it reports the state afterwards, ends the program's whole
process group when its time is over, and also when the connection ends (adb's daemon then sends SIGHUP). Lines that
begin with a random mark separate what the shell reports from what the program writes.

Where energy is wanted, the state before is reported too, and `perfetto` records the phone's power rails from before the
program's start until after its end; its trace comes back with the report.
"""

from __future__ import annotations

import base64
import binascii
import re
import shlex
from typing import Final

from msgspec import Struct

from harness.core.command import Command
from harness.core.errors import BenchmarkFailed
from platforms.android.scripts import assign_variables, read_script
from platforms.android.state.state import STATE_SCRIPT

STAMP_MARK: Final = "//"
"""Follows the name in a line of `STAMP`, and occurs nowhere after it."""
STAMP: Final = f"%n{STAMP_MARK}%d %i %s %y %z"
"""Format of `stat` for staged files: it shows that a program changed or replaced one."""
STATE_FUNCTION: Final = f"state() {{\n{STATE_SCRIPT}}}\n"

_SCRIPT: Final = STATE_FUNCTION + read_script("log_clock.sh") + read_script("launch.sh")
_RESET_OOM_SCORE: Final = "{ echo 900 >/proc/self/oom_score_adj; } 2>/dev/null"
"""adb's daemon hands down -950: where memory is short, the kernel would end everything of the user's first."""
_CLOCK_JUMP_S: Final = 0.05
"""By which the two clocks may differ: the time since boot has steps of 0.01 s."""
_TAIL_BYTES: Final = 1 << 16
"""Part of the output that is searched for the end of the report."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEGUN: Final = r"(?:\n{mark} before\n(.*?))?\n{mark} began (.*?)\n(.*?)\n{mark} ([0-9.]*) ?([0-9.]*)\n"
_ENDED: Final = (
    r"\n{mark} ended ([0-9]+) ([0-9]+) ([0-9.]*) ?([0-9.]*)\n(.*?)\n{mark} after\n(.*?)\n{mark} files\n(.*?)"
    r"(?:\n{mark} trace\n(.*?))?\n{mark} done\n"
)
_TIMES = re.compile(rb"([0-9]+)m([0-9.]+)s\s+([0-9]+)m([0-9.]+)s")


class LaunchContext(Struct, frozen=True):
    """Surroundings of a program on a phone.

    Attributes:
        workdir: Our working folder; processes that still run there afterwards are ended, unless the program is
            interactive: then others may run at the same time.
        folder: Where it starts, unless its command says otherwise.
        began: A file that is written when it starts.
        watched: The phone's list of files that it must not change.
        cpus: CPUs that it is pinned to; none means that it is not pinned.
        root_prefix: Words that run a script as root, to drop the page cache before; None leaves the cache alone.
        interactive: Whether it reads lines of ours, and has no time limit on the phone.
        metered: Whether its energy is wanted.
        rails: Configuration of `perfetto` then; empty does not run it.
    """

    workdir: str
    folder: str
    began: str
    watched: str
    cpus: tuple[int, ...] = ()
    root_prefix: str | None = None
    interactive: bool = False
    metered: bool = False
    rails: str = ""

    @property
    def pin_prefix(self) -> tuple[str, ...]:
        """Words that pin it."""
        return ("taskset", f"{sum(1 << cpu for cpu in self.cpus):x}") if self.cpus else ()


def launch_line(command: Command, context: LaunchContext, mark: str) -> str:
    """Return the line for the phone's shell that starts a program.

    Args:
        command: The program. Its arguments and variables arrive unchanged.
        context: Its surroundings.
        mark: A word that no program writes.

    Raises:
        BenchmarkFailed: The name of a variable is invalid.
    """
    invalid = next((name for name in command.env if not _NAME.fullmatch(name)), None)
    if invalid is not None:
        raise BenchmarkFailed(f"{invalid!r} is no name for a variable", hint="use letters, digits and _")
    # Variables are set last, right before the program: an LD_LIBRARY_PATH is not for the tools that start it.
    exports = [f"export {name}={shlex.quote(value)}" for name, value in command.env.items()]
    cd = f"cd {shlex.quote(str(command.cwd or context.folder))} || exit 126"
    variables = {
        "mark": mark,
        "child": "\n".join((_RESET_OOM_SCORE, cd, *exports, 'exec "$@"')),
        "pin": " ".join(context.pin_prefix),
        "limit": f"{command.timeout_s:.3f}",
        "workdir": context.workdir,
        "began": context.began,
        "watched": context.watched,
        "stamp": STAMP,
        "root": context.root_prefix or "",
        "interactive": "yes" if context.interactive else "",
        "metered": "yes" if context.metered else "",
        "rails": context.rails,
        "trace": f"{context.folder}/rails",
    }
    return f"{assign_variables(variables)}set -- {shlex.join(command.argv)}\n{_SCRIPT}"


class LaunchReport(Struct, frozen=True):
    """Report of a phone about a program.

    Attributes:
        code: Its exit status as a shell reports it: 128+n for signal n.
        pid: Its process, and the group of its children.
        out: Its standard output.
        began: When it began, in the phone's own time and logcat's format.
        wall_s: Seconds from its start to its end, by the phone's clock; None where that has no microseconds.
        cpu_s: CPU seconds of its process and of the children that it waited for, in steps of 10 ms.
        state: Output of `STATE_SCRIPT` afterwards.
        files: Hash of the stamps of the watched files; empty when there are none.
        before: Output of `STATE_SCRIPT` before it, where energy was wanted.
        began_uptime_s: When it began, seconds since boot; None where the phone does not report.
        ended_uptime_s: When it had ended.
        trace: Output of `perfetto`.
    """

    code: int
    pid: int
    out: bytes
    began: str
    wall_s: float | None
    cpu_s: float | None
    state: str
    files: str
    before: str = ""
    began_uptime_s: float | None = None
    ended_uptime_s: float | None = None
    trace: bytes = b""


def is_complete(out: bytearray, mark: str) -> bool:
    """Return whether the report is complete. A daemon that the program left may still write after it."""
    return f"\n{mark} done\n".encode() in out[-_TAIL_BYTES:]


def parse_report(out: bytes, mark: str) -> LaunchReport | None:
    """Parse the report about a program; None when it is not complete."""
    begun = re.search(_BEGUN.format(mark=mark).encode(), out, re.DOTALL)
    ended = re.search(_ENDED.format(mark=mark).encode(), out, re.DOTALL)
    if begun is None or ended is None:
        return None
    clock, uptime = (begun[4].decode(), ended[3].decode()), (begun[5].decode(), ended[4].decode())
    return LaunchReport(
        code=int(ended[1]),
        pid=int(ended[2]),
        out=out[begun.end() : ended.start()],
        began=begun[2].decode(errors="replace"),
        wall_s=elapsed_s(clock, uptime),
        cpu_s=_difference(_parse_children_s(begun[3]), _parse_children_s(ended[5])),
        state=ended[6].decode(errors="replace"),
        files=(ended[7].decode(errors="replace").split() or [""])[0],
        before=(begun[1] or b"").decode(errors="replace"),
        began_uptime_s=_parse_seconds(uptime[0]),
        ended_uptime_s=_parse_seconds(uptime[1]),
        trace=_decode_trace(ended[8] or b""),
    )


def partial_output(out: bytes, mark: str) -> bytes:
    """Return what the program has written so far, before the report is complete."""
    begun = re.search(_BEGUN.format(mark=mark).encode(), out, re.DOTALL)
    return out[begun.end() :] if begun else b""


def elapsed_s(clock: tuple[str, str], uptime: tuple[str, str]) -> float | None:
    """Return the seconds between two moments.

    By the phone's clock, which has microseconds and is set by the network now and then; where it was, by the time since
    boot, which has hundredths and is never set.

    Args:
        clock: `EPOCHREALTIME` at both; empty where the shell has none.
        uptime: The first word of `/proc/uptime` at both.
    """
    by_clock = _difference(*map(_parse_seconds, clock))
    by_uptime = _difference(*map(_parse_seconds, uptime))
    if by_clock is not None and (by_uptime is None or abs(by_clock - by_uptime) <= _CLOCK_JUMP_S):
        return by_clock
    return by_uptime


def _parse_seconds(text: str) -> float | None:
    return float(text) if text.count(".") == 1 and len(text) > 1 else None


def _decode_trace(text: bytes) -> bytes:
    try:
        return base64.b64decode(b"".join(text.split()), validate=True)
    except binascii.Error:
        return b""


def _parse_children_s(times: bytes) -> float | None:
    """Parse the second line of the shell's `times`: user and system time of the children it waited for."""
    lines = _TIMES.findall(times)
    if len(lines) != 2:
        return None
    user_minutes, user_s, system_minutes, system_s = lines[1]
    return 60 * int(user_minutes) + float(user_s) + 60 * int(system_minutes) + float(system_s)


def _difference(before: float | None, after: float | None) -> float | None:
    if before is None or after is None or after < before:
        return None
    return round(after - before, 6)
