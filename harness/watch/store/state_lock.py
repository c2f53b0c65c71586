"""Lock of a state, for one watcher, and the note beside it that names the owner."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil
from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from harness.files.atomic import write_atomically
from harness.files.locks import FileLock

_SAME_S: Final = 2.0
"""`psutil` counts from the boot's wall-clock time, which settles by a little when the clock is set."""


class Owner(Value):
    """Watcher that owns a state.

    Attributes:
        pid: Its process.
        host: The machine.
        started: Unix seconds of the process's start: a pid is used again, a pid with this start is not.
    """

    pid: int
    host: str
    started: float

    @property
    def is_alive(self) -> bool | None:
        """Return whether it still runs; None where it is on another machine, which cannot be asked."""
        if self.host != socket.gethostname():
            return None
        try:
            return abs(psutil.Process(self.pid).create_time() - self.started) < _SAME_S
        except psutil.Error:
            return False

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def this_process() -> Owner:
    """Return this process as an owner."""
    return Owner(pid=os.getpid(), host=socket.gethostname(), started=psutil.Process().create_time())


def last_owner(state: Path) -> Owner | None:
    """Return the present or last owner of a state, as far as the note beside it names one."""
    try:
        return Owner.model_validate_json(_note(state).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


@contextlib.contextmanager
def lock_state(state: Path) -> Iterator[Owner | None]:
    """Own a state. The lock ends with the process, however that ends, so a dead owner is taken over from.

    Yields:
        The watcher that owned it before and did not release it; None where there was none.

    Raises:
        EnvironmentProblem: Another watcher has it, or its folder cannot be written.
    """
    lock = FileLock(state.with_name(f"{state.name}.lock"))
    try:
        is_locked = lock.acquire()
    except OSError as error:
        raise EnvironmentProblem(f"cannot lock the state {state}: {error}", hint="is its folder yours?") from error
    previous = last_owner(state)
    if not is_locked:
        raise EnvironmentProblem(
            f"another watcher has the state {state}: {previous or 'one that is just starting'}",
            hint="`harness status` shows what it does; stop it, or name another file for the state",
        )
    try:
        _write_note(state)
        yield previous
    finally:
        _note(state).unlink(missing_ok=True)
        lock.release()


def _note(state: Path) -> Path:
    return state.with_name(f"{state.name}.holder")


def _write_note(state: Path) -> None:
    try:
        write_atomically(_note(state), this_process().model_dump_json())
    except OSError as error:
        raise EnvironmentProblem(f"cannot lock the state {state}: {error}", hint="make room on its disk") from error
