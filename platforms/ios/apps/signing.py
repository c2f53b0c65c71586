"""Signing an app again, by the command that the user gives (`--ios-sign`)."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem, UsageError

APP: Final = "{app}"
"""Placeholder of the folder `NAME.app`."""
_SIGNING_S: Final = 600.0
_HINT: Final = "as in --ios-sign 'codesign --force --sign IDENTITY --entitlements FILE {app}'"


def signing_words(command: str) -> tuple[str, ...]:
    """Split the command into words, as a shell would, though none runs it.

    Raises:
        UsageError: It cannot be split, is empty, or does not name the app.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"--ios-sign {command!r} cannot be split into words: {error}", hint=_HINT) from error
    if "\0" in command or not any(APP in word for word in words[1:]):
        raise UsageError(f"--ios-sign {command!r} does not say where {APP} stands, the folder of the app", hint=_HINT)
    return words


def sign_app(app: Path, command: str) -> None:
    """Sign an app in its folder.

    Raises:
        UsageError: The command cannot be one.
        EnvironmentProblem: It cannot be started, fails, or does not end in time; with what it wrote.
    """
    words = signing_words(command)
    completed = shell.run(Command(tuple(word.replace(APP, str(app)) for word in words), timeout_s=_SIGNING_S))
    if not completed.ok:
        output = "\n".join(text for text in (completed.stdout.strip(), completed.stderr.strip()) if text)
        raise EnvironmentProblem(
            f"{app.name} was not signed: `{words[0]}` {completed.describe()}",
            hint=f"iOS refuses an app that was changed, so it was not installed. It wrote:\n{output[-2000:]}"
            if output
            else "iOS refuses an app that was changed, so it was not installed",
        )
