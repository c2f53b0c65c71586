"""The two sides of a comparison: where the runner of each comes from, and how to get it for a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from harness.builders.cache import BuildCache
from harness.builders.commits import build_commit
from harness.builders.prebuilt import prebuilt
from harness.builders.recipes import find_recipe
from harness.builders.records import same_runner
from harness.core.build import Build
from harness.core.commit import Commit, PackageSource, Source
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BuildFailed, EnvironmentProblem
from harness.core.protocols import Framework, LocalPlatform, Progress
from harness.core.result import Outcome
from harness.flows.measure.plan import Builds, Failure, Plan


@dataclass(frozen=True, slots=True)
class BuildTarget:
    """What a runner is built for.

    Attributes:
        framework: The framework that it runs.
        device: One of the devices that it is for.
        abi: Machine architecture of the device; empty where that is this machine.
    """

    framework: Framework
    device: Device
    abi: str


Side = Callable[[BuildTarget, Progress], Build]
"""Provides the runner of one side of a comparison.

Raises:
    BuildFailed: There is none.
"""


def installed(target: BuildTarget, progress: Progress) -> Build:
    """Return the runner that a run without comparison would use."""
    return target.framework.build(target.device, progress)


@dataclass(frozen=True, slots=True)
class Given:
    """Programs that the user gives.

    Attributes:
        programs: By placeholder; `program` is the runner.
        cache: Keeps copies, so that both sides have paths of equal length.
        commit: What to call them instead of their digest.
        commit_time: Unix seconds of that commit.
        variables: Placeholders of this side.
    """

    programs: Mapping[str, Path]
    cache: BuildCache
    commit: str | None = None
    commit_time: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, target: BuildTarget, progress: Progress) -> Build:  # noqa: ARG002 - for all targets
        """Return the programs, under the name that the user gave them."""
        made = prebuilt(self.programs, self.cache, progress)
        named = {} if self.commit is None else {"commit": self.commit, "commit_time": self.commit_time}
        return made.model_copy(update={**named, "variables": {**made.variables, **self.variables}})


@dataclass(frozen=True, slots=True)
class Built:
    """A runner built from a commit, or a released version.

    Attributes:
        source: Where commits come from.
        commit: Which one.
        cache: Keeps builds.
        recipes: Folders of recipes, most wanted first.
    """

    source: Source
    commit: Commit
    cache: BuildCache
    recipes: Sequence[Path]

    def __call__(self, target: BuildTarget, progress: Progress) -> Build:
        """Return the runner of the commit, from the cache or built now."""
        framework, platform = target.framework.name, target.device.platform
        recipe = find_recipe(
            framework,
            platform,
            [*self.recipes, shipped_recipes()],
            released=isinstance(self.source, PackageSource),
            runner_source=_runner_source(framework),
        )
        return build_commit(
            self.source,
            self.commit,
            recipe,
            platform=platform,
            abi=target.abi,
            cache=self.cache,
            progress=progress,
        )


def shipped_recipes() -> Path:
    """The recipes that come with the harness."""
    spec = find_spec("specifications")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0], "frameworks") if folders else Path("specifications", "frameworks")


def build_side(plan: Plan, side: Side, progress: Progress, *, app_given: bool = False) -> Builds:
    """The runner of one side for every framework and device of the plan; failures are values, others go on.

    Args:
        plan: What is needed where.
        side: Where it comes from.
        progress: Told what happens.
        app_given: Whether the user gave an app's package; else an app is what is installed on the device.
    """
    builds: dict[tuple[str, str], Build | Failure] = {}
    is_local = isinstance(plan.platform, LocalPlatform)
    for pair in plan.assignments:
        key = (pair.benchmark.framework, pair.device.identity)
        on_device = side is installed and pair.benchmark.app is not None and not app_given
        if key in builds or pair.obstacle is not None or on_device:
            continue
        try:
            framework = plan.frameworks[pair.benchmark.framework]
            builds[key] = side(BuildTarget(framework, pair.device, "" if is_local else pair.device.abi), progress)
        except BenchmarkFailed as error:
            builds[key] = Failure(Outcome.UNSUPPORTED, error.message, error.hint)
        except EnvironmentProblem as error:
            progress.say(f"✗ {pair.benchmark.framework}: {error.message}")
            passing = not isinstance(error, BuildFailed)
            reason = error.message.partition("\n")[0]  # the rest was just said, and is kept in a log
            builds[key] = Failure(Outcome.FAILED, reason, error.hint, environment=True, passing=passing)
    return builds


def same_bytes(control: Build, treatment: Build) -> bool:
    """Whether both runners are the same program, started the same way: then measuring them says nothing."""
    return bool(control.programs) and control.variables == treatment.variables and same_runner(control, treatment)


def _runner_source(framework: str) -> Path | None:
    """Where a framework keeps the sources of a runner of its own."""
    spec = find_spec(f"frameworks.{framework}")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    native = Path(folders[0], "native") if folders else None
    return native if native is not None and native.is_dir() else None
