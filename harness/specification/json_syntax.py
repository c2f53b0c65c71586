"""Reading of JSON: the line of every value, duplicate keys, and syntax errors in words."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from harness.core.benchmark import SpecificationPlace
from harness.specification.document import Problems, SpecificationDocument, join

MOST_LEVELS = 64
"""Levels of lists and objects in a document, which readers descend by recursion; specifications have about ten."""
NESTED_TOO_DEEPLY = f"nested too deeply: a document has at most {MOST_LEVELS} levels"

_LEXEME = re.compile(r'[ \t\r\n]*("[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+)')


def read_json(file: Path, text: str, problems: Problems) -> SpecificationDocument | None:
    """Read one JSON document. Duplicate keys are problems, but the document is still returned.

    Args:
        file: The file of the text.
        text: The text.
        problems: Collects problems.

    Returns:
        The document, or None where there is no usable value.
    """
    try:
        value: JsonValue = json.loads(text)
    except json.JSONDecodeError as error:
        place = SpecificationPlace(file=file, line=error.lineno)
        problems.add(place, _syntax_message(error), _syntax_hint(text, error))
        return None
    except RecursionError:
        problems.add(SpecificationPlace(file=file, line=1), NESTED_TOO_DEEPLY)
        return None
    except ValueError:
        problems.add(SpecificationPlace(file=file, line=1), "cannot be read: a number has too many digits")
        return None
    scanner = _Scanner(file, problems)
    scanner.scan(text)
    return None if scanner.unusable else SpecificationDocument(file, value, scanner.places)


@dataclass(slots=True)
class _Container:
    """Object or array whose end has not been reached."""

    pointer: str
    is_object: bool
    key: str | None = None
    index: int = 0
    keys: dict[str, int] = field(default_factory=dict)


class _Scanner:
    """Scanner of a text that is known to be valid JSON; notes the place of every value."""

    def __init__(self, file: Path, problems: Problems) -> None:
        self.places: dict[str, SpecificationPlace] = {}
        self.unusable = False
        self._file = file
        self._problems = problems
        self._open: list[_Container] = []
        self._line = 1

    def scan(self, text: str) -> None:
        position = 0
        while not self._is_too_deep() and (match := _LEXEME.match(text, position)):
            self._line += text.count("\n", position, match.start(1))
            self._take(match[1])
            position = match.end()

    def _is_too_deep(self) -> bool:
        if len(self._open) <= MOST_LEVELS:
            return False
        self.unusable = True
        self._problems.add(SpecificationPlace(file=self._file, line=self._line), NESTED_TOO_DEEPLY)
        return True

    def _take(self, lexeme: str) -> None:
        inner = self._open[-1] if self._open else None
        if lexeme in "}]":
            self._open.pop()
        elif lexeme == ",":
            if inner is not None:
                inner.index, inner.key = inner.index + 1, None
        elif inner is not None and inner.is_object and inner.key is None:
            self._take_key(inner, lexeme)
        elif lexeme != ":":
            self._take_value(inner, lexeme)

    def _take_key(self, inner: _Container, lexeme: str) -> None:
        inner.key = str(json.loads(lexeme))
        place = SpecificationPlace(file=self._file, pointer=join(inner.pointer, inner.key), line=self._line)
        before = inner.keys.get(inner.key)
        if before is not None:
            self._problems.add(place, f"key `{inner.key}` is given twice (first on line {before})", "keep one of them")
        inner.keys.setdefault(inner.key, self._line)
        self.places[place.pointer] = place
        self._check_text(lexeme, place)

    def _take_value(self, inner: _Container | None, lexeme: str) -> None:
        pointer = "" if inner is None else join(inner.pointer, inner.index if inner.key is None else inner.key)
        if inner is None or inner.key is None:
            self.places[pointer] = SpecificationPlace(file=self._file, pointer=pointer, line=self._line)
        if lexeme in "{[":
            self._open.append(_Container(pointer, is_object=lexeme == "{"))
        elif lexeme.startswith('"'):
            self._check_text(lexeme, self.places[pointer])
        elif lexeme not in ("true", "false", "null") and not math.isfinite(float(lexeme)):
            self.unusable = True
            self._problems.add(self.places[pointer], f"{lexeme} is not a finite number")

    def _check_text(self, lexeme: str, place: SpecificationPlace) -> None:
        if "\\u" in lexeme and has_half_character(json.loads(lexeme)):
            self.unusable = True
            self._problems.add(place, "text contains half of a surrogate pair", "write the character itself")


def has_half_character(text: str) -> bool:
    """Return whether a text has a surrogate without its other half, so that UTF-8 cannot represent it."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def excerpt(text: str, line: int, column: int) -> str:
    """Return the line with a caret under the column (both 1-based), shortened around it; nothing of an empty one."""
    content = text.splitlines()[line - 1] if line <= len(text.splitlines()) else ""
    if not content.strip():
        return ""
    start = max(0, column - 41)
    shown = content[start : start + 80].replace("\t", " ")
    return f"\n      {shown}\n      {' ' * (column - 1 - start)}^"


def _syntax_message(error: json.JSONDecodeError) -> str:
    reason = error.msg[:1].lower() + error.msg[1:]
    return (
        f"not valid JSON: {reason} (line {error.lineno}, column {error.colno})"
        f"{excerpt(error.doc, error.lineno, error.colno)}"
    )


def _syntax_hint(text: str, error: json.JSONDecodeError) -> str | None:
    here, before = text[error.pos : error.pos + 5], text[: error.pos].rstrip()[-1:]
    hints = {
        "the file is empty": not text.strip(),
        "JSON has no comments: use the `description` of the model, or write the specification in YAML": here.startswith(
            ("//", "/*", "#")
        ),
        "remove the comma after the last item": (before == "," and here.startswith(("}", "]")))
        or "trailing comma" in error.msg,
        'write text in double quotes: "..."': here.startswith("'"),
        "write true or false, and leave out keys without a value": here.startswith(("True", "False", "None")),
        "a comma or a closing bracket is missing before this place": "delimiter" in error.msg,
    }
    return next((hint for hint, applies in hints.items() if applies), None)
