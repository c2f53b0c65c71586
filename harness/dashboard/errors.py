"""Pages of errors: what is wrong in words, what to do, and links on."""

from __future__ import annotations

from typing import Final

from harness.dashboard.links import Site
from harness.dashboard.rendering import render_view

_HEADINGS: Final = {
    400: "This cannot be asked like that",
    401: "Who are you?",
    403: "You may not do this",
    404: "There is no such page",
    405: "This address takes no such request",
    413: "That is too much at once",
    429: "Too many requests",
    500: "The server made a mistake",
    503: "The store cannot be read now",
}
_HINTS: Final = {
    400: "go back and correct what the message names",
    401: "give a token: `harness token create NAME --scope read` makes one",
    403: "the token that was given has no such scope: ask for one that has",
    404: "the address may be mistyped, or the store may have been made anew without this result",
    405: "use the forms and links of the pages",
    413: "send less in one request",
    429: "wait a little and try again",
    500: "the log of the server says more; please report it",
    503: "try again in a minute; if it stays, look at the log of the server",
}


def render_error(status: int, message: str, hint: str, site: Site) -> str:
    """Render the page of an error.

    Args:
        status: Status of HTTP.
        message: What is wrong, in words; empty says only what the status means.
        hint: What to do about it; empty says what usually helps.
        site: The site.
    """
    heading = _HEADINGS.get(status, "This did not work")
    return render_view(
        "error.html",
        site,
        title=heading,
        view="",
        status=status,
        message=message,
        hint=hint or _HINTS.get(status, "go back and try again"),
        ways_on=[
            ("the latest results", site.links.latest()),
            ("changes", site.links.changes()),
            ("commits", site.links.commits()),
            ("alarms", site.links.alarms()),
        ],
    )
