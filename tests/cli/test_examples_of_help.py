"""Examples at the end of help texts, on terminals of any width."""

from __future__ import annotations

import shlex

import pytest

from harness.commands.examples import GENERAL, OF_COMMANDS, format_examples, format_exit_codes

EXAMPLES = (GENERAL, *OF_COMMANDS.values())


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_examples_and_exit_codes_fit_a_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    texts = [*map(format_examples, EXAMPLES), format_exit_codes()]
    lines = [line for text in texts for line in text.splitlines()]
    assert [line for line in lines if len(line) > columns and " " in line.removesuffix(" \\").strip()] == []


@pytest.mark.parametrize("columns", [50, 80])
def test_a_shell_reads_a_broken_example_as_the_whole_one(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for command, purpose in (example for examples in EXAMPLES for example in examples):
        shown = format_examples([(command, purpose)]).removeprefix("Examples:\n")
        read = shlex.split(shown.replace("\\\n", "").replace(purpose, "").replace("\n", " # "), comments=True)
        assert read == shlex.split(command)


def test_exit_codes_stand_in_order_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    codes = [int(line.split()[0]) for line in format_exit_codes().splitlines()[1:]]
    assert codes == [0, 1, 2, 3, 4, 5, 130]
