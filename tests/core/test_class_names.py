"""One idea, one name, one class: no two public classes of the product have the same name, in whatever rooms they are."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import Final

import harness

ROOT: Final = Path(harness.__file__).parents[1]
PACKAGES: Final = ("harness", "platforms", "frameworks", "reporters")


def find_public_classes() -> dict[str, list[str]]:
    """Return where each name of a public class is defined."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    return places


def test_public_classes_have_names_of_their_own() -> None:
    places = find_public_classes()
    assert len(places) > 1000
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
