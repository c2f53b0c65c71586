"""GitHub: the page of a comparison as the one comment of a pull request, written by the action `compare`.

`python -m reporters.channels.pull_request PAGE --exit-code N` runs after `harness compare` in a job of GitHub Actions,
whose variables say which pull request it is (docs.github.com/actions/reference/variables-reference). An invisible mark
at the beginning of the comment identifies it, so that later runs update it. Where the token may not write, as in pull
requests from forks, the page is in the summary of the job only.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from harness import shell
from harness.core.errors import DeliveryFailed, ExitCode, HarnessError, UsageError
from harness.core.terminal_text import clean_for_terminal
from harness.files.reading import read_bounded
from harness.presentation.markdown import fence
from reporters.channels.github import GitHubRepository, open_repository

_ALLOWED: Final = {"regression": ExitCode.REGRESSION, "undecided": ExitCode.UNDECIDED}
"""Verdicts that may leave a check green. A failure never does."""
_REFUSALS: Final = frozenset({403, 404})
"""Statuses that GitHub answers where a token may not write; 404 hides what it may not even read."""
_NOT_PERMITTED: Final = (
    "::warning::The token may not comment on pull request {number} ({reason}): the page is in the job summary only. "
    "Pull requests from forks have no such token; others need `permissions: pull-requests: write`."
)
_ATTEMPTS: Final = 4
_PAUSE_S: Final = 3.0
_LONGEST_PAUSE_S: Final = 60.0
_LAST_LINES: Final = 40
_LAST_CHARACTERS: Final = 20_000
_PAGE_BYTES: Final = 1 << 20
"""Limit of a job's summary; that of a comment is smaller, and pages keep to it."""


class _PullRequest(BaseModel):
    number: int


class _Event(BaseModel):
    """The part of the event of a workflow that is looked at."""

    pull_request: _PullRequest | None = None


class PullRequestComment(Struct, frozen=True):
    """The comment of one comparison on one pull request.

    Attributes:
        repository: Where.
        number: Number of the pull request.
        key: Name of the comparison, where a pull request has several.
    """

    repository: GitHubRepository
    number: int
    key: str

    @property
    def mark(self) -> str:
        """Invisible beginning of the comment."""
        return f"<!-- edge-harness compare {sha256(self.key.encode(errors='replace')).hexdigest()[:32]} -->"

    def write(self, page: str) -> str:
        """Write the comment, or update that of an earlier run; returns what was done, in words.

        Raises:
            DeliveryFailed: GitHub cannot be reached, or refuses.
        """
        document = {"body": f"{self.mark}\n{page}"}
        comments = self.repository.comments(self.number)
        own = next((comment for comment in comments if (comment.body or "").startswith(self.mark)), None)
        if own is None:
            self.repository.send("POST", f"issues/{self.number}/comments", document)
            return f"commented on pull request {self.number}"
        self.repository.send("PATCH", f"issues/comments/{own.id}", document)
        return f"updated the comment on pull request {self.number}"


def main(
    argv: Sequence[str] | None = None,
    environment: Mapping[str, str] = os.environ,
    pause: Callable[[float], None] = shell.pause,
) -> int:
    """Write the comment and the summary of a job; returns the exit code of its step.

    Args:
        argv: Arguments; None for those of the process.
        environment: Variables of the job.
        pause: Waits between attempts, seconds.
    """
    parser = argparse.ArgumentParser(prog="python -m reporters.channels.pull_request", description=main.__doc__)
    parser.add_argument("page", type=Path, help="page of `--reporter markdown=FILE`")
    parser.add_argument("--exit-code", type=int, required=True, help="exit code of `harness compare`")
    parser.add_argument("--log", type=Path, help="output of `harness compare`, shown where there is no page")
    parser.add_argument("--key", default="", help="name of the comparison, where a pull request has several")
    parser.add_argument("--allow", default="", help="verdicts that do not fail the check: regression, undecided")
    parser.add_argument("--no-comment", action="store_true", help="write the summary of the job only")
    arguments = parser.parse_args(argv)
    try:
        allowed = _read_allowed(arguments.allow)
        page = _read_page(arguments.page, arguments.log, arguments.exit_code)
        _write_summary(page, environment)
        if not arguments.no_comment:
            _say(_comment(page, arguments.key, environment, pause))
    except HarnessError as error:
        _say(f"::error::{_on_one_line(str(error))}")
        return _worse(arguments.exit_code, error.exit_code)
    return ExitCode.OK if arguments.exit_code in allowed else arguments.exit_code


def _read_allowed(text: str) -> frozenset[int]:
    words = text.replace(",", " ").split()
    unknown = [word for word in words if word not in _ALLOWED]
    if unknown:
        raise UsageError(f"allow: `{unknown[0]}` is not one of {', '.join(_ALLOWED)}")
    return frozenset(_ALLOWED[word].value for word in words)


def _read_page(page: Path, log: Path | None, exit_code: int) -> str:
    """Return the page; where there is none, that nothing was compared, with the end of the log."""
    with contextlib.suppress(OSError):
        return read_bounded(page, _PAGE_BYTES).decode(errors="replace")
    text = ""
    if log is not None:
        with contextlib.suppress(OSError):
            text = log.read_text(encoding="utf-8", errors="replace")
    lines = clean_for_terminal(text)[-_LAST_CHARACTERS:].splitlines()[-_LAST_LINES:]
    return f"# harness: nothing was compared (exit code {exit_code})\n\n{fence(chr(10).join(lines))}\n"


def _write_summary(page: str, environment: Mapping[str, str]) -> None:
    """Append the page to the summary of the job, where there is one."""
    summary = environment.get("GITHUB_STEP_SUMMARY")
    if not summary:
        return
    try:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise DeliveryFailed(f"the summary of the job cannot be written: {error.strerror or error}") from error


def _comment(page: str, key: str, environment: Mapping[str, str], pause: Callable[[float], None]) -> str:
    """Write the comment; returns in words what was done, or why nothing was.

    Raises:
        DeliveryFailed: GitHub cannot be reached, or refuses for another reason than a token without permission.
        UsageError: A variable is missing or wrong.
    """
    number = _pull_request(environment)
    if number is None:
        return "::notice::This is no pull request: the page is in the summary of the job only."
    comment = PullRequestComment(open_repository(environment.get("GITHUB_REPOSITORY", ""), environment), number, key)
    attempt = 1
    while True:
        try:
            return comment.write(page)
        except DeliveryFailed as error:
            if error.status in _REFUSALS and error.retry_after_s is None:
                return _NOT_PERMITTED.format(number=number, reason=_on_one_line(error.message))
            if error.final or attempt == _ATTEMPTS:
                raise
            pause(min(error.retry_after_s or _PAUSE_S * attempt, _LONGEST_PAUSE_S))
            attempt += 1


def _pull_request(environment: Mapping[str, str]) -> int | None:
    """Return the number of the pull request that the workflow runs for; None for other events.

    Raises:
        UsageError: The event cannot be read.
    """
    path = environment.get("GITHUB_EVENT_PATH")
    if not path:
        return None
    try:
        event = _Event.model_validate(json.loads(read_bounded(Path(path))))
    except (OSError, ValueError, ValidationError) as error:
        raise UsageError(f"the event of the workflow cannot be read: {error}") from error
    return None if event.pull_request is None else event.pull_request.number


def _worse(code: int, other: ExitCode) -> int:
    """Return the exit code of a comparison whose report failed: a failure of its own, or a regression, stays."""
    return other.value if code in {ExitCode.OK, ExitCode.UNDECIDED} else code


def _on_one_line(text: str) -> str:
    """Return a text as the value of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
