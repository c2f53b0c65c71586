"""Words of command lines that mean something to a shell only: no shell runs, so that programs are given them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.note import Note

HINT: Final = "no shell runs: all words are passed to the program unchanged; use `sh -c '...'`"

_OPERATORS: Final = frozenset(("|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>"))


def find_shell_words(benchmark: Benchmark) -> Iterator[tuple[str, str]]:
    """Yield the first such word of each command line that has one, with the line: first those of the device."""
    for command in benchmark.command_lines:
        words = [word for word in shlex.split(command) if word in _OPERATORS or word.startswith(("$(", "`"))]
        if words:
            yield words[0], command


def note_shell_words(benchmark: Benchmark) -> tuple[Note, ...]:
    """Return a note for each command line that seems to be written for a shell."""
    return tuple(
        Note(code="shell_words", message=f"`{word}` in `{command}` was passed to the program", hint=HINT)
        for word, command in find_shell_words(benchmark)
    )
