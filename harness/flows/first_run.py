"""`harness init`: FAI-PEP's questions of the first run, asked when a person wants them and never in between."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.prompt import Confirm, Prompt

from harness.core.errors import ExitCode, UsageError


def ask(config: Path, console: Console) -> ExitCode:
    """Ask, and save what was answered; the token goes into a file of its own that only its owner can read.

    Raises:
        UsageError: There is no terminal to ask at.
    """
    if not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal to answer at",
            hint=f'write {config} yourself, as in {{"root_model_dir": "/models"}}, or use flags or HARNESS_* variables',
        )
    console.print(f"Answers become defaults in {config}; leave empty what does not apply.\n")
    answers: dict[str, object] = {
        "root_model_dir": _path("Folder that // locations of model files are relative to"),
        "local_reporter": _path("Folder for results"),
        "remote_reporter": Prompt.ask("URL to post results to (URL or URL|category)", default="") or None,
        "screen_reporter": Confirm.ask("Show the table on the screen?", default=True),
    }
    token = Prompt.ask("Access token for that URL", default="", password=True) if answers["remote_reporter"] else ""
    save(config, {key: value for key, value in answers.items() if value is not None}, token)
    console.print("\nSaved. Next: harness -b specifications/models/mv2.json   (forget it again: --reset_options)")
    return ExitCode.OK


def save(config: Path, answers: dict[str, object], token: str) -> None:
    """Write the defaults, and the token apart from them with mode 0600."""
    config.parent.mkdir(parents=True, exist_ok=True)
    partial = config.with_suffix(".part")
    partial.write_text(json.dumps(answers, indent=2) + "\n")
    partial.replace(config)
    if token:
        secret = config.with_name("remote_token")
        secret.touch(mode=0o600)
        secret.chmod(0o600)
        secret.write_text(token + "\n")


def _path(question: str) -> str | None:
    answer = Prompt.ask(question, default="")
    return str(Path(answer).expanduser().absolute()) if answer else None
