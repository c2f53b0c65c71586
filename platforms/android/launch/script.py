"""How a program is started on a phone, and what the phone says about it: one line for its shell, one round trip.

The shell that adb starts stays as the program's parent: it tells the state afterwards, ends the program's whole
process group when its time is over, and also when the connection ends (adb's daemon then sends SIGHUP). Lines that
begin with a random mark separate what the shell says from what the program writes.

Where energy is wanted, the state before is told too, and `perfetto` records the phone's power rails from before the
program's start until after its end. Its trace passes through a pipe, because Android lets `perfetto` open files in its
own folder alone (SELinux), and comes back with the answer.
"""

from __future__ import annotations

import base64
import binascii
import re
import shlex
from dataclasses import dataclass
from typing import Final

from harness.core.command import Command
from harness.core.errors import BenchmarkFailed
from platforms.android.state.state import STATE_SCRIPT

STAMP_MARK: Final = "//"
"""Stands behind the name in a line of `STAMP`, and nowhere after it."""
STAMP: Final = f"%n{STAMP_MARK}%d %i %s %y %z"
"""What `stat` tells of a file that was staged: a program that changes it, or puts another in its place, shows."""

_SHELL: Final = r"""
say() { echo; echo "$mark $1"; }
stop() {
  [ -n "$pid" ] && kill -9 -"$pid" "$pid"; [ -n "$dog" ] && kill -9 -"$dog" "$dog"
  [ -s "$trace.pid" ] && kill -9 "$(cat "$trace.pid")" "$keeper"
}
since_boot() { up=; { read -r up more </proc/uptime; } 2>/dev/null; }
trap 'stop 2>/dev/null; exit 129' HUP INT TERM
__STRAYS__
__WIPE__
__METER__
: >"$began"
say "began $(date '+%m-%d %H:%M:%S.000')"
times
since_boot
say "$EPOCHREALTIME $up"
exec 3<__STDIN__
__PIN__ setsid sh -c "$child" sh "$@" <&3 3<&- &
pid=$!
__WATCHDOG__
wait $pid 2>/dev/null
code=$?
now=$EPOCHREALTIME
since_boot
say "ended $code $pid $now $up"
times
__RECORDED__
stop 2>/dev/null
say after
__STATE__
__STOP_STRAYS__
say files
[ -s "$watched" ] && xargs -0 stat -L -c "$stamp" <"$watched" 2>&1 | sha256sum
[ -z "$keeper" ] || { say trace; base64 <"$trace"; rm -f "$trace" "$trace.pid"; }
say done
"""
_METER: Final = r"""
if [ -n "$rails" ] && command -v perfetto >/dev/null; then
  : >"$trace.pid"
  echo "$rails" | sh -c 'echo $$ >"$0.pid"; exec perfetto --txt -c - -o -' "$trace" 2>/dev/null | cat >"$trace" &
  keeper=$!
fi
say before
__STATE__
[ -z "$keeper" ] || sleep 0.5
"""
"""The state takes some hundredths of a second, in which perfetto begins; the rest of the time is for its first reading,
without which there is no energy."""
_RECORDED: Final = r"""
if [ -n "$keeper" ]; then
  sleep 0.5
  kill -TERM "$(cat "$trace.pid")" 2>/dev/null
  for wait in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 "$keeper" 2>/dev/null || { rm -f "$trace.pid"; break; }
    sleep 0.1
  done
fi
"""
"""Two readings after the program's end; then perfetto writes what it has, through `cat`, which ends behind it."""
_WATCHDOG: Final = r"""
setsid sh -c 'sleep "$1"; kill -9 -"$2" "$2"' sh "$limit" "$pid" >/dev/null 2>&1 </dev/null &
dog=$!
"""
_WIPE: Final = r"""
sync; __ROOT__ 'echo 3 >/proc/sys/vm/drop_caches' 2>/dev/null || { say unwiped; exit 1; }
"""
_STRAYS: Final = r"""
stop_strays() {
  links=
  for process in /proc/[0-9]*; do [ ! -O "$process" ] || links="$links $process/cwd $process/exe"; done
  strays=$(ls -ld $links 2>/dev/null | while IFS= read -r link; do
    case $link in *" -> $own/"*) link=${link%% -> *} link=${link##*/proc/}; echo "${link%/*}" ;; esac
  done | sort -u)
  [ -n "$strays" ] || return
  told=
  for stray in $strays; do name=; { read -r name <"/proc/$stray/comm"; } 2>/dev/null; told="$told $stray ($name)"; done
  echo "ended what the program had left running:$told" >&2
  kill -9 $strays 2>/dev/null
}
"""
"""A child that made a session of its own is in nobody's group, and would take time from the launches after it. It is
known by where it runs: our folder, which is nobody else's while the phone is held."""
_SPARED: Final = "{ echo 900 >/proc/self/oom_score_adj; } 2>/dev/null"
"""adb's daemon hands down -950: where memory is short, the kernel would end everything of the user's first."""
_CLOCK_JUMP_S: Final = 0.05
"""By which the two clocks may differ: that of the time since boot moves in steps of 0.01 s."""
_TAIL_BYTES: Final = 1 << 16
"""Where the last words of the phone are looked for."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEGUN: Final = r"(?:\n{mark} before\n(.*?))?\n{mark} began (.*?)\n(.*?)\n{mark} ([0-9.]*) ?([0-9.]*)\n"
_ENDED: Final = (
    r"\n{mark} ended ([0-9]+) ([0-9]+) ([0-9.]*) ?([0-9.]*)\n(.*?)\n{mark} after\n(.*?)\n{mark} files\n(.*?)"
    r"(?:\n{mark} trace\n(.*?))?\n{mark} done\n"
)
_TIMES = re.compile(rb"([0-9]+)m([0-9.]+)s\s+([0-9]+)m([0-9.]+)s")


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds a program.

    Attributes:
        own: Our folder on the phone; what still runs there after it is ended, unless it talks: then it has company.
        folder: Where it starts, unless its command says otherwise.
        began: A file that is written when it is started.
        watched: The phone's list of files that it must leave alone.
        cpus: What it is pinned to; nothing means nowhere.
        wipe: How to run a script as root, to drop the page cache before; None leaves the cache alone.
        talks: Whether it can read what we tell it, and has all the time that we give it.
        metered: Whether its energy is wanted.
        rails: What `perfetto` shall record beside it then; nothing asks for none.
    """

    own: str
    folder: str
    began: str
    watched: str
    cpus: tuple[int, ...] = ()
    wipe: str | None = None
    talks: bool = False
    metered: bool = False
    rails: str = ""

    @property
    def prefix(self) -> tuple[str, ...]:
        """What pins it."""
        return ("taskset", f"{sum(1 << cpu for cpu in self.cpus):x}") if self.cpus else ()


def line(command: Command, around: Around, mark: str) -> str:
    """What the phone's shell shall run.

    Args:
        command: The program. Its arguments and variables arrive as they are.
        around: What surrounds it.
        mark: A word that no program writes.

    Raises:
        BenchmarkFailed: A variable has a name that no shell takes.
    """
    odd = next((name for name in command.env if not _NAME.fullmatch(name)), None)
    if odd is not None:
        raise BenchmarkFailed(f"{odd!r} is no name for a variable", hint="letters, digits and _")
    # Variables are set last, right before the program: an LD_LIBRARY_PATH is not for the tools that start it.
    exports = [f"export {name}={shlex.quote(value)}" for name, value in command.env.items()]
    cd = f"cd {shlex.quote(str(command.cwd or around.folder))} || exit 126"
    child = "\n".join((_SPARED, cd, *exports, 'exec "$@"'))
    values = {
        "mark": mark,
        "child": child,
        "limit": f"{command.timeout_s:.3f}",
        "watched": around.watched,
        "stamp": STAMP,
        "pid": "",
        "dog": "",
        "keeper": "",
        "rails": around.rails,
        "trace": f"{around.folder}/rails",
        "began": around.began,
        "own": around.own,
    }
    assignments = (f"{name}={shlex.quote(value)}" for name, value in values.items())
    script = (
        _SHELL.replace("__WATCHDOG__", "" if around.talks else _WATCHDOG)
        .replace("__STDIN__", "&0" if around.talks else "/dev/null")
        .replace("__PIN__", shlex.join(around.prefix))
        .replace("__WIPE__", _WIPE.replace("__ROOT__", around.wipe) if around.wipe else "")
        .replace("__METER__", _METER if around.metered else "")
        .replace("__RECORDED__", _RECORDED if around.metered else "")
        .replace("__STRAYS__", "" if around.talks else _STRAYS)
        .replace("__STOP_STRAYS__", "" if around.talks else "stop_strays")
        .replace("__STATE__", STATE_SCRIPT)
    )
    return "\n".join((*assignments, f"set -- {shlex.join(command.argv)}", script))


@dataclass(frozen=True, slots=True)
class Ending:
    """What the phone said around a program.

    Attributes:
        code: Its exit status as a shell tells it: 128+n for signal n.
        pid: Its process, and the group of its children.
        out: What it wrote to standard output.
        began: When, in the phone's own time and logcat's format.
        wall_s: Seconds from its start to its end, by the phone's clock; None where that has no microseconds.
        cpu_s: CPU seconds of its process and of the children that it waited for, in steps of 10 ms.
        state: What `STATE_SCRIPT` printed afterwards.
        files: Digest of the stamps of the watched files; empty when there are none.
        before: What `STATE_SCRIPT` printed before it, where energy was wanted.
        began_up_s: When it began, seconds since boot; None where the phone does not tell.
        ended_up_s: When it had ended.
        trace: What `perfetto` wrote.
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
    began_up_s: float | None = None
    ended_up_s: float | None = None
    trace: bytes = b""


def has_ended(out: bytearray, mark: str) -> bool:
    """Whether the phone has said everything. A daemon that the program left may still write behind it."""
    return f"\n{mark} done\n".encode() in out[-_TAIL_BYTES:]


def ending(out: bytes, mark: str) -> Ending | None:
    """What the phone said around a program; None when it did not say everything."""
    begun = re.search(_BEGUN.format(mark=mark).encode(), out, re.DOTALL)
    ended = re.search(_ENDED.format(mark=mark).encode(), out, re.DOTALL)
    if begun is None or ended is None:
        return None
    return Ending(
        code=int(ended[1]),
        pid=int(ended[2]),
        out=out[begun.end() : ended.start()],
        began=begun[2].decode(errors="replace"),
        wall_s=elapsed_s(
            (begun[4].decode(), ended[3].decode()),
            (begun[5].decode(), ended[4].decode()),
        ),
        cpu_s=_difference(_children_s(begun[3]), _children_s(ended[5])),
        state=ended[6].decode(errors="replace"),
        files=(ended[7].decode(errors="replace").split() or [""])[0],
        before=(begun[1] or b"").decode(errors="replace"),
        began_up_s=_seconds(begun[5]),
        ended_up_s=_seconds(ended[4]),
        trace=_unpacked(ended[8] or b""),
    )


def written(out: bytes, mark: str) -> bytes:
    """What the program wrote so far, when it has not ended."""
    begun = re.search(_BEGUN.format(mark=mark).encode(), out, re.DOTALL)
    return out[begun.end() :] if begun else b""


def elapsed_s(clock: tuple[str, str], since_boot: tuple[str, str]) -> float | None:
    """Seconds between two moments.

    By the phone's clock, which has microseconds and is set by the network now and then; where it was, by the time since
    boot, which has hundredths and is never set.

    Args:
        clock: `EPOCHREALTIME` at both; empty where the shell has none.
        since_boot: The first word of `/proc/uptime` at both.
    """
    fine = _difference(*(_seconds(text.encode()) for text in clock))
    sure = _difference(*(_seconds(text.encode()) for text in since_boot))
    if fine is not None and (sure is None or abs(fine - sure) <= _CLOCK_JUMP_S):
        return fine
    return sure


def _seconds(text: bytes) -> float | None:
    return float(text) if text.count(b".") == 1 and len(text) > 1 else None


def _unpacked(text: bytes) -> bytes:
    try:
        return base64.b64decode(b"".join(text.split()), validate=True)
    except binascii.Error:
        return b""


def _children_s(times: bytes) -> float | None:
    """The second line that the shell's `times` prints: user and system time of the children it waited for."""
    found = _TIMES.findall(times)
    if len(found) != 2:
        return None
    minutes, seconds, more_minutes, more_seconds = found[1]
    return 60 * int(minutes) + float(seconds) + 60 * int(more_minutes) + float(more_seconds)


def _difference(before: float | None, after: float | None) -> float | None:
    if before is None or after is None or after < before:
        return None
    return round(after - before, 6)
