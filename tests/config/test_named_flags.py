"""A command line means the same whether the parser knows every flag of its command or those that it names."""

from __future__ import annotations

import contextlib
import inspect
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from cyclopts import CycloptsError
from cyclopts.argument import Argument

from harness.cli import app
from harness.config.named_flags import parse_named
from tests.command_line import EVERY_COMMAND, arguments_of

VALUES = ("1", "5,15", "22:00-07:00", "a=b")
"""Values of which each flag understands one at least."""


def _recorder(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the same parameters, which returns what it is called with."""
    signature = inspect.signature(function)

    def record(*args: object, **kwargs: object) -> dict[str, object]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return {name: _members(value) for name, value in bound.arguments.items()}

    record.__signature__ = signature  # type: ignore[attr-defined]
    record.__annotations__ = get_type_hints(function, include_extras=True)
    return record


def _members(value: object) -> object:
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return type(value).__name__, {field.name: getattr(value, field.name) for field in fields(value)}


@contextlib.contextmanager
def _recording(tokens: Sequence[str]) -> Iterator[int]:
    """Let a command return what it is called with; yields the number of flags that it takes."""
    command = app.parse_commands(tokens)[1][-1]
    function = command.default_command
    assert function is not None
    command.default_command = _recorder(function)
    try:
        yield len(command.assemble_argument_collection())
    finally:
        command.default_command = function


def _meaning(tokens: Sequence[str], *, named: bool) -> object:
    with _recording(tokens), parse_named(app, tokens) if named else contextlib.nullcontext():
        try:
            return app(list(tokens), exit_on_error=False, print_error=False, result_action="return_value")
        except CycloptsError as error:
            return type(error), str(error)


def _line(argument: Argument, name: str, chance: random.Random) -> list[str]:
    """A flag with a value, if it takes one."""
    if argument.hint in {bool, bool | None} or name in argument.negatives:
        return [name]
    return [name, chance.choice(tuple(argument.get_choices() or VALUES))]


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_flags_mean_the_same(command: str) -> None:
    chance = random.Random(command)
    flags = [(argument, name) for argument in arguments_of(command) for name in argument.names if name.startswith("-")]
    lines = [[], *([word for flag in chance.sample(flags, count) for word in _line(*flag, chance)]
                   for count in (1, 2, 4) if count <= len(flags))]  # fmt: skip
    for line in lines:
        tokens = [*command.split(), *line]
        assert _meaning(tokens, named=True) == _meaning(tokens, named=False), tokens


@pytest.mark.parametrize(
    "words",
    [
        ("mv2", "--dry-rnu"),
        ("mv2", "--timeout", "soon"),
        ("mv2", "--timeout"),
        ("mv2", "--timeout", "-1"),
        ("mv2", "--timeout=-1"),
        ("mv2", "--", "--timeout"),
        ("mv2", "--no-dry-run"),
        ("mv2", "-b"),
        ("mv2", "--control", "HEAD~1", "--pairs", "3"),
    ],
)
def test_mistakes_are_told_with_every_flag_in_view(words: Sequence[str]) -> None:
    assert _meaning(("run", *words), named=True) == _meaning(("run", *words), named=False)


def test_flags_that_are_not_named_are_not_made() -> None:
    tokens = ("run", "mv2", "--dry-run", "--timeout", "5")
    with _recording(tokens) as every, parse_named(app, tokens):
        few = len(app["run"].assemble_argument_collection())
    assert few < 10
    assert every > 80


def test_a_command_takes_every_flag_again_afterwards(tmp_path: Path) -> None:
    before = app["run"].default_command
    with contextlib.suppress(KeyboardInterrupt), parse_named(app, ("run", str(tmp_path), "--dry-run")):
        assert app["run"].default_command is not before
        raise KeyboardInterrupt
    assert app["run"].default_command is before
