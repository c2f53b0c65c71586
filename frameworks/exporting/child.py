"""Process that makes model files or reference outputs for the harness: its request, its output, and its end.

    python -m MODULE REQUEST.json DESTINATION [EXAMPLES] PARENT

It ends with the process whose number is PARENT, so that a killed harness leaves no export behind.

It writes lines `progress: TEXT [DONE/TOTAL]` to standard error; after a failure everything that libraries wrote, the
traceback, perhaps `hint: ...`, and last `error: ...`, or `missing: ...` where a package is not installed, with exit
status 1.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TextIO

from frameworks.packages import EXTRAS, install_command
from frameworks.python_runner.machine import collect_seldom, die_with_parent
from harness.core.benchmark import Export
from harness.core.errors import EnvironmentProblem, ExportFailed

Say = Callable[[str], None]
"""Reports progress."""


@dataclass(slots=True)
class ExportTask:
    """Export as its process sees it.

    Attributes:
        export: The request.
        destination: The model file to write; its report stands beside it.
        say: Reports progress.
        calibration: Folder of the examples to calibrate with; None for random numbers.
        seconds: Time that each phase took, by name.
    """

    export: Export
    destination: Path
    say: Say
    calibration: Path | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def phase(self, name: str, text: str) -> Iterator[None]:
        """Report what is done now, and record how long it takes."""
        self.say(text)
        began = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - began


def run_export(arguments: Sequence[str], importing: str, load: Callable[[], Callable[[ExportTask], None]]) -> None:
    """Make a model file; the module describes what is printed.

    Args:
        arguments: The file of the request (an `Export` as JSON), the file to write, perhaps the folder of examples to
            calibrate with, and the number of the parent.
        importing: Names of the libraries that are imported, for a person.
        load: Imports them, and returns the function that writes the file and its report.
    """
    began = time.monotonic()
    request, destination, *calibration, parent = arguments

    def write(say: Say) -> None:
        export = Export.model_validate_json(Path(request).read_bytes())
        say(f"importing {importing}")
        write_file = load()
        task = ExportTask(export, Path(destination), say, Path(calibration[0]) if calibration else None)
        task.seconds["import"] = time.monotonic() - began
        write_file(task)

    run_child(int(parent), write)


def run_child(parent: int, work: Callable[[Say], None]) -> None:
    """Do the work of a child process of the harness, which ends with its parent and prints as the module describes.

    Args:
        parent: Number of the parent process.
        work: The work; it is given the function that reports progress.
    """
    die_with_parent(parent)
    collect_seldom()
    stderr, log = sys.stderr, io.StringIO()
    sys.excepthook = functools.partial(_report_failure, stderr, log)
    sys.path.append(str(Path.cwd()))  # Last, so that nothing there hides an installed package.
    with contextlib.redirect_stderr(log), contextlib.redirect_stdout(log):
        work(functools.partial(_print_progress, stderr))


def _print_progress(stderr: TextIO, text: str) -> None:
    print(f"progress: {text}", file=stderr, flush=True)


def _report_failure(
    stderr: TextIO,
    log: io.StringIO,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """Print the log, the traceback and the reason of any failure."""
    stderr.write(log.getvalue())
    traceback.print_exception(kind, error, trace, file=stderr)
    label, reason, hint = "error", f"{kind.__name__}: {error}", None
    if isinstance(error, ExportFailed | EnvironmentProblem):
        reason, hint = error.message, error.hint
    elif isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in EXTRAS:
        label, hint = "missing", install_command((error.name or "").partition(".")[0])
    if isinstance(error, EnvironmentProblem):
        label = "missing"
    if hint is not None:
        print(f"hint: {_one_line(hint)}", file=stderr)
    print(f"{label}: {_one_line(reason)}", file=stderr, flush=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:400]
