"""Reading of YAML: the values that JSON has, and nothing else.

Plain words are read as in YAML 1.2's core schema (`no` and `on` are text, `1:30` is text); tags, merge keys and
documents that refer to themselves are refused.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import yaml
from pydantic import JsonValue

from harness.core.benchmark import SpecificationPlace
from harness.specification.document import Problems, SpecificationDocument, join
from harness.specification.json_syntax import MOST_LEVELS, NESTED_TOO_DEEPLY, excerpt

_MOST_VALUES = 100_000
"""An alias that doubles itself thirty times is a short text and an endless document."""

_WORDS: dict[str, JsonValue] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,4000}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_PLAIN_TAGS = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq"))


def read_yaml(file: Path, text: str, problems: Problems) -> SpecificationDocument | None:
    """Read one YAML document. Duplicate keys are problems, but the document is still returned.

    Args:
        file: The file of the text.
        text: The text.
        problems: Collects problems.

    Returns:
        The document, or None where there is no usable value.
    """
    try:
        # BaseLoader constructs nothing and guesses no types: as safe as SafeLoader, without YAML 1.1's surprises.
        node = yaml.compose(text, Loader=yaml.BaseLoader)
        if node is None:
            problems.add(SpecificationPlace(file=file, line=1), "the file is empty")
            return None
        converter = _NodeConverter(file, problems)
        value = converter.convert(node, "", node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        message = f"not valid YAML: {reason} (line {line}, column {column})"
        problems.add(SpecificationPlace(file=file, line=line), message + excerpt(text, line, column))
        return None
    except yaml.YAMLError as error:
        problems.add(SpecificationPlace(file=file, line=1), f"not valid YAML: {str(error).splitlines()[0]}")
        return None
    except RecursionError:
        problems.add(SpecificationPlace(file=file, line=1), NESTED_TOO_DEEPLY)
        return None
    return None if converter.unusable else SpecificationDocument(file, value, converter.places)


class _NodeConverter:
    """Converter of nodes to values; notes the place of every value."""

    def __init__(self, file: Path, problems: Problems) -> None:
        self.places: dict[str, SpecificationPlace] = {}
        self.unusable = False
        self._file = file
        self._problems = problems

    def convert(self, node: yaml.Node, pointer: str, line_node: yaml.Node, ancestors: tuple[int, ...]) -> JsonValue:
        """Convert a node; `line_node` has the line to note (for a member of an object, its key)."""
        self.places[pointer] = SpecificationPlace(file=self._file, pointer=pointer, line=line_node.start_mark.line + 1)
        if self.unusable or not self._accepts(node, pointer, ancestors):
            return None
        if isinstance(node, yaml.MappingNode):
            return self._convert_mapping(node, pointer, (*ancestors, id(node)))
        if isinstance(node, yaml.SequenceNode):
            items = enumerate(node.value)
            return [self.convert(item, join(pointer, index), item, (*ancestors, id(node))) for index, item in items]
        is_plain = isinstance(node, yaml.ScalarNode) and node.style is None
        return self._convert_scalar(str(node.value), pointer, is_plain=is_plain)

    def _accepts(self, node: yaml.Node, pointer: str, ancestors: tuple[int, ...]) -> bool:
        if id(node) in ancestors:
            self._refuse(pointer, "an alias refers to something that contains it")
        elif isinstance(node, yaml.CollectionNode) and len(ancestors) >= MOST_LEVELS:
            self._refuse(pointer, NESTED_TOO_DEEPLY)
        elif len(self.places) > _MOST_VALUES:
            self._refuse("", f"aliases expand to more than {_MOST_VALUES} values")
        elif node.tag not in _PLAIN_TAGS:
            self._refuse(pointer, f"YAML tag `{node.tag}` is not supported", "write the plain value")
        return not self.unusable

    def _convert_mapping(self, node: yaml.MappingNode, pointer: str, ancestors: tuple[int, ...]) -> JsonValue:
        members: dict[str, JsonValue] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.places[join(pointer, "?")] = SpecificationPlace(file=self._file, pointer=pointer, line=line)
                return self._refuse(join(pointer, "?"), "a key must be plain text")
            key = str(self._text(key_node.value, pointer))
            place = SpecificationPlace(file=self._file, pointer=join(pointer, key), line=line)
            if key == "<<" and key_node.style is None:  # quoted it is a text
                self._problems.add(place, "merge keys (`<<`) are not supported", "use a list file's `meta`")
            if key in lines:
                message = f"key `{key}` is given twice (first on line {lines[key]})"
                self._problems.add(place, message, "keep one of them")
            lines.setdefault(key, line)
            members[key] = self.convert(value_node, place.pointer, key_node, ancestors)
        return members

    def _convert_scalar(self, text: str, pointer: str, *, is_plain: bool) -> JsonValue:
        if is_plain and text in _WORDS:
            return _WORDS[text]
        if is_plain and _INTEGER.fullmatch(text):
            return int(text)
        if is_plain and _NUMBER.fullmatch(text):
            number = float(text)
            return number if math.isfinite(number) else self._refuse(pointer, f"{text} is too large for a number")
        return self._text(text, pointer)

    def _text(self, text: str, pointer: str) -> JsonValue:
        try:  # YAML reads a character beyond U+FFFF that is written as two escapes, as in JSON, as two characters
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            return self._refuse(pointer, "text contains half of a surrogate pair", "write the character itself")

    def _refuse(self, pointer: str, message: str, hint: str | None = None) -> JsonValue:
        self.unusable = True
        self._problems.add(self.places[pointer], message, hint)
        return None
