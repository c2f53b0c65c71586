"""Provenance of exported models: versions of packages, and the sources of definitions, recipes and exporters.

Everything here reads files and imports none of them, because it runs before each cache look-up.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import MappingProxyType

from harness.core.errors import ExportFailed
from harness.files.distributions import find_version

_PACKAGE = "frameworks"
_OWN_PACKAGES = ("frameworks", "harness")
_IMPORT = re.compile(rb"^ *(?:from [\w.]+ )?import (?:\([^)]+\)|[\w., ]+)", re.MULTILINE)
_WITH_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each package; `absent` where it is not installed."""
    return {package: find_version(package) or "absent" for package in packages}


def versions_used_by(module: str, known: Collection[str]) -> dict[str, str]:
    """Return the version of each further installed package that the sources of a recipe import; `absent` where missing.

    Packages are told by the name of their module, which has to be that of the distribution, too.

    Args:
        module: Module of the recipe, or of a model definition.
        known: Packages whose versions count for every export of the framework.
    """
    imported = {name.partition(".")[0] for key, file in sources(module).items() for name in _imports(key, file)}
    foreign = imported - sys.stdlib_module_names - {*known, *_OWN_PACKAGES, module.partition(".")[0]}
    return {package: find_version(package) or "absent" for package in sorted(foreign) if package}


def is_own(module: str) -> bool:
    """Return whether a module belongs to the frameworks of this distribution."""
    return module.startswith(f"{_PACKAGE}.")


def sources(module: str) -> Mapping[str, Path]:
    """List the sources of a definition or recipe by dotted name: its module, and what that imports from beside it.

    Modules of this distribution that it imports are listed with all they import from its frameworks.

    Raises:
        ExportFailed: There is no such module, or it cannot be read.
    """
    if is_own(module):
        return own_sources(module)
    files = dict(user_sources(module))
    root = Path(__file__).parents[_PACKAGE.count(".") + 2]
    for name, file in tuple(files.items()):
        for imported in _imports(name, file):
            if is_own(imported) and _source(root, imported) is not None:
                files |= own_sources(imported)
    return files


@functools.cache
def own_sources(module: str) -> Mapping[str, Path]:
    """List a module of our frameworks and all it imports from them, by dotted name.

    The list is made once: what an installed package imports changes with the package. Digests read the files again.
    """
    return MappingProxyType(_follow(module, _locate(module), _is_room_module))


def user_sources(module: str) -> Mapping[str, Path]:
    """List a user's module and all it imports from the same folder or package, by dotted name.

    Imports are followed as far as the source shows them: neither those made at run time nor those of installed
    packages. Of an installed module only its own file is listed; its version stands for the rest.

    Raises:
        ExportFailed: There is no such module, or it cannot be read.
    """
    file = _locate(module)
    inside = f"{module}." if _is_installed(file) else ""
    return _follow(module, file, lambda name: name.startswith(inside))


def installed_version(module: str) -> str | None:
    """Return the version of the distribution called like the module's top package, if there is one."""
    return find_version(module.partition(".")[0])


def _is_installed(file: Path) -> bool:
    paths = sysconfig.get_paths()
    return any(file.is_relative_to(paths[kind]) for kind in ("purelib", "platlib", "stdlib"))


def _locate(module: str) -> Path:
    """Locate the source of a module as the exporting process does, without importing its parent packages."""
    if not is_own(module):  # those of a running harness do not change
        importlib.invalidate_caches()
    top, *below = module.split(".")
    spec = None if top == "__main__" else importlib.util.find_spec(top)
    spec = spec or PathFinder.find_spec(top, [str(Path.cwd())])
    name = top
    for part in below:
        name = f"{name}.{part}"
        spec = _below(spec, name)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise ExportFailed(
            f"no Python module `{module}` in {Path.cwd()} or among the installed packages",
            hint="run from the folder that holds it, or add that folder to PYTHONPATH",
        )
    return Path(spec.origin)


def _below(parent: ModuleSpec | None, name: str) -> ModuleSpec | None:
    if parent is None or parent.submodule_search_locations is None:
        return None
    return PathFinder.find_spec(name, list(parent.submodule_search_locations))


def _is_room_module(name: str) -> bool:
    """Return whether a module lies in a room of the frameworks. The package of a framework itself makes no models."""
    return is_own(name) and name.count(".") > _PACKAGE.count(".") + 1


def _follow(module: str, file: Path, is_followed: Callable[[str], bool]) -> Mapping[str, Path]:
    """List the module and what it imports, directly or not, as far as names are followed."""
    root = file.parents[module.count(".") + (file.name == "__init__.py")]
    sources = {module: file}
    pending = [*_parents(module), *_imports(module, file)]
    while pending:
        name = pending.pop()
        source = None if name in sources or not is_followed(name) else _source(root, name)
        if source is not None:
            sources[name] = source
            pending += [*_parents(name), *_imports(name, source)]
    return sources


def _source(root: Path, name: str) -> Path | None:
    stem = root.joinpath(*name.split("."))
    candidates = (stem / "__init__.py", stem.with_name(f"{stem.name}.py"))
    return next((file for file in candidates if file.is_file()), None)


def _parents(name: str) -> Iterator[str]:
    """List the packages whose `__init__` runs before the module does."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts)))


def _imports(module: str, file: Path) -> Sequence[str]:
    """List every dotted name that the source may import; some are functions and classes, which have no file."""
    if is_own(module):
        return _own_imports(module, file)
    try:
        return _parse_imports(file.read_bytes(), _package_of(module, file))
    except SyntaxError as error:
        raise ExportFailed(f"cannot read {file}: {error.msg} (line {error.lineno})") from error


@functools.cache
def _own_imports(module: str, file: Path) -> Sequence[str]:
    source, package = file.read_bytes(), _package_of(module, file)
    try:
        return _parse_imports(_import_statements(source), package)
    except SyntaxError:  # a line of a text begins with the word
        return _parse_imports(source, package)


def _package_of(module: str, file: Path) -> str:
    return module if file.name == "__init__.py" else module.rpartition(".")[0]


def _import_statements(source: bytes) -> bytes:
    """Return the imports of a source of ours: each has lines of its own, and they are parsed in a tenth of the time."""
    return b"\n".join(statement.strip() for statement in _IMPORT.findall(source))


@functools.lru_cache(maxsize=512)  # the sources are listed anew for every export, and hardly ever change
def _parse_imports(source: bytes, package: str) -> Sequence[str]:
    """List every dotted name that a source in a package may import."""
    names: list[str] = []
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = _absolute(node, package)
            names += (origin, *(f"{origin}.{alias.name}" for alias in node.names))
        else:  # no import is in an expression, and most of a source is expressions
            pending += (child for child in ast.iter_child_nodes(node) if isinstance(child, _WITH_STATEMENTS))
    return tuple(names)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """Return the module that `from ... import` names, with leading dots resolved against the package."""
    if node.level == 0:
        return node.module or ""
    parts = package.split(".") if package else []
    base = parts[: len(parts) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])
