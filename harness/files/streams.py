"""Standard streams that nobody reads any more, that cannot be written to, or that know too few characters."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import IO, Final, TextIO, cast

_PLAIN: Final = str.maketrans(
    {
        "±": "~",
        "×": "x",
        "·": ".",
        "…": "~",
        "\N{EN DASH}": "-",
        "\N{MINUS SIGN}": "-",
        "≥": ">",
        "≤": "<",
        "µ": "u",
        "μ": "u",
        "─": "-",
        "━": "-",
        "│": "|",
        "┃": "|",
        "▲": "^",
        "▼": "v",
        "✓": "+",
        "✗": "x",
        "°": " ",
    }
)
"""ASCII of the same width for the signs of our tables, so that a terminal that knows nothing else can show them."""
_PLAIN_HANDLER: Final = "harness-plain"
_EXACT_HANDLER: Final = "harness-exact"
"""The same for messages, whose other characters are written as escapes: they may be a part of a path."""


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


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding does not know: signs of ours by a sign like it, other characters by a question mark."""
    text, end = _replace_signs(error)
    return text.encode("ascii", "replace").decode("ascii"), end


def _write_exactly(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding does not know: signs of ours by a sign like it, other characters by an escape."""
    text, end = _replace_signs(error)
    return text.encode("ascii", "backslashreplace").decode("ascii"), end


def _replace_signs(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return error.object[error.start : error.end].translate(_PLAIN), error.end


codecs.register_error(_PLAIN_HANDLER, _write_plainly)
codecs.register_error(_EXACT_HANDLER, _write_exactly)


def never_failing(stream: TextIO) -> TextIO:
    """Return the stream as one that discards its text once it cannot be written to."""
    return cast("TextIO", _NeverFailing(stream))


@contextlib.contextmanager
def guard_standard_streams() -> Iterator[Callable[[], OSError | ValueError | None]]:
    """Let standard output and standard error never fail until the context ends, whoever writes to them.

    A sign of ours that an encoding does not know is replaced by one of the same width. What cannot be written is
    discarded, so that work goes on, and its results and its exit code are kept.

    Yields:
        A function that flushes standard output, and returns why it could not be written. A reader that has gone
        (`| head`) has read what it wanted: that is no reason.
    """
    output, errors = sys.stdout, sys.stderr  # None where they are closed
    for stream, handling in ((output, _PLAIN_HANDLER), (errors, _EXACT_HANDLER)):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=handling)
    guarded = _NeverFailing(output)

    def find_failure() -> OSError | ValueError | None:
        guarded.flush()
        return None if isinstance(guarded.failure, BrokenPipeError) else guarded.failure

    sys.stdout, sys.stderr = cast("TextIO", guarded), cast("TextIO", _NeverFailing(errors))
    try:
        yield find_failure
    finally:
        sys.stdout, sys.stderr = output, errors


class _NeverFailing(io.TextIOBase):
    """Stream that discards its text once it cannot be written to: no benchmark fails because nobody can watch it.

    Args:
        stream: Where to; a full disk, a closed pipe or a closed file is no error. None discards everything.

    Attributes:
        failure: Why it cannot be written to.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._encoding = (stream.encoding if stream is not None else None) or "utf-8"
        self.failure: OSError | ValueError | None = None

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
            except (OSError, ValueError) as error:
                self._discard(error)
        return len(text)

    def flush(self) -> None:
        """Flush, or discard."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._discard(error)

    def _discard(self, error: OSError | ValueError) -> None:
        self.failure = error
        stream, self._stream = self._stream, None
        if stream is not None:
            discard_output(stream)
