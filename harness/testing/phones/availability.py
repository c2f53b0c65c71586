"""Whether this machine can have stand-in phones."""

from __future__ import annotations

from functools import cache

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.testing.phones.android import binaries, container
from harness.testing.phones.unavailable import StandInUnavailable


@cache
def reason() -> str | None:
    """Why it cannot, or None. Fetches the parts where they are missing: only that shows that they can be had."""
    try:
        check_namespaces()
        binaries.find()
    except StandInUnavailable as problem:
        return str(problem)
    return None


def check_namespaces() -> None:
    """Try what every phone does first: enter namespaces, mount.

    Raises:
        StandInUnavailable: The kernel, or a container around us, forbids it.
    """
    probe = Command(("unshare", *container.NAMESPACES, "mount", "-t", "proc", "proc", "/proc"), timeout_s=20.0)
    try:
        completed = shell.run(probe)
    except EnvironmentProblem as problem:
        raise StandInUnavailable(problem.message, hint="stand-in phones need Linux and util-linux") from problem
    if not completed.ok:
        raise StandInUnavailable(
            f"user namespaces are not to be had here: {completed.describe()}",
            hint="containers often forbid them (Docker: --security-opt seccomp=unconfined), and so may "
            "kernel.apparmor_restrict_unprivileged_userns or user.max_user_namespaces",
        )
