"""What chat services document of their messages, as JSON Schemas: only the parts that these messages may use.

Slack: https://docs.slack.dev/reference/block-kit/blocks; Teams: https://adaptivecards.io/schemas/adaptive-card.json
(1.4) and "Post a workflow when a webhook request is received"; Mattermost:
https://developers.mattermost.com/integrate/webhooks/incoming and .../reference/message-attachments.
"""

from __future__ import annotations


def _object(required: tuple[str, ...], **properties: object) -> dict[str, object]:
    return {"type": "object", "required": [*required], "properties": properties, "additionalProperties": False}


def _array(items: object, most: int, least: int = 1) -> dict[str, object]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _text(most: int, least: int = 1) -> dict[str, object]:
    return {"type": "string", "minLength": least, "maxLength": most}


_TEXT = {"type": "string", "minLength": 1}
_URL = {"type": "string", "pattern": r"^https?://[!-~]+$", "maxLength": 3000}
_BOOLEAN = {"type": "boolean"}

_MRKDWN = _object(("type", "text"), type={"const": "mrkdwn"}, text=_text(3000), verbatim=_BOOLEAN)
_PLAIN = _object(("type", "text"), type={"const": "plain_text"}, text=_text(150), emoji=_BOOLEAN)
SLACK = _object(
    ("text",),
    text=_text(40_000),
    blocks=_array(
        {
            "oneOf": [
                _object(("type", "text"), type={"const": "header"}, text=_PLAIN),
                _object(("type", "text"), type={"const": "section"}, text=_MRKDWN),
                _object(("type", "elements"), type={"const": "context"}, elements=_array(_MRKDWN, 10)),
            ]
        },
        50,
    ),
)

_COLOURS = {"enum": ["Default", "Dark", "Light", "Accent", "Good", "Warning", "Attention"]}
_RUN = _object(
    ("type", "text"),
    type={"const": "TextRun"},
    text=_TEXT,
    weight={"enum": ["Lighter", "Default", "Bolder"]},
    size={"enum": ["Small", "Default", "Medium", "Large", "ExtraLarge"]},
    color=_COLOURS,
    isSubtle=_BOOLEAN,
)
_CARD = _object(
    ("type", "version", "body"),
    **{"$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"}},
    type={"const": "AdaptiveCard"},
    version={"enum": ["1.0", "1.2", "1.4", "1.5"]},
    msteams=_object((), width={"const": "Full"}),
    fallbackText=_TEXT,
    body=_array(
        _object(("type", "inlines"), type={"const": "RichTextBlock"}, inlines=_array(_RUN, 99)),
        99,
    ),
    actions=_array(_object(("type", "url"), type={"const": "Action.OpenUrl"}, title=_TEXT, url=_URL), 6, least=0),
)
TEAMS = _object(
    ("type", "attachments"),
    type={"const": "message"},
    attachments=_array(
        _object(
            ("contentType", "content"),
            contentType={"const": "application/vnd.microsoft.card.adaptive"},
            contentUrl={"type": "null"},
            content=_CARD,
        ),
        1,
    ),
)

MATTERMOST = _object(
    ("attachments",),
    text=_text(16_383),
    attachments=_array(
        _object(
            ("fallback",),
            fallback=_TEXT,
            color={"type": "string", "pattern": "^#[0-9a-f]{6}$"},
            title=_TEXT,
            title_link=_URL,
            text=_text(16_383),
            footer=_text(400),
        ),
        10,
    ),
)
