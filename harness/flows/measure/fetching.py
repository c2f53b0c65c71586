"""Fetching: the files that a plan needs, brought into the cache, and what a person is shown of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, ModelFile
from harness.core.cached_files import CachedFile, Delegation
from harness.core.errors import BenchmarkFailed, EnvironmentProblem, ExitCode, FileUnavailable
from harness.core.protocols import Exporter, Progress
from harness.core.result import Outcome
from harness.flows.measure.example_sets import open_model_cache
from harness.flows.measure.plan import Assignment, Builds, Failure, Files, Plan, file_key
from harness.shell.threads import wait_for_all

_AT_ONCE: Final = 2
"""Files that are fetched at once; an export needs a core and up to a gigabyte for itself."""
_KINDS: Final = 6
"""Kinds of operators that are named one by one; the rest is counted."""


def fetch(plan: Plan, settings: Settings, progress: Progress) -> Files:
    """Bring every file into the cache, several at once; a missing file fails only the benchmarks that need it."""
    given = fetch_given(plan, settings, progress)
    return export(plan, given, (), settings, progress)


def fetch_given(plan: Plan, settings: Settings, progress: Progress) -> Files:
    """Bring every file into the cache that exists somewhere, as `fetch` does; exports come after the runners."""
    return _fetch(_needed(plan, lambda _, file: file.export is None), plan, settings, progress)


def export(plan: Plan, files: Files, sides: Sequence[Builds], settings: Settings, progress: Progress) -> Files:
    """Export every file that can be used, as `fetch` does: an export takes minutes.

    Args:
        plan: What to measure where.
        files: The other files.
        sides: The runners of each side: where one is missing, nothing is measured.
        settings: Where the cache is.
        progress: Shows what happens.

    Returns:
        All files.
    """
    usable = {id(assignment) for assignment in plan.keep_possible(files).assignments}

    def is_needed(assignment: Assignment, file: ModelFile) -> bool:
        key = (assignment.benchmark.framework, assignment.device.identity)
        has_runner = not any(isinstance(builds.get(key), Failure) for builds in sides)
        return file.export is not None and has_runner and id(assignment) in usable

    return {**files, **_fetch(_needed(plan, is_needed), plan, settings, progress)}


_Needed = Mapping[str, tuple[ModelFile, Benchmark]]


def _needed(plan: Plan, is_needed: Callable[[Assignment, ModelFile], bool]) -> _Needed:
    needed: dict[str, tuple[ModelFile, Benchmark]] = {}
    for assignment in plan.assignments:
        benchmark = assignment.benchmark
        for file in benchmark.required_files() if assignment.is_possible else ():
            if is_needed(assignment, file):
                needed.setdefault(file_key(file, benchmark), (file, benchmark))
    return needed


def _fetch(needed: _Needed, plan: Plan, settings: Settings, progress: Progress) -> Files:
    cache = open_model_cache(settings)

    def fetch_file(file: ModelFile, benchmark: Benchmark) -> CachedFile | Failure:
        framework = plan.frameworks[benchmark.framework]
        exporter = framework if isinstance(framework, Exporter) else None
        try:
            cached = cache.fetch(
                file, model=benchmark.model, exporter=exporter, progress=progress, force=settings.force_export
            )
            _reject_other_file(file, cached, settings.file_digest)
        except (BenchmarkFailed, EnvironmentProblem) as error:
            named = error.message.startswith(f"{file.filename}: ")
            progress.warn(f"✗ {error.message if named else f'{file.filename}: {error.message}'}")
            environment = isinstance(error, EnvironmentProblem)
            return Failure(Outcome.FAILED, error.message, error.hint, is_environment_problem=environment)
        progress.say(describe_file(cached))
        return cached

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        files = [pool.submit(fetch_file, *entry) for entry in needed.values()]
        wait_for_all(files)
    return {key: file.result() for key, file in zip(needed, files, strict=True)}


def _reject_other_file(file: ModelFile, cached: CachedFile, digests: Sequence[str]) -> None:
    """Reject a file that is not the one that was asked for by its digest.

    Raises:
        FileUnavailable: It is another.
    """
    is_checked = file.md5 is None and file.export is None
    if digests and is_checked and not cached.md5.startswith(tuple(digests)):
        raise FileUnavailable(
            f"{file.filename} has changed: its MD5 is {cached.md5}, and --file-digest asks for {' or '.join(digests)}",
            hint="leave out --file-digest to measure with the file as it is now",
        )


def files_exit_code(files: Files) -> ExitCode:
    """Return `ENVIRONMENT` if a file could not be had because of this machine: packages that an export needs."""
    failed = any(isinstance(file, Failure) and file.is_environment_problem for file in files.values())
    return ExitCode.ENVIRONMENT if failed else ExitCode.OK


def describe_file(file: CachedFile) -> str:
    """Return the size of a cached file and, for an exported program, what was lowered."""
    report = file.report
    if report is None:
        return f"{'fetched' if file.fresh else 'cached '} {file.filename}: {_format_size(file.size_bytes)}"
    seconds = sum(report.seconds.values())
    origin = f"exported in {seconds:.0f} s" if file.fresh else "cached"
    head = f"{file.filename}: {_format_size(report.size_bytes)}, {origin}"
    if report.sections:
        head += f"\n  {_describe_sections(report.sections)}"
    return head if report.delegation is None else f"{head}\n{_describe_delegation(report.delegation)}"


def _describe_sections(sections: Mapping[str, int]) -> str:
    """Return the sizes of the sections, the largest first, without those that would read 0.0 KiB."""
    ranked = sorted(sections.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {_format_size(size)}" for name, size in ranked if round(size / 2**10, 1) > 0)


def _describe_delegation(delegation: Delegation) -> str:
    graphs = f"{delegation.subgraphs} sub-graph{'' if delegation.subgraphs == 1 else 's'}"
    return (
        f"  {delegation.delegated_count} delegated in {graphs}{_list_kinds(delegation.delegated)}\n"
        f"  {delegation.non_delegated_count} not delegated{_list_kinds(delegation.non_delegated)}"
    )


def _list_kinds(counts: Mapping[str, int]) -> str:
    if not counts:
        return ""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{count} {kind}" for kind, count in ranked[:_KINDS])
    unnamed = sum(count for _, count in ranked[_KINDS:])
    return f": {named}" + (f" and {unnamed} more" if unnamed else "")


def _format_size(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB" if size_bytes >= 2**20 else f"{size_bytes / 2**10:.1f} KiB"
