"""Which runner the settings ask for."""

from __future__ import annotations

from frameworks.executorch.options import ExecuTorchOptions
from frameworks.executorch.runners.native import native_build
from frameworks.executorch.runners.prebuilt import prebuilt_build
from frameworks.executorch.runners.python import python_build
from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress


def installed_build(settings: Settings, progress: Progress) -> Build:
    """The runner that the settings ask for; `auto` is native where that can be made.

    Raises:
        BuildFailed: It cannot be made.
    """
    runner = settings.of(ExecuTorchOptions).runner
    if settings.program:
        return prebuilt_build(settings.program)
    if runner == "python":
        return python_build(settings.cache_dir)
    try:
        return native_build(settings.cache_dir, progress)
    except BuildFailed as error:
        if runner == "native":
            raise
        progress.say(f"using the Python runner, which adds microseconds and a second of start-up: {error}")
        return python_build(settings.cache_dir)
