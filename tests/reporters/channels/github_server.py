"""A repository as GitHub's REST API shows it: issues, comments and statuses, with its checks, limits and pages.

https://docs.github.com/rest/issues/issues, .../rest/issues/comments, .../rest/commits/statuses
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import jsonschema

from tests.reporters.channels.receiver import Reply, Request

TOKEN = "ghp_secretpart"
HEAD = "ab" * 20
_EACH = 10_000
"""Comments of an issue: what is left of a comment's identity is its place."""


def _schema(required: tuple[str, ...], **properties: object) -> dict[str, object]:
    return {"type": "object", "required": [*required], "properties": properties, "additionalProperties": False}


_TITLE = {"type": "string", "minLength": 1, "maxLength": 256}
_BODY = {"type": "string", "maxLength": 65_536}
_NEW_ISSUE = _schema(("title",), title=_TITLE, body=_BODY)
_ISSUE_CHANGE = _schema(
    (),
    title=_TITLE,
    body=_BODY,
    state={"enum": ["open", "closed"]},
    state_reason={"enum": ["completed", "not_planned", "reopened"]},
)
_COMMENT = _schema(("body",), body=_BODY)
_STATUS = _schema(
    ("state",),
    state={"enum": ["error", "failure", "pending", "success"]},
    target_url={"type": "string", "pattern": "^https?://"},
    description={"type": "string", "maxLength": 140},
    context={"type": "string"},
)


@dataclass
class GitHub:
    """The content of one repository, `ada/engine`.

    Attributes:
        issues: By number, from 1.
        comments: Texts by number of the issue.
        statuses: Of each commit, oldest first.
        forbidden: Whether the token may only read, as in pull requests from forks.
        lost: How many answers to changes are lost on the way: the change was made.
        limited: Answers to be given first.
    """

    issues: dict[int, dict[str, object]] = field(default_factory=dict)
    comments: dict[int, list[str]] = field(default_factory=dict)
    statuses: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    forbidden: bool = False
    lost: int = 0
    limited: list[Reply] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        if self.limited:
            return self.limited.pop(0)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _reply(401, {"message": "Bad credentials"})
        return self._answer(request)

    def _answer(self, request: Request) -> Reply:
        parts = urlsplit(request.path)
        path = parts.path.removeprefix("/repos/ada/engine/")
        if path == parts.path:
            return _reply(404, {"message": "Not Found"})
        if self.forbidden and request.method != "GET":
            return _reply(403, {"message": "Resource not accessible by integration"})
        try:
            if request.method == "GET":
                return self._read(path, parse_qs(parts.query))
            reply = self._change(request.method, path, request.document)
        except jsonschema.ValidationError as error:
            return _reply(422, {"message": f"Validation Failed: {error.json_path} {error.message[:200]}"})
        if self.lost:
            self.lost -= 1
            return _reply(502, {"message": "Server Error"})
        return reply

    def _read(self, path: str, query: dict[str, list[str]]) -> Reply:
        size, number = int(query.get("per_page", ["30"])[0]), int(query.get("page", ["1"])[0])
        assert size <= 100

        def page(values: list[dict[str, object]]) -> Reply:
            return _reply(200, values[size * (number - 1) : size * number])

        if path == "issues":
            assert query["state"] == ["all"]
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", query["since"][0])
            return page([self.issues[number] for number in sorted(self.issues)])
        if match := re.fullmatch(r"issues/(\d+)/comments", path):
            texts = self.comments.get(int(match[1]), [])
            return page([{"id": int(match[1]) * _EACH + place, "body": text} for place, text in enumerate(texts)])
        if match := re.fullmatch(r"commits/([0-9a-f]{40})/statuses", path):
            return page(list(reversed(self.statuses.get(match[1], []))))
        if path == "commits/HEAD":
            return _reply(200, {"sha": HEAD})
        return _reply(404, {"message": "Not Found"})

    def _change(self, method: str, path: str, document: dict[str, object]) -> Reply:
        if (method, path) == ("POST", "issues"):
            jsonschema.validate(document, _NEW_ISSUE)
            number = len(self.issues) + 1
            self.issues[number] = {"number": number, "state": "open", **document}
            return _reply(201, self.issues[number])
        if method == "PATCH" and (match := re.fullmatch(r"issues/(\d+)", path)):
            jsonschema.validate(document, _ISSUE_CHANGE)
            self.issues[int(match[1])].update(document)
            return _reply(200, self.issues[int(match[1])])
        if method == "POST" and (match := re.fullmatch(r"issues/(\d+)/comments", path)):
            jsonschema.validate(document, _COMMENT)
            self.comments.setdefault(int(match[1]), []).append(str(document["body"]))
            return _reply(201, {"body": document["body"]})
        if method == "PATCH" and (match := re.fullmatch(r"issues/comments/(\d+)", path)):
            jsonschema.validate(document, _COMMENT)
            number, place = divmod(int(match[1]), _EACH)
            self.comments[number][place] = str(document["body"])
            return _reply(200, {"id": int(match[1]), "body": document["body"]})
        if method == "POST" and (match := re.fullmatch(r"statuses/([0-9a-f]{40})", path)):
            jsonschema.validate(document, _STATUS)
            self.statuses.setdefault(match[1], []).append(document)
            return _reply(201, document)
        return _reply(404, {"message": "Not Found"})


def _reply(status: int, document: object) -> Reply:
    return Reply(status, json.dumps(document), {"Content-Type": "application/json; charset=utf-8"})
