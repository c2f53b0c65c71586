"""An event loop in a thread of its own, for code that waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Final, TypeVar

_Result = TypeVar("_Result")
_ANSWER_S: Final = 60.0


class Events:
    """A loop that runs elsewhere.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def do(self, work: Coroutine[object, object, _Result]) -> _Result:
        """Let the loop do something, and wait for what comes of it.

        Raises:
            TimeoutError: It takes too long.
        """
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_ANSWER_S)


@contextlib.contextmanager
def running() -> Iterator[Events]:
    """Run an event loop in a thread, for as long as the context lasts."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, name="stand-in phones", daemon=True)
        thread.start()
        try:
            yield Events(loop)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
