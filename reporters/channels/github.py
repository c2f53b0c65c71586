"""GitHub: an issue for each group of alarms (`github:OWNER/REPOSITORY`), opened, updated and closed.

The token is `HARNESS_GITHUB_TOKEN`, or `GITHUB_TOKEN` as GitHub Actions has it; it may write issues.
`GITHUB_API_URL` names the API of a server of your own. An invisible comment in the issue identifies the group, so that
an attempt after a cut finds what an earlier one did (https://docs.github.com/rest/issues/issues).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct
from pydantic import BaseModel, SecretStr, TypeAdapter, ValidationError

from harness.core.alarm import AlarmEvent
from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmChannel
from harness.core.errors import DeliveryFailed, UsageError
from harness.files.http import HttpAnswer, is_web_url, send_request
from harness.presentation.alarm_messages import MessageText, is_worse, message_text
from harness.presentation.markdown import escape, format_table

TOKEN_VARIABLES: Final = ("HARNESS_GITHUB_TOKEN", "GITHUB_TOKEN")
API_VARIABLE: Final = "GITHUB_API_URL"
_API: Final = "https://api.github.com"
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
_PAGE: Final = 100
_MOST_PAGES: Final = 30
_DAY_S: Final = 86_400.0
"""Clocks of this machine and of GitHub may differ by so much."""
_TITLE: Final = 250

AnyModel = TypeVar("AnyModel")


class Issue(BaseModel):
    """The part of an issue that is looked at."""

    number: int
    state: str
    body: str | None = None


class Comment(BaseModel):
    """The part of a comment on an issue, or on a pull request, that is looked at."""

    id: int
    body: str | None = None


_ISSUES: Final = TypeAdapter(list[Issue])
_COMMENTS: Final = TypeAdapter(list[Comment])
_ISSUE: Final = TypeAdapter(Issue)


class GitHubRepository(Struct, frozen=True):
    """A repository behind GitHub's REST API.

    Attributes:
        name: `OWNER/REPOSITORY`.
        token: Token.
        api: Address of the API.
    """

    name: str
    token: SecretStr
    api: str = _API

    def send(self, method: str, path: str, document: Mapping[str, object] | None = None) -> HttpAnswer:
        """Send one request about the repository.

        Raises:
            DeliveryFailed: As `harness.files.http` says.
        """
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "Authorization": f"Bearer {self.token.get_secret_value()}",
        }
        body = None if document is None else json.dumps(document).encode()
        return send_request(method, f"{self.api}/repos/{self.name}/{path}", body=body, headers=headers)

    def comments(self, number: int) -> Iterator[Comment]:
        """Yield the comments on an issue or a pull request.

        Raises:
            DeliveryFailed: A page cannot be read.
        """
        return self.pages(f"issues/{number}/comments", _COMMENTS)

    def pages(self, path: str, kind: TypeAdapter[list[AnyModel]]) -> Iterator[AnyModel]:
        """Yield everything that a list of several pages contains.

        Raises:
            DeliveryFailed: A page cannot be read.
        """
        mark = "&" if "?" in path else "?"
        for number in range(1, _MOST_PAGES + 1):
            entries = parse(kind, self.send("GET", f"{path}{mark}per_page={_PAGE}&page={number}"))
            yield from entries
            if len(entries) < _PAGE:
                return
        raise DeliveryFailed(f"{path.partition('?')[0]} of {self.name} has more pages than are read")


def parse(kind: TypeAdapter[AnyModel], answer: HttpAnswer) -> AnyModel:
    """Return the document of an answer.

    Raises:
        DeliveryFailed: It is none of GitHub's.
    """
    try:
        return kind.validate_python(answer.json())
    except ValidationError as error:
        raise DeliveryFailed(f"{answer.description} with an unknown document") from error


def open_repository(target: str, environment: Mapping[str, str]) -> GitHubRepository:
    """Return the repository of a target.

    Raises:
        UsageError: It is no `OWNER/REPOSITORY`, or there is no token.
    """
    if not _REPOSITORY.fullmatch(target):
        raise UsageError(
            "GitHub's repository is not given as OWNER/REPOSITORY", hint="for example github:pytorch/executorch"
        )
    token = next((environment[name] for name in TOKEN_VARIABLES if environment.get(name)), "").strip()
    if not re.fullmatch(r"[!-~]+", token):
        raise UsageError("there is no token for GitHub, or it contains spaces", hint=f"set {TOKEN_VARIABLES[0]}")
    api = environment.get(API_VARIABLE) or _API
    if not is_web_url(api):
        raise UsageError(f"{API_VARIABLE} is no http(s) URL", hint=f"for example {_API}")
    return GitHubRepository(target, SecretStr(token), api.rstrip("/"))


class IssueChannel(Struct, frozen=True):
    """Keeps one issue for each group of alarms (`AlarmChannel`).

    Attributes:
        repository: Where.
    """

    repository: GitHubRepository

    @property
    def place(self) -> str:
        """Name of the repository."""
        return f"issues of {self.repository.name} at {urlsplit(self.repository.api).hostname}"

    def send(self, message: AlarmMessage) -> str:
        """Open, update or close the issue of the group. Whatever was done by an earlier attempt is not done again."""
        if message.event is not AlarmEvent.TEST and not any(map(is_worse, message.reports)):
            return "an improvement opens no issue"
        text = message_text(message)
        wanted = {"title": _title(text), "body": f"{_mark(message.group)}\n{render(text)}"}
        issues = self._issues(message)
        own = next((issue for issue in issues if _mark(message.group) in (issue.body or "")), None)
        if own is None and message.event is AlarmEvent.CLOSED:
            return "there is no issue to close"
        if own is None:
            own = parse(_ISSUE, self.repository.send("POST", "issues", wanted))
            done = f"opened issue {own.number}"
        else:
            self._update(own, wanted, message, text)
            done = f"updated issue {own.number}"
        if message.event in {AlarmEvent.CLOSED, AlarmEvent.TEST}:
            self._close(own)
            done += " and closed it"
        for issue in issues:
            if issue.number != own.number and any(_mark(group) in (issue.body or "") for group in message.continued):
                self._comment(issue, message.key, f"The same commit caused #{own.number}.")
                self._close(issue)
        return f"{done} of {self.repository.name}"

    def _issues(self, message: AlarmMessage) -> Sequence[Issue]:
        """Return the issues that may be about the alarms: none is older than the oldest of them."""
        begin = min(report.alarm.opened for report in message.reports) - _DAY_S
        since = datetime.fromtimestamp(max(0.0, begin), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        path = f"issues?state=all&sort=created&direction=asc&since={since}"
        return list(self.repository.pages(path, _ISSUES))

    def _update(self, issue: Issue, wanted: Mapping[str, str], message: AlarmMessage, text: MessageText) -> None:
        """Bring the issue up to date, and notify its readers with a comment."""
        is_open_again = any(report.event is AlarmEvent.REOPENED for report in message.reports)
        reopened = {"state": "open"} if (message.new or is_open_again) and issue.state == "closed" else {}
        if issue.body != wanted["body"] or reopened:
            self.repository.send("PATCH", f"issues/{issue.number}", {**wanted, **reopened})
        if message.is_update:
            self._comment(issue, message.key, _plain(f"{text.mark} {text.title}"))

    def _comment(self, issue: Issue, key: str, body: str) -> None:
        comments = self.repository.comments(issue.number)
        if not any(_mark(key) in (comment.body or "") for comment in comments):
            self.repository.send("POST", f"issues/{issue.number}/comments", {"body": f"{_mark(key)}\n{body}"})

    def _close(self, issue: Issue) -> None:
        self.repository.send("PATCH", f"issues/{issue.number}", {"state": "closed", "state_reason": "completed"})


def create(target: str, environment: Mapping[str, str], *, is_named: bool) -> AlarmChannel | None:
    """Open the channel of `github:OWNER/REPOSITORY`."""
    return IssueChannel(open_repository(target, environment)) if is_named else None


def render(text: MessageText) -> str:
    """Return the body of an issue."""
    parts = [*map(_plain, text.summary)]
    rows = [(row.change, row.series, row.interval, row.state) for row in text.rows]
    if rows:
        table = format_table(("change", "benchmark", "95 % interval", ""), rows, (True, False, True, False))
        parts.append(_without_mentions(table))
    if text.left_out:
        parts.append(f"and {text.left_out} more")
    parts += [f"- [{link.label}](<{link.url}>)" for link in text.links]
    return "\n\n".join([*parts, f"<sub>{_plain(text.footer)}</sub>"])


def _title(text: MessageText) -> str:
    title = f"{text.mark} {text.title}"
    return _without_mentions(title if len(title) <= _TITLE else f"{title[: _TITLE - 1]}…")


def _mark(identity: str) -> str:
    """Return the invisible comment that identifies a group or a message, whatever its identity is made of."""
    return f"<!-- edge-harness {sha256(identity.encode(errors='replace')).hexdigest()[:32]} -->"


def _plain(text: str) -> str:
    return _without_mentions(escape(text))


def _without_mentions(markdown: str) -> str:
    """Put a space of no width behind each `@`: nobody is notified because a commit's author has their name."""
    return markdown.replace("@", "@\N{ZERO WIDTH SPACE}")
