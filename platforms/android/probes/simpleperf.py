"""`simpleperf`, which Android 9 and later have: whether it may observe programs, and a phone that stays as it was.

It switches `security.perf_harden` off and leaves it so until the next start. Here that is put back.
Source: system/extras/simpleperf (`environment.cpp`, `CheckPerfEventLimit`) and its documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from harness.core.command import Command
from harness.core.protocols import ProbeProblem, Session
from harness.probes.exit_status import keep_exit_status

PLATFORMS: Final = ("android",)
PROGRAM: Final = "simpleperf"

_PUTTING_BACK: Final = """\
harden=$(getprop security.perf_harden)
"$@"
code=$?
[ "$(getprop security.perf_harden)" = "$harden" ] || setprop security.perf_harden "$harden"
[ "$code" -le 128 ] || kill -"$((code - 128))" $$
exit "$code"
"""
_TRIAL_S: Final = 30.0
_NOT_FOUND: Final = 127
_PUSH: Final = (
    "push the one of the NDK (`simpleperf/bin/android/arm64/simpleperf`) to /data/local/tmp, make it executable, and "
    "name it with the option `program`"
)
_PERMIT: Final = "`adb shell setprop security.perf_harden 0` allows it where the phone lets the shell do that"


def find_problem(session: Session, program: str) -> ProbeProblem | None:
    """Return why simpleperf cannot observe programs, by trying."""
    words = put_back((program, "stat", "-e", "task-clock", "true"))
    trial = session.run(Command(words, timeout_s=_TRIAL_S, cpus=()))
    if trial.ok:
        return None
    if trial.exit_code == _NOT_FOUND:
        return ProbeProblem(f"`{program}` is not on this phone", _PUSH)
    return ProbeProblem(f"`{program}` may not observe programs here: it {trial.describe()}", _PERMIT)


def put_back(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command after which the phone is as it was before."""
    return ("sh", "-c", _PUTTING_BACK, "sh", *words)


def put_around(tool: Sequence[str], command: Command, status: str) -> Command:
    """Return a command under simpleperf; its variables are not for simpleperf, which an `LD_LIBRARY_PATH` may break."""
    variables = [f"{name}={value}" for name, value in command.env.items()]
    program = ("env", *variables, *command.argv) if variables else command.argv
    return replace(command, argv=put_back(keep_exit_status(tool, program, status)), env={})
