"""Slack: a web hook of an app (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).

The document has `blocks` (https://docs.slack.dev/reference/block-kit/blocks) and `text`, which notifications show. Of
texts only `&`, `<` and `>` are escaped; names are code, in which nothing else is markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.core.alarm_protocols import AlarmChannel
from harness.presentation.alarm_messages import MessageRow, MessageText
from reporters.channels.chat import ChatDocument, host_of, open_hook

_HOSTS: Final = frozenset({"hooks.slack.com", "hooks.slack-gov.com"})
_HEADER: Final = 150
_SECTION: Final = 3000
"""Most characters of a header and of a section."""


def create(target: str, environment: Mapping[str, str], *, is_named: bool) -> AlarmChannel | None:  # noqa: ARG001 - a factory's
    """Open the channel of `slack:URL`, or of the URL of a hook at Slack."""
    if not is_named and host_of(target) not in _HOSTS:
        return None
    return open_hook(target, document, "slack:https://hooks.slack.com/services/T000/B000/XXXX")


def document(text: MessageText) -> ChatDocument:
    """Return the document of a message."""
    title = text.announcement
    header = title if len(title) <= _HEADER else f"{title[: _HEADER - 1]}…"
    rest = [] if header == title else [_section(_escape(title))]
    lines = [_row(row) for row in text.rows]
    if text.left_out:
        lines.append(f"and {text.left_out} more")
    links = " · ".join(f"<{_escape(link.url)}|{_escape(link.label)}>" for link in text.links)
    return {
        "text": _escape(title),
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": header, "emoji": False}},
            *rest,
            *[_section(_escape(sentence)) for sentence in text.summary],
            *[_section(part) for part in _split(lines)],
            *([_section(links)] if 0 < len(links) <= _SECTION else []),
            {"type": "context", "elements": [{"type": "mrkdwn", "text": _escape(text.footer)}]},
        ],
    }


def _row(row: MessageRow) -> str:
    interval = f" [{row.interval}]" if row.interval else ""
    state = f" ({row.state})" if row.state else ""
    name = _escape(row.series.replace("`", "'"))
    return f"• `{name}` *{row.change}*{interval}{state}"


def _split(lines: list[str]) -> list[str]:
    """Join lines into as few texts as sections may have."""
    parts: list[str] = []
    for line in lines:
        if parts and len(parts[-1]) + 1 + len(line) <= _SECTION:
            parts[-1] += f"\n{line}"
        else:
            parts.append(line[:_SECTION])
    return parts


def _section(markup: str) -> ChatDocument:
    return {"type": "section", "text": {"type": "mrkdwn", "text": markup[:_SECTION], "verbatim": True}}


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
