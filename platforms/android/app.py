"""Applications in place of programs: installed, started, waited for, and stopped, in one shell on the phone.

An app tells nobody how it ended. What it is judged by: a result that stays as it is for two looks, its process, and
the system's log.
"""

from __future__ import annotations

import math
import re
import shlex
import signal
import time
from dataclasses import dataclass
from typing import Final

from harness.core.command import App, Command, Completed
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, EnvironmentProblem, HarnessError
from platforms.android import logcat
from platforms.android.faults import hung, lost
from platforms.android.phone import Phone
from platforms.android.state import STATE_SCRIPT
from platforms.android.wire import ANSWER_S

_AROUND_S: Final = 180.0
"""For installing and starting: a large app is compiled when it is installed."""
_LARGEST_INT: Final = (1 << 31) - 1
_DOING: Final = "an app ran on it"

_SCRIPT: Final = (
    r"""
say() { echo; echo "$mark $1"; }
trap 'am force-stop "$package" >/dev/null 2>&1; exit 129' HUP INT TERM
there() { pm path "$package" >/dev/null 2>&1; }
log() { logcat -d -v threadtime -T "$since" 2>/dev/null | grep " $pid "; }
if [ -n "$apk" ]; then
  installed=
  [ -r "$own/apps/$package" ] && read -r installed <"$own/apps/$package"
  if [ "$installed" != "$apk" ] || ! there; then
    said=$(pm install -r -t "$apk" 2>&1)
    case $said in *Success*) ;; *) echo "$said" >&2; say uninstalled; exit 1 ;; esac
    mkdir -p "$own/apps" && echo "$apk" >"$own/apps/$package"
  fi
fi
there || { say missing; exit 1; }
[ -z "$result" ] || run-as "$package" rm -f "$result" || { say closed; exit 1; }
since=$(date '+%m-%d %H:%M:%S.000') pid= seen= how=late
say "began $since $EPOCHREALTIME"
said=$(am start -W -S -n "$package/$activity" "$@" 2>&1)
case $said in *Error*) echo "$said" >&2; how=unstarted limit=0 ;; esac
SECONDS=0
while [ "$SECONDS" -lt "$limit" ]; do
  now=$(pidof "$package") && pid=${now%% *}
  if [ -n "$result" ]; then
    new=$(run-as "$package" stat -c '%s %y' "$result" 2>/dev/null)
    case $new in
    '' | '0 '*) ;;
    "$seen") how=done; break ;;
    *) seen=$new; sleep 0.5; continue ;; # it may still be written, whether or not its process was seen
    esac
  elif [ -n "$pid" ] && log | grep BENCHMARK_DONE >/dev/null; then how=done; break
  fi
  [ -n "$now" ] || [ -z "$pid" -a "$SECONDS" -lt 3 ] || { how=gone; break; } # it may not have appeared yet
  sleep 0.5
done
[ "$how$pid" != late ] || how=gone # nobody ever saw it run
say "ended $how ${pid:-0} $EPOCHREALTIME"
if [ "$how" != done ]; then :
elif [ -n "$result" ]; then run-as "$package" cat "$result"
else log
fi
am force-stop "$package" >/dev/null 2>&1
say after
"""
    + STATE_SCRIPT
    + "\nsay done\n"
)
_TOLD: Final = (
    r"\n{mark} began (\S+ \S+) ([0-9.]*)\n.*?\n?{mark} ended (\w+) ([0-9]+) ([0-9.]*)\n"
    r"(.*)\n{mark} after\n(.*?)\n{mark} done\n"
)
_LINE = re.compile(r"^\S+ \S+ +[0-9]+ +[0-9]+ [VDIWEFA] .*?: ?(.*)$", re.MULTILINE)
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")


@dataclass(frozen=True, slots=True)
class Ended:
    """An app that ended, one way or another.

    Attributes:
        completed: What became of it, as of a program.
        state: What `STATE_SCRIPT` printed afterwards.
    """

    completed: Completed
    state: str


def run(phone: Phone, command: Command, app: App, *, own: str, apk: str | None, mark: str) -> Ended:
    """Start an app and wait until it has said its result.

    Args:
        phone: The phone.
        command: Its extras, and its time.
        app: What is started.
        own: Our folder on the phone.
        apk: Where its package is on the phone; None starts what is installed.
        mark: A word that no app writes.

    Raises:
        BenchmarkFailed: The extras are no pairs.
        BenchmarkUnsupported: It is not installed, does not let itself be read, or something is asked for that no app
            can be given.
        DeviceLost: The phone went away, or does not answer.
        EnvironmentProblem: It cannot be installed.
    """
    started = time.monotonic()
    with phone.shell(_line(command, app, own, apk, mark), _DOING) as stream:
        stream.end_input()
        while stream.read(started + command.timeout_s + _AROUND_S + ANSWER_S):
            pass
        if stream.exit_code is None:
            raise hung(phone.name, _DOING)
        out, err = (text.decode(errors="replace") for text in (stream.out, stream.err))
    told = re.search(_TOLD.format(mark=mark), out, re.DOTALL)
    if told is None:
        raise _refused(phone, app, out.rstrip().rpartition(f"{mark} ")[2], err)
    since, began, how, pid, ended, text, state = told.groups()
    timed_out = how == "late"
    if how == "gone":
        err += logcat.about(phone, int(pid), since) or f"{app.package} ended and left no result\n"
    argv = ("am", "start", "-W", "-S", "-n", f"{app.package}/{app.activity}", *extras(command.argv))
    completed = Completed(
        command=command.replace_argv(argv),
        exit_code=None if timed_out else int(how != "done"),
        signal=signal.SIGKILL if timed_out else None,
        timed_out=timed_out,
        stdout=text if app.result else "".join(f"{line}\n" for line in _LINE.findall(text)),
        stderr=err,
        wall_s=float(ended) - float(began) if began and ended else time.monotonic() - started,
    )
    return Ended(completed, state)


def extras(argv: tuple[str, ...]) -> list[str]:
    """Names and values in turn as `am start` takes them: whole and decimal numbers and booleans as such.

    Raises:
        BenchmarkFailed: A name has no value.
    """
    if len(argv) % 2:
        raise BenchmarkFailed(f"the extra {argv[-1]!r} of an app has no value", hint="names and values in turn")
    words: list[str] = []
    for name, value in zip(argv[::2], argv[1::2], strict=True):
        words.extend((_kind(value), name, value))
    return words


def _kind(value: str) -> str:
    if value in {"true", "false"}:
        return "--ez"
    if _WHOLE.fullmatch(value):
        return "--ei" if abs(int(value)) <= _LARGEST_INT else "--el"
    return "--ef" if _DECIMAL.fullmatch(value) else "--es"


def _line(command: Command, app: App, own: str, apk: str | None, mark: str) -> str:
    if command.env or command.cpus:
        what = "environment variables" if command.env else "CPUs of its own"
        raise BenchmarkUnsupported(f"an app can be given no {what}", hint="use a runner, or leave them out")
    values = {
        "mark": mark,
        "package": app.package,
        "activity": app.activity,
        "result": app.result,
        "own": own,
        "apk": apk or "",
        "limit": str(math.ceil(command.timeout_s)),
    }
    assignments = (f"{name}={shlex.quote(value)}" for name, value in values.items())
    return "\n".join((*assignments, shlex.join(("set", "--", *extras(command.argv))), _SCRIPT))


def _refused(phone: Phone, app: App, why: str, said: str) -> HarnessError:
    reason = (said.strip().splitlines() or ["it says nothing"])[-1]
    if why == "missing":
        return BenchmarkUnsupported(
            f"{app.package} is not installed on {phone.name}", hint="install it, or give its .apk as a program"
        )
    if why == "closed":
        return BenchmarkUnsupported(
            f"{app.package} does not let its files be read: {reason}", hint="build it debuggable (`run-as` needs that)"
        )
    if why == "uninstalled":
        return EnvironmentProblem(f"{app.package} cannot be installed on {phone.name}: {reason}")
    return lost(phone.name, _DOING, reason)
