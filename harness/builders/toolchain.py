"""Toolchain of this machine: compilers, versions, variables. Another toolchain gives another build."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.values import Value
from harness.files.digests import sha256_of_texts
from harness.files.distributions import find_version

_VARIABLES: Final = frozenset(
    {
        *("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"),
        *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "PKG_CONFIG_PATH"),
        *("SDKROOT", "MACOSX_DEPLOYMENT_TARGET", "DEVELOPER_DIR"),
        *("ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_ABI", "ANDROID_PLATFORM", "HARNESS_IOS_TEAM"),
    }
)
"""Variables that compilers, CMake and our recipes read (GCC manual, section 3.21; cmake-env-variables(7))."""

_PREFIXES: Final = ("CMAKE_", "EXECUTORCH_")

_WITHOUT_EFFECT: Final = frozenset(
    {
        *("CMAKE_BUILD_PARALLEL_LEVEL", "CMAKE_COLOR_DIAGNOSTICS"),
        *("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"),  # a cache gives what the compiler gave
    }
)


class Toolchain(Value):
    """Everything on this machine that may affect a build.

    Attributes:
        machine: System and processor: `Linux x86_64`.
        tools: Path and version by name (`c++`, `cmake`, ...); missing tools are left out.
        packages: Versions of Python packages that builds read (torch: code generation, headers, libraries).
        variables: Environment variables that affect compilers.
    """

    machine: str
    tools: dict[str, str]
    packages: dict[str, str] = {}
    variables: dict[str, str] = {}

    @property
    def digest(self) -> str:
        """SHA-256 over all fields."""
        return sha256_of_texts(self.flags)

    @property
    def flags(self) -> dict[str, str]:
        """All fields as one table, recorded with a build."""
        return {"machine": self.machine, **self.tools, **self.packages, **self.variables}


def find_toolchain(
    *,
    packages: Sequence[str] = ("torch",),
    environment: Mapping[str, str] | None = None,
    machine: str | None = None,
) -> Toolchain:
    """Look for the toolchain of a build. Nothing is required: recipes report what they miss.

    Args:
        packages: Python packages that may affect a build.
        environment: Environment variables; those of the harness unless given.
        machine: Processor to build for, as Linux names it, where it is not this machine's.
    """
    variables = shell.inherited_environment() if environment is None else environment
    system = platform.uname()
    programs = {
        "cc": variables.get("CC") or "cc",
        "c++": variables.get("CXX") or "c++",
        "cmake": "cmake",
        "python": sys.executable,
    }
    if machine is not None:
        programs["cross c++"] = f"{machine}-linux-gnu-g++"
        packages = (*packages, "ziglang")
    if system.system == "Darwin":
        programs["xcodebuild"] = "xcodebuild"
    tools = {name: version for name, program in programs.items() if (version := _describe(program)) is not None}
    ndk = variables.get("ANDROID_NDK") or variables.get("ANDROID_NDK_HOME")  # the first that is set, as in our recipe
    if (revision := _ndk_revision(ndk)) is not None:
        tools["ndk"] = revision
    return Toolchain(
        machine=f"{system.system} {system.machine}",
        tools=tools,
        packages={name: version for name in packages if (version := find_version(name)) is not None},
        variables={name: _replace_undecodable(text) for name, text in sorted(variables.items()) if _is_relevant(name)},
    )


def beside_interpreter() -> Path:
    """Return the folder of the interpreter, where pip puts programs such as `cmake` and `ninja`."""
    return Path(sys.executable).parent


def find_program(name: str) -> Path | None:
    """Return the path of a program on `PATH`, else beside the interpreter; None when there is none."""
    return shell.which(name) or shell.which(name, beside_interpreter())


def _is_relevant(name: str) -> bool:
    return name in _VARIABLES or (name.startswith(_PREFIXES) and name not in _WITHOUT_EFFECT)


def _replace_undecodable(text: str) -> str:
    """Replace bytes that are not UTF-8, which a variable may hold and JSON may not."""
    return os.fsencode(text).decode(errors="replace")


def _describe(program: str) -> str | None:
    """`/usr/bin/c++ (c++ (Debian 12.2.0-14+deb12u1) 12.2.0)`; None when there is no such program.

    `CC` may hold a compiler with words before and after it (`ccache gcc -m32`): the variable itself is recorded too.
    """
    words = program.split()
    name = (words[-1] if len(words) == 2 and words[0].endswith("ccache") else words[0]) if words else ""
    path = find_program(name) if name else None
    if path is None:
        return None
    flag = "-version" if path.name == "xcodebuild" else "--version"
    lines = (shell.read_output((str(path), flag)) or "").strip().splitlines()
    return f"{path} ({lines[0].strip() if lines else 'version unknown'})"


def _ndk_revision(folder: str | None) -> str | None:
    """`Pkg.Revision = 27.2.12479018` from the NDK's `source.properties`."""
    properties = Path(folder, "source.properties") if folder else None
    if properties is None or not properties.is_file():
        return None
    for line in properties.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "Pkg.Revision":
            return value.strip()
    return None
