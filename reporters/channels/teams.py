"""Microsoft Teams: a workflow that starts when a web hook request is received. Connectors were retired in 2025.

The document is a message with an Adaptive Card (https://adaptivecards.io/explorer/AdaptiveCard.html), of which texts
stand in text runs, where nothing is markup. A message may have 28 KB.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from harness.core.alarm_protocols import AlarmChannel
from harness.core.errors import UsageError
from harness.presentation.alarm_messages import MessageRow, MessageText
from reporters.channels.chat import ChatDocument, host_of, open_hook

_RETIRED: Final = (".webhook.office.com", "outlook.office.com")
_HOSTS: Final = (".logic.azure.com", ".api.powerplatform.com")
_MOST_BYTES: Final = 27_000
_EXAMPLE: Final = "teams:https://prod-00.westeurope.logic.azure.com/workflows/..."


def create(target: str, environment: Mapping[str, str], *, is_named: bool) -> AlarmChannel | None:  # noqa: ARG001 - a factory's
    """Open the channel of `teams:URL`, or of the URL of a workflow.

    Raises:
        UsageError: It is no URL, or that of a connector, which Microsoft has retired.
    """
    host = host_of(target)
    if host.endswith(_RETIRED):
        raise UsageError(
            "the web hook is that of a connector, and Microsoft has retired them",
            hint="in Teams choose Workflows, `Send webhook alerts to a channel`, and name the URL that it shows",
        )
    if not is_named and not host.endswith(_HOSTS):
        return None
    return open_hook(target, document, _EXAMPLE)


def document(text: MessageText) -> ChatDocument:
    """Return the document of a message, with as many rows as there is room for."""
    for count in range(len(text.rows), -1, -1):
        card = _message(text, text.rows[:count])
        if len(json.dumps(card, ensure_ascii=False).encode()) <= _MOST_BYTES:
            break
    return card


def _message(text: MessageText, rows: tuple[MessageRow, ...]) -> ChatDocument:
    left_out = text.left_out + len(text.rows) - len(rows)
    colour = "Good" if text.is_over or not text.is_worse else "Attention"
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "fallbackText": text.title,
        "body": [
            _text(_run(text.announcement, weight="Bolder", size="Medium", color=colour)),
            *[_text(_run(sentence)) for sentence in text.summary],
            *[_text(*_row(row)) for row in rows],
            *([_text(_run(f"and {left_out} more"))] if left_out else []),
            _text(_run(text.footer, size="Small", isSubtle=True)),
        ],
        "actions": [{"type": "Action.OpenUrl", "title": link.label, "url": link.url} for link in text.links[:6]],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _row(row: MessageRow) -> tuple[ChatDocument, ...]:
    interval = f" [{row.interval}]" if row.interval else ""
    state = f" ({row.state})" if row.state else ""
    colour = "Attention" if row.is_worse and row.state != "over" else "Good"
    return (
        _run(f"{row.change} ", weight="Bolder", color=colour),
        _run(f"{row.series}{state}"),
        _run(interval, isSubtle=True),
    )


def _text(*runs: ChatDocument) -> ChatDocument:
    return {"type": "RichTextBlock", "inlines": [run for run in runs if run["text"]]}


def _run(text: str, **style: object) -> ChatDocument:
    return {"type": "TextRun", "text": text, **style}
