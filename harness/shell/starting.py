"""Starting programs: argument lists, an environment without the harness's secrets, a process group each."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem
from harness.shell.children import CREATION_FLAGS, LEADS_GROUP, ChildProcess, program_words
from harness.shell.guardian import start_guardian
from harness.shell.process import RunningProcess
from harness.shell.signals import Interrupted, defer_signals, is_stopping

_SECRET = frozenset(
    {"HARNESS_REMOTE_TOKEN", "HARNESS_REMOTE_TOKEN_FILE", "HARNESS_HOOK_SECRET", "HARNESS_DATABASE", "PGPASSWORD"}
)


def run(
    command: Command,
    *,
    env: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    progress: Callable[[], object] | None = None,
    on_start: Callable[[int], object] | None = None,
) -> Completed:
    """Run a program until it exits, and capture its output.

    Its environment is the harness's own, overridden by `env`, then by the command's. It leads a process group of its
    own, which is killed as a whole when the time limit expires, when the harness is interrupted, and when it is killed.

    Args:
        command: What to start.
        env: Environment variables in addition to the command's.
        on_line: Called with each line of standard error as it arrives.
        progress: Returns how far the program is, several times a second; the time limit begins anew whenever that
            changes, so that it is the time without progress. None leaves the limit.
        on_start: Called with the number of its process as soon as it has one.

    Raises:
        EnvironmentProblem: The program cannot be started at all.
        Interrupted: The harness is being stopped.
    """
    with _running(command, env or {}, subprocess.DEVNULL, on_line, on_start=on_start) as running:
        return running.finish(progress)


@contextlib.contextmanager
def start(
    command: Command, *, tidies_up: bool = False, on_start: Callable[[int], object] | None = None
) -> Iterator[RunningProcess]:
    """Start a program whose standard input and output are used while it runs.

    It is killed at the end of the context, unless `finish` was called before. Everything else is as in `run`.

    Args:
        command: What to start.
        tidies_up: Whether it ends by itself when its standard input does, and has something to do then: it is not
            killed when the harness is.
        on_start: Called with the number of its process as soon as it has one.

    Raises:
        EnvironmentProblem: The program cannot be started at all.
        Interrupted: The harness is being stopped.
    """
    with _running(command, {}, subprocess.PIPE, None, guarded=not tidies_up, on_start=on_start) as running:
        yield running


def read_output(argv: Sequence[str], *, timeout_s: float = 30.0) -> str | None:
    """Return the standard output of a small tool, or None when it is missing, fails or hangs."""
    try:
        completed = run(Command(tuple(argv), timeout_s=timeout_s))
    except EnvironmentProblem:
        return None
    return completed.stdout if completed.ok else None


def which(program: str, path: Path | None = None) -> Path | None:
    """Return the path of a program, from `PATH` or from one folder; None when there is none."""
    file = shutil.which(program, path=str(path) if path else None)
    return Path(file) if file else None


def inherited_environment() -> dict[str, str]:
    """Return the harness's environment variables without its secrets."""
    return {name: value for name, value in os.environ.items() if name not in _SECRET}


def kill_with_harness(command: Command) -> Command:
    """Return the command such that Linux kills its process when the harness is killed, and no later run is disturbed.

    Raises:
        EnvironmentProblem: There is no such program; behind the prefix this would look like a failure of the prefix.
    """
    locate_program(command)
    return command.replace_argv((*_parent_death_prefix(), *command.argv))


def locate_program(command: Command) -> Path:
    """Return the path of a command's program.

    Raises:
        EnvironmentProblem: There is no such program.
    """
    program = command.argv[0]
    is_path = any(separator in program for separator in ("/", os.sep))
    place = str((command.cwd or Path()) / program) if is_path else program
    file = shutil.which(place, path=command.env.get("PATH"))
    if file is None and is_path and command.cwd is not None and not Path(program).is_absolute():
        raise EnvironmentProblem(
            f"cannot start {program}: no such program in the folder in which programs start, which is one of their own",
            hint="write its whole path, or `{program}` and give it with --program, or name it in `files`",
        )
    if file is None:
        raise _no_such_program(program)
    return Path(file)


@cache
def _parent_death_prefix() -> tuple[str, ...]:
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


def _no_such_program(program: str) -> EnvironmentProblem:
    return EnvironmentProblem(f"cannot start {program}: no such program", hint="check the path, or install it")


@contextlib.contextmanager
def _running(
    command: Command,
    env: Mapping[str, str],
    stdin: int,
    on_line: Callable[[str], None] | None,
    *,
    guarded: bool = True,
    on_start: Callable[[int], object] | None = None,
) -> Iterator[RunningProcess]:
    if is_stopping():
        raise Interrupted("stopped before the program was started")
    with contextlib.ExitStack() as stack:
        guardian = start_guardian() if guarded else None
        with defer_signals():
            process = start_process(command, env, stdin)
            running = RunningProcess(command, process, on_line, guardian)
            stack.callback(running.close)
        if on_start is not None:
            on_start(process.pid)
        yield running


def start_process(
    command: Command, env: Mapping[str, str], stdin: int, *, stderr: int = subprocess.PIPE
) -> ChildProcess:
    """Start a program that nothing ends yet, as the leader of a process group; for the modules of this package.

    Raises:
        EnvironmentProblem: It cannot be started.
    """
    try:
        started = time.time()
        process = ChildProcess(
            program_words(command.argv),
            bufsize=0,  # lines that we write arrive at once
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**inherited_environment(), **env, **command.env},
            cwd=command.cwd,
            process_group=LEADS_GROUP,
            creationflags=CREATION_FLAGS,
        )
    except FileNotFoundError as error:
        if command.cwd is not None and not command.cwd.is_dir():
            raise EnvironmentProblem(f"cannot start {command.argv[0]}: there is no folder {command.cwd}") from error
        raise _no_such_program(command.argv[0]) from error
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"cannot start {command.argv[0]}: {error}") from error
    process.started = started
    return process
