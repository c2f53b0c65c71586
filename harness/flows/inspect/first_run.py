"""`harness init`: FAI-PEP's questions of the first run, asked on request only."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.prompt import Confirm, Prompt

from harness.config.remote_target import RemoteTarget
from harness.config.settings import default_results
from harness.core.errors import ExitCode, UsageError
from harness.files.atomic import write_atomically


def ask(config: Path, console: Console) -> ExitCode:
    """Ask, and save the answers; the token goes into a file of its own that only its owner can read.

    Raises:
        UsageError: Standard input is no terminal.
        KeyboardInterrupt: It ended before the last answer; nothing is saved.
    """
    if not sys.stdin.isatty():
        raise UsageError(
            "harness init asks questions, and standard input is no terminal",
            hint=f'run it in a terminal, or write the answers into {config}, such as {{"local_reporter": "/results"}}: '
            "its keys are the flags of `harness run --help` with `_` for `-`",
        )
    try:
        return _ask(config, console)
    except EOFError as error:  # Ctrl-D
        console.print()
        raise KeyboardInterrupt from error


def _ask(config: Path, console: Console) -> ExitCode:
    console.print(f"Answers become defaults in {config}. An empty answer leaves a setting as it is by default.\n")
    answers: dict[str, object] = {
        "root_model_dir": _path("Folder that // locations of model files are relative to (empty: none)"),
        "local_reporter": _path(f"Folder for results (empty: {default_results()})"),
        "remote_reporter": _target(console),
        "screen_reporter": Confirm.ask("Show the table on the screen?", default=True),
    }
    token = _token() if answers["remote_reporter"] else ""
    save(config, {key: value for key, value in answers.items() if value is not None}, token)
    console.print("\nSaved. Next: harness mv2   (forget it again: --reset-options)")
    return ExitCode.OK


def save(config: Path, answers: dict[str, object], token: str) -> None:
    """Write the defaults, and the token apart from them with mode 0600."""
    write_atomically(config, json.dumps(answers, indent=2) + "\n")
    if token:
        write_atomically(config.with_name("remote_token"), token + "\n", mode=0o600)


def _target(console: Console) -> str | None:
    """Ask for the URL to post results to, until it is one, or nothing."""
    while True:
        answer = Prompt.ask(
            "URL to post results to, URL or URL|category (empty: they stay here)", default="", show_default=False
        ).strip()
        try:
            if answer:
                RemoteTarget.parse(answer)
        except UsageError as error:
            console.print(str(error), markup=False)
        else:
            return answer or None


def _token() -> str:
    return Prompt.ask("Access token for that URL (empty: it needs none)", default="", show_default=False, password=True)


def _path(question: str) -> str | None:
    answer = Prompt.ask(question, default="", show_default=False)
    return str(Path(answer).expanduser().absolute()) if answer else None
