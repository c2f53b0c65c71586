"""System log of an iPhone, through go-ios: read in the background, the end of it kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pydantic import ValidationError

from harness import shell
from platforms.ios.link.go_ios.documents import LogEntry
from platforms.ios.link.go_ios.program import GoIosProgram

_KEPT_BYTES: Final = 8 << 20
_UNLIMITED_S: Final = float("inf")


class GoIosLog:
    """System log of a phone while its context is open (`platforms.ios.link.client.PhoneLog`).

    Args:
        process: `ios syslog --parse`.
    """

    def __init__(self, process: shell.BackgroundProcess) -> None:
        self._process = process

    def lines(self, process: str = "") -> Sequence[str]:
        """Return the lines so far, oldest first, without those of other processes if one is named."""
        entries = filter(None, map(_parse, self._process.lines()))
        return tuple(entry.text for entry in entries if process in ("", entry.program))


@contextmanager
def open_log(program: GoIosProgram, udid: str) -> Iterator[GoIosLog]:
    """Read the system log of a phone. See `PhoneClient.open_log`."""
    command = program.command(udid, "syslog", "--parse", timeout_s=_UNLIMITED_S)
    with shell.run_in_background(command, keep_bytes=_KEPT_BYTES) as process:
        yield GoIosLog(process)


def _parse(line: str) -> LogEntry | None:
    try:
        return LogEntry.model_validate_json(line)
    except ValidationError:
        return None
