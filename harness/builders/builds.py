"""Builds: of a commit, by a recipe run on its files; and of programs that the user gives, by copying them.

Given programs are copied into the cache, so that two of them differ in nothing but themselves. The length of a
program's path moves its stack, which alone can change its speed by some per cent (Mytkowicz et al., "Producing wrong
data without doing anything obviously wrong!", ASPLOS 2009). In the cache all paths are equally long.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.builders.build_options import read_cmake_options
from harness.builders.cache import BuildCache
from harness.builders.dependencies import read_submodules
from harness.builders.recipes import TIME_LIMIT_S, Recipe, check_recipe, run_recipe
from harness.builders.records import BuildDetails, BuildKey
from harness.builders.toolchain import Toolchain, find_toolchain
from harness.builders.workdirs import Workdir
from harness.core.build import COMPILED_WITH, PREBUILT, Build
from harness.core.commit import Commit, MachineSource, PackageSource, Source, SubmoduleSource, label_id
from harness.core.device import LINUX_MACHINES
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress, Task
from harness.core.submodules import SubmoduleSelection
from harness.files.digests import sha256_of_file, sha256_of_texts
from harness.files.libraries import explain_place, is_library
from harness.files.programs import RUNNER, layout_name, prebuilt


def build_commit(
    source: Source,
    commit: Commit,
    recipe: Recipe,
    *,
    platform: str,
    abi: str = "",
    submodules: SubmoduleSelection | None = None,
    name: str = "",
    cache: BuildCache,
    progress: Progress,
    toolchain: Toolchain | None = None,
    jobs: int | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    layouts: int = 0,
) -> Build:
    """Return the runner of a commit, from the cache or built now.

    The commit's files are in a folder named like the framework, because ExecuTorch's CMake files insist on theirs.

    Args:
        source: Source of the commit.
        commit: The commit.
        recipe: How to build it.
        platform: Kind of device to build for.
        abi: Machine architecture to build for, where it is not that of this machine.
        submodules: Submodules that the user chose; None for those that the recipe needs.
        name: Name that the commit was asked for by, for messages; empty where that was its id.
        cache: Keeps builds; it must stay open as long as the runner is used.
        progress: Shows what happens.
        toolchain: Toolchain of this machine; looked for unless given.
        jobs: Number of compilers that may run at once; None for as many as the machine has CPUs and memory for.
        time_limit_s: Seconds after which the recipe is ended.
        layouts: Number of further layouts of the runner to link, from the same objects, as further programs
            (`harness.files.programs.select_layout`).

    Raises:
        BuildFailed: The files of the commit cannot be fetched completely, its runner cannot be built, or the recipe
            cannot link layouts.
        EnvironmentProblem: Network, disk or a lock stood in the way, which says nothing about the commit.
    """
    machine = LINUX_MACHINES.get(abi)
    tools = toolchain if toolchain is not None else find_toolchain(machine=machine)
    options = {"abi": abi} if abi else {}
    if isinstance(source, SubmoduleSource) and submodules not in {None, recipe.submodules}:
        options["submodules"] = str(submodules)  # the recipe's own choice is in its digest
    if layouts:
        if not recipe.links_layouts:
            raise BuildFailed(
                f"recipe {recipe.name} cannot link its runner in other layouts",
                hint="it does not name HARNESS_LAYOUT_SEED, by which a linker orders functions; or leave out --layouts",
            )
        options["layouts"] = str(layouts)
    key = BuildKey(
        source=commit.source,
        commit=commit.id,
        recipe=recipe.name,
        recipe_digest=recipe.digest,
        platform=platform,
        machine=tools.machine,
        toolchain=tools.digest,
        options=options,
    )

    def make(workdir: Workdir, task: Task) -> BuildDetails:
        title = f"{recipe.framework} {label_id(commit.id, name)}"
        check_recipe(recipe, title=title, abi=abi)
        task.update(text="fetching files")
        repository = workdir.sources / recipe.framework
        repository.mkdir()
        if isinstance(source, SubmoduleSource):
            source.materialise_with(commit, repository, recipe.submodules if submodules is None else submodules)
        elif abi and isinstance(source, MachineSource):
            if machine is None:
                raise BuildFailed(f"there are no released packages for {abi}", hint="build from sources (--repo-dir)")
            source.materialise_for(commit, repository, machine)
        else:
            source.materialise(commit, repository)
        progress.say(f"building {title}; its log is {workdir.log}")
        for layout in (None, *range(1, layouts + 1)):
            if layout is not None:
                task.update(text=f"linking layout {layout} of {layouts}")
            run_recipe(
                recipe,
                repository,
                workdir,
                title=title,
                abi=abi,
                jobs=jobs,
                time_limit_s=time_limit_s,
                task=task,
                layout=layout,
            )
            if layout is not None:
                _check_layout(workdir.programs / layout_name(layout), workdir.program, recipe)
        if isinstance(source, PackageSource):
            return BuildDetails()  # what a recipe compiles beside a package are not the package's options
        return BuildDetails(
            options=read_cmake_options(workdir.build, recipe.options, hidden=workdir.folder),
            dependencies=read_submodules(repository),
        )

    flags = {"recipe_sha256": recipe.digest, **tools.flags, **key.options}
    if not isinstance(source, PackageSource):
        flags[COMPILED_WITH] = tools.digest
    return cache.get_or_build(key, make, progress=progress, flags=flags, commit_time=commit.time)


def _check_layout(program: Path, ordinary: Path, recipe: Recipe) -> None:
    """Make the runner in another layout executable.

    Raises:
        BuildFailed: The recipe wrote none, or the same bytes as without a layout.
    """
    if not program.is_file():
        raise BuildFailed(
            f"recipe {recipe.name} names HARNESS_LAYOUT_SEED, and wrote no runner when it was set",
            hint="it must link again and write the program to its second argument",
        )
    if program.read_bytes() == ordinary.read_bytes():
        raise BuildFailed(
            f"recipe {recipe.name} links the same program in every layout",
            hint="the order of objects must follow from HARNESS_LAYOUT_SEED",
        )
    program.chmod(program.stat().st_mode | 0o500)


def build_prebuilt(programs: Mapping[str, Path], cache: BuildCache, progress: Progress) -> Build:
    """Return a build of programs that exist already; `program` is the runner.

    They are copied, unless one of them is a script or looks for libraries relative to itself: then all are used where
    they are, because files beside it may belong to it.

    Args:
        programs: Path of each by placeholder.
        cache: Keeps the copies; it must stay open as long as they are used.
        progress: Shown when they are not copied.

    Raises:
        BuildFailed: One is missing or cannot be read; or none is the runner.
    """
    if RUNNER not in programs:
        raise BuildFailed(f"no program is named `{RUNNER}`", hint="--program program=PATH, or --program PATH")
    build = prebuilt(programs)
    flags = build.flags
    rooted = {name: (path, reason) for name, path in programs.items() if (reason := explain_place(path))}
    if rooted:
        first, reason = next(iter(rooted.values()))
        progress.say(f"{first} {reason}, so it is used where it is")
        # Equal programs in two folders need not be the same runner.
        places = {f"place of {name}": str(path.absolute().parent) for name, (path, _) in rooted.items()}
        return build.model_copy(update={"digest": sha256_of_texts({**flags, **places})})
    # The runner looks for a library by its file name.
    copied = {name: path.name if is_library(path) else name for name, path in programs.items()}
    names = {f"name of {name}": place for name, place in copied.items() if place != name}
    if len(set(copied.values())) < len(copied):
        raise BuildFailed(f"two programs are called alike: {', '.join(copied.values())}", hint="rename one of them")
    key = BuildKey(
        source=PREBUILT,
        commit=build.commit,
        recipe=PREBUILT,
        recipe_digest=sha256_of_texts({**flags, **names}),
        platform="",
        machine="",
        toolchain="",
    )

    def copy(workdir: Workdir, _: Task) -> None:
        for name, path in programs.items():
            place = workdir.programs / copied[name]
            shutil.copyfile(path, place)
            place.chmod(0o755)
            if sha256_of_file(place) != flags[name]:
                raise BuildFailed(
                    f"{path} changed while it was copied", hint="wait until it is finished, and try again"
                )

    build = cache.get_or_build(key, copy, progress=progress, flags=flags, force=True)
    kept = {name: build.programs[place] for name, place in copied.items() if place in build.programs}
    return build.model_copy(update={"programs": kept, "commit_name": programs[RUNNER].name})
