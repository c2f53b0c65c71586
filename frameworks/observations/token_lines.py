"""Lines of a program that prints the time of each token in a form of its own: the converter `token_lines`.

    "converter": {"name": "token_lines", "args": {
      "token": "token <token> at <time>", "unit": "ms", "start": "prompt of <prompt_tokens> tokens at <time>"}}

A pattern is text as the program writes it, anywhere in a line, with fields: `<time>`, `<token>` (the number of the new
token), `<prompt_tokens>`, and `<*>` for a word that does not matter. Blanks stand for any number of blanks. It is no
regular expression: what a program writes cannot make the search slow.

Each line of `start` begins a generation; its time is when the prompt was handed over. Without `start` there is one
generation, whose clock begins with its prompt. With `"times": "durations"` a time is that since the token before.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, Self

from pydantic import Field, JsonValue, ValidationError, model_validator

from frameworks.observations.collector import BadObservation, ObservationCollector
from frameworks.observations.forms import add_stream
from frameworks.observations.token_streams import make_stream
from harness.core.generation import GENERATION, MOST_TOKENS, GenerationRequest
from harness.core.metric import convert
from harness.core.values import Value

_LONGEST_LINE: Final = 10_000
"""Characters of a line that are searched; what follows is text of the model, or damage."""

_FIELD: Final = re.compile(r"<([a-z_]+|\*)>")
_NUMBER: Final = r"\d{1,18}+(?:\.\d{1,18}+)?+(?:[eE][-+]?\d{1,3}+)?+(?!\d)"
_FIELDS: Final = {
    "time": rf"(?P<time>{_NUMBER})",
    "token": r"(?P<token>\d{1,9}+)(?!\d)",
    "prompt_tokens": r"(?P<prompt_tokens>\d{1,9}+)(?!\d)",
    "*": r"\S{1,100}+",
}
_BLANKS: Final = r"[ \t]{1,100}+"
"""Expressions of fields and of blanks. All are short and possessive: a search has nothing to try again."""

_LOST: Final = ((GENERATION, "decode_rate"),)

PatternText = Annotated[str, Field(min_length=1, max_length=500)]


class TokenLines(Value):
    """Options of the converter.

    Attributes:
        token: Pattern of the line of each token.
        unit: Unit of all times: `ns`, `us`, `ms` or `s`.
        start: Pattern of the line that begins a generation; None for a single one.
        prefill: Pattern of the line that says when the prompt was processed; None where none does.
        times: Whether a time is that of a clock, or that since the token before.
        prompt_tokens: Tokens of the prompt, where `start` does not say; None takes those of the test's `generation`.
        depth: Tokens in the context before the prompt; None takes those of the test's `generation`, or 0.
    """

    token: PatternText
    unit: Literal["ns", "us", "ms", "s"]
    start: PatternText | None = None
    prefill: PatternText | None = None
    times: Literal["clock", "durations"] = "clock"
    prompt_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS, strict=True)] | None = None
    depth: Annotated[int, Field(ge=0, le=MOST_TOKENS, strict=True)] | None = None

    @model_validator(mode="after")
    def _check_patterns(self) -> Self:
        allowed = {"token": {"time", "token", "*"}, "start": {"time", "prompt_tokens", "*"}, "prefill": {"time", "*"}}
        for name, fields in allowed.items():
            pattern: str | None = getattr(self, name)
            if pattern is None:
                continue
            used = _FIELD.findall(pattern)
            for unknown in [each for each in used if each not in fields]:
                raise ValueError(f"`{name}` has no field <{unknown}>, but {', '.join(f'<{each}>' for each in fields)}")
            if any(used.count(each) > 1 for each in fields - {"*"}):
                raise ValueError(f"`{name}` names a field twice")
            if "time" not in used and name != "start":
                raise ValueError(f"`{name}` has no field <time>")
            if "><" in pattern or not _FIELD.sub("", pattern).strip():
                raise ValueError(f"`{name}` needs text beside and between its fields")
            if re.search(r"<\*>\S", pattern):
                raise ValueError(f"`{name}` has text behind <*>, which is a word: leave a blank")
        if self.times == "durations" and (self.prefill or "<time>" in (self.start or "")):
            raise ValueError("with `times` as durations neither `prefill` nor `start` has a <time>")
        return self


@dataclass(slots=True)
class _Generation:
    """Generation while its lines are read.

    Attributes:
        line: Line that began it.
        began: When its prompt was handed over, on the program's clock.
        prompt_tokens: Tokens of its prompt; None where they are not known.
    """

    line: int
    began: float = 0.0
    prompt_tokens: int | None = None
    prefill: float | None = None
    times: array[float] = field(default_factory=lambda: array("d"))
    tokens: array[int] = field(default_factory=lambda: array("q"))


def read_arguments(arguments: Mapping[str, JsonValue]) -> TokenLines | str:
    """Return the options of a converter, or in words what is wrong with them."""
    try:
        return TokenLines.model_validate(arguments)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{f'`{place[:80]}`: ' if place else ''}{first['msg'].removeprefix('Value error, ')}"


def read_token_lines(
    text: str, lines: TokenLines, request: GenerationRequest | None, collector: ObservationCollector
) -> Sequence[BadObservation]:
    """Add the figures of every generation that a program printed.

    Args:
        text: The output of the program.
        lines: How it prints tokens.
        request: What the test generates; None where it does not say.
        collector: Where the figures go.

    Returns:
        The problem of each generation that cannot be read.
    """
    bad: list[BadObservation] = []
    for item in _split_generations(text, lines):
        try:
            if isinstance(item, BadObservation):
                raise item
            _add(item, lines, request, collector)
        except BadObservation as error:
            bad.append(BadObservation(str(error), error.metrics or _LOST))
    return bad


def _split_generations(text: str, lines: TokenLines) -> Iterator[_Generation | BadObservation]:
    """Yield each generation; one that ends in a problem is followed by it, and has no tokens."""
    token, start, prefill = _compile(lines.token), _compile(lines.start), _compile(lines.prefill)
    current = None if start is not None else _Generation(1)
    is_lost = False
    for number, line in enumerate(_iterate_lines(text), 1):
        if start is not None and (match := start.search(line)) is not None:
            if current is not None and not is_lost:
                yield current
            fields = match.groupdict()
            size = fields.get("prompt_tokens")
            current = _Generation(number, float(fields.get("time") or 0), None if size is None else int(size))
            is_lost = False
        elif prefill is not None and current is not None and (match := prefill.search(line)) is not None:
            current.prefill = float(match["time"])
        elif token is not None and (match := token.search(line)) is not None and not is_lost:
            problem = _keep(current, match, lines)
            if problem is not None:
                is_lost = True
                yield BadObservation(f"line {number}: {problem}")
    if current is not None and not is_lost:
        yield current


def _iterate_lines(text: str) -> Iterator[str]:
    """Yield the beginning of each line, without a copy of the text."""
    position = 0
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        yield text[position : min(end, position + _LONGEST_LINE)]
        position = end + 1


def _keep(current: _Generation | None, match: re.Match[str], lines: TokenLines) -> str | None:
    """Keep the token of a line; return in words why that is not possible."""
    if current is None:
        return "a token before any generation began, by the pattern `start`"
    if len(current.times) >= MOST_TOKENS:
        return f"more than {MOST_TOKENS:,} tokens since line {current.line}"
    time = float(match["time"])
    if lines.times == "durations":
        time += current.times[-1] if current.times else 0.0
    elif current.times and time < current.times[-1]:
        more = "" if lines.start else "; where a program generates several times, name the line that begins: `start`"
        return f"the time of a token is before that of the token on an earlier line{more}"
    current.times.append(time)
    if (new := match.groupdict().get("token")) is not None:
        current.tokens.append(int(new))
    return None


def _add(
    generation: _Generation, lines: TokenLines, request: GenerationRequest | None, collector: ObservationCollector
) -> None:
    if not generation.times:
        if lines.start is None:
            return
        raise BadObservation(f"line {generation.line}: a generation begins here, and no line of a token follows")
    prompt = generation.prompt_tokens or lines.prompt_tokens or (request.prompt_tokens if request is not None else None)
    if prompt is None:
        raise BadObservation(
            f"line {generation.line}: nothing says how many tokens the prompt has: give the converter `prompt_tokens`"
        )
    factor = convert(1.0, lines.unit, "ns") or 1.0
    began = generation.began
    if began > generation.times[0]:
        raise BadObservation(f"line {generation.line}: a generation begins after its first token")
    depth = request.depth if lines.depth is None and request is not None else lines.depth or 0
    stream = make_stream(
        prompt_tokens=prompt,
        depth=depth,
        prefill_ns=None if generation.prefill is None else (generation.prefill - began) * factor,
        token_times_ns=tuple((time - began) * factor for time in generation.times),
        tokens=tuple(generation.tokens),
    )
    add_stream(stream, collector)


def _compile(pattern: str | None) -> re.Pattern[str] | None:
    """Return the expression of a pattern: its text literally, blanks as any number of blanks."""
    if pattern is None:
        return None
    parts = []
    for index, part in enumerate(_FIELD.split(pattern.strip())):
        if index % 2:
            parts.append(_FIELDS[part])
        else:
            parts.append(_BLANKS.join(map(re.escape, re.split(r"[ \t]+", part))))
    return re.compile("".join(parts))
