"""From files to benchmarks: read, follow lists, check, expand. All problems of all files are told at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from harness.core.benchmark import Benchmark
from harness.core.placeholders import find_placeholders
from harness.core.values import format_scalar
from harness.specification.check import checked
from harness.specification.document import Document, join
from harness.specification.expand import Subject, expand
from harness.specification.options import LoadOptions
from harness.specification.problems import Findings, Problems
from harness.specification.sources import Source, read, specifications

__all__ = ["LoadOptions", "Loaded", "default_args", "load"]


_NO_DEFAULTS = frozenset(
    {
        *("remote_reporter", "local_reporter", "simple_local_reporter", "reporter", "reporters"),
        *("program", "pre_built_binary", "custom_binary", "c", "info", "benchmark_file", "b"),
        *("adb_server", "dry_run"),
        *("config_dir", "reset_options", "cache_dir", "model_cache", "exec_dir", "frameworks_dir"),
    }
)
"""Flags that `default_args` may not set."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What specification files say.

    Attributes:
        benchmarks: Every benchmark, in file order.
        default_args: Defaults of command-line flags.
    """

    benchmarks: tuple[Benchmark, ...]
    default_args: Mapping[str, JsonValue]


def load(files: Sequence[Path], options: LoadOptions | None = None) -> Loaded:
    """Load specifications and lists of specifications.

    Args:
        files: The files: JSON, or YAML when they end in `.yaml` or `.yml`.
        options: What the caller decides.

    Raises:
        SpecificationError: With every problem of every file.
    """
    options = options or LoadOptions()
    problems = Problems()
    outer = Document(Path("--info"), dict(options.meta), {})
    documents: list[Document] = []
    benchmarks: list[Benchmark] = []
    for file in files:
        document = read(file, problems)
        if document is not None:
            documents.append(document)
            for source in specifications(document, outer, problems):
                benchmarks += _expanded(source, options, problems)
    _check_unique(benchmarks, problems)
    defaults = _merged_defaults(documents, problems)
    problems.raise_if_any()
    return Loaded(tuple(benchmarks), defaults)


def default_args(files: Sequence[Path]) -> Mapping[str, JsonValue]:
    """Only the defaults of command-line flags: they must be known before `LoadOptions` can be made.

    What is wrong with the files otherwise is left to `load`.

    Raises:
        SpecificationError: Two files give one flag different defaults, or one that no specification may give.
    """
    elsewhere, problems = Problems(), Problems()
    documents = [document for file in files if (document := read(file, elsewhere)) is not None]
    defaults = _merged_defaults(documents, problems)
    problems.raise_if_any()
    return defaults


def _expanded(source: Source, options: LoadOptions, problems: Problems) -> Iterator[Benchmark]:
    findings = Findings(source.document, problems)
    outside = (options.command_args, *(format_scalar(value) for value in options.string_map.values()))
    usable = checked(findings, [name for template in outside for name in find_placeholders(template)])
    if usable is not None:
        yield from expand(Subject(usable, source.meta, options, findings))


def _check_unique(benchmarks: Sequence[Benchmark], problems: Problems) -> None:
    """Results are told apart by model and identifier."""
    seen: dict[tuple[str, str], Benchmark] = {}
    for benchmark in benchmarks:
        first = seen.setdefault((benchmark.model.name, benchmark.identifier), benchmark)
        unsettled = len(problems) > 0 and find_placeholders(benchmark.identifier)
        if first is benchmark or unsettled:  # an unknown placeholder in both names is told already
            continue
        place = benchmark.origin
        if first.id == benchmark.id and first.origin == place:
            problems.add(place, f"{place.file} is loaded twice", "name it once")
        elif first.origin == place:
            problems.add(place, f"several benchmarks of this test are called `{benchmark.title}`", _remedy(benchmark))
        else:
            message = f"two benchmarks are called `{benchmark.title}` (the other is at {first.origin})"
            problems.add(place, message, _remedy(benchmark))


def _remedy(benchmark: Benchmark) -> str:
    axes = [f"{{{axis}}}" for axis in benchmark.axes]
    shapes = [f"{{inputs.{one.name}.shape}}" for one in benchmark.inputs[:1]]
    return "use " + " or ".join(("{ID}", *axes, *shapes)) + " in the identifier"


def _refuse_default(flag: str, document: Document, problems: Problems) -> None:
    """A file from somebody else says what to measure, and how; not where results go, nor what else runs."""
    name = flag.lstrip("-").replace("-", "_")
    if name in _NO_DEFAULTS:
        message = f"`{flag}` decides where results go, which files are touched or what runs: no specification may"
        hint = "remove it here, and give it on the command line or save it as a default of your own (`harness init`)"
        problems.add(document.place(join("/default_args", flag)), message, hint)


def _merged_defaults(documents: Sequence[Document], problems: Problems) -> Mapping[str, JsonValue]:
    defaults: dict[str, JsonValue] = {}
    for document in documents:
        given = document.part("default_args").value
        for flag, value in given.items() if isinstance(given, dict) else ():
            _refuse_default(flag, document, problems)
            if defaults.setdefault(flag, value) != value:
                message = f"default_args gives `{flag}` another value than an earlier file"
                problems.add(document.place(join("/default_args", flag)), message, "keep one of them")
    return defaults
