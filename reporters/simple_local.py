"""Keep each result as one file with one line of JSON, in a tree that is short enough to guess.

    <folder>/<model>/<identifier>/<n>/data.txt

FAI-PEP wrote `<folder>/<identifier>/data.txt` after deleting that folder, so that models whose benchmarks are called
`0`, `1`, ... overwrote each other. Here the model is part of the path, each further result of a benchmark (on another
device, of another build, of another run) has the next number, and nothing is ever deleted. The first is `0`.
"""

from __future__ import annotations

from pathlib import Path

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, ReporterFailed
from harness.core.protocols import Reporter
from harness.core.result import Report, make_writable
from harness.files.writability import check_writable_folder
from harness.store.canonical_json import to_json_line
from harness.store.tree import encode_segment, publish_folder


class SimpleLocalReporter:
    """Reporter that keeps canonical results, one line each, and no logs."""

    name = "simple_local"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self) -> None:
        """Check that the folder can be written.

        Raises:
            EnvironmentProblem: It cannot.
        """
        try:
            check_writable_folder(self._folder)
        except OSError as error:
            raise EnvironmentProblem(
                f"results cannot be kept in {self._folder}: {error.strerror or error}",
                hint="free disk space or fix permissions there, or name another folder with --simple-local-reporter",
            ) from error

    def report(self, report: Report) -> str:
        """Keep one result; returns its file."""
        result = make_writable(report.result)
        parent = self._folder / encode_segment(result.benchmark.model) / encode_segment(result.benchmark.identifier)
        try:
            return str(publish_folder(self._folder, parent, {"data.txt": to_json_line(result) + "\n"}) / "data.txt")
        except OSError as error:
            raise ReporterFailed(
                f"cannot keep the result in {self._folder}: {error.strerror or error}",
                hint="free disk space or fix permissions there, or name another folder with --simple-local-reporter",
            ) from error

    def close(self) -> None:
        """Do nothing: every result is on the disk."""


def create(settings: Settings) -> Reporter | None:
    """Create the reporter for `--simple-local-reporter`, if given."""
    folder = settings.simple_local_reporter
    return SimpleLocalReporter(folder) if folder is not None else None
