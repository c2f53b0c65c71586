"""Reading of several pipes at once: what a program writes to its outputs, as it arrives.

Linux and macOS wait for pipes without a thread (`select`). Windows does so for sockets only: there a thread waits for
each pipe.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import selectors
import threading
from collections.abc import Sequence
from typing import IO, Final, Protocol

_CHUNK_BYTES: Final = 1 << 16
_ARRIVAL_S: Final = 0.2
"""Time for which threads may hand on what is in a pipe already; over when nobody writes to it any longer."""
_END_S: Final = 1.0
"""Time for which a thread may notice that its pipe was closed at the other end."""


class PipeReader(Protocol):
    """Reader of pipes, which belong to it from now on. One thread reads; any may close."""

    @property
    def is_exhausted(self) -> bool:
        """Whether every pipe has come to its end."""
        ...

    def read(self, timeout_s: float) -> Sequence[tuple[IO[bytes], bytes]]:
        """Wait until something arrives, for so long at most; 0.0 returns what was written before the call.

        Returns:
            Chunks with the pipes that they are from, an empty chunk at the end of a pipe.
        """
        ...

    def close(self) -> None:
        """Close the pipes."""
        ...


def open_reader(pipes: Sequence[IO[bytes]]) -> PipeReader:
    """Return the reader of this system."""
    return SelectingReader(pipes) if hasattr(select, "poll") else ThreadedReader(pipes)


class SelectingReader:
    """Reader that the kernel tells which pipe has something (`PipeReader`)."""

    def __init__(self, pipes: Sequence[IO[bytes]]) -> None:
        self._pipes = pipes
        self._selector = selectors.DefaultSelector()
        for pipe in pipes:
            self._selector.register(pipe, selectors.EVENT_READ, pipe)

    @property
    def is_exhausted(self) -> bool:
        """Whether every pipe has come to its end."""
        return not self._selector.get_map()

    def read(self, timeout_s: float) -> Sequence[tuple[IO[bytes], bytes]]:
        """Wait until something arrives (`PipeReader.read`)."""
        chunks = []
        for key, _ in self._selector.select(timeout_s):
            chunk = os.read(key.fd, _CHUNK_BYTES)
            if not chunk:
                self._selector.unregister(key.fileobj)
            chunks.append((key.data, chunk))
        return chunks

    def close(self) -> None:
        """Close the pipes."""
        self._selector.close()
        for pipe in self._pipes:
            pipe.close()


class ThreadedReader:
    """Reader with a thread for each pipe, which closes it (`PipeReader`).

    No other thread may close a pipe that is being read: its number could be another file's at the next reading. A pipe
    that a program keeps open which nobody ended stays open, with its thread.
    """

    def __init__(self, pipes: Sequence[IO[bytes]]) -> None:
        self._arrived: queue.Queue[tuple[IO[bytes], bytes]] = queue.Queue(maxsize=64)
        self._open = set(pipes)
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(pipe,), name=f"pipe-{pipe.fileno()}", daemon=True)
            for pipe in pipes
        ]
        for thread in self._threads:
            thread.start()

    @property
    def is_exhausted(self) -> bool:
        """Whether every pipe has come to its end."""
        return not self._open

    def read(self, timeout_s: float) -> Sequence[tuple[IO[bytes], bytes]]:
        """Wait until something arrives (`PipeReader.read`)."""
        try:
            pipe, chunk = self._arrived.get(timeout=timeout_s or _ARRIVAL_S)
        except queue.Empty:
            return ()
        if not chunk:
            self._open.discard(pipe)
        return ((pipe, chunk),)

    def close(self) -> None:
        """Close the pipes."""
        self._closing.set()
        for thread in self._threads:
            thread.join(_END_S)

    def _follow(self, pipe: IO[bytes]) -> None:
        with pipe:
            chunk = b"-"
            while chunk and not self._closing.is_set():
                chunk = os.read(pipe.fileno(), _CHUNK_BYTES)
                self._hand_on(pipe, chunk)

    def _hand_on(self, pipe: IO[bytes], chunk: bytes) -> None:
        while not self._closing.is_set():
            with contextlib.suppress(queue.Full):
                self._arrived.put((pipe, chunk), timeout=_ARRIVAL_S)
                return
