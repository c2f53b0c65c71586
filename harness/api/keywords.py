"""Options of the harness as keyword arguments: the names, values and layers of the command line."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct
from pydantic import TypeAdapter, ValidationError

from harness.api.specifications import Specifications, split
from harness.commands import from_flags
from harness.config import arguments
from harness.config.flags import CompareFlags, RunFlags, run_flags
from harness.config.parsing import describe_first_mistake
from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.core.placeholders import suggest
from harness.specification.document import SpecificationDocument
from harness.specification.load import default_args

if TYPE_CHECKING:
    from harness.core.benchmark import Benchmark
    from harness.flows.compare.requests import CompareRequest

NO_KEYWORDS: Final = frozenset({"benchmark_file", "dry_run", "later", "quiet"})
"""Options that are no keywords: the specification is an argument of its own, and the others mean nothing here."""

COMMIT_KEYWORDS: Final = from_flags.COMMIT_FLAGS | from_flags.BUILD_FLAGS
"""Keywords of `run` that name a commit to build and measure, and how to get it."""

COMPARE_KEYWORDS: Final = frozenset(field.name for field in dataclasses.fields(CompareFlags)) - {"ab_testing"}
"""Keywords of `compare` beside the options."""

_PROGRAMS: Final = frozenset({"program", "control_program", "treatment_program"})
"""Keywords that are a path, several, or paths by name."""

_SEVERAL: Final = frozenset({"control_program", "treatment_program", "frameworks_dir", "unequal_options"})
"""Keywords of comparisons that take several words; a text is one of them."""

_SILENT: Final = {"screen_reporter": False, "simple_screen_reporter": False}
"""Reporters that write to standard output: only a keyword asks for them."""


@dataclass(frozen=True, kw_only=True)
class _KeywordFlags(RunFlags):
    """Keywords in place of flags.

    Attributes:
        options: Values by the names of the options.
    """

    options: Mapping[str, object] = field(default_factory=dict)

    def given(self) -> dict[str, object]:
        """Return the options."""
        return dict(self.options)


class Request(Struct, frozen=True):
    """What a call asks for.

    Attributes:
        settings: Settings of the run.
        documents: Specifications that are dictionaries.
        compare: What to compare; None where nothing is compared or built.
    """

    settings: Settings
    documents: tuple[SpecificationDocument, ...]
    compare: CompareRequest | None = None

    def load_benchmarks(self) -> tuple[Benchmark, ...]:
        """Load the specifications, and check that what they name exists.

        Raises:
            SpecificationError: Everything that is wrong with them.
        """
        from harness.flows.measure.named_parts import raise_for_problems  # noqa: PLC0415
        from harness.flows.measure.workload import load_benchmarks  # noqa: PLC0415

        benchmarks = load_benchmarks(self.settings, self.documents)
        raise_for_problems(benchmarks, self.settings)
        return benchmarks

    @property
    def required_compare(self) -> CompareRequest:
        """What to compare.

        Raises:
            UsageError: Nothing.
        """
        if self.compare is None:
            raise UsageError("nothing to compare", hint="give control and treatment")
        return self.compare


def read_run(spec: Specifications, given: Mapping[str, object]) -> Request:
    """Return what `harness.run` is asked for.

    Raises:
        UsageError: A keyword or a value is wrong.
    """
    options, sides = _split(given, COMMIT_KEYWORDS, "run")
    settings, documents = _settings(spec, options)
    return Request(settings, documents, _compare_request(options, sides) if sides else None)


def read_compare(spec: Specifications, given: Mapping[str, object]) -> Request:
    """Return what `harness.compare` is asked for.

    Raises:
        UsageError: A keyword or a value is wrong.
    """
    options, sides = _split(given, COMPARE_KEYWORDS, "compare")
    settings, documents = _settings(spec, options)
    return Request(settings, documents, _compare_request(options, sides))


def _split(
    given: Mapping[str, object], side_names: Collection[str], function: str
) -> tuple[dict[str, object], dict[str, object]]:
    """Return options, and what is about the sides of a comparison; those that are None are not given.

    Raises:
        UsageError: No option is called like a keyword.
    """
    table = arguments.installed_options()
    known = {"config_dir", *side_names, *(option.name for option in table.options)} - NO_KEYWORDS
    options: dict[str, object] = {}
    sides: dict[str, object] = {}
    for name, value in given.items():
        if name not in known:
            elsewhere = "harness.compare takes it" if name in COMPARE_KEYWORDS else None
            raise UsageError(f"harness.{function} takes no option `{name}`", hint=elsewhere or suggest(name, known))
        if value is not None:
            (sides if name in side_names else options)[name] = _plain(name, value)
    return options, sides


def _settings(spec: Specifications, options: dict[str, object]) -> tuple[Settings, tuple[SpecificationDocument, ...]]:
    """Return the settings, with the layers of the command line below the keywords."""
    table = arguments.installed_options()
    files, documents = split(spec)
    config_dir = options.get("config_dir")
    options = {name: value for name, value in options.items() if name != "config_dir"}
    for name, value in options.items():
        option = table.find(name)
        if option is not None and option.option.choices and value not in option.option.choices:
            raise UsageError(f"{name} {value!r}: not one of {', '.join(option.option.choices)}")
    defaults: dict[str, object] = {}
    for key, value in default_args(documents, table.protected_keys).items():
        option = table.find(key)
        if option is None:
            raise UsageError(f"default_args of the specification: no setting `{key}`", hint=suggest(key, table.keys))
        defaults[option.name] = value
    layer = {**defaults, **_SILENT, **options, "benchmark_file": files}
    flags = _KeywordFlags(options=layer, config_dir=None if config_dir is None else Path(str(config_dir)))
    return arguments.resolve_settings(flags), documents


def _compare_request(options: Mapping[str, object], sides: Mapping[str, object]) -> CompareRequest:
    """Return what is to be compared, or built.

    Raises:
        UsageError: A value has the wrong type, or contradicts another.
    """
    try:
        flags = TypeAdapter(CompareFlags).validate_python(sides)
    except ValidationError as error:
        raise UsageError(describe_first_mistake(error)) from error
    known = run_flags(arguments.installed_options())
    names = {field.name for field in dataclasses.fields(known)}
    given = cast("dict[str, Any]", {name: options[name] for name in names & options.keys()})
    return from_flags.compare_request(known(**given), flags)


def _plain(name: str, value: object) -> object:
    """Return a value in the forms that options know: paths as texts, sequences as tuples, programs as words."""
    if isinstance(value, PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return (value,) if name in _SEVERAL else value
    if isinstance(value, Mapping):
        if name in _PROGRAMS:
            return tuple(f"{program}={os.fspath(cast('str', path))}" for program, path in value.items())
        return {key: _plain("", item) for key, item in value.items()}
    return tuple(_plain("", item) for item in value) if isinstance(value, list | tuple) else value
