"""Model definitions: the functions that make the models to export.

Every public function of every public module in this folder is a built-in definition of that name.
It takes the request's options as keyword arguments and returns the module with its example inputs.
A new built-in is a new function; a new family is a new file.
Everybody else's model is named as `package.module:function` and needs no place here.

Finding definitions imports none of them, because they import torch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from frameworks.executorch.exporting.catalogue import Entry, choose, public_modules, summary
from harness.core.errors import ExportFailed

_USER_FUNCTION = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)")


def known() -> Mapping[str, Entry]:
    """The built-in definitions by name."""
    return {
        node.name: Entry(node.name, f"{__name__}.{module}", node.name, summary(node))
        for module, source in public_modules(Path(__file__).parent).items()
        for node in source.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


def find(definition: str) -> Entry:
    """The definition of that name, built in or the user's own.

    Raises:
        ExportFailed: There is no such built-in, or it is not spelt like a user's function.
    """
    if ":" not in definition:
        return choose("model definition", definition, known(), otherwise="or your own as `package.module:function`")
    spelt = _USER_FUNCTION.fullmatch(definition)
    if spelt is None:
        raise ExportFailed(
            f"`{definition}` does not name a function", hint="write `package.module:function`, in Python's names"
        )
    return Entry(definition, module=spelt[1], function=spelt[2])


def is_built_in(entry: Entry) -> bool:
    """Whether it is a definition of this folder."""
    return ":" not in entry.name
