"""The tables of `docs/plug-ins.md` that are made from the code: fields of values, and capabilities.

`python -m tests.docs.plug_ins_page` writes them into the page, between their marks.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from harness.config.options import Option
from harness.core import alarm_protocols, commit, protocols
from harness.core.benchmark import Benchmark
from harness.core.command import Command, Completed
from harness.core.device import DeviceState, DeviceStatus
from harness.core.metric import Observation

PAGE = Path(__file__).parents[2] / "docs" / "plug-ins.md"
VALUES: dict[str, type] = {
    value.__name__: value for value in (Option, Command, Completed, Observation, Benchmark, DeviceStatus, DeviceState)
}
_MARKED = re.compile(r"(<!-- fields of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FIELD = re.compile(r"^ {8}(\w+): (.*(?:\n {12,}.*)*)", re.MULTILINE)


def current(page: str) -> str:
    """The page with every table as the classes say."""
    return _MARKED.sub(lambda match: f"{match[1]}\n{_table(VALUES[match[2]])}\n{match[3]}", page)


def described(page: str) -> list[str]:
    """The classes that have a table."""
    return [match[2] for match in _MARKED.finditer(page)]


def capabilities() -> dict[str, set[str]]:
    """The protocols that are looked for, by name, with the members that they add."""
    return {
        name: {member for member in (*vars(protocol), *inspect.get_annotations(protocol)) if not member.startswith("_")}
        for module in (protocols, commit, alarm_protocols)
        for name, protocol in vars(module).items()
        if getattr(protocol, "_is_runtime_protocol", False)
    }


def _table(value: type) -> str:
    rows = [f"| `{name}` | `{kind}` | {meaning} |" for name, kind, meaning in _fields(value)]
    return "\n".join(["| field | type | meaning |", "| --- | --- | --- |", *rows, ""])


def _fields(value: type) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of each field."""
    meanings = {name: " ".join(text.split()) for name, text in _FIELD.findall(value.__doc__ or "")}
    (definition,) = ast.parse(inspect.getsource(value)).body
    assert isinstance(definition, ast.ClassDef)
    for field in definition.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            name, annotation = field.target.id, ast.unparse(field.annotation)
            yield name, annotation.replace(" | None", "` or `None"), meanings[name]


def main() -> None:
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
