"""Write one line of JSON per result to standard output, and nothing else ever: for pipes and scripts.

A line is the canonical result without what grows with the number of iterations: the `launches` and `control_launches`
of the result, and the `samples` and `launches` of each metric, of its control too. It can still be read as a `Result`.
The local reporter keeps everything.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final, TextIO

from pydantic.main import IncEx

from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.core.protocols import Reporter
from harness.core.result import Report, make_writable
from harness.files.streams import discard_output
from harness.store.canonical_json import to_json_line

_BULK: Final[Mapping[str, IncEx | bool]] = {
    "launches": True,
    "control_launches": True,
    "metrics": {
        "__all__": {
            "samples": True,
            "launches": True,
            "control": {"control_values": True, "control_launches": True},
        }
    },
}


class SimpleScreenReporter:
    """Reporter that writes lines to a stream; after its first failure it writes nothing, and each report fails."""

    name = "simple_screen"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._failure: str | None = None

    def report(self, report: Report) -> None:
        """Write one line and flush it."""
        line = to_json_line(make_writable(report.result), exclude=_BULK) + "\n"
        if self._failure is None:
            self._write(line)
        if self._failure is not None:
            raise ReporterFailed(
                f"cannot write the result to standard output: {self._failure}",
                hint="keep the reader open until the end, or free disk space; the local reporter has all results",
            )

    def close(self) -> None:
        """Do nothing: each line was flushed."""

    def _write(self, line: str) -> None:
        try:
            self._stream.write(line)
            self._stream.flush()
        except (OSError, ValueError) as error:  # ValueError: the stream was closed
            self._failure = str(error)
            discard_output(self._stream)


def create(settings: Settings) -> Reporter | None:
    """Create the reporter for `--simple-screen-reporter`, if given."""
    return SimpleScreenReporter(sys.stdout) if settings.simple_screen_reporter else None
