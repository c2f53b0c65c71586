"""A command of the user's that delivers news of alarms: `--on_alarm COMMAND`.

It gets the document as one line on its standard input, the path of the same document in `HARNESS_ALARM_FILE` and its
key in `HARNESS_ALARM_KEY`. Exit status 0 means delivered.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem, UsageError
from harness.files.atomic import write_atomically
from harness.watch.notify.channels import DeliveryFailed
from harness.watch.notify.webhook_channel import SECRET_VARIABLE
from harness.watch.store.records import News

FILE_VARIABLE: Final = "HARNESS_ALARM_FILE"
KEY_VARIABLE: Final = "HARNESS_ALARM_KEY"

COMMAND_S: Final = 300.0
"""Limit of a command."""
_PIPE_BYTES: Final = 60_000
"""What a pipe takes although nobody reads it (64 KiB on Linux and macOS). Longer documents are in the file only."""


@dataclass(frozen=True, slots=True)
class CommandCourier:
    """Runs a command of the user's.

    Attributes:
        argv: Program and arguments.
        folder: Where documents are kept for it.
        timeout_s: Limit of the command.
    """

    argv: tuple[str, ...]
    folder: Path
    timeout_s: float = COMMAND_S
    name: str = "command"

    def deliver(self, news: News) -> str:
        """Write the document into the folder, then run the command."""
        body = news.model_dump_json()
        file = self._put(news.key, body)
        # What a command of the user's has no business with; `shell` withholds other secrets itself.
        env = {FILE_VARIABLE: str(file), KEY_VARIABLE: news.key, SECRET_VARIABLE: ""}
        try:
            completed = _fed(Command(self.argv, env=env, timeout_s=self.timeout_s), body)
        except EnvironmentProblem as error:
            raise DeliveryFailed(error.message) from error
        if not completed.ok:
            raise DeliveryFailed(f"{self.argv[0]} {completed.describe()}")
        return "exit status 0"

    def _put(self, key: str, body: str) -> Path:
        file = self.folder / f"{key}.json"
        try:
            write_atomically(file, f"{body}\n")
        except OSError as error:
            raise DeliveryFailed(f"{file} cannot be written: {error.strerror or error}") from error
        return file


def command_courier(text: str, folder: Path) -> CommandCourier:
    """The courier of `--on_alarm COMMAND`, which is split as a POSIX shell would and never given to one.

    Raises:
        UsageError: It is empty, a quotation is not closed, or there is no such program: an alarm may be months away.
    """
    try:
        argv = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--on_alarm {text!r}: {error}", hint="close every quotation mark") from error
    if not argv:
        raise UsageError("--on_alarm names no command", hint="for example --on_alarm 'notify --channel perf'")
    if shell.which(argv[0]) is None:
        raise UsageError(
            f"--on_alarm {argv[0]}: there is no such program",
            hint="check the path, and that it may be executed; `sh FILE` runs one that may not",
        )
    return CommandCourier(tuple(argv), folder)


def _fed(command: Command, line: str) -> Completed:
    """Run a program that finds a line on its standard input."""
    with shell.start(command) as running:
        if len(line.encode()) < _PIPE_BYTES:
            running.write_line(line)
        return running.finish()
