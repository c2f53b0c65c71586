"""Reporter that writes all results of a run into the files of a foreign format, and says what these cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.core.result import Report, Result, make_writable
from harness.display import open_display
from reporters.report_file import ReportFile

_OFTEN: Final = 20
"""Files lack at most one of so many results until the end of the run."""


class ExportedRun(Struct, frozen=True):
    """Results in a foreign format.

    Attributes:
        texts: Text of each file.
        omitted: Number of each kind of thing that the format cannot say; empty if it says everything.
    """

    texts: tuple[str, ...]
    omitted: str = ""


Render = Callable[[Sequence[Result]], ExportedRun]
"""Makes the texts of the files, from results that are Unicode."""


class ExportReporter:
    """Reporter that renders all results again for new ones, so that its files are whole at any time.

    Args:
        name: Name of the reporter.
        files: Files to write, as many as `render` makes texts.
        render: Makes the texts.
    """

    def __init__(self, name: str, files: Sequence[Path], render: Render) -> None:
        self.name = name
        self._files = [ReportFile(name, file) for file in files]
        self._render = render
        self._results: list[Result] = []
        self._written = 0
        self._deferred = any(file.is_stream for file in self._files)

    def defer(self) -> None:
        """Write the files when it is closed, and not before."""
        self._deferred = True

    def prepare(self) -> None:
        """Check that the files can be written; those that are there stay as they are.

        Raises:
            EnvironmentProblem: One cannot.
        """
        for file in self._files:
            file.check()

    def report(self, report: Report) -> str:
        """Write the files with one more result; returns their names."""
        self._results.append(make_writable(report.result))
        if not self._deferred and self.unreported >= len(self._results) // _OFTEN:
            self._write()
        return " and ".join(str(file.path) for file in self._files)

    @property
    def unreported(self) -> int:
        """Number of results that the files were not written with."""
        return len(self._results) - self._written

    def close(self) -> None:
        """Write the files of the finished run, and say on standard error what they cannot hold."""
        omitted = self._write().omitted
        if omitted:
            place = " and ".join(str(file.path) for file in self._files)
            open_display(quiet=True).warn(f"{self.name} has no place for {omitted}: {place}")

    def _write(self) -> ExportedRun:
        run = self._render(self._results)
        for file, text in zip(self._files, run.texts, strict=True):
            file.write(text)
        self._written = len(self._results)
        return run


def create_export_reporter(
    name: str, settings: Settings, render: Render, split: Callable[[Path], Sequence[Path]] = lambda file: (file,)
) -> ExportReporter | None:
    """Create the reporter that `--reporter NAME=FILE` asks for, if it does.

    Args:
        name: Name of the reporter.
        settings: What was asked for.
        render: Makes the texts.
        split: Returns the files of a format that needs several.

    Raises:
        UsageError: It names no file.
    """
    file = settings.reporters.get(name)
    if file == "":
        raise UsageError(f"--reporter {name} names no file", hint=f"--reporter {name}=FILE")
    return None if file is None else ExportReporter(name, split(Path(file)), render)
