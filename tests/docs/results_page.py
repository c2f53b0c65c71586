"""The field tables of `docs/results.md`, made from the schema that is made from the classes.

`python -m tests.docs.results_page` writes them into the page, between their marks.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from harness.core.values import Value
from harness.flows.inspect.status import WatchStatus
from harness.presentation import documents
from harness.presentation.differences import MeasuredLevel, ResultDifference
from harness.specification.schema import DescribedSchema, result_schema
from harness.store.rows import BenchmarkRow, MetricRow, SampleSeries

PAGE = Path(__file__).parents[2] / "docs" / "results.md"
COLUMNS = re.compile(r"(<!-- columns of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
MARKED = re.compile(r"(<!-- fields of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_DOCUMENTS = [
    kind for kind in vars(documents).values() if isinstance(kind, type) and kind.__module__ == documents.__name__
]
ROWS: dict[str, type[Value]] = {
    row.__name__: row
    for row in (BenchmarkRow, MetricRow, SampleSeries, WatchStatus, ResultDifference, MeasuredLevel, *_DOCUMENTS)
}

Schema = dict[str, Any]  # JSON Schema is what it likes to be


def current(page: str) -> str:
    """The page with every table as the classes say."""
    schema: Schema = result_schema()
    classes: Schema = {"Result": schema, **schema["$defs"]}
    page = MARKED.sub(lambda match: f"{match[1]}\n{_table(classes[match[2]], classes)}\n{match[3]}", page)
    return COLUMNS.sub(lambda match: f"{match[1]}\n{_columns(ROWS[match[2]])}\n{match[3]}", page)


def described(page: str) -> set[str]:
    """The classes that have a table."""
    return {match[2] for match in MARKED.finditer(page)}


def objects() -> set[str]:
    """The classes that a result is made of."""
    schema: Schema = result_schema()
    return {"Result", *(name for name, each in schema["$defs"].items() if each.get("type") == "object")}


def _columns(row: type[Value]) -> str:
    """The columns of a class of rows, without those that it shares with the others."""
    schema: Schema = row.model_json_schema(mode="serialization", schema_generator=DescribedSchema)
    rows = [
        f"| `{name}` | {field['description']} |"
        for name, field in schema["properties"].items()
        if "description" in field
    ]
    return "\n".join(["| name | meaning |", "| --- | --- |", *rows, ""])


def _table(schema: Schema, classes: Schema) -> str:
    rows = [
        f"| `{name}` | {_type(field, classes)} | {field['description']} |"
        for name, field in schema["properties"].items()
    ]
    return "\n".join(["| field | type | meaning |", "| --- | --- | --- |", *rows, ""])


def _type(field: Schema, classes: Schema) -> str:
    if "$ref" in field:
        return _reference(field["$ref"].rpartition("/")[2], classes)
    if "const" in field:
        return f'`"{field["const"]}"`'
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(option, classes) for option in field["anyOf"]))
    if field.get("type") == "array":
        return f"list of {_type(field['items'], classes)}"
    if isinstance(values := field.get("additionalProperties"), dict):
        return f"object of {_type(values, classes)}"
    kind = field.get("type", "any JSON")
    return str(kind)


def _reference(name: str, classes: Schema) -> str:
    if name == "JsonValue":
        return "any JSON"
    values = classes[name].get("enum", ())
    return " or ".join(f"`{value}`" for value in values) if 0 < len(values) < 4 else f"[{name}](#{name.lower()})"


def main() -> None:
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
