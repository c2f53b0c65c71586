"""One idea, one name, one class: public classes of the product have names of their own, whatever rooms they are in."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import harness

ROOT: Final = Path(harness.__file__).parents[1]
PACKAGES: Final = ("harness", "platforms", "frameworks", "reporters")
NAME_OF_TYPE: Final = re.compile(r"[A-Z][A-Z0-9]*[a-z]\w*")


@functools.cache
def read_modules() -> Sequence[tuple[str, ast.Module]]:
    """Return path and tree of each module of the product."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def find_public_classes(modules: Sequence[tuple[str, ast.Module]]) -> dict[str, list[str]]:
    """Return where each name of a public class is defined."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in modules:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path}:{node.lineno}")
    return places


def find_assignments(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield what a module assigns, and to what, below `if TYPE_CHECKING` too."""
    for block in (tree.body, *(node.body for node in tree.body if isinstance(node, ast.If))):
        for node in block:
            if isinstance(node, ast.AnnAssign):
                yield node.target, node.value
            elif isinstance(node, ast.Assign):
                yield node.targets[0], node.value


def find_aliases(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield name and line of each alias of a type, and of each type variable.

    A class that a call returns is that of the same name with something added, such as the flags of plug-ins.
    """
    for target, value in find_assignments(tree):
        is_alias = not isinstance(value, ast.Call) or ast.unparse(value.func) == "TypeVar"
        if isinstance(target, ast.Name) and NAME_OF_TYPE.fullmatch(target.id) and is_alias:
            yield target.id, target.lineno


def test_public_classes_have_names_of_their_own() -> None:
    places = find_public_classes(read_modules())
    assert len(places) > 1000
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_alias_of_a_type_has_the_name_of_a_class() -> None:
    modules = read_modules()
    classes = find_public_classes(modules)
    aliases = [(path, name, line) for path, tree in modules for name, line in find_aliases(tree)]
    assert len(aliases) > 100
    assert [f"{path}:{line}: {name}" for path, name, line in aliases if name in classes] == []
