"""Tools that compile a runner: a C++ compiler, CMake, and the build tool that CMake generates files for."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic import ValidationError

from harness import shell
from harness.core.errors import BuildFailed
from harness.core.values import Value
from harness.files.atomic import write_atomically

_BANNER: Final = re.compile(rb"GNU C Library \(([^)\n]*)\)[^\n]*? version ([0-9.]+[0-9])")


class Tool(Struct, frozen=True):
    """Program that compiling needs.

    Attributes:
        path: Its path.
        version: The first line of its `--version`.
    """

    path: Path
    version: str


class Tools(Struct, frozen=True):
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


def find_cross_tools(folder: Path, machine: str) -> Tools:
    """Find all tools to compile for Linux on another processor. Arguments and errors as for `find_cross_compiler`."""
    return Tools(find_cross_compiler(folder, machine), find_cmake(folder), _generator())


def find_cross_compiler(folder: Path, machine: str) -> Tool:
    """Find GCC for Linux on a processor: `<machine>-linux-gnu-g++`, with which GCC's and the C library come.

    On Linux on such a processor it is the compiler of `find_compiler`.

    Args:
        folder: As for `find_tools`.
        machine: The processor, as `uname -m` has it there.

    Raises:
        BuildFailed: There is none, or its C library is missing; the hint says how to install it.
        OSError: Its version cannot be cached.
    """
    system = platform.uname()
    if (system.system, system.machine) == ("Linux", machine):
        return find_compiler(folder)
    package = f"g++-{machine.replace('_', '-')}-linux-gnu"
    hint = f"apt install {package} (on Debian or Ubuntu; there it brings its C library)"
    if system.system != "Linux":
        hint = f"on Linux or in a container: {hint}"
    return _tool(_find(f"{machine}-linux-gnu-g++", hint), folder)


def find_c_library(compiler: Tool) -> Path:
    """Return the C library that a compiler for Linux links programs against.

    Raises:
        BuildFailed: It has none that is glibc.
    """
    output = shell.read_output((str(compiler.path), "-print-file-name=libc.so.6")) or ""
    path = Path(output.strip())
    if not path.is_absolute() or not path.is_file():
        raise BuildFailed(
            f"{compiler.path} has no libc.so.6 to give to a device",
            hint="install glibc for it: on Debian and Ubuntu apt install libc6-dev-arm64-cross",
        )
    return path.resolve()


def describe_c_library(library: Path) -> str:
    """Return the version of a glibc, as it tells itself: `glibc 2.36 (Debian GLIBC 2.36-8cross1)`."""
    banner = _BANNER.search(library.read_bytes())
    return f"glibc {banner[2].decode()} ({banner[1].decode(errors='replace')})" if banner else "glibc"


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
