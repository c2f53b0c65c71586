"""Answers to requests that cannot be fulfilled: one JSON form for programs, which never repeats what was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import ValidationError
from starlette.responses import Response

from harness.core.values import Value

_STEP_CHARACTERS: Final = 80
_MOST_PROBLEMS: Final = 20
_OWN_WORDS: Final = frozenset({"value_error", "assertion_error"})
"""Types of errors whose messages are written by validators, and may repeat the input."""


class BodyProblem(Value):
    """Mistake in one place of a body.

    Attributes:
        pointer: JSON pointer (RFC 6901) to the place; empty is the whole document.
        message: What was expected there.
    """

    pointer: str
    message: str


class ErrorAnswer(Value):
    """Body of an answer to a request that was not fulfilled.

    Attributes:
        message: What is wrong.
        hint: What to do about it.
        problems: Mistakes in the body, the first ones.
    """

    message: str
    hint: str = ""
    problems: tuple[BodyProblem, ...] = ()


class RequestRefused(Exception):
    """A request that is answered with an error.

    Args:
        status: HTTP status.
        message: What is wrong, without what was sent.
        hint: What to do about it.
        problems: Mistakes in the body.
        headers: Further headers of the answer.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        hint: str = "",
        problems: Sequence[BodyProblem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.answer = ErrorAnswer(message=message, hint=hint, problems=tuple(problems))
        self.headers = dict(headers or {})

    def respond(self) -> Response:
        """Return the answer for programs."""
        return Response(self.answer.model_dump_json(), self.status, headers=self.headers, media_type="application/json")


def list_problems(error: ValidationError, start: str = "") -> tuple[BodyProblem, ...]:
    """Return the first mistakes that a validation found: where, and what was expected, but not what was there.

    Args:
        error: Of pydantic.
        start: JSON pointer to what was validated.
    """
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return tuple(
        BodyProblem(
            pointer=start + point_to(problem["loc"]),
            message="not a valid value" if problem["type"] in _OWN_WORDS else problem["msg"],
        )
        for problem in problems[:_MOST_PROBLEMS]
    )


def point_to(steps: Sequence[object]) -> str:
    """Return the JSON pointer of a place; long or unprintable names in it are shortened and replaced."""
    return "".join(f"/{_step(step)}" for step in steps)


def _step(step: object) -> str:
    text = str(step)
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    shown = shown if len(shown) <= _STEP_CHARACTERS else f"{shown[:_STEP_CHARACTERS]}..."
    return shown.replace("~", "~0").replace("/", "~1")
