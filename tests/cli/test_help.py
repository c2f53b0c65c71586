"""`--help` of a command shows what that command takes, with values, defaults and examples."""

from __future__ import annotations

import ast
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

import frameworks
import harness
import platforms
import reporters
from harness.cli import app, main
from harness.commands.examples import GENERAL, OF_COMMANDS, format_examples
from harness.config.arguments import insert_default_command, installed_options, normalise_flags
from harness.config.flags import ONE_COMMIT, UNSUPPORTED_FLAGS
from harness.core.comparison import Parameters
from tests.command_line import COMMANDS, EVERY_COMMAND, GROUPS, arguments_of, command_of

MEASURING = {"run", "evaluate", "profile", "rank", "compare", "watch", "bisect", "self-check"}


def shown_flags(command: str) -> set[str]:
    return {name for argument in arguments_of(command) if argument.show for name in argument.names}


def accepted_flags(command: str) -> set[str]:
    return {name for argument in arguments_of(command) for name in argument.names}


def test_run_shows_no_flags_of_comparisons_and_accepts_them() -> None:
    compared = shown_flags("compare") - shown_flags("run")
    assert {"--control", "--margin", "--pairs", "--self-check", "--ab-testing"} <= compared
    assert compared - {"--from", "--json"} <= accepted_flags("run")
    assert {f"--{name.replace('_', '-')}" for name in ONE_COMMIT} <= shown_flags("run")


@pytest.mark.parametrize("command", sorted(set(EVERY_COMMAND) - MEASURING - {"validate"}))
def test_commands_that_take_no_specification_show_no_programs(command: str) -> None:
    assert "--program" not in shown_flags(command) or command == "doctor"


def test_a_watcher_s_status_shows_where_its_state_is_and_little_else() -> None:
    flags = shown_flags("status")
    assert {"--state", "--json", "--local-reporter", "-q", "-v"} <= flags
    assert not flags & {"--program", "--framework", "--string-map", "--adb-server", "--model-cache"}


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_refused_flags_are_not_listed(command: str) -> None:
    assert not {f"--{name}" for name in UNSUPPORTED_FLAGS} & accepted_flags(command)


def test_only_commands_that_have_a_plan_offer_to_show_it(capsys: pytest.CaptureFixture[str]) -> None:
    offering = set()
    for command in EVERY_COMMAND:
        with pytest.raises(SystemExit):
            main([*command.split(), "--help"])
        offering |= {command} if "--dry-run" in capsys.readouterr().out else set()
    assert offering == {"run", "compare"}


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_each_value_has_a_name(command: str) -> None:
    """A number or path that is called FLOAT or PATH leaves its unit and its kind open."""
    unnamed = [
        argument.name
        for argument in arguments_of(command)
        if argument.show and argument.field_info.is_keyword_only and bool not in (argument.hint, *_parts(argument.hint))
        if argument.parameter.metavar is None
    ]
    assert unnamed == []


def _parts(hint: object) -> tuple[object, ...]:
    return tuple(getattr(hint, "__args__", ()))


@cache
def help_of(command: str) -> dict[str, str]:
    """The lines of `--help` by each of their flags."""
    stream = io.StringIO()
    app([command, "--help"], console=Console(file=stream, width=1000), result_action="return_value")
    lines = [line.strip("│ \n") for line in stream.getvalue().splitlines()]
    return {flag: line for line in lines for flag in re.findall(r"(?<!\S)--?[a-z][a-z-]*", line.partition("   ")[0])}


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_help_is_broken_where_the_screen_ends(command: str) -> None:
    """A row has a gap between its flag and its words; a row without words, and a line broken too early, have none."""
    stream = io.StringIO()
    app([*command.split(), "--help"], console=Console(file=stream, width=1000), result_action="return_value")
    rows = [line.strip("│* ") for line in stream.getvalue().splitlines() if line.startswith("│")]
    assert [row for row in rows if "  " not in row] == []


def test_defaults_are_shown() -> None:
    helps = help_of("compare")
    assert helps["--lock-timeout"].endswith("(default: 600).")
    assert helps["--platform"].endswith("(default: host).")
    for option in installed_options().options:
        if option.flags and option.shown_default:
            assert "default" in helps[option.flag], option.name


def test_the_defaults_of_comparisons_are_those_that_are_used() -> None:
    flags = {"margin": "margin", "tail-margin": "tail_margin", "alpha": "alpha", "beta": "beta", "fdr": "fdr"}
    for flag, name in {**flags, "pairs": "max_pairs"}.items():
        match = re.search(r"default ([\d.]*\d)", help_of("compare")[f"--{flag}"])
        assert match is not None, flag
        assert float(match[1]) == Parameters.model_fields[name].default


@pytest.mark.parametrize("examples", [GENERAL, *OF_COMMANDS.values()])
def test_examples_fit_a_terminal(examples: Sequence[tuple[str, str]]) -> None:
    assert [line for line in format_examples(examples).splitlines() if len(line) > 80] == []


def test_every_command_has_examples_that_it_accepts() -> None:
    assert OF_COMMANDS.keys() == COMMANDS
    for command, examples in {"": GENERAL, **OF_COMMANDS}.items():
        for line, purpose in examples:
            words = insert_default_command(normalise_flags(shlex.split(line)[1:]), COMMANDS, GROUPS)
            assert purpose
            assert words[0] == (command or words[0]), line
            flags = {word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-zA-Z]", word)}
            assert flags - {"--help"} <= accepted_flags(command_of(words)), line


def _messages() -> Iterator[tuple[str, str]]:
    """Every text of the product that is no docstring, with its module."""
    for package in (harness, platforms, frameworks, reporters):
        for folder in package.__path__:
            for file in Path(folder).rglob("*.py"):
                tree = ast.parse(file.read_text(encoding="utf-8"))
                documentation = {
                    id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and _is_text(node.value)
                }
                for node in ast.walk(tree):
                    if _is_text(node) and id(node) not in documentation:
                        yield str(file), str(node.value)  # type: ignore[attr-defined]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_no_message_names_a_file_that_only_the_repository_has() -> None:
    """Who installed the wheel has neither documentation nor Makefile, and specifications at another place."""
    repository = re.compile(r"\bdocs/|specifications/(models|benchmarks)/|README\.md|`make \w+`|\.venv/")
    named = [(file, text) for file, text in _messages() if repository.search(text)]
    assert [item for item in named if "/testing/" not in item[0]] == []
