"""Apps in place of programs: installed, started, waited for, and stopped, in one shell on the phone.

An app does not report how it ended. It is judged by a result that stays the same for two readings, its process, and the
system's log.
"""

from __future__ import annotations

import math
import re
import shlex
import time
from typing import Final

from msgspec import Struct

from harness.core.app import App
from harness.core.command import SIGKILL, Command, Completed
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, EnvironmentProblem, HarnessError
from platforms.android.launch.logcat import read_log
from platforms.android.launch.script import STATE_FUNCTION, elapsed_s
from platforms.android.link.errors import lost_error, unresponsive_error
from platforms.android.link.phone import Phone
from platforms.android.link.protocol import ANSWER_S
from platforms.android.scripts import assign_variables, read_script

_KEYGUARD: Final = read_script("keyguard.sh")
_SCRIPT: Final = STATE_FUNCTION + _KEYGUARD + read_script("log_clock.sh") + read_script("app.sh")
_FIND: Final = 'pm path "$1" 2>/dev/null'
_INSTALL_S: Final = 180.0
"""Time limit of installing and starting: a large app is compiled when it is installed."""
_LARGEST_INT: Final = (1 << 31) - 1
_DOING: Final = "an app ran on it"
_REMEDIES: Final = {
    "INSTALL_FAILED_USER_RESTRICTED": 'switch "Install via USB" on in its developer options, and confirm what it asks',
    "INSTALL_FAILED_VERSION_DOWNGRADE": "uninstall the newer one first, or raise its version code",
    "INSTALL_FAILED_INSUFFICIENT_STORAGE": "delete something on the phone",
}
"""By code of Android's `PackageManager`."""
_REPORT: Final = (
    r"\n{mark} began (\S+ \S+) ([0-9.]*) ?([0-9.]*)\n.*?\n?{mark} ended (\w+) ([0-9]+) ([0-9.]*) ?([0-9.]*)\n"
    r"(.*)\n{mark} after\n(.*?)\n{mark} done\n"
)
_LOG_MESSAGE = re.compile(r"^\S+ \S+ +[0-9]+ +[0-9]+ [VDIWEFA] .*?: ?(.*)$", re.MULTILINE)
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")


class AppPackage(Struct, frozen=True):
    """A package file that was staged.

    Attributes:
        path: Its path on the phone.
        sha256: Its hash.
    """

    path: str
    sha256: str


class AppContext(Struct, frozen=True):
    """Surroundings of an app.

    Attributes:
        workdir: Our working folder on the phone.
        began: A file there that is written when it starts.
        package: The package that must be installed; None starts what is installed.
        mark: A word that no app writes.
    """

    workdir: str
    began: str
    package: AppPackage | None
    mark: str


def run_app(phone: Phone, command: Command, app: App, context: AppContext) -> tuple[Completed, str]:
    """Start an app and wait for its result.

    What is installed under its name is replaced only if the harness installed it, and never removed.

    Args:
        phone: The phone.
        command: Its extras, and its time.
        app: The app.
        context: Its surroundings.

    Returns:
        Its result, as of a program, and the output of `STATE_SCRIPT` afterwards.

    Raises:
        BenchmarkFailed: The extras are no pairs, or another build than the one that was given is installed.
        BenchmarkUnsupported: It is not installed, does not let itself be read, or something is requested that no app
            can have.
        DeviceLost: The phone became unreachable, or does not answer.
        EnvironmentProblem: It cannot be installed, or the screen is off or locked.
    """
    started = time.monotonic()
    with phone.shell(_launch_line(command, app, context), _DOING) as stream:
        stream.close_stdin()
        probe = phone.probe()
        while probe.read(stream, started + command.timeout_s + _INSTALL_S + ANSWER_S):
            pass
        if stream.exit_code is None:
            raise unresponsive_error(phone.name, _DOING)
        out, err = (text.decode(errors="replace") for text in (stream.out, stream.err))
    report = re.search(_REPORT.format(mark=context.mark), out, re.DOTALL)
    if report is None:
        raise _not_started(phone, app, out.rstrip().rpartition(f"{context.mark} ")[2], err)
    since, began, began_uptime, end, pid, ended, ended_uptime, text, state = report.groups()
    if end == "dark":
        raise _screen_off(phone, f"went off while {app.package} ran")
    wall_s = elapsed_s((began, ended), (began_uptime, ended_uptime))
    timed_out = end == "late"
    if end == "gone":
        err += read_log(phone, int(pid), since) or f"{app.package} ended and left no result\n"
    argv = ("am", "start", "-W", "-S", "-n", f"{app.package}/{app.activity}", *format_extras(command.argv))
    completed = Completed(
        command=command.replace_argv(argv),
        exit_code=None if timed_out else int(end != "done"),
        signal=SIGKILL if timed_out else None,
        timed_out=timed_out,
        stdout=text if app.result else "".join(f"{line}\n" for line in _LOG_MESSAGE.findall(text)),
        stderr=err,
        wall_s=time.monotonic() - started if wall_s is None else wall_s,
    )
    return completed, state


def check_installed(phone: Phone, package: str) -> None:
    """Check that an app is installed.

    Raises:
        BenchmarkUnsupported: It is not.
        DeviceLost: The phone became unreachable.
    """
    if not phone.sh(_FIND, package).stdout.strip():
        raise _missing(phone, package)


def check_unlocked(phone: Phone) -> None:
    """Check that no lock screen is shown.

    Raises:
        EnvironmentProblem: One is.
        DeviceLost: The phone became unreachable.
    """
    if phone.sh(f"{_KEYGUARD}keyguard_is_shown").exit_code == 0:
        raise _locked(phone)


def format_extras(argv: tuple[str, ...]) -> list[str]:
    """Return names and values, given in turn, as extras of `am start`: integers, decimal numbers and booleans as such.

    Raises:
        BenchmarkFailed: A name has no value.
    """
    if len(argv) % 2:
        raise BenchmarkFailed(f"the extra {argv[-1]!r} of an app has no value", hint="names and values in turn")
    words: list[str] = []
    for name, value in zip(argv[::2], argv[1::2], strict=True):
        words.extend((_extra_flag(value), name, value))
    return words


def _extra_flag(value: str) -> str:
    if value in {"true", "false"}:
        return "--ez"
    if _INTEGER.fullmatch(value):
        return "--ei" if abs(int(value)) <= _LARGEST_INT else "--el"
    return "--ef" if _DECIMAL.fullmatch(value) else "--es"


def _launch_line(command: Command, app: App, context: AppContext) -> str:
    if command.env or command.cpus:
        unsupported = "environment variables" if command.env else "CPUs of its own"
        raise BenchmarkUnsupported(f"an app can be given no {unsupported}", hint="use a runner, or leave them out")
    if not app.activity:
        raise BenchmarkUnsupported(
            f"{app.package} has no `activity`, by which Android starts an app",
            hint="name it in `app`; tests of Xcode (`tests`) run on iPhones only",
        )
    variables = {
        "mark": context.mark,
        "package": app.package,
        "activity": app.activity,
        "result": app.result,
        "workdir": context.workdir,
        "began": context.began,
        "apk": context.package.path if context.package else "",
        "apk_sha256": context.package.sha256 if context.package else "",
        "limit": str(math.ceil(command.timeout_s)),
    }
    return f"{assign_variables(variables)}set -- {shlex.join(format_extras(command.argv))}\n{_SCRIPT}"


def _not_started(phone: Phone, app: App, word: str, stderr: str) -> HarnessError:
    reason = (stderr.strip().splitlines() or ["there is no answer"])[-1]
    if word == "missing":
        return _missing(phone, app.package)
    if word == "closed":
        return BenchmarkUnsupported(
            f"{app.package} does not let its files be read: {reason}", hint="build it debuggable (`run-as` needs that)"
        )
    if word == "foreign":
        return BenchmarkFailed(
            f"another build of {app.package} is installed on {phone.name}, and it was not installed by us",
            hint=f"uninstall it (`adb uninstall {app.package}`), or leave the .apk out to measure it",
        )
    if word in {"dark", "locked"}:
        return _screen_off(phone, "is off") if word == "dark" else _locked(phone)
    if word == "uninstalled":
        remedy = next((remedy for code, remedy in _REMEDIES.items() if code in stderr), None)
        return EnvironmentProblem(f"{app.package} cannot be installed on {phone.name}: {reason}", hint=remedy)
    return lost_error(phone.name, _DOING, reason)


def _locked(phone: Phone) -> EnvironmentProblem:
    """Return the error of a lock screen: what is started behind it is not seen by anybody, either."""
    return EnvironmentProblem(
        f"{phone.name} is locked: behind the lock screen apps run in the background, on small cores",
        hint="unlock it, and switch its screen lock off while you measure apps",
    )


def _missing(phone: Phone, package: str) -> BenchmarkUnsupported:
    return BenchmarkUnsupported(
        f"{package} is not installed on {phone.name}", hint="install it, or give its .apk as a program"
    )


def _screen_off(phone: Phone, what: str) -> EnvironmentProblem:
    """Return the error of a dark screen: Android keeps apps that nobody can see on other, smaller cores."""
    return EnvironmentProblem(
        f"the screen of {phone.name} {what}: apps are slowed down then", hint="--screen on; and unlock the phone"
    )
