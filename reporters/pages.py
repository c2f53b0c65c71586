"""Reporter that writes one file about a run, anew while results come in, so that it is whole at any time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.core.metric import main_metric
from harness.core.result import Report, Result, make_writable, without_samples
from harness.presentation.distributions import LaunchDistribution, describe_launches
from harness.shell import is_stopping
from harness.store.tree import LOGS, result_folder
from reporters.report_file import ReportFile

_OFTEN: Final = 20
"""A page lacks at most one of so many results until the end of the run."""


class ReportedRun(Struct, frozen=True):
    """Content of a page.

    Attributes:
        results: Results without samples, in the order in which they were reported.
        tree: Folder in which the local reporter keeps them whole.
        finished: Whether the run is over; else more may come.
        interrupted: Whether a signal ended it before everything was measured.
        places: Folder of each result in the tree by its `uid`, as far as it is known.
        working_folder: Folder that relative file names in results are relative to.
        page: File of the page, to which links are relative.
        logs: Stored logs of each result by its `uid`.
        launches: Samples of the main metric of each result, launch by launch, by its `uid`.
        in_folders: Whether the results are folders of this machine, which commands can name.
    """

    results: Sequence[Result]
    tree: Path
    finished: bool
    interrupted: bool = False
    places: Mapping[str, Path] = field(default_factory=dict)
    working_folder: Path = Path()
    page: Path = Path("page")
    logs: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    launches: Mapping[str, Sequence[LaunchDistribution]] = field(default_factory=dict)
    in_folders: bool = True

    def place(self, result: Result) -> Path:
        """Return the folder of a result; where it is unknown, that of all results of its commit."""
        return self.places.get(result.uid, self.tree / result_folder(result))

    @property
    def notice(self) -> tuple[str, str] | None:
        """Warning at the top of the page, if there is any: a catchword, and a sentence."""
        if not self.finished:
            return "Not finished.", "This page was written while the run was going on; more results may follow."
        if self.interrupted:
            return "Interrupted.", "The remaining benchmarks were not measured."
        return None


class PageReporter:
    """Reporter that renders all results again for each new one.

    Args:
        name: Name of the reporter.
        file: File to write; replaced in one step, with folders made as needed.
        tree: Folder in which the local reporter keeps results.
        render: Makes the text.
    """

    def __init__(self, name: str, file: Path, tree: Path, render: Callable[[ReportedRun], str]) -> None:
        self.name = name
        self._file = file
        self._output = ReportFile(name, file)
        self._tree = tree
        self._render = render
        self._working_folder = Path.cwd()
        self._results: list[Result] = []
        self._places: dict[str, Path] = {}
        self._logs: dict[str, Sequence[Path]] = {}
        self._launches: dict[str, Sequence[LaunchDistribution]] = {}
        self._written = 0
        self._deferred = self._output.is_stream

    def defer(self) -> None:
        """Write the page when it is closed, and not before."""
        self._deferred = True

    def prepare(self) -> None:
        """Check that the page can be written; one that is there stays as it is.

        Raises:
            EnvironmentProblem: It cannot.
        """
        self._output.check()

    def report(self, report: Report) -> str:
        """Write the page with one more result; returns its file.

        A page of many results is not written for each: what is drawn takes CPU time from the next measurement.
        """
        result = make_writable(report.result)
        if (metric := main_metric(result.metrics)) is not None:
            self._launches[result.uid] = describe_launches(metric)
        if report.place is not None:
            self._places[result.uid] = Path(report.place)
            self._logs[result.uid] = _list_logs(Path(report.place))
        self._results.append(without_samples(result))
        if not self._deferred and self.unreported >= len(self._results) // _OFTEN:
            self._write(finished=False)
        return str(self._file)

    @property
    def unreported(self) -> int:
        """Number of results that are not on the page: a page that could be written has all of them."""
        return len(self._results) - self._written

    def close(self) -> None:
        """Write the page of the finished run."""
        self._write(finished=True)

    def _write(self, *, finished: bool) -> None:
        run = ReportedRun(
            self._results,
            self._tree,
            finished,
            interrupted=finished and is_stopping(),
            places=self._places,
            working_folder=self._working_folder,
            page=self._file,
            logs=self._logs,
            launches=self._launches,
        )
        self._output.write(self._render(run))
        self._written = len(self._results)


def create_page_reporter(name: str, settings: Settings, render: Callable[[ReportedRun], str]) -> PageReporter | None:
    """Create the reporter that `--reporter NAME=FILE` asks for, if it does.

    Raises:
        UsageError: It names no file.
    """
    file = settings.reporters.get(name)
    if file == "":
        raise UsageError(f"--reporter {name} names no file", hint=f"--reporter {name}=FILE")
    return None if file is None else PageReporter(name, Path(file), settings.local_reporter, render)


def _list_logs(place: Path) -> Sequence[Path]:
    """Return the logs beside a stored result; none where they cannot be listed."""
    try:
        return sorted((place / LOGS).iterdir(), key=_natural_order)
    except OSError:
        return ()


def _natural_order(file: Path) -> list[tuple[int, str]]:
    """Order `2.txt` before `10.txt`."""
    return [
        (int(word), "") if word.isdigit() and word.isascii() else (-1, word) for word in re.split(r"(\d+)", file.name)
    ]
