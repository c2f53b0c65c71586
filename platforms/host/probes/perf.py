"""`perf` of the Linux kernel: whether it is here, and may observe programs.

Source: Documentation/admin-guide/sysctl/kernel.rst and Documentation/admin-guide/perf-security.rst of the kernel.
"""

from __future__ import annotations

import sys
from typing import Final

from harness.core.command import Command, Completed
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import ProbeProblem, Session

PLATFORMS: Final = ("host",)

_PARANOID: Final = "/proc/sys/kernel/perf_event_paranoid"
_USERS_MAY: Final = 2
"""Largest value of that at which users may observe their own programs; Debian and Ubuntu know larger ones."""

_TRIAL_S: Final = 30.0
_MISSING: Final = ProbeProblem(
    "`perf` is not installed", "`apt install linux-perf` (Debian) or `apt install linux-tools-$(uname -r)` (Ubuntu)"
)
_ELSEWHERE: Final = ProbeProblem(
    "`perf` is a tool of Linux", "measure on Linux, or observe the program by a tool of this system"
)
_CONTAINER: Final = (
    "in a container, its system calls are often forbidden: `docker run --cap-add PERFMON`, or a seccomp profile that "
    "allows perf_event_open"
)


def find_problem(session: Session) -> ProbeProblem | None:
    """Return why `perf` cannot observe programs, by trying: none of the kernel's settings says it for certain."""
    if not sys.platform.startswith("linux"):
        return _ELSEWHERE
    version = _try(session, "perf", "--version")
    if version is None or version.exit_code == 127:
        return _MISSING
    if not version.ok:
        return ProbeProblem(f"`perf` does not work: it {version.describe()}", _MISSING.hint)
    trial = _try(session, "perf", "stat", "-x", ";", "-e", "task-clock", "--", "true")
    if trial is not None and trial.ok:
        return None
    level = _read_paranoia(session)
    if level is not None and level > _USERS_MAY:
        return ProbeProblem(
            f"kernel.perf_event_paranoid is {level}, at which only root may observe programs",
            "`sudo sysctl kernel.perf_event_paranoid=1` allows it until the next start",
        )
    ending = "cannot be started" if trial is None else trial.describe()
    return ProbeProblem(f"`perf` may not observe programs here: it {ending}", _CONTAINER)


def _read_paranoia(session: Session) -> int | None:
    shown = _try(session, "cat", _PARANOID)
    if shown is None or not shown.ok:
        return None
    try:
        return int(shown.stdout[:20])
    except ValueError:
        return None


def _try(session: Session, *argv: str) -> Completed | None:
    try:
        return session.run(Command(argv, timeout_s=_TRIAL_S, cpus=(), env={"LC_ALL": "C"}))
    except DeviceLost:
        raise
    except EnvironmentProblem:  # there is no such program
        return None
