"""Mattermost: an incoming web hook (https://developers.mattermost.com/integrate/webhooks/incoming).

The document is a message attachment in Markdown. A message may have 16,383 characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlsplit

from harness.core.alarm_protocols import AlarmChannel
from harness.presentation.alarm_messages import MessageText
from harness.presentation.markdown import escape, format_table
from reporters.channels.chat import ChatDocument, host_of, open_hook

_PATH: Final = re.compile(r"/hooks/[a-z0-9]{26}/?$")
"""Path of a hook, which ends with one of Mattermost's identifiers."""
_MOST: Final = 15_000
_OF_URLS: Final = "/+=,@~:%?&#"


def create(target: str, environment: Mapping[str, str], *, is_named: bool) -> AlarmChannel | None:  # noqa: ARG001 - a factory's
    """Open the channel of `mattermost:URL`, or of a URL that ends as those of Mattermost's hooks do."""
    if not is_named and not (host_of(target) and _PATH.search(urlsplit(target).path)):
        return None
    return open_hook(target, document, "mattermost:https://chat.example.org/hooks/xxxxxxxxxxxxxxxxxxxxxxxxxx")


def document(text: MessageText) -> ChatDocument:
    """Return the document of a message."""
    title = _without_mentions(text.announcement)
    count = len(text.rows)
    while len(body := _body(text, count)) > _MOST and count:
        count -= 1
    colour = "#1f7f45" if text.is_over or not text.is_worse else "#c22f22"
    attachment = {"fallback": title, "color": colour, "title": title, "text": body, "footer": text.footer}
    if text.links:
        attachment["title_link"] = text.links[0].url
    return {"attachments": [attachment]}


def _body(text: MessageText, count: int) -> str:
    parts = [_plain(sentence) for sentence in text.summary]
    rows = [(row.change, row.series, row.interval, row.state) for row in text.rows[:count]]
    if rows:
        table = format_table(("change", "benchmark", "95 % interval", ""), rows, (True, False, True, False))
        parts.append(_without_mentions(table))
    if left_out := text.left_out + len(text.rows) - count:
        parts.append(f"and {left_out} more")
    if text.links:
        parts.append(" · ".join(f"[{link.label}]({quote(link.url, safe=_OF_URLS)})" for link in text.links))
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    return _without_mentions(escape(text))


def _without_mentions(markdown: str) -> str:
    """Put a space of no width behind each `@`: nobody is notified because a commit's author has their name."""
    return markdown.replace("@", "@\N{ZERO WIDTH SPACE}")
