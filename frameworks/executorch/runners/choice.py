"""Choice of the runner: programs that the user gave, the native runner, or the Python runner."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from frameworks.executorch.options import LLM, ExecuTorchOptions
from frameworks.executorch.python.program_file import names_operators
from frameworks.executorch.runners.cross import cross_build
from frameworks.executorch.runners.native import LAYOUTS, native_build
from frameworks.executorch.runners.wheel import installed_wheel
from frameworks.python_build import python_build as make_python_build
from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.device import LINUX_MACHINES, Device
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress
from harness.files.programs import prebuilt

PYTHON_SOURCES: Final = Path(__file__).parents[1] / "python"
ENGINE: Final = "frameworks.executorch.python.engine:ENGINE"
LLM_SOURCES: Final = Path(__file__).parents[1] / "llm_runner"
_APP_BUILD: Final = Path(__file__).parents[1] / "apple" / "build.sh"


def installed_build(settings: Settings, progress: Progress) -> Build:
    """Return the runner that the settings ask for; `auto` is native where that can be made.

    Raises:
        BuildFailed: It cannot be made.
    """
    runner = settings.of(ExecuTorchOptions).runner
    if settings.program:
        return prebuilt(settings.program)
    installed_wheel()  # without which there is no runner of any kind
    if runner == "python":
        return python_build(settings.cache_dir)
    if runner == LLM:
        return llm_build(settings.cache_dir)
    try:
        return native_build(settings.cache_dir, progress)
    except BuildFailed as error:
        if runner == "native":
            raise
        progress.say(f"using the Python runner, which adds microseconds and a second of start-up: {error}")
        return python_build(settings.cache_dir)


def substitute_build(build: Build, settings: Settings, model: Path) -> Build:
    """Return the Python runner where the choice was ours, and the native one lacks operators of the program.

    Operators of language models, `llama::custom_sdpa` and others, are in no C++ library of the released package.

    Args:
        build: The runner of the device.
        settings: The settings; a runner that is named in them stays.
        model: The program.

    Raises:
        BuildFailed: The Python runner cannot be made.
    """
    is_ours = (build.source, build.recipe) == ("installed", "native") and LAYOUTS not in build.flags
    if not is_ours or settings.of(ExecuTorchOptions).runner != "auto" or not names_operators(model, "llama"):
        return build
    return python_build(settings.cache_dir)


def device_build(settings: Settings, progress: Progress, *, device: Device) -> Build:
    """Return the runner of the installed version of ExecuTorch for a device that is not this machine.

    Raises:
        BuildFailed: It cannot be made, or not for such devices; the hint says what else can be done.
    """
    checkout = "Android's NDK (--repo-dir ~/executorch --commit v1.5.1, ANDROID_NDK=...)"
    others = "give one that was made for the device (--program PATH)"
    if device.os.startswith("Android"):
        others = f"build one from a checkout with {checkout}, or {others}"
    elif device.os.startswith(("iOS", "iPadOS")):
        others = f"on a Mac build the runner app: sh {_APP_BUILD} --team TEAM --bundle-id ID; then --program FILE.ipa"
    if settings.of(ExecuTorchOptions).runner in {"python", LLM}:
        raise BuildFailed("runners in Python run on this machine only", hint=f"leave out --runner, or {others}")
    if not device.os.startswith("Android") or device.abi not in LINUX_MACHINES:
        kind = " on ".join(filter(None, (device.os or device.platform, device.abi)))
        raise BuildFailed(f"no released package has a runner for {kind}", hint=others)
    try:
        return cross_build(settings.cache_dir, device.abi, progress)
    except BuildFailed as error:
        raise BuildFailed(
            f"no runner for {device.name} ({device.abi}): {error.message}", hint=f"{error.hint}; or {others}"
        ) from error


def python_build(cache_dir: Path) -> Build:
    """Return the Python runner of the installed version.

    Raises:
        BuildFailed: A package it needs is not installed, or the script cannot be written.
    """
    return make_python_build(cache_dir, ENGINE, PYTHON_SOURCES, ("executorch", "torch"))


def llm_build(cache_dir: Path) -> Build:
    """Return ExecuTorch's own LLM runner of the installed version. Errors as for `python_build`."""
    build = make_python_build(cache_dir, "", LLM_SOURCES, ("executorch", "torch"), program=LLM_SOURCES)
    return build.model_copy(update={"recipe": LLM})
