"""Standard streams that are closed, full, or know too few characters, under every command.

They are no defect of the harness, and never a regression: the exit code is that of the work, or that of a problem of
the environment where output was lost.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TextIO

import pytest

from harness.cli import main
from harness.core.errors import ExitCode
from harness.files.streams import guard_standard_streams
from tests.cli.project import Project, generic, observe, one_test
from tests.command_line import EVERY_COMMAND

WORDS: Final[dict[str, tuple[str, ...]]] = {
    "--help": (),
    "--version": (),
    "--mistake": (),
    "alarms": ("close", "none", "--because", "caf\xe9"),
    "bisect": ("-b", "caf\xe9.json", "--dry-run"),
    "builds": (),
    "compare": ("-b", "caf\xe9.json", "--self-check", "--dry-run"),
    "devices": (),
    "export": (),
    "init": (),
    "list": (),
    "query": ("--database", "caf\xe9.db"),
    "report": (),
    "run": ("-b", "caf\xe9.json", "--dry-run"),
    "schema": (),
    "status": (),
    "store": ("import", "--database", "caf\xe9.db"),
    "validate": ("caf\xe9.json", "na\udcefve.json"),
    "watch": ("-b", "caf\xe9.json", "--dry-run"),
}
"""Words that make a command short and let it print. Any other command prints its help: it may measure for minutes."""


@contextlib.contextmanager
def encoded(encoding: str) -> Iterator[TextIO]:
    with io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict") as stream:
        yield stream


@contextlib.contextmanager
def closed_pipe() -> Iterator[TextIO]:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor
        yield stream


@contextlib.contextmanager
def full_disk() -> Iterator[TextIO]:
    with Path("/dev/full").open("w") as stream:
        yield stream


FULL_DISK: Final = "a full disk"
STREAMS: Final[dict[str, Callable[[], AbstractContextManager[TextIO | None]]]] = {
    "a closed pipe": closed_pipe,
    **({FULL_DISK: full_disk} if Path("/dev/full").exists() else {}),  # only Linux has it
    "ascii": lambda: encoded("ascii"),
    "latin-1": lambda: encoded("latin-1"),
    "closed": contextlib.nullcontext,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in the working folder of this process."""
    project = Project(tmp_path, tmp_path / "cache")
    for name in (name for name in os.environ if name.startswith("HARNESS_")):
        monkeypatch.delenv(name)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    project.write("caf\xe9.json", generic(one_test("\N{GREEK SMALL LETTER MU}s", observe(5, 6, 7))))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return project


def call(words: Sequence[str], stdout: TextIO | None, stderr: TextIO | None) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", stderr)
        with pytest.raises(SystemExit) as ended:
            main(words)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def check(words: Sequence[str], names: Collection[str], *, errors_too: bool = True) -> None:
    """Call a command with good streams, then with each of the others."""
    output, errors = io.StringIO(), io.StringIO()
    code = call(words, output, errors)
    assert code != ExitCode.REGRESSION
    assert "a bug" not in errors.getvalue()
    for name in names:
        with STREAMS[name]() as stream:
            errors = io.StringIO()
            is_lost = name == FULL_DISK and output.getvalue() != ""
            expected = (code or ExitCode.ENVIRONMENT) if is_lost else code
            assert call(words, stream, errors) == expected, (name, errors.getvalue())
            assert ("standard output cannot be written: No space left" in errors.getvalue()) == is_lost
            assert "a bug" not in errors.getvalue(), name
            if isinstance(stream, io.TextIOWrapper) and isinstance(stream.buffer, io.BytesIO):
                assert bool(stream.buffer.getvalue()) == bool(output.getvalue())
        if errors_too:
            with STREAMS[name]() as stream:
                assert call(words, io.StringIO(), stream) == code, f"{name} as standard error"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("command", ["--help", "--version", "--mistake", *EVERY_COMMAND])
def test_no_stream_changes_what_a_command_did(command: str) -> None:
    check((*command.split(), *WORDS.get(command, ("--help",))), STREAMS, errors_too=command in WORDS)


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", "~ 3 us x 2 ~ ?"), ("latin-1", "± 3 µs × 2 ~ ?")])
def test_signs_of_tables_are_shown_by_others_of_the_same_width(encoding: str, shown: str) -> None:
    with encoded(encoding) as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        with guard_standard_streams() as find_failure:
            print("± 3 µs × 2 … é" if encoding == "ascii" else "± 3 µs × 2 … 日", end="")
            assert find_failure() is None
        assert isinstance(stream, io.TextIOWrapper)
        assert isinstance(stream.buffer, io.BytesIO)
        assert stream.buffer.getvalue().decode(encoding) == shown


def test_signs_of_messages_are_shown_by_others_and_the_rest_by_escapes() -> None:
    with encoded("ascii") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        with guard_standard_streams():
            print("+6 … +11 %, ±2 %, /tmp/é", end="", file=sys.stderr, flush=True)
        assert isinstance(stream, io.TextIOWrapper)
        assert isinstance(stream.buffer, io.BytesIO)
        assert stream.buffer.getvalue() == rb"+6 ~ +11 %, ~2 %, /tmp/\xe9"


@pytest.mark.slow
@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("command", [command for command in EVERY_COMMAND if command in WORDS])
def test_the_help_of_a_command_may_be_lost(command: str) -> None:
    check(
        (*command.split(), "--help"),
        [name for name in STREAMS if name in {FULL_DISK, "a closed pipe"}],
        errors_too=False,
    )


@pytest.mark.parametrize(
    ("code", "with_lost_output"),
    [(ExitCode.REGRESSION, ExitCode.REGRESSION), (ExitCode.UNDECIDED, ExitCode.ENVIRONMENT)],
)
def test_lost_output_takes_its_place_among_the_exit_codes(
    code: ExitCode, with_lost_output: ExitCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def print_much(*_: object, **__: object) -> int:
        print("slower" * 10_000)
        return code

    monkeypatch.setattr("harness.cli._call", print_much)
    for name, make in STREAMS.items():
        with make() as stream:
            expected = with_lost_output if name == FULL_DISK else code
            assert call(("run",), stream, io.StringIO()) == expected, name


@pytest.mark.skipif(FULL_DISK not in STREAMS, reason="only Linux has /dev/full")
@pytest.mark.parametrize(("words", "is_stored"), [(("list",), False), (("run",), True), (("-b", "x.json"), True)])
def test_only_commands_that_measure_say_that_something_is_stored(
    words: tuple[str, ...], is_stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def print_much(*_: object, **__: object) -> int:
        print("slower" * 10_000)
        return ExitCode.OK

    monkeypatch.setattr("harness.cli._call", print_much)
    errors = io.StringIO()
    with full_disk() as stream:
        call(words, stream, errors)
    assert ("what was measured is stored" in errors.getvalue()) == is_stored
