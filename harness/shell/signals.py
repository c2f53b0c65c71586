"""Signals that stop the harness, and waiting that ends when one arrives."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

from harness.core.errors import ExitCode, HarnessError

POLL_S: Final = 0.2
"""Interval at which waiting threads check whether the harness is being stopped."""
_ATTEMPT_S = 0.1
"""Interval between two attempts of `poll_until`."""

_AGAIN_S: Final = 0.01
"""Pause before a signal is sent again that came at a moment in which an exception would be taken for another one."""

_HANG_UPS: Final = tuple(signal.Signals[name] for name in ("SIGHUP", "SIGBREAK") if hasattr(signal, name))
"""The end of the terminal: Windows sends SIGBREAK then, and for Ctrl-Break."""
STOPPING: Final = frozenset({signal.SIGINT, signal.SIGTERM, *_HANG_UPS})
"""Signals that stop the harness."""

_stopping = threading.Event()
"""Set by a signal. This and `_deferred` are the only module state, because a signal concerns the whole process."""


class _Deferred:
    """Name of a signal that waits, and how many contexts it waits for. Signals arrive in the main thread only."""

    depth = 0
    name: str | None = None


_deferred = _Deferred()


class Interrupted(HarnessError):
    """Ctrl-C, SIGTERM or SIGHUP arrived; child processes were killed."""

    exit_code = ExitCode.INTERRUPTED


@contextlib.contextmanager
def handle_signals() -> Iterator[None]:
    """Stop in an orderly way on SIGINT, SIGTERM and SIGHUP: kill child processes, then raise `KeyboardInterrupt`.

    SIGHUP stays ignored where it is ignored already, as under `nohup`. On Windows SIGBREAK takes its place.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        if _is_serialising(frame):
            again = threading.Timer(_AGAIN_S, _send_to_main_thread, (number,))
            again.daemon = True
            again.start()
            return
        _stopping.set()
        _deferred.name = signal.Signals(number).name
        if not _deferred.depth:
            _raise_deferred()

    hang_ups = [number for number in _HANG_UPS if signal.getsignal(number) is not signal.SIG_IGN]
    numbers = [signal.SIGINT, signal.SIGTERM, *hang_ups]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stopping.clear()
        _deferred.name = None


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Defer signals to the end of the context: for moments in which a process exists that nothing would kill yet."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _deferred.depth += 1
    try:
        yield
    finally:
        _deferred.depth -= 1
        if not _deferred.depth and _deferred.name is not None:
            _raise_deferred()


def _is_serialising(frame: FrameType | None) -> bool:
    """Return whether pydantic is at work, which would tell an interruption as an error of what it serialises."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module in {"pydantic.main", "pydantic.type_adapter"} and "dump" in frame.f_code.co_name:
            return True
        frame = frame.f_back
    return False


def _send_to_main_thread(number: int) -> None:
    if sys.platform == "win32":
        signal.raise_signal(number)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, number)


def _raise_deferred() -> None:
    name, _deferred.name = _deferred.name, None
    raise KeyboardInterrupt(name)


def is_stopping() -> bool:
    """Return whether a signal asked the harness to stop."""
    return _stopping.is_set()


def set_stopping(*, stopping: bool) -> None:
    """Ask the harness to stop, as a signal does; or let it work again, once everything has stopped."""
    if stopping:
        _stopping.set()
    else:
        _stopping.clear()


def check_stopping() -> None:
    """Give up when the harness is being stopped. Long work that starts no process calls it now and then.

    Raises:
        Interrupted: The harness is being stopped.
    """
    if is_stopping():
        raise Interrupted("stopped while it was working")


def pause(seconds: float) -> None:
    """Sleep, unless the harness is being stopped. The only sleep of the product.

    It polls instead of waiting on an event: the signal handler, which may run in the midst of that very wait, could
    then not set the event.

    Raises:
        Interrupted: The harness is being stopped.
    """
    end = time.monotonic() + seconds
    check_stopping()
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, POLL_S))
        check_stopping()


def poll_until(attempt: Callable[[], bool], timeout_s: float = math.inf) -> bool:
    """Repeat an attempt until it succeeds, for example to take a lock that another process may hold.

    Args:
        attempt: Tries once, without waiting; returns whether it succeeded.
        timeout_s: Time limit.

    Returns:
        False when the time limit expired.

    Raises:
        Interrupted: The harness is being stopped.
    """
    end = time.monotonic() + timeout_s
    while not attempt():
        if time.monotonic() >= end:
            return False
        pause(_ATTEMPT_S)
    return True
