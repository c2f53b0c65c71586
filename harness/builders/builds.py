"""From a commit to its runner: the commit's files in a workshop, a recipe run on them, the programs kept."""

from __future__ import annotations

from harness.builders.cache import BuildCache
from harness.builders.recipes import TIME_LIMIT_S, Recipe, run_recipe
from harness.builders.records import BuildKey
from harness.builders.toolchain import Toolchain, find_toolchain
from harness.builders.workdirs import Workshop
from harness.core.build import Build
from harness.core.commit import Commit, Source
from harness.core.protocols import Progress


def build_commit(
    source: Source,
    commit: Commit,
    recipe: Recipe,
    *,
    platform: str,
    abi: str = "",
    cache: BuildCache,
    progress: Progress,
    toolchain: Toolchain | None = None,
    jobs: int | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    force: bool = False,
) -> Build:
    """The runner of one commit, from the cache or built now.

    The commit's files are in a folder named like the framework, because ExecuTorch's CMake files insist on theirs.

    Args:
        source: Where the commit comes from.
        commit: Which one.
        recipe: How to build it.
        platform: For which kind of device.
        abi: For which machine architecture, where that is not this machine's.
        cache: Where builds are kept; it must stay open as long as the runner is used.
        progress: Told what happens.
        toolchain: What this machine builds with; found out unless given.
        jobs: How many compilers may run at once; one for each CPU unless given.
        time_limit_s: Seconds after which the recipe is ended.
        force: Try again what failed before in the life of the cache.

    Raises:
        BuildFailed: The commit cannot be had whole, or its runner cannot be built.
        EnvironmentProblem: Network, disk or a lock stood in the way, and say nothing about the commit.
    """
    tools = toolchain if toolchain is not None else find_toolchain()
    key = BuildKey(
        source=commit.source,
        commit=commit.id,
        recipe=recipe.name,
        recipe_digest=recipe.digest,
        platform=platform,
        machine=tools.machine,
        toolchain=tools.digest,
        options={"abi": abi} if abi else {},
    )

    def make(workshop: Workshop) -> None:
        repository = workshop.sources / recipe.framework
        repository.mkdir()
        source.materialise(commit, repository)
        what = f"{recipe.framework} {commit.short}"
        run_recipe(recipe, repository, workshop, what=what, abi=abi, jobs=jobs, time_limit_s=time_limit_s)

    flags = {"recipe_sha256": recipe.digest, **tools.flags, **key.options}
    return cache.get_or_build(key, make, progress=progress, flags=flags, commit_time=commit.time, force=force)
