"""`harness validate FOLDER`: each specification below a folder on its own, and a summary by reason."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.text import Text

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, ExitCode, SpecificationError, UsageError
from harness.display.tables import draw_rows, print_output
from harness.flows.inspect.checks import count
from harness.flows.inspect.folder_summary import CheckedFile, FolderSummary, ReasonCount, summarise
from harness.flows.measure.named_parts import find_problems
from harness.flows.measure.workload import load_benchmarks
from harness.specification.fai_pep import COMMANDS_FRAMEWORK
from harness.specification.load import is_specification, name_model

_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})
_NAMED_FILES: Final = 3
"""Files that are named for each reason."""
_FRAMEWORKS: Final = ("framework", "format", "valid", "skipped", "refused", "benchmarks")
_KEYS: Final = ("key that is refused", "files", "places")


def validate_folders(paths: Sequence[Path], settings: Settings, console: Console) -> ExitCode:
    """Check every specification below folders, and show how many are valid, skipped and refused, by reason.

    Raises:
        UsageError: There is none.
    """
    _, summary = check_files(paths, settings)
    show_summary(summary, paths[0], console)
    return ExitCode.USAGE if summary.refused else ExitCode.OK


def check_files(paths: Sequence[Path], settings: Settings) -> tuple[Sequence[CheckedFile], FolderSummary]:
    """Check each specification that is named or lies below a folder on its own, and summarise what was found.

    Raises:
        UsageError: There is none.
    """
    found = find_files(paths)
    checked = [check_file(file, settings) for file in found.specifications]
    if not checked:
        raise UsageError(f"no specification in {', '.join(map(str, paths))}", hint="harness validate FILE... or FOLDER")
    return checked, summarise(checked, found.others)


class FoundFiles(NamedTuple):
    """Files that are named or lie below folders.

    Attributes:
        specifications: Those that are named, and below folders those that are specifications or lists of them, by
            name. A file that cannot be read counts as one: a broken link, a pipe.
        others: Those below folders that have the suffix of a specification and none of its keys.
    """

    specifications: tuple[Path, ...]
    others: tuple[Path, ...]


def find_files(paths: Sequence[Path]) -> FoundFiles:
    """Find the specifications that are named or lie below folders, and what could have been meant as one.

    Raises:
        EnvironmentProblem: A folder cannot be read, so that it is not known what lies below it.
    """
    found: dict[bool, list[Path]] = {True: [], False: []}
    for path in paths:
        if not path.is_dir():
            found[True].append(path)
            continue
        _require_readable(path)
        for file in sorted(path.rglob("*")):
            is_hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if file.suffix.lower() in _SUFFIXES and not is_hidden and not file.is_dir():
                found[is_specification(file)].append(file)
    return FoundFiles(tuple(found[True]), tuple(found[False]))


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


def show_summary(summary: FolderSummary, folder: Path, console: Console) -> None:
    """Show a summary: counts, the frameworks, what is skipped and refused by reason, and at which keys.

    Args:
        summary: The summary.
        folder: Folder below which files are named.
        console: Where to show it.
    """
    specifications, benchmarks = count(summary.specifications, "specification"), count(summary.benchmarks, "benchmark")
    counts = f"{summary.valid} valid, {summary.skipped} skipped on every device, {summary.refused} refused"
    print_output(Text(f"{specifications} with {benchmarks}: {counts}"), console)
    frameworks = [
        (row.framework, row.format, *map(str, (row.valid, row.skipped, row.refused, row.benchmarks)))
        for row in summary.frameworks
    ]
    print_output(Text(), console)
    print_output(draw_rows(_FRAMEWORKS, frameworks, right=_FRAMEWORKS[2:]), console)
    if summary.reasons:
        print_output(Text(), console)
    for reason in summary.reasons:
        for line in _describe(reason, folder):
            print_output(Text(line), console)
    if summary.passed_over:
        print_output(Text(), console)
        names = _name_files(summary.passed_over, folder)
        print_output(Text(f"passed over, without `model`, `tests` and `benchmarks`: {names}"), console)
    if summary.keys:
        print_output(Text(), console)
        rows = [(row.key or "(the whole file)", str(row.files), str(row.problems)) for row in summary.keys]
        print_output(draw_rows(_KEYS, rows, right=_KEYS[1:]), console)


def check_file(file: Path, settings: Settings) -> CheckedFile:
    """Check one specification on its own."""
    settings = dataclasses.replace(settings, benchmark_file=(file,))
    try:
        benchmarks = load_benchmarks(settings)
    except SpecificationError as error:
        framework, model_format = name_model(file)
        return CheckedFile(
            file,
            problems=error.problems,
            model=(settings.framework or framework or COMMANDS_FRAMEWORK, model_format),
        )
    obstacles = tuple(dict.fromkeys(benchmark.obstacle for benchmark in benchmarks if benchmark.obstacle))
    return CheckedFile(file, tuple(benchmarks), find_problems(benchmarks, settings), obstacles)


def _describe(reason: ReasonCount, folder: Path) -> Iterator[str]:
    """Yield the lines of a reason: its number of files, some of their names, and what helps."""
    yield f"{reason.outcome}{len(reason.files):>5}  {reason.message}"
    yield f"{'':14}{_name_files(reason.files, folder)}"
    if reason.hint:
        yield f"{'':14}hint: {reason.hint}"


def _name_files(paths: Sequence[str], folder: Path) -> str:
    """Return the names of the first files below a folder, and the number of the others."""
    files = map(Path, paths)
    names = [str(file.relative_to(folder)) if file.is_relative_to(folder) else str(file) for file in files]
    more = f" and {len(names) - _NAMED_FILES} more" if len(names) > _NAMED_FILES else ""
    return f"{', '.join(names[:_NAMED_FILES])}{more}"
