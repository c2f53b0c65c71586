"""`harness list`: what specifications can name, and what is built in. Nothing is imported for it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness import plugins
from harness.config.built_in import LISTS, MODELS, find_shipped
from harness.core.benchmark import Benchmark
from harness.core.errors import SpecificationError
from harness.display.console import CleanConsole
from harness.display.tables import draw_rows, print_output, widen
from harness.presentation.documents import DOCUMENT_VERSION
from harness.specification.load import load

_PLUG_INS: Final = {
    "definitions": "model definition",
    "frameworks": "framework",
    "platforms": "platform",
    "reporters": "reporter",
    "sources": "source",
    "data": "data provider",
    "channels": "alarm channel",
    "formats": "format",
}
"""Sections of plug-ins, and the kinds of plug-ins in them."""
_OF_FRAMEWORKS: Final = ("recipes",)
"""Sections of what frameworks look for themselves: how models can be exported."""
SECTIONS: Final = (
    MODELS,
    LISTS,
    "definitions",
    *_OF_FRAMEWORKS,
    *(name for name in _PLUG_INS if name != "definitions"),
)
_PURPOSES: Final = {
    MODELS: "harness NAME",
    LISTS: "lists of models: harness NAME",
    "definitions": "models to export: harness export NAME",
    "recipes": "ways to lower a definition: harness export DEFINITION --recipe NAME",
    "frameworks": "`framework` of a specification",
    "platforms": "--platform NAME",
    "reporters": "--reporter NAME",
    "sources": "--source NAME:PLACE",
    "data": "`data` of a specification",
    "channels": "--hook NAME:TARGET",
    "formats": "harness import FILE --format NAME",
}


class _Shipped(Struct, frozen=True):
    """Built-in specification or list.

    Attributes:
        name: What the command line calls it.
        file: Its file.
        benchmarks: What it expands to; empty where it is damaged.
        problem: Why it cannot be read; empty when it can.
    """

    name: str
    file: Path
    benchmarks: Sequence[Benchmark] = ()
    problem: str = ""

    @property
    def description(self) -> str:
        """The description of its model, or its models."""
        models = {benchmark.model.name: benchmark.model.description or "" for benchmark in self.benchmarks}
        return self.problem or (next(iter(models.values())) if len(models) == 1 else ", ".join(models))


def show_catalog(console: Console, *, section: str | None = None, as_json: bool = False) -> None:
    """Show names by section.

    Args:
        console: Where to show them.
        section: The only one of the `SECTIONS` to show; None shows all.
        as_json: Show one JSON document with a list for each section instead of tables.
    """
    sections = SECTIONS if section is None else (section,)
    if as_json:
        catalog = {"schema_version": DOCUMENT_VERSION, **{name: _as_json(name) for name in sections}}
        print_output(Text(json.dumps(catalog, indent=2)), widen(console))  # ASCII: nothing in it moves a cursor
        return
    for name in sections:
        if name in (MODELS, LISTS):
            print_output(Text(f"{name} ({_PURPOSES[name]})", style="bold"), console)
            rows = [(item.name, str(len(item.benchmarks)), item.description) for item in _load_shipped(name)]
            _print_table(draw_rows(("name", "benchmarks", "description"), rows, right={"benchmarks"}), console)
    named = [name for name in sections if name not in (MODELS, LISTS)]
    if named:
        rows = [(name, ", ".join(_describe_names(_names(name))), _PURPOSES[name]) for name in named]
        _print_table(draw_rows(("kind", "names", "use"), rows), console)


def _print_table(table: Table, console: Console) -> None:
    """Print a table as wide as a terminal, or as COLUMNS where it is set for a pipe: descriptions are broken there."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and not console.is_terminal:
        CleanConsole(file=console.file, width=int(columns)).print(table)
    else:
        print_output(table, console)


def _load_shipped(folder: str) -> Sequence[_Shipped]:
    items = []
    for name, file in find_shipped(folder).items():
        try:
            items.append(_Shipped(name, file, load((file,)).benchmarks))
        except SpecificationError as error:
            items.append(_Shipped(name, file, problem=str(error).splitlines()[0]))
    return items


def _names(section: str) -> Mapping[str, Sequence[str]]:
    """Return the names of a section, each with the frameworks that know it; no framework means all."""
    if section in _PLUG_INS:
        return dict.fromkeys(plugins.installed_names(_PLUG_INS[section]), ())
    known: dict[str, list[str]] = {}
    for framework in plugins.installed_names("framework"):
        for name in plugins.names_of_framework(framework, section):
            known.setdefault(name, []).append(framework)
    return dict(sorted(known.items()))


def _describe_names(names: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the names; with the framework where there are several that export."""
    frameworks = {framework for known in names.values() for framework in known}
    if len(frameworks) <= 1:
        return tuple(names)
    return tuple(f"{name} ({', '.join(known)})" for name, known in names.items())


def _as_json(section: str) -> list[dict[str, object]]:
    if section in _PLUG_INS:
        return [{"name": name} for name in _names(section)]
    if section in _OF_FRAMEWORKS:
        return [{"name": name, "frameworks": list(frameworks)} for name, frameworks in _names(section).items()]
    return [
        {
            "name": item.name,
            "file": str(item.file),
            "description": item.description,
            "benchmarks": [benchmark.title for benchmark in item.benchmarks],
            "frameworks": sorted({benchmark.framework for benchmark in item.benchmarks}),
        }
        for item in _load_shipped(section)
    ]
