"""Interface of Monsoon's library, as a golden file: the stand-in may have nothing that the library has not.

The file was written from the sources of version 0.1.88 by `pip download Monsoon==0.1.88 --no-deps`, `unzip`, and
`python -m tests.power.monsoon_interface FOLDER/Monsoon > tests/power/golden/monsoon-0.1.88.json`.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

MODULES: Final = ("HVPM", "Operations", "pmapi", "sampleEngine")
GOLDEN: Final = Path(__file__).parent / "golden" / "monsoon-0.1.88.json"

Interface = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Arguments of methods, or values of constants, by name, class and module."""


def read_interface(folder: Path) -> Interface:
    """Return the public methods and constants of all classes in the sources of the library."""
    return {
        module: {
            node.name: dict(_members(node))
            for node in ast.parse((folder / f"{module}.py").read_text()).body
            if isinstance(node, ast.ClassDef)
        }
        for module in MODULES
    }


def _members(node: ast.ClassDef) -> list[tuple[str, str]]:
    members: list[tuple[str, str]] = []
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and (not item.name.startswith("_") or item.name == "__init__"):
            names = [argument.arg for argument in item.args.args if argument.arg != "self"]
            required = len(names) - len(item.args.defaults)
            members.append((item.name, ", ".join([*names[:required], *(f"{name}=" for name in names[required:])])))
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            members.append((item.targets[0].id, ast.unparse(item.value)))
    return members


if __name__ == "__main__":
    sys.stdout.write(json.dumps(read_interface(Path(sys.argv[1])), indent=1) + "\n")
