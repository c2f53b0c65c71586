"""The file `harness/api/names.py`: keyword arguments with their types, made from the declared options and flags.

`python -m tests.api.names_file` writes it.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from frameworks.executorch.options import ExecuTorchOptions
from frameworks.tflite.options import TfliteOptions
from harness.api import keywords
from harness.config import flags
from harness.config.flags import CompareFlags
from harness.config.options import DeclaredOption, declared_options
from harness.config.settings import Settings
from platforms.android.options import AndroidOptions
from platforms.ios.options import IosOptions
from platforms.phone_options import PhoneOptions

FILE = Path(keywords.__file__).with_name("names.py")
_HEAD = '''"""Keyword arguments of `harness.run` and `harness.compare`, with their types. Generated from the options.

`python -m tests.api.names_file` writes this file, and a test compares it with the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from harness.core.scalars import Scalar

AnyPath = str | PathLike[str]
'''
_TYPES = {Path: "AnyPath", str: "str", int: "int", float: "float", bool: "bool"}
_SPECIAL = {
    "program": "AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]",
    "control_program": "AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]",
    "treatment_program": "AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]",
    "string_map": "Mapping[str, Scalar]",
    "meta": "Mapping[str, object]",
    "precision": 'float | Literal["none"]',
    "cpus": "str | Sequence[int]",
    "frameworks_dir": "AnyPath | Sequence[AnyPath]",
    "unequal_options": "str | Sequence[str]",
}
"""Types of what is given, where it has more forms than the value that it becomes."""


def current() -> str:
    """The file as the options say."""
    options = [
        option
        for owner in (Settings, PhoneOptions, AndroidOptions, IosOptions, ExecuTorchOptions, TfliteOptions)
        for option in declared_options(owner)
    ]
    entries = [_option(option) for option in options if option.name not in keywords.NO_KEYWORDS]
    entries.append(("config_dir", "AnyPath", "Folder of the saved defaults."))
    sides = list(_flags())
    parts = [
        _HEAD,
        _class("_Options", "TypedDict, total=False", "Options of every function that measures.", entries),
        _class(
            "RunKeywords",
            "_Options, total=False",
            "Keyword arguments of `harness.run`: the options, and the commit to build, if any.",
            [entry for entry in sides if entry[0] in keywords.COMMIT_KEYWORDS],
        ),
        _class(
            "CompareKeywords",
            "_Options, total=False",
            "Keyword arguments of `harness.compare`: the options, the two sides, and how to decide.",
            sides,
        ),
    ]
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"]
    return subprocess.run(ruff, input="\n\n".join(parts), capture_output=True, text=True, check=True).stdout


def _class(name: str, bases: str, text: str, entries: list[tuple[str, str, str]]) -> str:
    fields = "\n".join(f"{field}: {type_}\n{_docstring(meaning)}\n" for field, type_, meaning in entries)
    return f'class {name}({bases}):\n    """{text}"""\n\n{textwrap.indent(fields, "    ")}'


def _docstring(text: str) -> str:
    return textwrap.fill(f'"""{text}', 112) + ('\n"""' if len(text) > 106 else '"""')


def _option(option: DeclaredOption) -> tuple[str, str, str]:
    type_ = _SPECIAL.get(option.name) or (f"Literal{list(option.option.choices)}" if option.option.choices else None)
    return option.name, type_ or _text(option.bare_type), option.option.help


def _flags() -> Iterator[tuple[str, str, str]]:
    """The flags of a comparison with their docstrings, which stand below them."""
    body = ast.parse(inspect.getsource(flags)).body
    (declared,) = (node for node in body if isinstance(node, ast.ClassDef) and node.name == "CompareFlags")
    meanings = {
        field.target.id: str(text.value.value)
        for field, text in zip(declared.body, declared.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }
    hints = get_type_hints(CompareFlags)
    for field in dataclasses.fields(CompareFlags):
        if field.name in keywords.COMPARE_KEYWORDS:
            text = " ".join(meanings[field.name].split())
            yield field.name, _SPECIAL.get(field.name) or _text(hints[field.name]), text


def _text(type_: object) -> str:
    """The type as source code, without None: what is None is not given."""
    if isinstance(type_, type) and type_ in _TYPES:
        return _TYPES[type_]
    origin, parts = get_origin(type_), get_args(type_)
    if origin is Annotated:
        return _text(parts[0])
    if origin is Literal:
        return f"Literal{list(parts)}"
    if origin is tuple:
        return f"Sequence[{_text(parts[0])}]" if parts[0] is not str else "str | Sequence[str]"
    if origin is dict:
        return f"Mapping[{', '.join(map(_text, parts))}]"
    if origin in {Union, UnionType}:
        return " | ".join(dict.fromkeys(_text(part) for part in parts if part is not NoneType))
    raise TypeError(f"{type_} has no text")


def main() -> None:
    FILE.write_text(current(), encoding="utf-8")


if __name__ == "__main__":
    main()
