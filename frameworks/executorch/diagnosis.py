"""Diagnosis for `harness doctor`: what measuring and exporting need. Imports none of it, so that it is quick."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.version import Version

from frameworks import packages
from frameworks.definitions import _torchvision_release
from frameworks.executorch import openvino, required
from frameworks.executorch.exporting.recipes import RECIPES
from frameworks.executorch.options import ExecuTorchOptions
from frameworks.executorch.runners import native
from frameworks.executorch.runners.toolchain import Tool, find_cmake, find_compiler, find_cross_compiler
from frameworks.executorch.runners.wheel import installed_wheel, wheel_with_sdk
from frameworks.exporting.catalogue import DEFINITIONS, Catalogue
from frameworks.runner_cache import runners_folder
from harness.config.settings import Settings
from harness.core.device import LINUX_MACHINES
from harness.core.errors import BuildFailed
from harness.core.protocols import Finding
from harness.files.distributions import find_version

_PHONES: Final = "arm64-v8a"


def diagnose(settings: Settings) -> Sequence[Finding]:
    """Examine everything, in the order in which it is needed.

    Without the tools of the native runner the Python runner is used, unless the settings ask for the native one.
    """
    libraries = (_examine_package("torch"), _examine_package("torchao"))
    exports = (
        _torchvision_release.diagnose(),
        _list("model definitions", DEFINITIONS),
        _list("export recipes", RECIPES),
        openvino.diagnose(),
    )
    try:
        wheel = installed_wheel()
    except BuildFailed:
        return (_lacking("executorch"), *libraries, *exports)
    folder = runners_folder(settings.cache_dir)
    ok_without = False if settings.of(ExecuTorchOptions).runner == "native" else None
    parts = (
        _examine("C++ compiler", ok_without, lambda: _describe(find_compiler(folder))),
        _examine("CMake", ok_without, lambda: _describe(find_cmake(folder))),
        _examine("C++ SDK", ok_without, lambda: f"in {wheel_with_sdk().package}"),
    )
    if all(part.ok for part in parts):
        runner = _examine("native runner", ok_without, lambda: _native_runner(settings.cache_dir))
    else:
        runner = Finding("native runner", ok_without, f"cannot be compiled against executorch {wheel.version}")
    return (
        *(_examine_package("executorch"), *libraries, *parts, runner, _examine_phones(folder)),
        *exports,
    )


def _examine_phones(folder: Path) -> Finding:
    """Describe what compiles runners for Android: an NDK for sources, a cross compiler for sources and releases."""
    ndk = os.environ.get("ANDROID_NDK") or os.environ.get("ANDROID_NDK_HOME")
    found = [f"the NDK in {ndk}"] if ndk else []
    remedies = []
    for abi, machine in LINUX_MACHINES.items():
        try:
            found.append(f"{find_cross_compiler(folder, machine).path} for {abi}")
        except (BuildFailed, OSError) as error:
            remedies.append(f"for {abi}: {error.hint if isinstance(error, BuildFailed) else error}")
    if any(_PHONES in compiler for compiler in found):
        return Finding("runners for Android", True, "; ".join(found))
    missing = f"no compiler for {_PHONES}, as phones are" + (f" (but {'; '.join(found)})" if found else "")
    return Finding("runners for Android", None, missing, f"to measure phones without an NDK: {'; '.join(remedies)}")


def _examine_package(name: str) -> Finding:
    """Show the version of a package, with that of the tests where it is another one."""
    version = find_version(name)
    if version is None:
        return _lacking(name)
    tested = _tested_version(name)
    differs = tested is not None and Version(version).public != tested
    return Finding(name, True, f"{version} (the tests use {tested})" if differs else version)


def _tested_version(package: str) -> str | None:
    """Return the version that the tests use, by the extra `tested` of this distribution; None where it is not known."""
    try:
        lines = metadata.requires("edge-harness") or ()
    except metadata.PackageNotFoundError:
        return None
    requirements = (Requirement(line) for line in lines if 'extra == "tested"' in line.replace("'", '"'))
    return next((next(iter(wanted.specifier)).version for wanted in requirements if wanted.name == package), None)


def _lacking(name: str) -> Finding:
    """Describe a package that is not installed: a fault only where others of the same extra are."""
    extra = (package for package in required.EXPORTS if find_version(package) is not None)
    is_partial = next(extra, None) is not None
    remedy = packages.install_command(name)
    return Finding(name, False if is_partial else None, "not installed: needed to export and run models", remedy)


def _list(name: str, catalogue: Catalogue) -> Finding:
    """List the installed names of a catalogue."""
    names = catalogue.names()
    remedy = "reinstall edge-harness, whose entry points they are; until then name a function: package.module:function"
    return Finding(name, True, ", ".join(names)) if names else Finding(name, None, "none is installed", remedy)


def _examine(name: str, ok_without: bool | None, describe: Callable[[], str]) -> Finding:
    """Describe what is there; an error becomes a finding too, with `ok_without` as its `ok`."""
    try:
        return Finding(name, True, describe())
    except BuildFailed as error:
        problem, remedy = error.message, error.hint or ""
    except OSError as error:
        problem, remedy = str(error), "choose another place with --cache-dir"
    fallback = " (until then the Python runner is used)" if ok_without is None else ""
    return Finding(name, ok_without, problem, f"{remedy}{fallback}")


def _describe(tool: Tool) -> str:
    return f"{tool.path}: {tool.version}"


def _native_runner(cache_dir: Path) -> str:
    program = native.plan_build(cache_dir).program
    return str(program) if program.exists() else "not compiled yet: the first run compiles it, in some seconds"
