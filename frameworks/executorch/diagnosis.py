"""What measuring and exporting need, and whether it is there. Imports nothing of it: `harness doctor` is quick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from frameworks.executorch.definitions import _torchvision_release
from frameworks.executorch.runners import native
from frameworks.executorch.runners.cache import runners_folder
from frameworks.executorch.runners.toolchain import Tool, find_cmake, find_compiler
from frameworks.executorch.runners.wheel import installed_wheel, wheel_with_sdk
from harness.config.settings import Settings
from harness.core.errors import BuildFailed
from harness.core.protocols import Finding


def diagnose(settings: Settings) -> Sequence[Finding]:
    """Everything, in the order in which it is needed.

    What only the native runner needs may be missing, because the Python runner then takes its place; not so when the
    settings insist on the native one.
    """
    torchvision = _torchvision_release.diagnose()
    try:
        wheel = installed_wheel()
    except BuildFailed as error:
        return (Finding("executorch", False, error.message, error.hint or ""), torchvision)
    memory = runners_folder(settings.cache_dir)
    otherwise = False if settings.runner == "native" else None
    parts = (
        _look("C++ compiler", otherwise, lambda: _told(find_compiler(memory))),
        _look("CMake", otherwise, lambda: _told(find_cmake(memory))),
        _look("C++ SDK", otherwise, lambda: f"in {wheel_with_sdk().package}"),
    )
    if all(part.ok for part in parts):
        runner = _look("native runner", otherwise, lambda: _native(settings.cache_dir))
    else:
        runner = Finding("native runner", otherwise, f"cannot be compiled against executorch {wheel.version}")
    return (*parts, runner, torchvision)


def _look(name: str, otherwise: bool | None, look: Callable[[], str]) -> Finding:
    """What is found; what stands in the way becomes a finding too."""
    try:
        return Finding(name, True, look())
    except BuildFailed as error:
        found, remedy = error.message, error.hint or ""
    except OSError as error:
        found, remedy = str(error), "choose another place with --cache_dir"
    instead = " (until then the Python runner is used)" if otherwise is None else ""
    return Finding(name, otherwise, found, f"{remedy}{instead}")


def _told(tool: Tool) -> str:
    return f"{tool.path}: {tool.version}"


def _native(cache_dir: Path) -> str:
    program = native.plan(cache_dir).program
    return str(program) if program.exists() else "not compiled yet: the first run does it, in some seconds"
