"""The native runner of the installed wheel: from the cache, or compiled now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from frameworks.executorch.runners import compiling
from frameworks.executorch.runners.cache import disk_errors, place, runners_folder
from frameworks.executorch.runners.toolchain import Tools, find_tools
from frameworks.executorch.runners.wheel import Wheel, wheel_with_sdk
from harness.core.build import Build
from harness.core.protocols import Progress
from harness.files.digests import sha256_of_folder, sha256_of_texts


@dataclass(frozen=True, slots=True)
class Planned:
    """A native runner that is compiled or can be.

    Attributes:
        build: The build, as it is when its program is there.
        wheel: What it is compiled against.
        tools: What compiles it.
    """

    build: Build
    wheel: Wheel
    tools: Tools

    @property
    def program(self) -> Path:
        """Where the program is, or will be."""
        return self.build.programs["program"]


def native_build(cache_dir: Path, progress: Progress) -> Build:
    """The native runner. Many processes may ask at once; one compiles.

    Raises:
        BuildFailed: No SDK, no tools, no place, or it does not compile; the hint says what to do.
    """
    planned = plan(cache_dir)
    if not planned.program.exists():
        with disk_errors(cache_dir):
            compiling.make(planned.program, planned.wheel, planned.tools, progress)
    return planned.build


def plan(cache_dir: Path) -> Planned:
    """What the native runner is made of, without making it.

    Raises:
        BuildFailed: It cannot be made: no SDK, no tools.
    """
    wheel = wheel_with_sdk()
    with disk_errors(cache_dir):
        tools = find_tools(runners_folder(cache_dir))
        flags = {
            "executorch": wheel.version,
            "record": wheel.record,
            "package": str(wheel.package),  # the runner finds its libraries there
            "compiler": f"{tools.compiler.path} ({tools.compiler.version})",
            "cmake": tools.cmake.version,
            "options": compiling.OPTIONS,
            "sources": sha256_of_folder(compiling.SOURCES),
        }
    digest = sha256_of_texts(flags)
    build = Build(
        source="installed",
        commit=wheel.version,
        recipe="native",
        flags=flags,
        digest=digest,
        programs={"program": place(cache_dir, digest)},
    )
    return Planned(build, wheel, tools)
