"""One line for each request: who, what, which status, how long. Never a token, a query or a body."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

_PATH_CHARACTERS: Final = 300


class AccessLog:
    """Log of requests, and of what goes wrong in the server.

    Args:
        stream: Where lines go.
        as_json: Whether each is a JSON object.
        clock: Returns Unix seconds.
    """

    def __init__(self, stream: TextIO, *, as_json: bool = False, clock: Callable[[], float] = time.time) -> None:
        self._stream = stream
        self._as_json = as_json
        self._clock = clock

    def write_request(self, *, client: str, name: str, method: str, path: str, status: int, seconds: float) -> None:
        """Write the line of a request.

        Args:
            client: Address.
            name: Name of the token; empty without one.
            method: HTTP method.
            path: Path as it was sent, without its query.
            status: Status of the answer.
            seconds: How long it took.
        """
        shown = _printable(path)[:_PATH_CHARACTERS]
        if self._as_json:
            self._write(
                client=client,
                name=name,
                method=_printable(method),
                path=shown,
                status=status,
                ms=round(seconds * 1e3, 1),
            )
        else:
            who = f"{client} {_printable(name) or '-'}"
            self._write_text(f"{who} {_printable(method)} {shown} {status} {seconds * 1e3:.0f} ms")

    def write_problem(self, message: str) -> None:
        """Write what went wrong in the server, which a client is not told."""
        if self._as_json:
            self._write(problem=message)
        else:
            self._write_text(_printable(message.replace("\n", " ")))

    def _write(self, **fields: object) -> None:
        self._put(json.dumps({"time": self._time(), **fields}))

    def _write_text(self, text: str) -> None:
        self._put(f"{self._time()} {text}")

    def _put(self, line: str) -> None:
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except (OSError, ValueError):  # whoever read it has gone: requests are answered all the same
            return

    def _time(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
