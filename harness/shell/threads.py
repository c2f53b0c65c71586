"""Waiting for threads that work, in the thread that handles signals."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Future, wait
from typing import TypeVar

from harness.shell.signals import POLL_S

T = TypeVar("T")


def wait_for_all(futures: Collection[Future[T]]) -> None:
    """Wait until all have ended, also those that fail.

    The system may give a signal to any thread, and Python handles it in the main one, when that runs again: it must not
    sleep for as long as the others work.
    """
    while wait(futures, POLL_S).not_done:
        pass
