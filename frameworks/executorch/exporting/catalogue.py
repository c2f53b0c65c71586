"""Names that an export request can use, found by reading source files: listing them imports nothing heavy."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import ExportFailed
from harness.core.placeholders import suggest


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that can be named.

    Attributes:
        name: What a specification writes.
        module: The Python module that makes it.
        function: The function of that module to call.
        summary: One line for lists.
    """

    name: str
    module: str
    function: str
    summary: str = ""


def public_modules(folder: Path) -> Mapping[str, ast.Module]:
    """The source of each module of a package by module name, without those whose name begins with an underscore."""
    files = sorted(file for file in folder.glob("*.py") if not file.name.startswith("_"))
    return {file.stem: ast.parse(file.read_text(encoding="utf-8"), str(file)) for file in files}


def summary(node: ast.Module | ast.FunctionDef) -> str:
    """The first line of a docstring, without its full stop."""
    return (ast.get_docstring(node) or "").partition("\n")[0].rstrip(".")


def choose(kind: str, name: str, known: Mapping[str, Entry], *, otherwise: str = "") -> Entry:
    """The entry of that name.

    Args:
        kind: What it is called in the message.
        name: What was asked for.
        known: Everything that can be named.
        otherwise: What else the hint should say.

    Raises:
        ExportFailed: There is none; the hint says what was probably meant and what there is.
    """
    if name in known:
        return known[name]
    meant = suggest(name, known)
    there_is = f"known: {', '.join(sorted(known))}"
    hint = "; ".join(part for part in (meant, there_is, otherwise) if part)
    raise ExportFailed(f"unknown {kind} `{name}`", hint=hint)
