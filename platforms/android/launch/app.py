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
from platforms.android.launch import logcat
from platforms.android.launch.script import elapsed_s
from platforms.android.link.connection import ANSWER_S
from platforms.android.link.errors import hung, lost
from platforms.android.link.phone import Phone
from platforms.android.state.state import STATE_SCRIPT

_AROUND_S: Final = 180.0
"""For installing and starting: a large app is compiled when it is installed."""
_LARGEST_INT: Final = (1 << 31) - 1
_DOING: Final = "an app ran on it"
_REMEDIES: Final = {
    "INSTALL_FAILED_USER_RESTRICTED": 'switch "Install via USB" on in its developer options, and confirm what it asks',
    "INSTALL_FAILED_VERSION_DOWNGRADE": "uninstall the newer one first, or raise its version code",
    "INSTALL_FAILED_INSUFFICIENT_STORAGE": "delete something on the phone",
}
"""By code of Android's `PackageManager`."""

_SCRIPT: Final = (
    r"""
say() { echo; echo "$mark $1"; }
trap 'am force-stop "$package" >/dev/null 2>&1; exit 129' HUP INT TERM
lit() { # a phone that does not tell is believed to be
  case $(timeout 3 dumpsys power 2>/dev/null | grep -m 1 mWakefulness=) in '' | *=Awake*) ;; *) return 1 ;; esac
}
since_boot() { up=; { read -r up more </proc/uptime; } 2>/dev/null; }
look() { # base: the installed package; there: what changes with every installation
  base=$(pm path "$package" 2>/dev/null) base=${base#package:}
  there="$base $(stat -c '%i %s %Y' "$base" 2>/dev/null)"
}
note() { look; mkdir -p "$own/apps" && echo "$apk_sha256 $there" >"$own/apps/$package"; }
log() { logcat -d -v threadtime -T "$since" 2>/dev/null | grep " $pid "; }
lit || { say dark; exit 1; }
look
if [ -n "$apk" ]; then
  ours= at= sum=
  [ -r "$own/apps/$package" ] && read -r ours at <"$own/apps/$package"
  if [ "$at" = "$there" ]; then sum=$ours
  else
    sum=$({ sha256sum <"$base"; } 2>/dev/null) sum=${sum%% *}
    [ -z "$sum" ] || [ "$sum" != "$ours" ] || [ "$sum" != "$apk_sha256" ] || note
  fi
  if [ "$sum" != "$apk_sha256" ]; then
    [ -z "$base" ] || [ -n "$sum" -a "$sum" = "$ours" ] || { say foreign; exit 1; }
    said=$(pm install -r -t "$apk" 2>&1)
    case $said in *Success*) ;; *) echo "$said" >&2; say uninstalled; exit 1 ;; esac
    note
  fi
fi
[ -n "$base" ] || { say missing; exit 1; }
: >"$began"
[ -z "$result" ] || run-as "$package" rm -f "$result" || { say closed; exit 1; }
since=$(date '+%m-%d %H:%M:%S.000') pid= seen= how=late
since_boot
say "began $since $EPOCHREALTIME $up"
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
[ "$how" != late ] || pidof "$package" >/dev/null || how=gone
now=$EPOCHREALTIME
since_boot
[ "$how" != done ] || lit || how=dark
say "ended $how ${pid:-0} $now $up"
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
    r"\n{mark} began (\S+ \S+) ([0-9.]*) ?([0-9.]*)\n.*?\n?{mark} ended (\w+) ([0-9]+) ([0-9.]*) ?([0-9.]*)\n"
    r"(.*)\n{mark} after\n(.*?)\n{mark} done\n"
)
_LINE = re.compile(r"^\S+ \S+ +[0-9]+ +[0-9]+ [VDIWEFA] .*?: ?(.*)$", re.MULTILINE)
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")


@dataclass(frozen=True, slots=True)
class Package:
    """A package file that was staged.

    Attributes:
        path: Where it is on the phone.
        sha256: Its hash.
    """

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds an app.

    Attributes:
        own: Our folder on the phone.
        began: A file there that is written when it is started.
        package: The package that must be installed; None starts what is.
        mark: A word that no app writes.
    """

    own: str
    began: str
    package: Package | None
    mark: str


@dataclass(frozen=True, slots=True)
class Ended:
    """An app that ended, one way or another.

    Attributes:
        completed: What became of it, as of a program.
        state: What `STATE_SCRIPT` printed afterwards.
    """

    completed: Completed
    state: str


def run(phone: Phone, command: Command, app: App, around: Around) -> Ended:
    """Start an app and wait until it has said its result.

    What is installed under its name is replaced only where we installed it, and never goes by itself.

    Args:
        phone: The phone.
        command: Its extras, and its time.
        app: What is started.
        around: What surrounds it.

    Raises:
        BenchmarkFailed: The extras are no pairs, or another build than the one that was given is installed.
        BenchmarkUnsupported: It is not installed, does not let itself be read, or something is asked for that no app
            can be given.
        DeviceLost: The phone went away, or does not answer.
        EnvironmentProblem: It cannot be installed, or the screen is off.
    """
    started, mark = time.monotonic(), around.mark
    with phone.shell(_line(command, app, around), _DOING) as stream:
        stream.end_input()
        while stream.read(started + command.timeout_s + _AROUND_S + ANSWER_S):
            pass
        if stream.exit_code is None:
            raise hung(phone.name, _DOING)
        out, err = (text.decode(errors="replace") for text in (stream.out, stream.err))
    told = re.search(_TOLD.format(mark=mark), out, re.DOTALL)
    if told is None:
        raise _refused(phone, app, out.rstrip().rpartition(f"{mark} ")[2], err)
    since, began, began_up, how, pid, ended, ended_up, text, state = told.groups()
    if how == "dark":
        raise _dark(phone, f"went off while {app.package} ran")
    wall_s = elapsed_s((began, ended), (began_up, ended_up))
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
        wall_s=time.monotonic() - started if wall_s is None else wall_s,
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


def _line(command: Command, app: App, around: Around) -> str:
    if command.env or command.cpus:
        what = "environment variables" if command.env else "CPUs of its own"
        raise BenchmarkUnsupported(f"an app can be given no {what}", hint="use a runner, or leave them out")
    values = {
        "mark": around.mark,
        "package": app.package,
        "activity": app.activity,
        "result": app.result,
        "own": around.own,
        "began": around.began,
        "apk": around.package.path if around.package else "",
        "apk_sha256": around.package.sha256 if around.package else "",
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
    if why == "foreign":
        return BenchmarkFailed(
            f"another build of {app.package} is installed on {phone.name}, and it was not installed by us",
            hint=f"uninstall it (`adb uninstall {app.package}`), or leave the .apk out to measure it",
        )
    if why == "dark":
        return _dark(phone, "is off")
    if why == "uninstalled":
        remedy = next((remedy for code, remedy in _REMEDIES.items() if code in said), None)
        return EnvironmentProblem(f"{app.package} cannot be installed on {phone.name}: {reason}", hint=remedy)
    return lost(phone.name, _DOING, reason)


def _dark(phone: Phone, what: str) -> EnvironmentProblem:
    """Android keeps what nobody can see on other, smaller cores."""
    return EnvironmentProblem(
        f"the screen of {phone.name} {what}: apps are held back then", hint="--screen on; and unlock the phone"
    )
