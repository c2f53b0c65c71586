"""Which runner the settings ask for."""

from __future__ import annotations

from frameworks.executorch.runners.native import native_build
from frameworks.executorch.runners.prebuilt import prebuilt_build
from frameworks.executorch.runners.python import python_build
from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.errors import BuildFailed, UsageError
from harness.core.protocols import Progress

KINDS = ("auto", "native", "python")
"""What `settings.runner` can be."""


def installed_build(settings: Settings, progress: Progress) -> Build:
    """The runner that the settings ask for; `auto` is native where that can be made.

    Raises:
        BuildFailed: It cannot be made.
        UsageError: There is no such kind of runner.
    """
    if settings.runner not in KINDS:
        raise UsageError(f"there is no runner `{settings.runner}`", hint=f"one of {', '.join(KINDS)}")
    if settings.program:
        return prebuilt_build(settings.program)
    if settings.runner == "python":
        return python_build(settings.cache_dir)
    try:
        return native_build(settings.cache_dir, progress)
    except BuildFailed as error:
        if settings.runner == "native":
            raise
        progress.say(f"using the Python runner, which adds microseconds and a second of start-up: {error}")
        return python_build(settings.cache_dir)
