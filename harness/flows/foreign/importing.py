"""`harness import`: recognise files, read them, and give their results to reporters, each once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from harness import plugins
from harness.config.settings import Settings
from harness.core.errors import ExitCode, UsageError, most_severe
from harness.core.protocols import Cataloguing, ForeignFormat, Progress, Reporter, is_archive
from harness.core.result import Report, Result
from harness.flows.foreign.results import GivenNames, build_result
from harness.flows.foreign.sources import ForeignFile, read_sources
from harness.flows.measure.reporting import Reporting, prepare_reporters

_SHOWN_PROBLEMS: Final = 20


class ImportRequest(Struct, frozen=True):
    """What to import.

    Attributes:
        files: Paths; `-` is standard input.
        form: Name of the format; None recognises it.
        names: Names that replace those of the files.
    """

    files: Sequence[str]
    form: str | None = None
    names: GivenNames = field(default_factory=GivenNames)


class _ReadFile(Struct, frozen=True):
    """File with what was understood of it, and the entries that were not."""

    file: ForeignFile
    results: tuple[Result, ...]
    problems: tuple[str, ...]


class _NewResultsOnly:
    """Archive that is given only results which it does not keep yet.

    Attributes:
        known: Identifiers of what it keeps.
    """

    keeps_results = True

    def __init__(self, archive: Reporter, known: frozenset[str]) -> None:
        self.name = archive.name
        self.known = known
        self._archive = archive

    def report(self, report: Report) -> str | None:
        """Keep a new result."""
        return None if report.result.uid in self.known else self._archive.report(report)

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()


def import_files(
    request: ImportRequest, settings: Settings, progress: Progress, listeners: Sequence[Reporter] = ()
) -> ExitCode:
    """Import files of other tools: all are recognised before the first result is stored.

    Args:
        request: What to import.
        settings: The reporters.
        progress: Shows what was not understood, and the sum.
        listeners: Receive each result, beside the reporters.

    Returns:
        `BENCHMARK_FAILED` where some entries could not be understood; the others are imported.

    Raises:
        UsageError: A file is missing, of no known format or of several, or has no measurement.
        EnvironmentProblem: A file cannot be read, or results cannot be written.
    """
    formats = [plugins.foreign_format(name) for name in ([request.form] if request.form else _installed())]
    read = [each for path in request.files for each in _read_path(path, formats, request)]
    results = list({result.uid: result for each in read for result in each.results}.values())
    problems = [problem for each in read for problem in each.problems]
    for problem in problems[:_SHOWN_PROBLEMS]:
        progress.warn(f"✗ {problem}")
    if len(problems) > _SHOWN_PROBLEMS:
        progress.warn(f"✗ and {len(problems) - _SHOWN_PROBLEMS} more entries that cannot be understood")
    if not results:
        raise UsageError(
            f"no measurement in {', '.join(request.files)}: {_count(len(problems), 'entry', 'entries')} not understood",
            hint="see the reasons above, or name the format with --format",
        )
    reporters = prepare_reporters(settings)
    guarded = [_guard(reporter) for reporter in reporters]
    known = frozenset().union(*(each.known for each in guarded if isinstance(each, _NewResultsOnly)))
    reporting = Reporting(guarded, progress, listeners)
    for result in results:
        reporting.report(Report(result=result))
    reporting.close()
    progress.say(_summarise(read, results, problems, known, reporting))
    code = ExitCode.BENCHMARK_FAILED if problems else ExitCode.OK
    return most_severe([code, *([] if not reporting.unreported else [ExitCode.ENVIRONMENT])])


def recognise(file: ForeignFile, formats: Sequence[ForeignFormat]) -> ForeignFormat:
    """Return the format of a file by its content.

    Raises:
        UsageError: None recognises it, or several do.
    """
    name = file.name.rpartition(":")[2]
    matching = [form for form in formats if form.recognises(file.text, name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = " and ".join(form.name for form in matching)
        raise UsageError(f"{file.name} may be of several formats: {names}", hint="say which one with --format NAME")
    raise UsageError(
        f"{file.name} is of no known format{'' if file.text.strip() else ': it is empty'}", hint=_list_formats(formats)
    )


def _guard(reporter: Reporter) -> Reporter:
    """Return an archive that can list what it keeps as one that keeps nothing twice; others tell by the identifier."""
    if is_archive(reporter) and isinstance(reporter, Cataloguing):
        return _NewResultsOnly(reporter, reporter.stored_uids())
    return reporter


def _installed() -> tuple[str, ...]:
    return plugins.installed_names("format")


def _read_path(path: str, formats: Sequence[ForeignFormat], request: ImportRequest) -> list[_ReadFile]:
    """Read one path: the only file, or those of an archive that a format recognises."""
    files = list(read_sources(path))
    if not files:
        raise UsageError(f"{path} is an empty archive", hint=_list_formats(formats))
    if not files[0].is_member:
        return [_read_file(file, formats[0] if request.form else recognise(file, formats), request) for file in files]
    known = [file for file in files if any(form.recognises(file.text, file.name) for form in formats)]
    if not known:
        raise UsageError(f"no file of {path} is of a known format", hint=_list_formats(formats))
    return [_read_file(file, recognise(file, formats), request) for file in known]


def _read_file(file: ForeignFile, form: ForeignFormat, request: ImportRequest) -> _ReadFile:
    content = form.read(file.text, file.name)
    results = (
        build_result(record, number, file, form.name, request.names) for number, record in enumerate(content.records)
    )
    problems = (f"{file.name}, {problem.place}: {problem.reason}" for problem in content.problems)
    return _ReadFile(file, tuple(results), tuple(problems))


def _list_formats(formats: Sequence[ForeignFormat]) -> str:
    return "known are " + "; ".join(f"{form.name} ({form.marks})" for form in formats)


def _summarise(
    read: Sequence[_ReadFile],
    results: Sequence[Result],
    problems: Sequence[str],
    known: frozenset[str],
    reporting: Reporting,
) -> str:
    old = sum(result.uid in known for result in results)
    parts = [f"{_count(len(results), 'result', 'results')} measured elsewhere, of {_count(len(read), 'file', 'files')}"]
    parts += [f"{old} stored already"] if old else []
    parts += [f"{len(problems)} not understood"] if problems else []
    return "; ".join([", ".join(parts), reporting.summary()])


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"
