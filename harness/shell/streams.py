"""Standard streams that nobody reads any more, or that cannot be written."""

from __future__ import annotations

import contextlib
import io
import os
from typing import IO, TextIO, cast


def forget(stream: IO[str]) -> None:
    """Let what could not be written go nowhere.

    Python flushes standard streams again as it exits, and would replace the harness's exit status by its own
    (docs.python.org/3/library/signal.html, "Note on SIGPIPE").
    """
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor has nothing to flush into
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)


def unfailing(stream: TextIO) -> TextIO:
    """The stream, which from now on is silent when it cannot be written."""
    return cast("TextIO", _Unfailing(stream))


class _Unfailing(io.TextIOBase):
    """A stream that goes silent when it cannot be written: nobody's benchmark fails because nobody can watch it.

    Args:
        stream: Where to; a full disk, a closed pipe or a closed file is no error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._encoding = stream.encoding or "utf-8"

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute there
        """Of the stream."""
        return self._encoding

    def isatty(self) -> bool:
        """Whether somebody looks."""
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        """Of the stream."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Write, or go silent."""
        if self._stream is not None:
            try:
                self._stream.write(text)
            except (OSError, ValueError):
                self._go_silent()
        return len(text)

    def flush(self) -> None:
        """Flush, or go silent."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._go_silent()

    def _go_silent(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            forget(stream)
