"""Programs that the user gives, and whether benchmarks start them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.placeholders import find_placeholders
from harness.files.programs import RUNNER

_WORD: Final = re.compile(r"[\w.+-]+")
"""A word of a command line that may be the name of a file."""

_FOLDER: Final = "TGTDIR"
"""Placeholder of the folder on the device where all programs are."""


def starts_any(benchmark: Benchmark, programs: Mapping[str, Path]) -> bool:
    """Return whether the commands of a benchmark can start one of the programs; the framework's own do.

    Args:
        benchmark: The benchmark.
        programs: Path of each by placeholder.
    """
    if not benchmark.commands or benchmark.app is not None:
        return True
    texts = (
        *(*benchmark.command_lines, benchmark.arguments),
        *(*benchmark.env.values(), *benchmark.variables.values()),
    )
    placeholders = {name for text in texts for name in find_placeholders(text)}
    words = {word for text in texts for word in _WORD.findall(text)}
    files = {*programs, *(path.name for path in programs.values())} - {RUNNER}
    return not {*programs, _FOLDER}.isdisjoint(placeholders) or not files.isdisjoint(words)


def describe_unused(benchmarks: Sequence[Benchmark], programs: Mapping[str, Path]) -> tuple[str, ...]:
    """Return a sentence for each program that no benchmark starts."""
    return tuple(
        f"--program {path if name == RUNNER else f'{name}={path}'} is not used: no command starts it; "
        f"write {{{name}}} where one should"
        for name, path in programs.items()
        if not any(starts_any(benchmark, {name: path}) for benchmark in benchmarks)
    )
