"""Reasons for failed HTTP requests, in words that contain neither address nor secret."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

_RETRYABLE: Final = frozenset({401, 403, 408, 429})
"""Client errors that are not about the content: the request may succeed later, or with other credentials."""


def is_permanent_refusal(status: int) -> bool:
    """Return whether an HTTP status refuses the content, so that sending it again is useless."""
    return 400 <= status < 500 and status not in _RETRYABLE


def format_status(status: int) -> str:
    """Format an HTTP status as in a status line, `503 Service Unavailable`, or as the number alone."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def describe_cause(error: BaseException, otherwise: str) -> str:
    """Return the operating system's message for the error at the root of a chain.

    Messages of HTTP libraries quote the URL, which may contain a secret.

    Args:
        error: The error as it was caught.
        otherwise: The text to use where no error of the operating system is in the chain.
    """
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, OSError) and link.strerror:
            return link.strerror
        link = link.__cause__ or link.__context__
    return otherwise
