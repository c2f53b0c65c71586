"""Long command lines: the same meaning, and work that grows with their length only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cyclopts.token
import pytest

from harness.cli import app, main
from harness.config.arguments import prepare
from harness.config.flags import CompareFlags, RunFlags
from harness.core.errors import UsageError


def _parse(*tokens: str) -> tuple[dict[str, object], CompareFlags | None]:
    _, bound, _ = app.parse_args(prepare(tokens, ("run", "compare")), exit_on_error=False, print_error=False)
    flags = bound.arguments["run_flags"]
    assert isinstance(flags, RunFlags)
    return flags.given(), bound.arguments.get("compare_flags")


def _padded(*tokens: str) -> Sequence[str]:
    return (*tokens, *("-b", "last.json") * 60)


def test_words_of_a_long_line_are_those_of_short_ones() -> None:
    line = ("run", "-b", "a.json", "b c.json", "--env", "A=1", "--timeout", "5", "--env=B= 2", "C=3", "--dry-run")
    short, _ = _parse(*line, "-b", "last.json")
    long, _ = _parse(*_padded(*line))
    files = ("a.json", "b c.json", *["last.json"] * 60)
    assert long == {**short, "benchmark_file": files}
    assert short["env"] == ("A=1", "B= 2", "C=3")


def test_lists_that_are_no_options_are_joined_too() -> None:
    programs = [f"p{number}=/bin/true" for number in range(200)]
    _, flags = _parse("compare", "-b", "a.json", "--control-program", *programs, "--frameworks-dir", "x", "y")
    assert flags is not None
    assert flags.control_program == tuple(programs)
    assert flags.frameworks_dir == (Path("x"), Path("y"))


def test_a_flag_without_words_is_an_empty_list_on_a_long_line_too() -> None:
    assert _parse("run", *["--timeout=1"] * 100, "-b") == _parse("run", "--timeout=1", "-b")


@pytest.mark.parametrize("flag", ["--bogus", "-x", "--timeout=1", "--no-screen"])
def test_a_line_of_flags_is_refused_as_a_whole(flag: str) -> None:
    with pytest.raises(UsageError, match="100000 flags on one command line"):
        prepare(["run", *[flag] * 100_000], ("run",))


@pytest.fixture
def tokens_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the tokens that the parser makes, which it does for all words that follow a flag."""
    made = [0]
    make = cyclopts.token.Token.__init__

    def count(self: object, *arguments: object, **named: object) -> None:
        made[0] += 1
        make(self, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(cyclopts.token.Token, "__init__", count)
    return made


def test_the_parser_sees_few_words_of_many(tokens_made: list[int]) -> None:
    given, _ = _parse("run", *["-b", "x.json"] * 50_000)
    assert given["benchmark_file"] == ("x.json",) * 50_000
    assert tokens_made[0] < 100


@pytest.mark.parametrize(
    "line", [("--" + "a" * 1_000_000,), ("x" * 1_000_000,), ("run", *["x"] * 1000), ("run", "--cpus", "1," * 500_000)]
)
def test_messages_about_long_words_are_short(line: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line)
    assert ended.value.code == 2
    assert len(capsys.readouterr().err) < 1000
