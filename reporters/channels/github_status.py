"""GitHub: the status of the commits that changed a metric (`github-status:OWNER/REPOSITORY`).

Token and API as of `reporters.channels.github`; the token needs the permission to write commit statuses
(https://docs.github.com/rest/commits/statuses).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from pydantic import BaseModel, TypeAdapter

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmChannel
from harness.presentation.alarm_headlines import clip
from harness.presentation.alarm_messages import MessageText, message_text
from reporters.channels.github import GitHubRepository, open_repository, parse

CONTEXT: Final = "harness/performance"
_TEST_CONTEXT: Final = "harness/test"
_DESCRIPTION: Final = 140
"""Most characters that GitHub takes."""
_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Status(BaseModel):
    """The part of a status that is looked at."""

    context: str
    state: str
    description: str | None = None
    target_url: str | None = None


class Head(BaseModel):
    """The part of a commit that is looked at."""

    sha: str


_STATUSES: Final = TypeAdapter(list[Status])
_HEAD: Final = TypeAdapter(Head)


class StatusChannel(Struct, frozen=True):
    """Sets the status of culprits (`AlarmChannel`). A later status of the same context replaces the earlier one.

    Attributes:
        repository: Where.
    """

    repository: GitHubRepository

    @property
    def place(self) -> str:
        """Name of the repository."""
        return f"commit statuses of {self.repository.name} at {urlsplit(self.repository.api).hostname}"

    def send(self, message: AlarmMessage) -> str:
        """Set the status of every culprit; one that has it already is left alone."""
        text = message_text(message)
        if message.event is AlarmEvent.TEST:
            commits, context = [parse(_HEAD, self.repository.send("GET", "commits/HEAD")).sha], _TEST_CONTEXT
        else:
            commits, context = _culprits(message.reports), CONTEXT
        if not commits:
            return "no culprit is known whose status could be set"
        for commit in commits:
            self._set(commit, _status(text, message, context))
        return f"set the status of {', '.join(commit[:12] for commit in commits)} in {self.repository.name}"

    def _set(self, commit: str, status: Status) -> None:
        """Set a status unless it is the newest of its context, as after an attempt whose answer was lost."""
        statuses = self.repository.pages(f"commits/{commit}/statuses", _STATUSES)  # newest first
        if next((known for known in statuses if known.context == status.context), None) != status:
            document = status.model_dump(exclude_none=True)
            self.repository.send("POST", f"statuses/{commit}", document)


def create(target: str, environment: Mapping[str, str], *, is_named: bool) -> AlarmChannel | None:
    """Open the channel of `github-status:OWNER/REPOSITORY`."""
    return StatusChannel(open_repository(target, environment)) if is_named else None


def _culprits(reports: tuple[AlarmReport, ...]) -> list[str]:
    """Return the commits that are blamed alone, or that are the only ones in question."""
    commits = []
    for report in reports:
        alarm = report.alarm
        commits += [culprit.commits[0] for culprit in alarm.culprits if len(culprit.commits) == 1 and culprit.confirmed]
        if not alarm.culprits and len(alarm.candidates) == 1:
            commits.append(alarm.candidates[0].commit.id)
    return [commit for commit in dict.fromkeys(commits) if _HASH.fullmatch(commit)]


def _status(text: MessageText, message: AlarmMessage, context: str) -> Status:
    return Status(
        context=context,
        state="failure" if text.is_worse else "success",
        description=clip(text.title, _DESCRIPTION),
        target_url=message.page or next((link.url for link in text.links), None),
    )
