"""How programs are started: argument lists, an environment without our secrets, a process group each."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem
from harness.shell.process import Running
from harness.shell.signals import Interrupted, is_stopping, unbroken

_SECRET = frozenset({"HARNESS_REMOTE_TOKEN", "HARNESS_REMOTE_TOKEN_FILE", "HARNESS_HOOK_SECRET"})


def run(
    command: Command, *, env: Mapping[str, str] | None = None, on_line: Callable[[str], None] | None = None
) -> Completed:
    """Run one program to its end and capture what it writes.

    The environment is the harness's own, then `env`, then the command's; nothing is left behind in the harness.
    The program leads a process group of its own, which is killed whole on expiry and on interruption.

    Args:
        command: What to start.
        env: Variables beside the command's.
        on_line: Called with each line of standard error as it arrives.

    Raises:
        EnvironmentProblem: The program cannot be started at all.
        Interrupted: The harness is being stopped.
    """
    with _running(command, env or {}, subprocess.DEVNULL, on_line) as running:
        return running.finish()


@contextlib.contextmanager
def start(command: Command) -> Iterator[Running]:
    """Start a program to talk with. It is ended with the context, whatever happened; everything else is as in `run`.

    Args:
        command: What to start.

    Raises:
        EnvironmentProblem: The program cannot be started at all.
        Interrupted: The harness is being stopped.
    """
    with _running(command, {}, subprocess.PIPE, None) as running:
        yield running


def output(argv: Sequence[str], *, timeout_s: float = 30.0) -> str | None:
    """What a small tool prints, or None when it is missing, fails or hangs. For asking, not for measuring."""
    try:
        completed = run(Command(tuple(argv), timeout_s=timeout_s))
    except EnvironmentProblem:
        return None
    return completed.stdout if completed.ok else None


def which(program: str, path: Path | None = None) -> Path | None:
    """Where a program is, or None."""
    found = shutil.which(program, path=str(path) if path else None)
    return Path(found) if found else None


def inherited() -> dict[str, str]:
    """The harness's environment as programs may see it: without its secrets."""
    return {name: value for name, value in os.environ.items() if name not in _SECRET}


def dying_with_us(command: Command) -> Command:
    """The same start, which Linux ends when the harness is killed: what a killed run left disturbs no later one.

    Raises:
        EnvironmentProblem: There is no such program; behind the prefix it would look like a failure of the prefix.
    """
    located(command)
    return command.replace_argv((*_death_prefix(), *command.argv))


def located(command: Command) -> Path:
    """Where the program of a command is.

    Raises:
        EnvironmentProblem: There is no such program.
    """
    program = command.argv[0]
    place = program if "/" not in program else str((command.cwd or Path()) / program)
    found = shutil.which(place, path=command.env.get("PATH"))
    if found is None:
        raise _no_such_program(program)
    return Path(found)


@cache
def _death_prefix() -> tuple[str, ...]:
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


def _no_such_program(program: str) -> EnvironmentProblem:
    return EnvironmentProblem(f"cannot start {program}: no such program", hint="check the path, or install it")


@contextlib.contextmanager
def _running(
    command: Command, env: Mapping[str, str], stdin: int, on_line: Callable[[str], None] | None
) -> Iterator[Running]:
    if is_stopping():
        raise Interrupted("stopped before the program was started")
    with contextlib.ExitStack() as stack:
        with unbroken():
            running = Running(command, _start(command, {**inherited(), **env, **command.env}, stdin), on_line)
            stack.callback(running.close)
        yield running


def _start(command: Command, environment: Mapping[str, str], stdin: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command.argv,
            bufsize=0,  # what is told arrives at once
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=command.cwd,
            process_group=0,
        )
    except FileNotFoundError as error:
        if command.cwd is not None and not command.cwd.is_dir():
            raise EnvironmentProblem(f"cannot start {command.argv[0]}: there is no folder {command.cwd}") from error
        raise _no_such_program(command.argv[0]) from error
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"cannot start {command.argv[0]}: {error}") from error
