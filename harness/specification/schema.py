"""JSON Schemas of specifications and results, generated from the classes.

`python -m harness.specification.schema` writes them to `specifications/schema`; with `--check` it only reports whether
they are current.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from harness.core.comparison import Comparison
from harness.core.result import Result
from harness.core.self_check import SelfCheck
from harness.files.installation import SPECIFICATIONS
from harness.specification.file_format import Specification, SpecificationList
from harness.specification.misspellings import misspelling_pattern

DIALECT = "https://json-schema.org/draft/2020-12/schema"

ID_PREFIX = "urn:edge-harness:schema:"
"""Begins the `$id` of each schema: names that need no server (docs/decisions/0045)."""

_ATTRIBUTE = re.compile(r"^    (\w+): ", re.MULTILINE)


_IS_GENERIC: Final[JsonValue] = {
    "anyOf": [{"const": "generic"}, {"type": "array", "minItems": 1, "prefixItems": [{"const": "generic"}]}]
}
"""A kind of test, or a list that begins with it, whose identifier may be left out."""

_DEMANDS: Final[Mapping[str, Sequence[JsonValue]]] = {
    "Test": [
        {
            "if": {"required": ["metric"], "properties": {"metric": {"not": _IS_GENERIC}}},
            "then": {"required": ["identifier"]},
        }
    ],
    "FileEntry": [
        {"oneOf": [{"required": ["location"]}, {"required": ["export"]}]},
        {"properties": {"md5": {"pattern": r"^([0-9a-fA-F]{32}|directory|.*[{<].*)?$"}}},
    ],
}
"""What loading demands beyond what the classes say, of texts that have no placeholder."""


class DescribedSchema(GenerateJsonSchema):
    """Generator that takes descriptions from docstrings and leaves out titles, which only repeat keys."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - pydantic's signature
        """Return that no field has a title."""
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of a class, with its docstring taken apart."""
        generated = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        summary, attributes = _docstring(model)
        generated["description"] = summary
        for name, field in model.model_fields.items():
            property_schema = generated["properties"].get(field.alias or name)
            if property_schema is not None and name in attributes:
                property_schema["description"] = attributes[name]
        return generated


class _WithoutNull(DescribedSchema):
    """Generator for a format in which absent keys, not null, mean that there is no value."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        generated = super().default_schema(schema)
        if generated.get("default", ...) is None:
            del generated["default"]
        return generated


def specification_schema() -> dict[str, JsonValue]:
    """Generate the schema of specifications and of lists of them, which have the key `benchmarks`."""
    named, definitions = models_json_schema(
        [(Specification, "validation"), (SpecificationList, "validation")], schema_generator=_WithoutNull
    )
    return {
        "$schema": DIALECT,
        "title": "Benchmark specification",
        "description": "A model and its tests, or a list of files that hold such specifications.",
        "type": "object",
        "if": {"required": ["benchmarks"]},
        "then": named[SpecificationList, "validation"],
        "else": named[Specification, "validation"],
        **definitions,
    }


def editor_schema() -> dict[str, JsonValue]:
    """Generate the schema of specifications for editors: where any key may stand, misspelt ones are refused.

    The keys of one's own that a placeholder uses cannot be told from those that nothing uses by a JSON Schema:
    `harness validate` does.
    """
    schema = specification_schema()
    definitions = schema["$defs"]
    if not isinstance(definitions, dict):
        raise TypeError("a schema without definitions")
    for definition in definitions.values():
        if isinstance(definition, dict) and definition.get("additionalProperties", True) is not False:
            _refuse_misspellings(definition)
    for name, demands in _DEMANDS.items():
        definition = definitions[name]
        if not isinstance(definition, dict):
            raise TypeError(f"a schema of {name} that is no object")
        definition["allOf"] = [*demands]
    return schema


def _refuse_misspellings(definition: dict[str, JsonValue]) -> None:
    properties = definition.get("properties")
    keys = list(properties) if isinstance(properties, dict) else []
    patterns = ((misspelling_pattern(key, keys), key) for key in keys)
    definition["patternProperties"] = {
        pattern: {"not": {}, "errorMessage": f"Unknown key: did you mean `{key}`?"}
        for pattern, key in patterns
        if pattern is not None
    }


def result_schema() -> dict[str, JsonValue]:
    """Generate the schema of the canonical result, as it is written."""
    return _written_schema(Result)


def _written_schema(value: type[BaseModel]) -> dict[str, JsonValue]:
    return {"$schema": DIALECT, **value.model_json_schema(mode="serialization", schema_generator=DescribedSchema)}


def current_schema() -> dict[str, str]:
    """Return the text of every committed schema, by file name; each has a `$id` of its own."""
    schemas = {
        "specification": editor_schema(),
        "result": result_schema(),
        "comparison": _written_schema(Comparison),
        "self-check": _written_schema(SelfCheck),
    }
    return {
        schema_file(name): json.dumps({"$id": f"{ID_PREFIX}{name}", **schema}, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }


def schema_file(name: str) -> str:
    """Return the name of the file of a schema."""
    return f"{name}.schema.json"


def schema_folder() -> Path:
    """Return the folder of the committed schemas."""
    return SPECIFICATIONS / "schema"


def main(argv: list[str] | None = None) -> int:
    """Write the schemas, or compare them with `--check`.

    Returns:
        0, or 1 when a committed schema is missing or differs.
    """
    parser = argparse.ArgumentParser(prog="python -m harness.specification.schema", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a schema is not current")
    check: bool = parser.parse_args(argv).check
    stale = [name for name, text in current_schema().items() if _read(schema_folder() / name) != text]
    for name in stale:
        if check:
            sys.stderr.write(f"{schema_folder() / name} is not current: run python -m harness.specification.schema\n")
        else:
            schema_folder().mkdir(exist_ok=True)
            (schema_folder() / name).write_text(current_schema()[name], encoding="utf-8")
            sys.stdout.write(f"wrote {schema_folder() / name}\n")
    return 1 if check and stale else 0


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _docstring(model: type[BaseModel]) -> tuple[str, dict[str, str]]:
    """Split a Google-style class docstring into its summary and its attributes."""
    summary, _, listed = inspect.cleandoc(model.__doc__ or "").partition("\n\nAttributes:\n")
    pieces = _ATTRIBUTE.split(listed)
    attributes = {name: " ".join(text.split()) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    aliases = {field.alias.lower(): name for name, field in model.model_fields.items() if field.alias}
    return " ".join(summary.split()), {aliases.get(name.lower(), name): text for name, text in attributes.items()}


if __name__ == "__main__":
    sys.exit(main())
