"""`harness validate FOLDER`: each specification below a folder on its own, and a summary by reason."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, ExitCode, Problem, SpecificationError, UsageError
from harness.display.tables import print_output
from harness.flows.inspect.checks import count
from harness.flows.measure.named_parts import find_problems
from harness.flows.measure.workload import load_benchmarks
from harness.specification.load import is_specification

_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})
_NAMED_FILES: Final = 3
"""Files that are named for each reason."""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """One specification, checked on its own.

    Attributes:
        file: The specification, or list of them.
        benchmarks: Number of its benchmarks.
        problems: Everything that is wrong with it.
        obstacles: Reasons why no device can run some of its benchmarks.
    """

    file: Path
    benchmarks: int = 0
    problems: tuple[Problem, ...] = ()
    obstacles: tuple[str, ...] = ()


def validate_folders(paths: Sequence[Path], settings: Settings, console: Console) -> ExitCode:
    """Check every specification below folders, and show how many are valid, skipped and refused, by reason.

    Raises:
        UsageError: There is none.
    """
    checked = [_check(file, settings) for file in find_specifications(paths)]
    if not checked:
        raise UsageError(f"no specification in {', '.join(map(str, paths))}", hint="harness validate FILE... or FOLDER")
    for line in summarise(checked, paths[0]):
        print_output(Text(line), console)
    return ExitCode.USAGE if any(file.problems for file in checked) else ExitCode.OK


def find_specifications(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that are named, and below folders those that are specifications or lists of them, by name.

    A file that cannot be read counts as one: a broken link, a pipe.

    Raises:
        EnvironmentProblem: A folder cannot be read, so that it is not known what lies below it.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        _require_readable(path)
        for file in sorted(path.rglob("*")):
            is_hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if file.suffix.lower() in _SUFFIXES and not is_hidden and not file.is_dir() and is_specification(file):
                yield file


def _require_readable(folder: Path) -> None:
    """Reject folders of which, or of a folder below which, the content cannot be listed.

    Raises:
        EnvironmentProblem: It cannot.
    """

    def refuse(error: OSError) -> None:
        reason = (error.strerror or str(error)).lower()
        raise EnvironmentProblem(
            f"{error.filename or folder} cannot be read: {reason}",
            hint="make it readable, or name the files to check",
        ) from error

    for _, folders, _ in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]


def summarise(checked: Sequence[CheckedFile], folder: Path) -> Iterator[str]:
    """Yield the lines of the summary. A file with several problems counts once for each different one.

    Args:
        checked: The files.
        folder: Folder below which they are named.
    """
    refused = [file for file in checked if file.problems]
    skipped = [file for file in checked if file.obstacles and not file.problems]
    valid = len(checked) - len(refused) - len(skipped)
    benchmarks = sum(file.benchmarks for file in checked if not file.problems)
    yield (
        f"{count(len(checked), 'specification')} with {count(benchmarks, 'benchmark')}: {valid} valid, "
        f"{len(skipped)} skipped on every device, {len(refused)} refused"
    )
    obstacles = [(file.file, obstacle, None) for file in skipped for obstacle in file.obstacles]
    problems = [(file.file, problem.message, problem.hint) for file in refused for problem in file.problems]
    yield from _list_reasons("skipped", obstacles, folder)
    yield from _list_reasons("refused", problems, folder)


def _check(file: Path, settings: Settings) -> CheckedFile:
    settings = replace(settings, benchmark_file=(file,))
    try:
        benchmarks = load_benchmarks(settings)
    except SpecificationError as error:
        return CheckedFile(file, problems=error.problems)
    obstacles = tuple(dict.fromkeys(benchmark.obstacle for benchmark in benchmarks if benchmark.obstacle))
    return CheckedFile(file, len(benchmarks), find_problems(benchmarks, settings), obstacles)


def _list_reasons(title: str, reasons: Sequence[tuple[Path, str, str | None]], folder: Path) -> Iterator[str]:
    """Yield the reasons, the most frequent ones first, each with its number of files and some of their names.

    Args:
        title: Consequence of the reasons.
        reasons: File, reason and hint.
        folder: Folder below which the files are named.
    """
    by_reason: dict[str, dict[Path, None]] = {}
    for file, reason, _ in reasons:
        by_reason.setdefault(reason, {})[file] = None
    hints = {reason: hint for _, reason, hint in reversed(reasons)}
    for reason, files in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        yield f"{title}{len(files):>5}  {reason}"
        names = [str(file.relative_to(folder)) if file.is_relative_to(folder) else str(file) for file in files]
        more = f" and {len(names) - _NAMED_FILES} more" if len(names) > _NAMED_FILES else ""
        yield f"{'':14}{', '.join(names[:_NAMED_FILES])}{more}"
        if hints[reason]:
            yield f"{'':14}hint: {hints[reason]}"
