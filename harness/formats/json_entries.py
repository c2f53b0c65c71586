"""Entries of a JSON document or of lines of JSON, each with its line; and their fields, checked by pydantic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Final, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.core.foreign import ForeignProblem

MOST_ENTRIES: Final = 200_000
"""Entries of a file that are read: 400 times LiteRT's whole leaderboard."""

_LARGEST: Final = 1e15
"""Largest figure: 11 days in nanoseconds, a petabyte. Beyond, sums of squares and unit conversions lose their sense."""

Text = Annotated[str, Field(max_length=400)]
"""Name in a file; a longer one is refused."""
Number = Annotated[float, Field(strict=True, ge=-_LARGEST, le=_LARGEST, allow_inf_nan=False)]
"""Any figure."""
Amount = Annotated[float, Field(strict=True, ge=0, le=_LARGEST, allow_inf_nan=False)]
"""Figure that cannot be below zero: a time, a rate, a size."""
Whole = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
"""Whole number that a double holds."""
Samples = Annotated[tuple[Amount, ...], Field(max_length=1_000_000)]
"""Samples in measured order."""

EntryT = TypeVar("EntryT", bound="ForeignEntry")


class ForeignEntry(BaseModel):
    """Entry of a file that somebody else defines: fields that nobody here knows are allowed, and left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class Placed(Struct, frozen=True):
    """JSON value with its place.

    Attributes:
        line: Its first line, from 1.
        value: The value.
    """

    line: int
    value: object

    @property
    def place(self) -> str:
        """Its place for people."""
        return f"line {self.line}"


def read_entries(text: str) -> tuple[Sequence[Placed], Sequence[ForeignProblem]]:
    """Return the elements of a JSON list, or each JSON value of a text that has one or several, as lines of JSON do.

    A list that is cut off, because its writer was killed, gives the elements that are whole and a problem. Of lines,
    those after a damaged one are read, too.
    """
    entries: list[Placed] = []
    problems: list[ForeignProblem] = []
    for item in _scan(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")):
        if len(entries) + len(problems) >= MOST_ENTRIES:
            problems.append(
                ForeignProblem(place="end", reason=f"more than {MOST_ENTRIES} entries; the rest is not read")
            )
            break
        if isinstance(item, Placed):
            entries.append(item)
        else:
            problems.append(item)
    return entries, problems


def parse_entry(kind: type[EntryT], entry: Placed) -> EntryT | ForeignProblem:
    """Return an entry as its class, or what is wrong with its first wrong field, without repeating what it holds."""
    if not isinstance(entry.value, dict):
        return ForeignProblem(place=entry.place, reason="not a JSON object")
    try:
        return kind.model_validate(entry.value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "entry"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        return ForeignProblem(place=entry.place, reason=f"`{field[:80]}`: {first['msg']}{more}")


def describe_places(places: Sequence[str]) -> str:
    """Return places of entries for people: the only one, or the first and the last."""
    return places[0] if len(places) == 1 else f"{places[0]} to {places[-1]}"


def _scan(text: str) -> Iterator[Placed | ForeignProblem]:
    decoder = json.JSONDecoder()
    at, line, counted = _skip_space(text, 0), 1, 0
    is_list = text.startswith("[", at)
    at = _skip_space(text, at + 1) if is_list else at
    while at < len(text):
        if is_list and text[at] == "]":
            at = _skip_space(text, at + 1)
            is_list = False
            continue
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            yield ForeignProblem(place=f"line {line}", reason=_explain(error, is_list=is_list))
            following = text.find("\n", at)
            if is_list or following < 0:
                return
            at = _skip_space(text, following)
            continue
        yield Placed(line, value)
        at = _skip_space(text, end)
        if is_list and at < len(text) and text[at] == ",":
            at = _skip_space(text, at + 1)
        elif is_list and (at >= len(text) or text[at] != "]"):
            where = line + text.count("\n", counted, at)
            yield ForeignProblem(place=f"line {where}", reason="the list ends here without `]`; the rest is not read")
            return


def _explain(error: ValueError | RecursionError, *, is_list: bool) -> str:
    reason = {json.JSONDecodeError: "not JSON", RecursionError: "nested too deeply"}.get(
        type(error), "a number has too many digits"
    )
    detail = f" ({error.msg.lower()})" if isinstance(error, json.JSONDecodeError) else ""
    return f"{reason}{detail}{'; the rest of the list is not read' if is_list else ''}"


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
