"""How everything that waits gives up when the harness is being stopped."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from harness.core.errors import ExitCode, HarnessError

LOOK_S: Final = 0.2
"""How often a waiting thread looks whether the harness is being stopped."""
_TRY_S = 0.1
"""How often it looks whether a lock is free."""

_stopping = threading.Event()
"""Set by a signal. This and `_held` are the only state of this package, because a signal concerns the whole process."""


class _Held:
    """Signals arrive in the main thread, between any two of its steps; here they wait for the end of some steps."""

    depth = 0
    name: str | None = None


_held = _Held()


class Interrupted(HarnessError):
    """Ctrl-C, SIGTERM or SIGHUP arrived; children were ended."""

    exit_code = ExitCode.INTERRUPTED


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into an orderly end: children are killed, `KeyboardInterrupt` unwinds the flow.

    SIGHUP stays ignored where it is, that is under `nohup`.
    """

    def stop(number: int, _frame: object) -> None:
        _stopping.set()
        _held.name = signal.Signals(number).name
        if not _held.depth:
            _raise_held()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stopping.clear()
        _held.name = None


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """Let a signal wait until the context ends: for the moments in which a process is there that nobody would end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _held.depth += 1
    try:
        yield
    finally:
        _held.depth -= 1
        if not _held.depth and _held.name is not None:
            _raise_held()


def _raise_held() -> None:
    name, _held.name = _held.name, None
    raise KeyboardInterrupt(name)


def is_stopping() -> bool:
    """Whether a signal asked the harness to stop."""
    return _stopping.is_set()


def check_stopping() -> None:
    """For long work that starts no process: give up when the harness is being stopped.

    Raises:
        Interrupted: It is.
    """
    if is_stopping():
        raise Interrupted("stopped while it was working")


def pause(seconds: float) -> None:
    """Let time pass, unless the harness is being stopped. The one way to wait for nothing but time.

    It looks again and again and does not wait on an event: the signal handler, which may run in the midst of that very
    wait, could then not set it.

    Raises:
        Interrupted: The harness is being stopped.
    """
    end = time.monotonic() + seconds
    check_stopping()
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_S))
        check_stopping()


def patiently(attempt: Callable[[], bool], timeout_s: float = math.inf) -> bool:
    """Try until it succeeds: a lock that another process may hold.

    Args:
        attempt: Tries once, without waiting.
        timeout_s: For how long.

    Returns:
        False when the time is over.

    Raises:
        Interrupted: The harness is being stopped.
    """
    end = time.monotonic() + timeout_s
    while not attempt():
        if time.monotonic() >= end:
            return False
        pause(_TRY_S)
    return True
