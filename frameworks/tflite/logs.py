"""What LiteRT's own tools print, where the test has commands that start them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from frameworks.observations.converters import Parsed
from frameworks.tflite import benchmark_model, litert_benchmark
from harness.core.benchmark import Benchmark
from harness.core.command import Completed
from harness.core.note import Note

_LARGEST: Final = 1 << 20
"""Bytes of an output file that is looked at: a result of litert-benchmark has one kilobyte."""


def read_output(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
    """Parse the output of a tool; that of a launch with several commands is one text.

    A file that litert-benchmark wrote counts where its output was not kept.
    """
    for text in _texts(completed):
        if litert_benchmark.is_text(text):
            return litert_benchmark.parse_text(text)
        if benchmark_model.is_log(text):
            return benchmark_model.parse_log(text)
    for file in benchmark.output_files:
        paths = [command.files[file.key] for command in completed if file.key in command.files]
        text, notes = _read_file(paths[-1]) if paths and file.converter is None else ("", ())
        if notes:
            return (), notes
        if litert_benchmark.is_json(text):
            return litert_benchmark.parse_json(text)
    return (), ()


def _texts(completed: Sequence[Completed]) -> Iterator[str]:
    """Yield the output of all commands; benchmark_model writes to standard error, or in old releases to the other."""
    yield "\n".join(output for command in completed for output in (command.stderr, command.stdout))


def _read_file(path: Path) -> tuple[str, tuple[Note, ...]]:
    try:
        if path.stat().st_size > _LARGEST:
            return "", ()
        return path.read_text(encoding="utf-8", errors="replace"), ()
    except OSError as error:
        return "", (Note(code="output_file", message=f"{path.name}: {error.strerror}", trust=False),)
