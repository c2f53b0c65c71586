"""Finds go-ios on this machine, or fetches it once into the user's cache."""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from harness import shell
from harness.config import settings
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.files.locks import FileLock
from harness.testing.phones import StandInUnavailable

VERSION: Final = "1.2.0"
"""Version of go-ios that the stand-ins were tried with."""
VARIABLE: Final = "HARNESS_GO_IOS"
"""Variable that names the program."""
_MACHINES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def find_go_ios() -> Path | None:
    """Return go-ios: as `HARNESS_GO_IOS` names it, in PATH, or in the user's cache, where it is fetched to.

    None if there is none: `go_ios_obstacle` says why.
    """
    try:
        return _find()
    except EnvironmentProblem:
        return None


def go_ios_obstacle() -> str | None:
    """Return why this machine has no go-ios, and how to get it; None where it has one."""
    try:
        _find()
    except EnvironmentProblem as problem:
        return str(problem)
    return None


@cache
def _fetch_once(cached: Path) -> Path | EnvironmentProblem:
    """Return go-ios in the cache, or why it cannot be fetched: asked once per process."""
    try:
        with FileLock(cached.with_name(f"{cached.name}.lock")):
            if not cached.exists():
                _fetch(cached)
    except EnvironmentProblem as problem:
        return problem
    return cached


@cache
def _is_go_ios(program: Path) -> bool:
    """Return whether a program in PATH is go-ios, of which only the name is short."""
    answer = shell.run(Command((str(program), "version"), env={"ENABLE_GO_IOS_AGENT": "no"}, timeout_s=60.0))
    try:
        return isinstance(json.loads(answer.stdout)["version"], str)
    except (ValueError, KeyError, TypeError):
        return False


def _find() -> Path:
    if named := os.environ.get(VARIABLE):
        program = shutil.which(named)
        if program is None:
            raise StandInUnavailable(f"{VARIABLE} names {named}, which is no program")
        return Path(program)
    for name in ("ios", "go-ios"):
        if (installed := shutil.which(name)) is not None and _is_go_ios(Path(installed)):
            return Path(installed)
    fetched = _fetch_once(settings.default_cache() / "stand-ins" / f"go-ios-{VERSION}" / "ios")
    if isinstance(fetched, EnvironmentProblem):
        raise fetched
    return fetched


def _fetch(target: Path) -> None:
    architecture, system = _MACHINES.get(platform.machine().lower()), platform.system().lower()
    if architecture is None or system not in {"linux", "darwin"}:
        raise StandInUnavailable(f"go-ios has no program for {platform.machine()}", hint=f"set {VARIABLE}")
    if shutil.which("npm") is None:
        raise StandInUnavailable(
            "go-ios is not installed, and npm, which fetches it, is missing",
            hint=f"install npm, or go-ios {VERSION} itself, in PATH or named by {VARIABLE}",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetching-") as temporary:
        folder = Path(temporary)
        packing = shell.run(Command(("npm", "pack", "--silent", f"go-ios@{VERSION}"), cwd=folder, timeout_s=300.0))
        archives = sorted(folder.glob("*.tgz"))
        if not packing.ok or len(archives) != 1:
            raise StandInUnavailable(
                f"npm could not fetch go-ios {VERSION}: {packing.describe()}", hint=f"set {VARIABLE} to the program"
            )
        shutil.unpack_archive(archives[0], folder, filter="data")
        programs = sorted(folder.glob(f"package/dist/*-{system}-{architecture}*/ios"))
        if len(programs) != 1:
            raise StandInUnavailable(f"the package go-ios {VERSION} has no program for {system} on {architecture}")
        programs[0].chmod(0o755)
        programs[0].rename(target)
