"""Tools that compile a runner: a C++ compiler, CMake, and the build tool that CMake generates files for."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness import shell
from harness.core.errors import BuildFailed
from harness.core.values import Value
from harness.files.atomic import write_atomically


@dataclass(frozen=True, slots=True)
class Tool:
    """Program that compiling needs.

    Attributes:
        path: Its path.
        version: The first line of its `--version`.
    """

    path: Path
    version: str


@dataclass(frozen=True, slots=True)
class Tools:
    """All programs that compiling needs.

    Attributes:
        compiler: The C++ compiler.
        cmake: CMake.
        generator: The generator that CMake uses.
    """

    compiler: Tool
    cmake: Tool
    generator: str


def find_tools(folder: Path) -> Tools:
    """Find all tools, on `PATH` or beside the interpreter.

    Args:
        folder: Folder in which the tools' versions are cached, by path, time and size.

    Raises:
        BuildFailed: A tool is missing; the hint says how to install it.
        OSError: The versions cannot be cached.
    """
    return Tools(find_compiler(folder), find_cmake(folder), _generator())


def find_compiler(folder: Path) -> Tool:
    """Find the compiler named by `CXX`, else `c++`. Arguments and errors as for `find_tools`."""
    hint = "apt install g++ (or name a compiler in the environment variable CXX)"
    return _tool(_find(os.environ.get("CXX") or "c++", hint), folder)


def find_cmake(folder: Path) -> Tool:
    """Find CMake. Arguments and errors as for `find_tools`."""
    return _tool(_find("cmake", "apt install cmake, or: pip install cmake"), folder)


def _generator() -> str:
    if _which("ninja"):
        return "Ninja"
    _find("make", "apt install make, or: pip install ninja")
    return "Unix Makefiles"


def _find(name: str, hint: str) -> Path:
    path = _which(name)
    if path is None:
        raise BuildFailed(f"no {name} to compile the native runner with", hint=hint)
    return path


def _which(name: str) -> Path | None:
    return shell.which(name) or shell.which(name, Path(sys.executable).parent)


class _KnownVersions(Value):
    """Cache of the first lines of `--version`, by the fingerprint of a tool: asking takes longer than all the rest."""

    versions: dict[str, str] = {}

    @classmethod
    def read(cls, folder: Path) -> _KnownVersions:
        try:
            return cls.model_validate_json((folder / "tools.json").read_bytes())
        except (FileNotFoundError, ValidationError):
            return cls()

    def write(self, folder: Path) -> None:
        write_atomically(folder / "tools.json", self.model_dump_json(indent=2))


def _tool(path: Path, folder: Path) -> Tool:
    known, fingerprint = _KnownVersions.read(folder).versions, _fingerprint(path)
    if fingerprint not in known:
        known = {**known, fingerprint: _ask_version(path)}
        _KnownVersions(versions=known).write(folder)
    return Tool(path, known[fingerprint])


def _fingerprint(path: Path) -> str:
    status = path.stat()
    return f"{path.resolve()} {status.st_mtime_ns} {status.st_size}"


def _ask_version(path: Path) -> str:
    output = shell.read_output((str(path), "--version"))
    if not output:
        raise BuildFailed(
            f"{path} --version fails",
            hint="reinstall it, or put another one before it on PATH (for a compiler: name it in CXX)",
        )
    return output.splitlines()[0].strip()
