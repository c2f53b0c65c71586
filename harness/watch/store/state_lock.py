"""One watcher for one state: a lock that the system keeps, and a note that says whose it is."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from harness.files.atomic import write_atomically
from harness.files.locks import FileLock


class Holder(Value):
    """A watcher.

    Attributes:
        pid: Its process.
        host: The machine.
        started: Unix seconds of the process's start: a pid is used again, a pid with this start is not.
    """

    pid: int
    host: str
    started: float

    @property
    def alive(self) -> bool | None:
        """Whether it still runs; None where that cannot be seen, because it is on another machine."""
        if self.host != socket.gethostname():
            return None
        try:
            return abs(psutil.Process(self.pid).create_time() - self.started) < _SAME_S
        except psutil.Error:
            return False

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


_SAME_S = 2.0
"""`psutil` counts from the boot's wall-clock time, which settles by a little when the clock is set."""


def ourselves() -> Holder:
    """This process."""
    return Holder(pid=os.getpid(), host=socket.gethostname(), started=psutil.Process().create_time())


def last_holder(state: Path) -> Holder | None:
    """Who holds or held a state last, as far as the note beside it says."""
    try:
        return Holder.model_validate_json(_note(state).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


@contextlib.contextmanager
def claimed(state: Path) -> Iterator[Holder | None]:
    """Hold a state. The lock ends with the process, however that ends, so a dead holder is taken over from.

    Gives:
        Who held it before and did not let it go; None where nobody did.

    Raises:
        EnvironmentProblem: Another watcher has it, or its folder cannot be written.
    """
    lock = FileLock(state.with_name(f"{state.name}.lock"))
    try:
        free = lock.acquire()
    except OSError as error:
        raise EnvironmentProblem(f"cannot claim the state {state}: {error}", hint="is its folder yours?") from error
    if not free:
        whose = last_holder(state)
        raise EnvironmentProblem(
            f"another watcher has the state {state}: {whose or 'one that is just starting'}",
            hint="`harness status` shows what it does; stop it, or name another file for the state",
        )
    with lock:
        before = last_holder(state)
        try:
            _write_note(state)
            yield before
        finally:
            _note(state).unlink(missing_ok=True)


def _note(state: Path) -> Path:
    return state.with_name(f"{state.name}.holder")


def _write_note(state: Path) -> None:
    try:
        write_atomically(_note(state), ourselves().model_dump_json())
    except OSError as error:
        raise EnvironmentProblem(f"cannot claim the state {state}: {error}", hint="make room on its disk") from error
