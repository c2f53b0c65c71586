"""What compiles a runner: a C++ compiler, CMake, and what CMake drives."""

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
    """One program that compiling needs.

    Attributes:
        path: Where it is.
        version: The first line it says about itself.
    """

    path: Path
    version: str


@dataclass(frozen=True, slots=True)
class Tools:
    """All that compiling needs.

    Attributes:
        compiler: The C++ compiler.
        cmake: CMake.
        generator: What CMake shall write for, in its own words.
    """

    compiler: Tool
    cmake: Tool
    generator: str


def find_tools(memory: Path) -> Tools:
    """Everything, on `PATH` or beside the interpreter.

    Args:
        memory: Folder in which the tools' versions are remembered, by path, time and size.

    Raises:
        BuildFailed: Something is missing; the hint says how to install it.
        OSError: The versions cannot be remembered.
    """
    return Tools(find_compiler(memory), find_cmake(memory), _generator())


def find_compiler(memory: Path) -> Tool:
    """`CXX`, else `c++`. Arguments and errors as for `find_tools`."""
    hint = "apt install g++ (or name a compiler in the environment variable CXX)"
    return _tool(_find(os.environ.get("CXX") or "c++", hint), memory)


def find_cmake(memory: Path) -> Tool:
    """CMake. Arguments and errors as for `find_tools`."""
    return _tool(_find("cmake", "apt install cmake, or: pip install cmake"), memory)


def _generator() -> str:
    if _which("ninja"):
        return "Ninja"
    _find("make", "apt install make, or: pip install ninja")
    return "Unix Makefiles"


def _find(name: str, hint: str) -> Path:
    found = _which(name)
    if found is None:
        raise BuildFailed(f"no {name} to compile the native runner with", hint=hint)
    return found


def _which(name: str) -> Path | None:
    return shell.which(name) or shell.which(name, Path(sys.executable).parent)


# --- versions ----------------------------------------------------------------------------------------------------


class _KnownVersions(Value):
    """First lines of `--version`, by the fingerprint of a tool: asking takes longer than all the rest."""

    versions: dict[str, str] = {}

    @classmethod
    def read(cls, memory: Path) -> _KnownVersions:
        try:
            return cls.model_validate_json((memory / "tools.json").read_bytes())
        except (FileNotFoundError, ValidationError):
            return cls()

    def write(self, memory: Path) -> None:
        write_atomically(memory / "tools.json", self.model_dump_json(indent=2))


def _tool(path: Path, memory: Path) -> Tool:
    known, fingerprint = _KnownVersions.read(memory).versions, _fingerprint(path)
    if fingerprint not in known:
        known = {**known, fingerprint: _ask_version(path)}
        _KnownVersions(versions=known).write(memory)
    return Tool(path, known[fingerprint])


def _fingerprint(path: Path) -> str:
    status = path.stat()
    return f"{path.resolve()} {status.st_mtime_ns} {status.st_size}"


def _ask_version(path: Path) -> str:
    said = shell.read_output((str(path), "--version"))
    if not said:
        raise BuildFailed(
            f"{path} --version fails",
            hint="reinstall it, or put another one before it on PATH (for a compiler: name it in CXX)",
        )
    return said.splitlines()[0].strip()
