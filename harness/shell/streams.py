"""Standard streams that nobody reads any more, or that cannot be written to."""

from __future__ import annotations

import contextlib
import io
import os
from typing import IO, TextIO, cast


def discard_output(stream: IO[str]) -> None:
    """Redirect a stream, with what is still in its buffer, to the null device.

    Python flushes standard streams again as it exits, and would replace the harness's exit status by its own
    (docs.python.org/3/library/signal.html, "Note on SIGPIPE").
    """
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor has nothing to flush into
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)


def never_failing(stream: TextIO) -> TextIO:
    """Return the stream as one that discards its text once it cannot be written to."""
    return cast("TextIO", _NeverFailing(stream))


class _NeverFailing(io.TextIOBase):
    """Stream that discards its text once it cannot be written to: no benchmark fails because nobody can watch it.

    Args:
        stream: Where to; a full disk, a closed pipe or a closed file is no error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._encoding = stream.encoding or "utf-8"

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute there
        """Encoding of the stream."""
        return self._encoding

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        """Return the stream's file descriptor."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Write the text, or discard it."""
        if self._stream is not None:
            try:
                self._stream.write(text)
            except (OSError, ValueError):
                self._discard()
        return len(text)

    def flush(self) -> None:
        """Flush, or discard."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._discard()

    def _discard(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            discard_output(stream)
