"""What a build has from this machine: compilers, versions, variables. Another toolchain makes another build."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.values import Value
from harness.files.digests import sha256_of_texts

_VARIABLES: Final = frozenset(
    {
        *("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"),
        *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "PKG_CONFIG_PATH"),
        *("SDKROOT", "MACOSX_DEPLOYMENT_TARGET", "DEVELOPER_DIR"),
        *("ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_ABI", "ANDROID_PLATFORM", "HARNESS_IOS_TEAM"),
    }
)
"""Variables that compilers, CMake and our recipes heed (GCC manual, section 3.21; cmake-env-variables(7))."""

_PREFIXES: Final = ("CMAKE_", "EXECUTORCH_")

_WITHOUT_EFFECT: Final = frozenset({"CMAKE_BUILD_PARALLEL_LEVEL", "CMAKE_COLOR_DIAGNOSTICS"})


class Toolchain(Value):
    """Everything on this machine that may have a part in a build.

    Attributes:
        machine: System and processor: `Linux x86_64`.
        tools: Path and version by name (`c++`, `cmake`, ...); what is not there is not named.
        packages: Versions of Python packages that builds read (torch: code generation, headers, libraries).
        variables: Variables of the environment that change what compilers make.
    """

    machine: str
    tools: dict[str, str]
    packages: dict[str, str] = {}
    variables: dict[str, str] = {}

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        return sha256_of_texts(self.flags)

    @property
    def flags(self) -> dict[str, str]:
        """The same as one table, as a build tells it."""
        return {"machine": self.machine, **self.tools, **self.packages, **self.variables}


def find_toolchain(
    *,
    python: Path | None = None,
    packages: Sequence[str] = ("torch",),
    environment: Mapping[str, str] | None = None,
) -> Toolchain:
    """What a build made now would have. Looks at everything, demands nothing: recipes say what they miss.

    Args:
        python: Interpreter that recipes may use; ours unless given.
        packages: Packages of our interpreter that may have a part in a build.
        environment: Variables; the harness's own unless given.
    """
    variables = shell.inherited_environment() if environment is None else environment
    system = os.uname()
    named = {
        "cc": variables.get("CC") or "cc",
        "c++": variables.get("CXX") or "c++",
        "cmake": "cmake",
        "python": str(python or sys.executable),
    }
    if system.sysname == "Darwin":
        named["xcodebuild"] = "xcodebuild"
    tools = {name: told for name, program in named.items() if (told := _describe(program)) is not None}
    ndk = variables.get("ANDROID_NDK") or variables.get("ANDROID_NDK_HOME")  # the one that our recipe takes
    if (revision := _ndk_revision(ndk)) is not None:
        tools["ndk"] = revision
    return Toolchain(
        machine=f"{system.sysname} {system.machine}",
        tools=tools,
        packages={name: version for name in packages if (version := _version(name)) is not None},
        variables={name: _readable(text) for name, text in sorted(variables.items()) if _matters(name)},
    )


def _matters(name: str) -> bool:
    return name in _VARIABLES or (name.startswith(_PREFIXES) and name not in _WITHOUT_EFFECT)


def _readable(text: str) -> str:
    """Without bytes that are no UTF-8, which a path in a variable may have and JSON may not."""
    return os.fsencode(text).decode(errors="replace")


def _describe(program: str) -> str | None:
    """`/usr/bin/c++ (c++ (Debian 12.2.0-14+deb12u1) 12.2.0)`; None when there is no such program.

    `CC` may hold a compiler with words before and after it (`ccache gcc -m32`): the variable itself is recorded too.
    """
    words = program.split()
    found = shell.which(words[-1] if len(words) == 2 and words[0].endswith("ccache") else words[0]) if words else None
    if found is None:
        return None
    flag = "-version" if found.name == "xcodebuild" else "--version"
    said = (shell.read_output((str(found), flag)) or "").strip().splitlines()
    return f"{found} ({said[0].strip() if said else 'does not tell its version'})"


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


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
