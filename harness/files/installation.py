"""This installation of the harness: what ships beside its code, and the command that adds an extra to it."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "edge-harness"

_ROOT: Final = Path(__file__).parents[2]
"""Folder of the packages of the harness."""

SPECIFICATIONS: Final = _ROOT / "specifications"
"""Folder of everything that ships beside the code. A module of the user's that is called alike does not hide it."""


def find_impostor(module: str) -> Path | None:
    """Return what Python imports in place of a package of the harness: a user's file or folder that is called alike.

    Args:
        module: A module below that package.

    Returns:
        None where Python finds the package itself, and for modules of others.
    """
    package = module.partition(".")[0]
    spec = find_spec(package)
    if spec is None or not (_ROOT / package).is_dir():
        return None
    found = Path(spec.origin or next(iter(spec.submodule_search_locations or ()), _ROOT / package))
    return None if found.is_relative_to(_ROOT / package) else found


def install_command(extras: Iterable[str], *requirements: str) -> str:
    """Return the command that adds extras to this installation (docs/decisions/0055).

    It names the interpreter that runs the harness, unless `pip` on the search path is that interpreter's own: pip of
    another environment would look for the harness in an index, which need not have it. An editable installation is
    named by its folder, because the extras in its metadata may be older than its files; any other by its name, which
    pip finds installed and therefore looks for in no index.

    Args:
        extras: Extras of `pyproject.toml`.
        requirements: Further requirements, such as `torch==2.13.0`.
    """
    names = f"[{','.join(sorted(set(extras)))}]"
    checkout = find_checkout()
    subject = ("-e", _quote(f"{checkout}{names}")) if checkout is not None else (_quote(f"{DISTRIBUTION}{names}"),)
    return " ".join((*_pip(), "install", *subject, *requirements))


def find_checkout() -> Path | None:
    """Return the folder of an editable installation (PEP 610); None for any other."""
    # Only remedies need them, and every command would load them.
    from importlib import metadata  # noqa: PLC0415
    from urllib.parse import urlsplit  # noqa: PLC0415
    from urllib.request import url2pathname  # noqa: PLC0415

    try:
        recorded = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    origin = json.loads(recorded) if recorded else {}
    address = urlsplit(origin.get("url", ""))
    if address.scheme != "file" or not origin.get("dir_info", {}).get("editable"):
        return None
    return Path(url2pathname(address.path))


def _pip() -> Sequence[str]:
    """Return `pip` where a shell would find the one of this interpreter, and else the interpreter with its module."""
    program = shutil.which("pip")
    if program is not None and Path(program).parent == Path(sys.executable).parent:
        return ("pip",)
    return (shlex.quote(sys.executable), "-m", "pip")


def _quote(requirement: str) -> str:
    """Quote always: brackets are patterns of a shell."""
    return f"'{requirement}'" if "'" not in requirement else shlex.quote(requirement)
