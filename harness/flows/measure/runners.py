"""Providers of runners: installed, given by the user or built from a commit; and building them for a plan."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from harness.core.build import CONTENT, Build
from harness.core.commit import Commit, PackageSource, PublishedSource, Source, label_id
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BuildFailed, EnvironmentProblem, UsageError
from harness.core.protocols import Framework, LayoutLinking, OptionReader, Progress, RunnerSources, app_suffix, is_local
from harness.core.reproduction import SIDES
from harness.core.result import Outcome
from harness.core.submodules import SubmoduleSelection
from harness.files.digests import sha256_of_file
from harness.files.installation import SPECIFICATIONS
from harness.files.programs import RUNNER, prebuilt, select_layout
from harness.flows.measure.plan import Builds, Failure, Plan, reject_recipe_variant

if TYPE_CHECKING:  # builders are imported where there is something to build
    from harness.builders.cache import BuildCache
    from harness.builders.recipes import Recipe


class BuildTarget(Struct, frozen=True):
    """What a runner is built for.

    Attributes:
        framework: The framework that it runs.
        device: One of the devices that it is for.
        abi: Machine architecture of the device; empty where that is this machine.
        recipe_variant: Recipe to build with, among those of the platform; empty for the usual one.
        app_suffix: Ending of the names of programs that are apps, which the platform installs; empty where it has none.
    """

    framework: Framework
    device: Device
    abi: str
    recipe_variant: str = ""
    app_suffix: str = ""

    def is_app(self, program: Path) -> bool:
        """Return whether a program is the package of an app."""
        return bool(self.app_suffix) and program.name.endswith(self.app_suffix)


Side = Callable[[BuildTarget, Progress], Build]
"""Provides the runner of one side of a comparison.

Raises:
    BuildFailed: There is none.
"""


def installed_runner(target: BuildTarget, progress: Progress) -> Build:
    """Return the runner that a run without comparison would use."""
    reject_recipe_variant(target.device.platform, target.recipe_variant)
    return target.framework.build(target.device, progress)


class Programs(Struct, frozen=True):
    """Programs that the user gives as one side.

    Attributes:
        programs: Path of each by placeholder; `program` is the runner.
        commit: Commit to report instead of a digest.
        commit_time: Unix seconds of that commit.
        variables: Placeholders of this side.
        name: Name of the runner for people, where its file name would not tell it from the other side's.
    """

    programs: Mapping[str, Path]
    commit: str | None = None
    commit_time: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    name: str = ""


class GivenRunner(Struct, frozen=True):
    """Runner among programs that the user gives.

    Attributes:
        given: The programs.
        cache: Keeps copies, so that both sides have paths of equal length.
    """

    given: Programs
    cache: BuildCache

    def __call__(self, target: BuildTarget, progress: Progress) -> Build:
        """Return the programs, under the commit that the user gave them."""
        from harness.builders.builds import build_prebuilt  # noqa: PLC0415 - see above

        reject_recipe_variant(target.device.platform, target.recipe_variant)
        given = self.given
        if any(target.is_app(path) for path in given.programs.values()):
            build = prebuilt(given.programs)  # installed under a path that the device chooses
        else:
            build = build_prebuilt(given.programs, self.cache, progress)
        if given.commit is None:
            identity: dict[str, str | int | None] = {"commit_name": given.name or build.commit_name}
        else:
            identity = {"commit": given.commit, "commit_time": given.commit_time, "commit_name": ""}
        return build.model_copy(update={**identity, "variables": {**build.variables, **given.variables}})


class CommitRunner(Struct, frozen=True):
    """Runner that is built from a commit, or from a released version.

    Attributes:
        source: Source of the commit.
        commit: The commit.
        cache: Keeps builds.
        recipes: Folders of recipes, most wanted first.
        submodules: Submodules that the user chose; None for those that the recipe needs.
        name: Name that the commit was asked for by; empty where that was its id.
        layouts: Number of further layouts of the runner to link.
    """

    source: Source
    commit: Commit
    cache: BuildCache
    recipes: Sequence[Path]
    submodules: SubmoduleSelection | None = None
    name: str = ""
    layouts: int = 0

    @property
    def title(self) -> str:
        """The commit for people: its name, hash and subject."""
        return f"{label_id(self.commit.id, self.name)} {self.commit.subject}".rstrip()

    def recipe(self, framework: Framework, platform: str, variant: str = "") -> Recipe:
        """Return the recipe that builds the commit for a framework on a platform.

        Raises:
            BuildFailed: There is none.
        """
        from harness.builders.recipes import find_recipe  # noqa: PLC0415 - see above

        return find_recipe(
            framework.name,
            platform,
            [*self.recipes, shipped_recipe_folder()],
            released=isinstance(self.source, PackageSource),
            runner_source=framework.runner_sources() if isinstance(framework, RunnerSources) else None,
            variant=variant,
        )

    def __call__(self, target: BuildTarget, progress: Progress) -> Build:
        """Return the runner of the commit, from the cache or built now."""
        from harness.builders.builds import build_commit  # noqa: PLC0415 - see above

        build = build_commit(
            self.source,
            self.commit,
            self.recipe(target.framework, target.device.platform, target.recipe_variant),
            platform=target.device.platform,
            abi=target.abi,
            submodules=self.submodules,
            name=self.name,
            cache=self.cache,
            progress=progress,
            layouts=self.layouts,
        )
        return build.model_copy(update=self.description)

    @property
    def description(self) -> Mapping[str, str]:
        """What a build tells of its commit, as fields of `BuildInfo`."""
        return {
            "commit_name": self.name,
            "commit_subject": self.commit.subject,
            "commit_author": self.commit.author,
            "commit_url": self._commit_url(),
        }

    def _commit_url(self) -> str:
        """Return the page of the commit; empty where the source has none, or does not answer."""
        if not isinstance(self.source, PublishedSource):
            return ""
        from harness.presentation.repository_links import commit_url, web_address  # noqa: PLC0415 - see above

        with contextlib.suppress(EnvironmentProblem):
            return commit_url(web_address(self.source.remote_url() or ""), self.commit.id)
        return ""


def with_layouts(side: Side, count: int) -> Side:
    """Return the side with its runner linked in so many further layouts.

    Raises:
        UsageError: It is neither a commit nor the installed runner: given programs cannot be linked again.
    """
    if isinstance(side, CommitRunner):
        return replace(side, layouts=count)
    if side is not installed_runner:
        raise UsageError(
            "--layouts: a given program cannot be linked again", hint="name commits to build, or leave it out"
        )

    def link(target: BuildTarget, progress: Progress) -> Build:
        framework = target.framework
        build = installed_runner(target, progress)
        if not isinstance(framework, LayoutLinking):
            raise BuildFailed(
                f"the installed runner of {framework.name} cannot be linked in other layouts",
                hint="name commits to build by a recipe that reads HARNESS_LAYOUT_SEED, or leave out --layouts",
            )
        return framework.link_layouts(build, count, progress)

    return link


class LayoutRunner(Struct, frozen=True):
    """One layout of a runner.

    Attributes:
        side: Provides the runner with its layouts (`with_layouts`).
        number: Number of the layout; 0 is the ordinary one.
    """

    side: Side
    number: int

    def __call__(self, target: BuildTarget, progress: Progress) -> Build:
        """Return the runner in this layout."""
        build = select_layout(self.side(target, progress), self.number)
        content = sha256_of_file(build.programs[RUNNER])  # what lies beside it is the same for all layouts
        return build.model_copy(update={"flags": {**build.flags, CONTENT: content}})


def shipped_recipe_folder() -> Path:
    """Return the folder of the recipes that come with the harness."""
    return SPECIFICATIONS / "frameworks"


def build_sides(
    plan: Plan, control: Side, treatment: Side, progress: Progress, digests: Sequence[str] = ()
) -> tuple[Builds, Builds]:
    """Build the runners of both sides of a comparison. Without its control, a treatment is not built.

    Args:
        plan: Which frameworks are needed on which devices.
        control: Provides the control's runner.
        treatment: Provides the treatment's runner.
        progress: Told what happens.
        digests: As for `build_side`; `CONTROL..TREATMENT` asks for one on each side.
    """
    controls = build_side(plan, control, progress, digests=_digests_of_side(digests, 0))
    missing = {key: build for key, build in controls.items() if isinstance(build, Failure)}
    if missing:
        frameworks = ", ".join(sorted({framework for framework, _ in missing}))
        progress.say(f"{frameworks}: the treatment is not built, because there is no control to compare it with")
    asked = _digests_of_side(digests, -1)
    return controls, build_side(plan, treatment, progress, without=missing, digests=asked)


def _digests_of_side(digests: Sequence[str], side: int) -> list[str]:
    """Return the digests that are asked of one side: its part of those that name both, and those that stand alone."""
    return [digest.split(SIDES)[side] for digest in digests]


def build_side(
    plan: Plan,
    side: Side,
    progress: Progress,
    *,
    app_given: bool = False,
    without: Mapping[tuple[str, str], Failure] = MappingProxyType({}),
    digests: Sequence[str] = (),
) -> Builds:
    """Build the runner of one side for every framework and device of the plan. A failure is a value and ends no other.

    Args:
        plan: Which frameworks are needed on which devices.
        side: Provides the runner.
        progress: Told what happens.
        app_given: Whether the user gave the package of an app; otherwise the app that is installed on the device is
            started.
        without: What is not built, by framework and device, and why.
        digests: Beginnings of the digests of the only runners that may be measured (`--build-digest`); none: any.
    """
    builds: dict[tuple[str, str], Build | Failure] = {}
    on_this_machine = is_local(plan.platform)
    for assignment in plan.assignments:
        key = (assignment.benchmark.framework, assignment.device.identity)
        on_device = side is installed_runner and assignment.benchmark.app is not None and not app_given
        if key in builds or not assignment.is_possible or on_device:
            continue
        if (failure := without.get(key)) is not None:
            builds[key] = replace(failure, reason=f"not built, because the control failed: {failure.reason}")
            continue
        try:
            framework = plan.frameworks[assignment.benchmark.framework]
            abi = "" if on_this_machine else assignment.device.abi
            target = BuildTarget(framework, assignment.device, abi, plan.recipe_variant, app_suffix(plan.platform))
            build = side(target, progress)
            _reject_other_build(build, digests)
            builds[key] = with_options(build, framework)
        except BenchmarkFailed as error:
            builds[key] = Failure(Outcome.UNSUPPORTED, error.message, error.hint)
        except EnvironmentProblem as error:
            progress.warn(f"✗ {assignment.benchmark.framework}: {error.message}")
            is_transient = not isinstance(error, BuildFailed)
            reason = error.message.partition("\n")[0]  # the rest was just shown, and is kept in a log
            builds[key] = Failure(
                Outcome.FAILED, reason, error.hint, is_environment_problem=True, is_transient=is_transient
            )
    return builds


def _reject_other_build(build: Build, digests: Sequence[str]) -> None:
    """Reject a runner that is not the one that was asked for by its digest.

    Raises:
        BuildFailed: It is another.
    """
    if digests and build.digest and not build.digest.startswith(tuple(digests)):
        raise BuildFailed(
            f"the runner has changed: its digest is {build.digest[:16]}, and --build-digest asks for "
            f"{' or '.join(digests)}",
            hint="leave out --build-digest to measure the runner as it is now",
        )


def with_options(build: Build, framework: Framework) -> Build:
    """Return the build with the options that its programs show, where its recipe did not record them."""
    if not isinstance(framework, OptionReader):
        return build
    return build.model_copy(update={"options": {**framework.read_options(build), **build.options}})
