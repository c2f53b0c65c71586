"""Recipes: scripts that build runners, found by framework and platform.

A recipe is a folder with a `build.sh`, started as `sh build.sh REPO_DIR DESTINATION` (FAI-PEP's contract). It writes
the runner to DESTINATION and may write beside it: further programs, each known by its file name; folders that programs
need; and `meta.json`, whose entries become flags of the build, and those of its object `options` the options that it
was compiled with. Of a project that CMake configures, `options.json` beside the recipe names the options to record
(`harness.builders.build_options`). A line `stage: TEXT` of its output is shown as what it does, and so are the steps
of Ninja and make. A `check.sh` beside it runs before the files of a commit are fetched: it fails where no commit can be
built. Both find in their environment:

    HARNESS_PYTHON         the interpreter of the harness
    HARNESS_JOBS           how many compilers may run at once
    HARNESS_BUILD_DIR      an empty folder for intermediate files
    HARNESS_ABI            the machine architecture of the device, such as `arm64-v8a`; empty for this machine's
    HARNESS_RUNNER_SOURCE  folder of our own runner's sources, for recipes that name this variable
    HARNESS_LAYOUT_SEED    number of the layout to link, for recipes that name this variable; usually not set

A recipe that names the last one can link its runner in other layouts. It is then started again in the same folder of
intermediate files, with another DESTINATION and a number: the objects are there, and only the link is made again, with
them in an order that follows from the number. `permute_link.py` beside our recipes does that as
CMake's `CXX_LINKER_LAUNCHER`.

CMake is told to use `ccache` where that is installed, and tools that lie beside the interpreter are found behind those
on `PATH`. The recipes for several platforms may share files: those that lie in the folder of their framework. All
recipes of a folder may share `*.sh` files beside the folders of the frameworks.

Beside `build.sh`, or among the shared files, `submodules.txt` may name the submodules that the recipe needs: one path
from the top of the repository in each line, `#` begins a comment; or the single word `all` or `none`. Nested submodules
are named by their whole path. Without the file all are needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from harness import shell
from harness.builders.build_log import first_error, follow, last_lines
from harness.builders.build_options import read_names
from harness.builders.jobs import jobs_of_this_machine
from harness.builders.toolchain import beside_interpreter, find_program
from harness.builders.workdirs import BUILD_DIR, Workdir
from harness.core.command import SIGKILL, Command
from harness.core.errors import BuildFailed, EnvironmentProblem, UsageError
from harness.core.protocols import Task
from harness.core.submodules import ALL_SUBMODULES, SubmoduleSelection
from harness.files.digests import files_below, sha256_of_files, sha256_of_folder, sha256_of_texts
from harness.files.programs import layout_name

SCRIPT: Final = "build.sh"
CHECK: Final = "check.sh"
SUBMODULES: Final = "submodules.txt"
RUNNER_SOURCE: Final = "HARNESS_RUNNER_SOURCE"
LAYOUT_SEED: Final = "HARNESS_LAYOUT_SEED"

TIME_LIMIT_S: Final = 7200.0
"""Building ExecuTorch from scratch took half an hour on one loaded core."""

_QUOTED_LINES: Final = 20

_CHECK_S: Final = 60.0
"""Limit of a recipe's check, which looks for tools."""

_MAKE_ROOM: Final = "make room, or name another folder with --exec-dir"
_ADD_MEMORY: Final = "the memory was full: end other programs, or add memory"
_OF_THE_MACHINE: Final = {
    "No space left on device": _MAKE_ROOM,
    "Disk quota exceeded": _MAKE_ROOM,
    "Killed signal terminated program": _ADD_MEMORY,
    "terminated with signal 9 [Killed]": _ADD_MEMORY,  # GCC, of its linker
    "unable to execute command: Killed": _ADD_MEMORY,  # Clang
    "out of memory allocating": _ADD_MEMORY,
    "virtual memory exhausted": _ADD_MEMORY,
}
"""Messages that say nothing about the commit, which compilers and linkers pass on, with what to do."""

_INTO_LOG: Final = 'log=$1; shift; exec "$@" >"$log" 2>&1'
"""Output goes to a file: it can be too much for memory, and can be read while the build runs."""


class Recipe(Struct, frozen=True):
    """Recipe of a runner.

    Attributes:
        name: Folder below the folder of recipes: `executorch/host`.
        framework: Framework of the runner.
        script: The script.
        digest: SHA-256 over every file of the recipe, over those that the framework's recipes and all recipes share,
            and over our runner's sources where it uses them.
        runner_source: Folder of these sources, if it uses them.
        submodules: Submodules of the commit that it needs.
        options: Options of the project that builds record, each with its entry in CMake's cache.
        links_layouts: Whether it can link the runner in other layouts.
    """

    name: str
    framework: str
    script: Path
    digest: str
    runner_source: Path | None = None
    submodules: SubmoduleSelection = ALL_SUBMODULES
    options: Mapping[str, str] = field(default_factory=dict)
    links_layouts: bool = False

    @property
    def check(self) -> Path | None:
        """Script that checks whether any commit can be built here; None where the recipe has none."""
        script = self.script.with_name(CHECK)
        return script if script.is_file() else None


def find_recipe(
    framework: str,
    platform: str,
    folders: Sequence[Path],
    *,
    released: bool = False,
    runner_source: Path | None = None,
    variant: str = "",
) -> Recipe:
    """Return the first of `<framework>/<platform>/build.sh` and `<framework>/build.sh`, folder by folder.

    A recipe with a variant is `<framework>/<platform>/<variant>/build.sh`, and nothing else stands in for it.

    Args:
        framework: Name of the framework.
        platform: Name of the platform.
        folders: Folders of recipes, most wanted first.
        released: Whether the recipe is for released packages instead of sources: looked for in `<framework>/releases`.
        runner_source: Folder of our own runner's sources.
        variant: Name of one of several recipes for the platform; empty for the usual one.

    Raises:
        BuildFailed: There is none; the hint says where one could be.
    """
    below = Path(framework, "releases") if released else Path(framework)
    places = (below / platform / variant,) if variant else (below / platform, below)
    for folder in folders:
        for place in places:
            script = (folder / place / SCRIPT).absolute()
            if script.is_file():
                shared = (folder / below).absolute() if place != below else None
                return _read(
                    place.as_posix(),
                    framework,
                    script,
                    shared,
                    runner_source=runner_source,
                    shared_by_all=sorted(folder.glob("*.sh")),
                )
    origin = "releases" if released else "sources"
    raise BuildFailed(
        f"no recipe builds a {framework} runner for {'/'.join(filter(None, (platform, variant)))} from {origin}",
        hint="write one: " + " or ".join(str(folder / places[0] / SCRIPT) for folder in folders)
        if folders
        else "give a folder of recipes with --frameworks-dir",
    )


def _read(
    name: str,
    framework: str,
    script: Path,
    shared_folder: Path | None,
    *,
    runner_source: Path | None,
    shared_by_all: Sequence[Path],
) -> Recipe:
    try:
        parts = {"recipe": sha256_of_folder(script.parent)}
        shared = [] if shared_folder is None else [file for file in shared_folder.iterdir() if file.is_file()]
        if shared:
            parts["shared"] = sha256_of_files({file.name: file for file in shared})
        if shared_by_all:
            parts["shared by all"] = sha256_of_files({file.name: file for file in shared_by_all})
        files = (*files_below(script.parent), *shared)
        links_layouts = any(LAYOUT_SEED.encode() in file.read_bytes() for file in files)
        uses_ours = any(RUNNER_SOURCE.encode() in file.read_bytes() for file in files)
        if uses_ours and runner_source is not None:
            parts["runner"] = sha256_of_folder(runner_source)
        submodules = _read_submodules([script.parent, *([shared_folder] if shared_folder else [])])
    except (OSError, UnicodeDecodeError) as error:
        raise BuildFailed(f"recipe {name} cannot be read: {error}", hint=f"see {script.parent}") from error
    source = runner_source if uses_ours else None
    options = {**(read_names(shared_folder) if shared_folder else {}), **read_names(script.parent)}
    return Recipe(name, framework, script, sha256_of_texts(parts), source, submodules, options, links_layouts)


def _read_submodules(folders: Sequence[Path]) -> SubmoduleSelection:
    """Return the submodules that the first file names; all where there is none.

    Raises:
        BuildFailed: The file is not what it should be.
    """
    file = next((folder / SUBMODULES for folder in folders if (folder / SUBMODULES).is_file()), None)
    if file is None:
        return ALL_SUBMODULES
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    try:
        return SubmoduleSelection.parse([line for line in lines if line], str(file))
    except UsageError as error:
        raise BuildFailed(error.message, hint=error.hint) from error


def check_recipe(recipe: Recipe, *, title: str, abi: str = "") -> None:
    """Run the recipe's check, if it has one: what it misses would be missed for every commit.

    Args:
        recipe: The recipe.
        title: Name of the build, for messages.
        abi: Machine architecture to build for, where it is not that of this machine.

    Raises:
        EnvironmentProblem: Something is missing, or the check took too long.
    """
    if recipe.check is None:
        return
    environment = _environment(recipe, abi, jobs=1)
    completed = shell.run(Command(("sh", str(recipe.check)), env=environment, timeout_s=_CHECK_S))
    if not completed.ok:
        lines = [line for line in f"{completed.stdout}\n{completed.stderr}".splitlines() if line.strip()]
        problem = lines[-1].removeprefix("error: ") if lines else completed.describe()
        raise EnvironmentProblem(f"{title} cannot be built here: {problem}", hint=f"checked by {recipe.check}")


def run_recipe(
    recipe: Recipe,
    repository: Path,
    workdir: Workdir,
    *,
    title: str,
    abi: str = "",
    jobs: int | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    task: Task | None = None,
    layout: int | None = None,
) -> None:
    """Build the runner from a folder of files; the output of the recipe goes to the log of the working folder.

    Args:
        recipe: The recipe.
        repository: Folder of the files.
        workdir: Where to build; the runner is written to its `program`.
        title: Name of the build, for messages.
        abi: Machine architecture to build for, where it is not that of this machine.
        jobs: Number of compilers that may run at once; None for as many as the machine has CPUs and memory for.
        time_limit_s: Seconds after which the recipe is ended.
        task: Shows the stage of the build and its steps.
        layout: Number of the layout to link, of a runner that was built in this working folder before; it is written
            beside that one (`layout_name`).

    Raises:
        BuildFailed: It failed or took too long. The first line gives the first error in the log, if there is one; the
            last lines of the log follow, and the hint names its file.
        EnvironmentProblem: It failed because the disk or the memory is full.
    """
    variables = {
        **_environment(recipe, abi, jobs or jobs_of_this_machine()),
        BUILD_DIR: str(workdir.build),
        "TMPDIR": str(workdir.temporary),
        **_compiler_cache(workdir),
        **({} if layout is None else {LAYOUT_SEED: str(layout)}),
    }
    destination = workdir.program if layout is None else workdir.programs / layout_name(layout)
    command = Command(
        argv=(
            *("sh", "-c", _INTO_LOG, "sh", str(workdir.log)),
            *("sh", str(recipe.script), str(repository), str(destination)),
        ),
        env=variables,
        timeout_s=time_limit_s,
        cwd=workdir.build,
    )
    with follow(workdir.log, task):
        completed = shell.run(command)
    if completed.ok:
        return
    last, cause = last_lines(workdir.log, _QUOTED_LINES), first_error(workdir.log)
    ending = replace(completed, stderr=cause or "\n".join(last)).describe()
    quoted = "".join(f"\n    {line}" for line in last) if len(last) > 1 else ""
    message = f"{title} cannot be built: recipe {recipe.name} {ending}{quoted}"
    where = f"the whole log is {workdir.log}; the recipe is {recipe.script}"
    for sign, remedy in _OF_THE_MACHINE.items():
        if any(sign in line for line in (cause, *last)):
            raise EnvironmentProblem(message, hint=f"{remedy}; {where}")
    if completed.signal == SIGKILL and not completed.timed_out:
        raise EnvironmentProblem(message, hint=f"{_ADD_MEMORY}; {where}")
    raise BuildFailed(message, hint=where, log=workdir.log)


def _environment(recipe: Recipe, abi: str, jobs: int) -> dict[str, str]:
    environment = {
        "HARNESS_PYTHON": sys.executable,
        "HARNESS_JOBS": str(jobs),
        "HARNESS_ABI": abi,
        # Last, so that what the user put there comes first.
        "PATH": os.pathsep.join((os.environ.get("PATH", os.defpath), str(beside_interpreter()))),
    }
    if recipe.runner_source is not None:
        environment[RUNNER_SOURCE] = str(recipe.runner_source.absolute())
    return environment


def _compiler_cache(workdir: Workdir) -> dict[str, str]:
    """Variables by which CMake, in every project that a build configures, starts compilers through `ccache`."""
    ccache = find_program("ccache")
    if ccache is None:
        return {}
    launchers = {
        name: str(ccache)
        for name in ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER")
        if name not in os.environ
    }
    # Builds that run at the same time are in different folders, and shall find each other's objects.
    return {**launchers, "CCACHE_BASEDIR": str(workdir.folder), "CCACHE_NOHASHDIR": "1"}
