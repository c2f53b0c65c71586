"""Calls of the harness as a library: they install no signal handlers, and end in an orderly way when interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from harness.shell import signals
from harness.shell.threads import wait_for_all

T = TypeVar("T")


class _Calls:
    """Number of calls that have not ended. State of the module, because an interruption concerns the whole process."""

    lock = threading.Lock()
    count = 0


def call_interruptibly(function: Callable[[], T]) -> T:
    """Call a function in a thread of its own, and stop it in an orderly way if the calling thread is interrupted.

    Whatever the handlers of the program raise in the calling thread, such as Python's own `KeyboardInterrupt` in a
    notebook, ends child processes first, and then goes on. May be called from any thread. An interruption stops what
    other threads have begun this way, too.

    Raises:
        Interrupted: Another thread was interrupted.
    """
    with _Calls.lock:
        _Calls.count += 1

    def call() -> T:
        try:
            return function()
        finally:
            with _Calls.lock:
                _Calls.count -= 1
                if not _Calls.count:
                    signals.set_stopping(stopping=False)

    with ThreadPoolExecutor(1, thread_name_prefix="harness") as pool:
        future = pool.submit(call)
        try:
            wait_for_all([future])
            return future.result()
        finally:
            with _Calls.lock:
                if not future.done() and _Calls.count:
                    signals.set_stopping(stopping=True)
