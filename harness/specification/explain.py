"""Explanations of structural errors, from the JSON Schema. Used when pydantic has refused a document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from harness.core.placeholders import suggest
from harness.core.scalars import suggest_share
from harness.specification.document import Findings, join
from harness.specification.schema import specification_schema

_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}

_Validator = extend(  # type: ignore[no-untyped-call] # of a library without types
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),
)
"""JSON Schema takes 1.0 for an integer, and specifications do not."""

_NUMBERS = re.compile(r"[0-9]+(\s*[,x]\s*[0-9]+)*")
"""Dimensions, as other tools write them."""

_SENTENCES: Mapping[str, Callable[[ValidationError], str]] = {
    "minimum": lambda error: (
        f"must be {_alternatives(error)}at least {error.validator_value}, got {show(error.instance)}"
    ),
    "maximum": lambda error: f"must be at most {error.validator_value}, got {show(error.instance)}",
    "exclusiveMinimum": lambda error: f"must be more than {error.validator_value}, got {show(error.instance)}",
    "exclusiveMaximum": lambda error: f"must be less than {error.validator_value}, got {show(error.instance)}",
    "minItems": lambda _: "must have at least one item",
    "minProperties": lambda _: "must have at least one member",
    "minLength": lambda _: "must not be empty",
    "pattern": lambda error: f"must be a number or a placeholder such as {{depth}}, got {show(error.instance)}",
    "const": lambda error: f"must be {show(error.validator_value)}, got {show(error.instance)}",
    "enum": lambda error: f"must be one of {_list_values(error.validator_value)}, got {show(error.instance)}",
}


def explain(findings: Findings, known: Collection[str]) -> Sequence[tuple[str | int, ...]]:
    """Note every difference between a document and the JSON Schema.

    Args:
        findings: A document that is not valid; collects problems.
        known: Pointers that have been reported already.

    Returns:
        The path to every error, including those that were known.
    """
    validator = _Validator(specification_schema())
    errors = [precise for error in validator.iter_errors(findings.document.value) for precise in _precise(error)]
    for error in errors:
        if _pointer(error) not in known:
            _report(error, findings)
    return [tuple(error.absolute_path) for error in errors]


def show(value: object) -> str:
    """Format a value for a sentence."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _precise(error: ValidationError) -> Iterator[ValidationError]:
    """Yield the errors behind "not valid under any of the given schemas", for the branch that was probably meant."""
    branches = _branches(error)
    if branches is None:
        yield error
        return
    fitting = [branch for branch in branches if not any(_is_wrong_kind(inner, error) for inner in branch)]
    if not fitting:
        yield error
        return
    for inner in min(fitting, key=len):
        yield from _precise(inner)


def _branches(error: ValidationError) -> Sequence[Sequence[ValidationError]] | None:
    if error.validator != "anyOf" or not error.context:
        return None
    branches: dict[str | int, list[ValidationError]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    return list(branches.values())


def _is_wrong_kind(error: ValidationError, outer: ValidationError) -> bool:
    """Return whether an error of a branch says that the whole instance is of another kind."""
    is_whole = len(error.absolute_path) == len(outer.absolute_path)
    return is_whole and (error.validator in ("type", "enum", "const") or error.validator == "anyOf")


def _report(error: ValidationError, findings: Findings) -> None:
    pointer = _pointer(error)
    if error.validator == "required":
        _report_missing(error, pointer, findings)
    elif error.validator == "additionalProperties":
        _report_unknown(error, pointer, findings)
    elif error.validator in ("type", "anyOf"):
        expected = " or ".join(dict.fromkeys(_expected(error)))
        findings.add(pointer, f"expected {expected}, got {show(error.instance)}", _type_hint(error, pointer))
    else:
        sentence = _SENTENCES.get(str(error.validator))
        hint = suggest_share(float(str(error.instance))) if error.validator == "exclusiveMaximum" else None
        findings.add(pointer, sentence(error) if sentence else error.message, hint)


def _report_missing(error: ValidationError, pointer: str, findings: Findings) -> None:
    missing = str(error.message).split("'")[1]
    hint = None
    if not pointer and missing in ("model", "tests"):
        hint = "a specification has `model` and `tests`; a list of specifications has `benchmarks`"
    findings.add(pointer, f"`{missing}` is missing", hint)


def _report_unknown(error: ValidationError, pointer: str, findings: Findings) -> None:
    instance, schema = error.instance, error.schema
    known = list(schema.get("properties", {})) if isinstance(schema, dict) else []
    for key in instance if isinstance(instance, dict) else ():
        if key not in known:
            findings.add(
                join(pointer, key), f"unknown key `{key}`", suggest(key, known) or f"known keys: {', '.join(known)}"
            )


def _expected(error: ValidationError) -> Iterator[str]:
    """Yield the kinds of value that are allowed."""
    if error.validator == "type":
        yield _KINDS.get(str(error.validator_value), str(error.validator_value))
    elif error.validator in ("const", "enum"):
        values = error.validator_value
        yield from (show(value) for value in (values if isinstance(values, list) else [values]))
    for inner in error.context or ():
        if len(inner.absolute_path) == len(error.absolute_path):
            yield from _expected(inner)


def _type_hint(error: ValidationError, pointer: str) -> str | None:
    value = error.instance
    expected = set(_expected(error))
    if value is None:
        return "remove the key instead of giving it no value"
    if isinstance(value, str):
        return _text_hint(value, expected, pointer)
    if isinstance(value, dict) and pointer.endswith("/commands"):
        return "write a list of command lines; FAI-PEP's oldest form, options by framework, is not supported"
    if "a list" in expected:
        return f"write it in brackets: [{_as_item(value)}]"
    if isinstance(value, list):
        return 'name each of them: { "NAME": ... }' if _takes_names(error.schema) else None
    return _scalar_hint(value, expected)


def _text_hint(text: str, expected: Collection[str], pointer: str) -> str | None:
    """Suggest how to write a text that should be another kind of value."""
    if {"a whole number", "a number"} & set(expected) and text.strip("+-").isdigit():
        return f"write it without quotes: {text}"
    if pointer.endswith("/commands"):
        return "write a list of command lines, or use `command`"
    return f"write it in brackets: [{_as_item(text)}]" if "a list" in expected else None


def _scalar_hint(value: object, expected: Collection[str]) -> str | None:
    """Suggest how to write a number or truth value that should be a text or a whole number."""
    if "text" in expected and not isinstance(value, dict):
        return f'write it in quotes: "{show(value)}"'
    if isinstance(value, float) and value.is_integer() and "a whole number" in expected:
        return f"write it as a whole number: {value:.0f}"
    return None


def _as_item(value: object) -> str:
    """Format a value as an item of a list: an object shortened, `1,3,224` as the numbers that were probably meant."""
    if isinstance(value, dict):
        return "{ ... }"
    if isinstance(value, str) and _NUMBERS.fullmatch(value):
        return ", ".join(re.findall("[0-9]+", value))
    return show(value)


def _alternatives(error: ValidationError) -> str:
    """Return the single values that are allowed beside a range, each with an "or": `-1 or ` of `iter`."""
    branches = error.parent.context if error.parent is not None and error.parent.context else ()
    return "".join(f"{show(branch.validator_value)} or " for branch in branches if branch.validator == "const")


def _takes_names(schema: object) -> bool:
    """Return whether the keys of an object of this schema are chosen by the user."""
    return isinstance(schema, dict) and isinstance(schema.get("additionalProperties"), dict)


def _pointer(error: ValidationError) -> str:
    return join("", *error.absolute_path)


def _list_values(values: object) -> str:
    return ", ".join(show(value) for value in values) if isinstance(values, list) else str(values)
