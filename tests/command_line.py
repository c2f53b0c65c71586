"""The commands of the command line, those below others among them: `run`, `lab join`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from cyclopts import App
from cyclopts.argument import Argument

from harness.cli import app


def _below(parent: App, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    for name in parent:
        if not name.startswith("-"):
            command = parent[name]
            yield (*words, name), command
            yield from _below(command, (*words, name))


_APPS = dict(_below(app))
COMMANDS = frozenset(words[0] for words in _APPS)
"""First words."""
GROUPS = frozenset(words[0] for words in _APPS if len(words) > 1)
"""Those that only have commands below them."""
EVERY_COMMAND = tuple(" ".join(words) for words in _APPS if words[0] not in GROUPS or len(words) > 1)
"""Every command that does something."""


@cache
def arguments_of(command: str) -> tuple[Argument, ...]:
    """The arguments of a command."""
    return tuple(_APPS[tuple(command.split())].assemble_argument_collection())


def command_of(words: Sequence[str]) -> str:
    """The command that a command line names."""
    return " ".join(words[:2]) if words[0] in GROUPS and len(words) > 1 else words[0]
