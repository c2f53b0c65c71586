"""The two sides of a comparison in a lab, by names and contents that mean the same on every host.

Released versions are named, and each host installs them. Programs are sent, and so are the builds of commits: a host
that builds, or this machine, makes each once for all devices of a kind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct, field

from harness import plugins
from harness.analysis.results import build_info
from harness.builders.cache import BuildCache
from harness.config.settings import Settings
from harness.core.build import COMPILED_WITH, Build
from harness.core.commit import PackageSource
from harness.core.device import Device
from harness.core.errors import BuildFailed, UsageError
from harness.core.protocols import Display, app_suffix, is_local
from harness.files.libraries import is_library
from harness.files.programs import RUNNER
from harness.flows.compare.commits import ControlFailed
from harness.flows.compare.requests import CompareRequest, name_programs, resolve_commits
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.flows.measure.given_programs import hint_at_executing
from harness.flows.measure.runners import (
    BuildTarget,
    CommitRunner,
    GivenRunner,
    Programs,
    Side,
    installed_runner,
    with_options,
)
from harness.flows.measure.submodules import selected_submodules
from harness.lab.builds.client import LabBuilds, WantedBuild
from harness.lab.builds.orders import BuildAnswer
from harness.lab.jobs import FILES, LabFile, SideOfPairs
from harness.lab.submitting import JobFiles
from harness.lab.targets import Target

_APPS: Final = frozenset({".apk", ".ipa", ".app"})


class Sides(Struct, frozen=True):
    """What is compared, as every host understands it.

    Attributes:
        control: The control; None where both sides are the installed runner.
        treatment: The treatment.
        source: Source of released versions; empty where there are none.
        files: The files of programs, by their locations on this machine.
    """

    control: SideOfPairs | None
    treatment: SideOfPairs | None
    source: str = ""
    files: Mapping[str, LabFile] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, str]:
        """Names of control and treatment for people."""
        control, treatment = ("" if side is None else side.name for side in (self.control, self.treatment))
        return control, treatment

    @property
    def identity(self) -> tuple[str, ...]:
        """Texts that identify both."""
        return tuple(map(self._identity_of, (self.control, self.treatment)))

    def _identity_of(self, side: SideOfPairs | None) -> str:
        if side is None:
            return "installed"
        if side.build is not None:
            return side.build.digest
        programs = sorted((name, self.files[location].sha256) for name, location in side.programs.items())
        return f"{self.source} {side.commit} {programs}"


ProvideSides = Callable[[str, Target], Sides]
"""Provides both sides for a framework on devices.

Raises:
    HarnessError: They cannot be had.
"""


class FoundSides(NamedTuple):
    """Control and treatment as a command names them, and what provides them in a lab."""

    control: Side
    treatment: Side
    provide: ProvideSides


def find_sides(
    request: CompareRequest, settings: Settings, display: Display, files: JobFiles, cache: BuildCache
) -> FoundSides:
    """Return both sides of a request, and what provides them.

    Args:
        request: Request of the command line.
        settings: Where builds and copies of repositories are kept.
        display: Shows what is fetched and built.
        files: Gets the files that have to be sent.
        cache: Keeps builds as long as they may have to be sent.

    Raises:
        SameCommit: Both sides are the same commit.
        UsageError: There is nothing to compare.
        EnvironmentProblem: The source, or a program, is out of reach.
    """
    if request.self_check:
        return FoundSides(installed_runner, installed_runner, lambda _framework, _target: Sides(None, None))
    if isinstance(request.control, Programs) and isinstance(request.treatment, Programs):
        control, treatment = name_programs(request.control, request.treatment)
        given = _send_programs(control, treatment, files)
        return FoundSides(GivenRunner(control, cache), GivenRunner(treatment, cache), lambda _framework, _target: given)
    commits = resolve_commits(request, settings, SourceFetcher(display))
    submodules = selected_submodules(settings, commits.source)
    runners = (
        CommitRunner(commits.source, commits.control, cache, request.recipes, submodules, commits.control_name),
        CommitRunner(commits.source, commits.treatment, cache, request.recipes, submodules, commits.treatment_name),
    )
    return FoundSides(*runners, provide_commits(runners, request, settings, display, files))


def provide_commits(
    runners: tuple[CommitRunner, CommitRunner],
    request: CompareRequest,
    settings: Settings,
    display: Display,
    files: JobFiles,
    *,
    check: Callable[[], None] = lambda: None,
) -> ProvideSides:
    """Return what provides two commits of one source: by their names where they are released versions, else built.

    Args:
        runners: Control and treatment.
        request: Source of the commits, as hosts know it.
        settings: Plug-ins and their options.
        display: Shows what is built.
        files: Gets the files that have to be sent.
        check: As for `SentBuilds`.
    """
    if not isinstance(runners[0].source, PackageSource):
        return BuiltSides(runners, SentBuilds(settings, display, files, check))
    control, treatment = (SideOfPairs(commit=runner.commit.id, name=runner.name) for runner in runners)
    released = Sides(control, treatment, request.source or "")
    return lambda _framework, _target: released


class SentRunner(NamedTuple):
    """Runner as every host understands it.

    Attributes:
        side: The runner; None for the one that is installed on each host.
        source: Source of a released version; empty where it is none.
        files: Its files, by their locations on this machine.
        toolchain: Toolchain of the host of the lab that built it; empty where none did.
    """

    side: SideOfPairs | None
    source: str = ""
    files: Mapping[str, LabFile] = MappingProxyType({})
    toolchain: str = ""

    @property
    def compiled_with(self) -> str | None:
        """Digest of the toolchain that compiled it; None where it is not known."""
        build = None if self.side is None else self.side.build
        return None if build is None else build.flags.get(COMPILED_WITH)


def provide_installed(framework: str, target: Target) -> SentRunner:
    """Return the runner that is installed on each host (`ProvideRunner`)."""
    del framework, target
    return SentRunner(None)


ProvideRunner = Callable[[str, Target], SentRunner]
"""Provides the runner for a framework on devices.

Raises:
    HarnessError: It cannot be had.
"""


def provide_runner(
    runner: CommitRunner,
    request: CompareRequest,
    settings: Settings,
    display: Display,
    files: JobFiles,
    *,
    check: Callable[[], None] = lambda: None,
) -> ProvideRunner:
    """Return what provides a single commit: by its name where it is a released version, else built.

    Args:
        runner: The commit.
        request: Its source, as hosts know it.
        settings: Plug-ins and their options.
        display: Shows what is built.
        files: Gets the files that have to be sent.
        check: As for `SentBuilds`.
    """
    if not isinstance(runner.source, PackageSource):
        builds = SentBuilds(settings, display, files, check)
        return lambda framework, target: builds.provide(runner, framework, target)
    released = SentRunner(SideOfPairs(commit=runner.commit.id, name=runner.name), request.source or "")
    return lambda _framework, _target: released


class SentBuilds:
    """Builds of commits that are sent to hosts, each made once for each framework and kind of device.

    A host of the lab that builds makes them, and this machine where there is none.

    Args:
        settings: The lab, plug-ins and their options.
        display: Shows what is built.
        files: Gets the files that have to be sent.
        check: Called every few seconds while a host builds; what it raises ends the waiting.
    """

    def __init__(
        self, settings: Settings, display: Display, files: JobFiles, check: Callable[[], None] = lambda: None
    ) -> None:
        self._settings = settings
        self._display = display
        self._files = files
        self._lab = LabBuilds(settings, display, check)
        self._sent: dict[tuple[str, ...], SentRunner] = {}

    def provide(self, runner: CommitRunner, framework: str, target: Target, *, toolchain: str = "") -> SentRunner:
        """Return the build of a commit for a framework on devices.

        Args:
            runner: The commit.
            framework: The framework.
            target: The devices.
            toolchain: Toolchain of the hosts that may build it; empty for any.

        Raises:
            BuildFailed: It cannot be built.
            UsageError: This machine cannot build for the devices.
        """
        device = target.places[0].device
        key = (runner.commit.id, framework, device.platform, device.abi, toolchain)
        if key not in self._sent:
            platform = plugins.platform(device.platform, self._settings)
            plugin = plugins.framework(framework, self._settings)
            answer = self._lab.build(WantedBuild(runner, plugin, platform, device, toolchain))
            if answer is not None:
                self._sent[key] = self._forward(runner, answer)
            else:
                self._sent[key] = self.provide_here(runner, framework, target)
        return self._sent[key]

    def provide_here(self, runner: CommitRunner, framework: str, target: Target) -> SentRunner:
        """Return the build of a commit that this machine makes. Raises as `provide`."""
        return self._send(runner, self._build(target.places[0].device, framework, runner))

    def _forward(self, runner: CommitRunner, answer: BuildAnswer) -> SentRunner:
        """Return a build that a host of the lab made, whose files are in the cache of this machine."""
        folder = self._settings.cache_dir / FILES
        places = {path: file.below(folder) for path, file in answer.content.items()}
        sent = {str(place): self._files.add(place, answer.content[path].name) for path, place in places.items()}
        side = SideOfPairs(
            programs=answer.programs,
            build=answer.build,
            content={path: str(place) for path, place in places.items()},
            variables=answer.variables,
            name=runner.name,
        )
        return SentRunner(side, files=sent, toolchain=answer.toolchain)

    def _build(self, device: Device, framework: str, runner: CommitRunner) -> Build:
        try:
            return build_for(device, framework, runner, self._settings, self._display)
        except BuildFailed as error:
            prefix = "" if runner.commit.short in error.message else f"{runner.commit.short}: "
            raise BuildFailed(f"{prefix}{error.message}", hint=error.hint, log=error.log) from error

    def _send(self, runner: CommitRunner, build: Build) -> SentRunner:
        folder = build.programs[RUNNER].parent
        sent: dict[str, LabFile] = {}
        content: dict[str, str] = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                sent[str(path)] = self._files.add(path, path.name)
                content[path.relative_to(folder).as_posix()] = str(path)
        side = SideOfPairs(
            programs={name: path.relative_to(folder).as_posix() for name, path in build.programs.items()},
            build=build_info(build),
            content=content,
            variables=dict(build.variables),
            name=runner.name,
        )
        return SentRunner(side, files=sent)


class BuiltSides:
    """Provider of sides that are built.

    Args:
        runners: Control and treatment.
        builds: Builds them, and sends them.
    """

    def __init__(self, runners: tuple[CommitRunner, CommitRunner], builds: SentBuilds) -> None:
        self._runners = runners
        self._builds = builds

    def __call__(self, framework: str, target: Target) -> Sides:
        """Return both sides for a framework on devices, built by one toolchain.

        Raises:
            ControlFailed: The control cannot be built.
            BuildFailed: The treatment cannot be built.
            UsageError: This machine cannot build for the devices.
        """
        first, second = self._runners
        try:
            control = self._builds.provide(first, framework, target)
        except BuildFailed as error:
            raise ControlFailed(error.message, hint=error.hint, log=error.log) from error
        treatment = self._builds.provide(second, framework, target, toolchain=control.toolchain)
        if control.compiled_with != treatment.compiled_with:  # hosts that build came or went in between
            control, treatment = (self._builds.provide_here(each, framework, target) for each in self._runners)
        return Sides(control.side, treatment.side, files={**control.files, **treatment.files})


def build_for(device: Device, framework: str, runner: CommitRunner, settings: Settings, display: Display) -> Build:
    """Build a commit on this machine for devices of a lab.

    Raises:
        BuildFailed: It cannot be built.
        UsageError: This machine is of another kind than hosts that are measured themselves.
    """
    platform, plugin = plugins.platform(device.platform, settings), plugins.framework(framework, settings)
    abi = device.abi
    if is_local(platform):
        own, abi = platform.devices()[0], ""
        if (own.abi, _is_mac(own)) != (device.abi, _is_mac(device)):
            raise UsageError(
                f"this machine ({own.os}, {own.abi}) builds for its own kind, and {device.name} is another "
                f"({device.os}, {device.abi})",
                hint="start the command on such a machine",
            )
    build = runner(BuildTarget(plugin, device, abi, app_suffix=app_suffix(platform)), display)
    return with_options(build, plugin)


def _is_mac(device: Device) -> bool:
    return device.os.startswith("macOS")


def _send_programs(control: Programs, treatment: Programs, files: JobFiles) -> Sides:
    """Return given programs as sides.

    Raises:
        UsageError: One is none.
    """
    sent: dict[str, LabFile] = {}
    first, second = (_send_given(side, files, sent) for side in (control, treatment))
    return Sides(first, second, files=sent)


def _send_given(side: Programs, files: JobFiles, sent: dict[str, LabFile]) -> SideOfPairs:
    for path in side.programs.values():
        _reject_no_program(path)
        sent[str(path)] = files.add(path, path.name)
    return SideOfPairs(
        programs={name: str(path) for name, path in side.programs.items()},
        variables=dict(side.variables),
        name=side.name,
        reported_commit=side.commit,
        commit_time=side.commit_time,
    )


def _reject_no_program(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"{path} is no program", hint="give the path of a file")
    if not (os.access(path, os.X_OK) or is_library(path) or path.suffix in _APPS):
        raise UsageError(f"{path} cannot be executed", hint=hint_at_executing(path))
