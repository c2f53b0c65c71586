"""Flags of single commands, which nothing but the command line sets, and which no option of a plug-in may be called."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cyclopts import App

from harness.cli import app
from harness.config import flags

OF_EVERY_COMMAND = {"--help", "-h", "--version", "-V"}


def commands(parent: App) -> Iterator[App]:
    for name in parent:
        if not name.startswith("-"):
            yield parent[name]
            yield from commands(parent[name])


def test_every_flag_that_is_said_to_be_of_a_command_is_of_one() -> None:
    with_flags = [command for command in commands(app) if command.default_command is not None]
    taken = {name for command in with_flags for part in command.assemble_argument_collection() for name in part.names}
    assert flags._COMMAND_FLAGS - OF_EVERY_COMMAND - taken == set()


@pytest.mark.parametrize("key", ["section", "path", "files"])
def test_a_key_is_no_flag_where_no_command_has_it(key: str) -> None:
    assert flags.find_flag_without_default(key) is None
