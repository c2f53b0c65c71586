"""Why somebody on the network did not take something, in words that hold no address and no secret."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

_LATER: Final = frozenset({401, 403, 408, 429})
"""4xx that say nothing against what was sent: another secret or a later hour mends them."""


def is_final(status: int) -> bool:
    """Whether an HTTP status refuses what was sent for good: the same would be refused again."""
    return 400 <= status < 500 and status not in _LATER


def status_line(status: int) -> str:
    """An HTTP status as the first line of an answer has it: `503 Service Unavailable`, or the number alone."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def cause(error: BaseException, otherwise: str) -> str:
    """The operating system's words for an error that others were raised from.

    Those of an HTTP library quote the URL, and with it what may be secret.

    Args:
        error: As it was caught.
        otherwise: What to say where the system had nothing to say.
    """
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, OSError) and link.strerror:
            return link.strerror
        link = link.__cause__ or link.__context__
    return otherwise
