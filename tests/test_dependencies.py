"""What the product imports is what it declares: else an installation without the tools of its tests breaks."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PARTS = {
    "dask": "distributed",
    "markupsafe": "jinja2",
    "pydantic-core": "pydantic",
    "pytorch-tokenizers": "executorch",
    "urllib3": "requests",
}
"""Packages whose names are in the public interface of another, which requires them."""

ELSEWHERE = {"ai_edge_quantizer", "litert_torch"}
"""Modules of a script that is started with packages of its own (docs/decisions/0076)."""

PACKAGES = ("harness", "platforms", "frameworks", "reporters", "specifications")


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def declared(extras: bool) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    words = [
        *project["dependencies"],
        *(word for name in optional if extras and name != "dev" for word in optional[name]),
    ]
    return {canonicalize_name(Requirement(word).name) for word in words}


def unknown(folders: tuple[str, ...], names: set[str]) -> dict[str, set[str]]:
    """Return the modules that no declared package has, each with the files that import it."""
    distributions = packages_distributions()
    missing: dict[str, set[str]] = {}
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*.py")):
        for module in imported(file):
            owners: set[str] = {canonicalize_name(name) for name in distributions.get(module, (module,))}
            owners |= {PARTS[owner] for owner in owners & PARTS.keys()}
            known = module in sys.stdlib_module_names or module in PACKAGES or module in ELSEWHERE
            if not known and not owners & names:
                missing.setdefault(module, set()).add(str(file.relative_to(ROOT)))
    return missing


def test_every_import_is_declared() -> None:
    assert unknown(PACKAGES, declared(extras=True)) == {}


WITH_EXTRAS = ("harness/data/", "harness/api/", "harness/lab/", "harness/server/", "harness/testing/phones/ios/")
"""Folders with modules that need an extra, beside those of frameworks: data sets, models in memory, the lab, the
server, and stand-in iPhones."""


def test_only_these_and_frameworks_need_what_an_extra_brings() -> None:
    missing = unknown(("harness", "platforms", "reporters"), declared(extras=False))
    outside = {
        module: {file for file in files if not file.startswith(WITH_EXTRAS)} for module, files in missing.items()
    }
    assert {module: files for module, files in outside.items() if files} == {}
