"""One file that a person reads about one run: there from its first result on, whole at any time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.config.settings import Settings
from harness.core.errors import ReporterFailed, UsageError
from harness.core.result import Report, Result, writable
from harness.files.atomic import write_atomically
from harness.presentation.lean import without_samples
from harness.shell import is_stopping
from harness.store.layout import branch


@dataclass(frozen=True, slots=True)
class Run:
    """What a page is about.

    Attributes:
        results: In the order in which they were told, without samples.
        tree: Where the local reporter keeps them whole.
        places: The folder of each there by its `uid`, as far as it is known.
        within: What relative file names in them are relative to.
        finished: Whether the run is over; else more may come.
        interrupted: Whether it ended before everything was measured, because it was told to.
    """

    results: Sequence[Result]
    tree: Path
    finished: bool
    interrupted: bool = False
    places: Mapping[str, Path] = field(default_factory=dict)
    within: Path = Path()

    def place(self, result: Result) -> Path:
        """Where a result is kept; at least the folder of all of its commit."""
        return self.places.get(result.uid, self.tree / branch(result))

    @property
    def notice(self) -> tuple[str, str] | None:
        """What a reader must know before anything else: a catchword, and the rest of it."""
        if not self.finished:
            return "Not finished.", "This was written while the run went on; what is missing is not known."
        if self.interrupted:
            return "Interrupted.", "What is missing was not measured."
        return None


class RunPage:
    """Keeps what it is told, and writes all of it anew each time.

    Args:
        name: The reporter's.
        file: Where to; replaced by one rename, with folders made as needed.
        tree: Where the local reporter keeps results.
        render: Makes the text.
    """

    def __init__(self, name: str, file: Path, tree: Path, render: Callable[[Run], str]) -> None:
        self.name = name
        self._file = file
        self._tree = tree
        self._render = render
        self._within = Path.cwd()
        self._results: list[Result] = []
        self._places: dict[str, Path] = {}

    def report(self, report: Report) -> str:
        """Write the page with one more result; returns its file."""
        self._results.append(without_samples(writable(report.result)))
        if report.place is not None:
            self._places[report.result.uid] = Path(report.place)
        return self._write(finished=False)

    def close(self) -> None:
        """Write it once more: nothing will come."""
        self._write(finished=True)

    def _write(self, *, finished: bool) -> str:
        run = Run(
            self._results,
            self._tree,
            finished,
            interrupted=finished and is_stopping(),
            places=self._places,
            within=self._within,
        )
        text = self._render(run)
        try:
            _replace(self._file, text)
        except OSError as error:
            raise ReporterFailed(
                f"cannot write {self._file}: {error.strerror or error}",
                hint=f"make room or permission there, or name another file: --reporter {self.name}=FILE",
            ) from error
        return str(self._file)


def _replace(file: Path, text: str) -> None:
    """Put a text into a file in one step. A link stays a link; a device or folder is not replaced.

    Raises:
        OSError: As the file system says.
    """
    place = file.resolve()
    if place.exists() and not place.is_file():
        raise FileExistsError(0, "there is something that is no regular file", str(file))
    write_atomically(place, text)


def wanted(name: str, settings: Settings, render: Callable[[Run], str]) -> RunPage | None:
    """The page that `--reporter NAME=FILE` asks for, if it does.

    Raises:
        UsageError: It names no file.
    """
    file = settings.reporters.get(name)
    if file == "":
        raise UsageError(f"--reporter {name} names no file", hint=f"--reporter {name}=FILE")
    return None if file is None else RunPage(name, Path(file), settings.local_reporter, render)
