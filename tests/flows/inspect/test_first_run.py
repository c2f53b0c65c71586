"""The questions of `harness init`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from harness.core.errors import ExitCode
from harness.flows.inspect import first_run


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the answers that are typed line by line; all of them must be used."""
    typed: list[str] = []

    def lines() -> Iterator[str]:
        while typed:
            yield typed.pop(0)

    source = lines()
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda *_: next(source))
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: next(source))
    return typed


def test_an_end_of_input_is_an_interruption_and_saves_nothing(
    answers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_: object) -> str:
        raise EOFError

    answers += [""]
    monkeypatch.setattr("builtins.input", end)
    with pytest.raises(KeyboardInterrupt):
        first_run.ask(tmp_path / "config.json", Console(file=io.StringIO()))
    assert not (tmp_path / "config.json").exists()


def test_an_invalid_url_is_asked_again(answers: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers += ["", "", "https://", "https://results.example/post|nightly", "y", ""]
    shown = Console(file=io.StringIO(), width=200)
    assert first_run.ask(tmp_path / "config.json", shown) is ExitCode.OK
    assert isinstance(shown.file, io.StringIO)
    assert "does not name a server" in shown.file.getvalue()
    assert json.loads((tmp_path / "config.json").read_text()) == {
        "remote_reporter": "https://results.example/post|nightly",
        "screen_reporter": True,
    }
    output = capsys.readouterr().out
    assert output.count("URL to post results to") == 2
    assert output.count("(empty: ") >= 4
