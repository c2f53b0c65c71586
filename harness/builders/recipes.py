"""Recipes: scripts that build runners, found by framework and platform.

A recipe is a folder with a `build.sh`, started as `sh build.sh REPO_DIR DESTINATION` (FAI-PEP's contract). It writes
the runner to DESTINATION and may write beside it: further programs, each known by its file name; folders that programs
need; and `meta.json`, whose entries become flags of the build, and those of its object `options` the options that it
was compiled with. Of a project that CMake configures, `options.json` beside the recipe names the options to record
(`harness.builders.build_options`). It finds in its environment:

    HARNESS_PYTHON         the interpreter of the harness
    HARNESS_JOBS           how many compilers may run at once
    HARNESS_BUILD_DIR      an empty folder for intermediate files
    HARNESS_ABI            the machine architecture of the device, such as `arm64-v8a`; empty for this machine's
    HARNESS_RUNNER_SOURCE  folder of our own runner's sources, for recipes that name this variable

The recipes for several platforms may share files: those that lie in the folder of their framework.

Beside `build.sh`, or among the shared files, `submodules.txt` may name the submodules that the recipe needs: one path
from the top of the repository in each line, `#` begins a comment; or the single word `all` or `none`. Nested submodules
are named by their whole path. Without the file all are needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from harness import shell
from harness.builders.build_options import read_names
from harness.builders.workdirs import BUILD_DIR, Workdir
from harness.core.command import Command
from harness.core.errors import BuildFailed, EnvironmentProblem, UsageError
from harness.core.submodules import ALL_SUBMODULES, SubmoduleSelection
from harness.files.digests import files_below, sha256_of_files, sha256_of_folder, sha256_of_texts

SCRIPT: Final = "build.sh"
SUBMODULES: Final = "submodules.txt"
RUNNER_SOURCE: Final = "HARNESS_RUNNER_SOURCE"

TIME_LIMIT_S: Final = 7200.0
"""Building ExecuTorch from scratch took half an hour on one loaded core."""

_QUOTED_LINES: Final = 20
_SEARCHED_LINES: Final = 2000

_CAUSE: Final = "error:"
"""Mark of the error of a compiler or linker. The last lines of a build often say only that it failed."""

_FULL: Final = "No space left on device"
"""Message of the system, which compilers and linkers pass on."""

_INTO_LOG: Final = 'log=$1; shift; exec "$@" >"$log" 2>&1'
"""Output goes to a file: it can be too much for memory, and can be read while the build runs."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Recipe of a runner.

    Attributes:
        name: Folder below the folder of recipes: `executorch/host`.
        framework: Framework of the runner.
        script: The script.
        digest: SHA-256 over every file of the recipe, over those that the framework's recipes share, and over our
            runner's sources where it uses them.
        runner_source: Folder of these sources, if it uses them.
        submodules: Submodules of the commit that it needs.
        options: Options of the project that builds record, each with its entry in CMake's cache.
    """

    name: str
    framework: str
    script: Path
    digest: str
    runner_source: Path | None = None
    submodules: SubmoduleSelection = ALL_SUBMODULES
    options: Mapping[str, str] = field(default_factory=dict)


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
                return _read(place.as_posix(), framework, script, shared, runner_source)
    origin = "releases" if released else "sources"
    raise BuildFailed(
        f"no recipe builds a {framework} runner for {'/'.join(filter(None, (platform, variant)))} from {origin}",
        hint="write one: " + " or ".join(str(folder / places[0] / SCRIPT) for folder in folders)
        if folders
        else "give a folder of recipes with --frameworks-dir",
    )


def _read(name: str, framework: str, script: Path, shared_folder: Path | None, runner_source: Path | None) -> Recipe:
    try:
        parts = {"recipe": sha256_of_folder(script.parent)}
        shared = [] if shared_folder is None else [file for file in shared_folder.iterdir() if file.is_file()]
        if shared:
            parts["shared"] = sha256_of_files({file.name: file for file in shared})
        files = (*files_below(script.parent), *shared)
        uses_ours = any(RUNNER_SOURCE.encode() in file.read_bytes() for file in files)
        if uses_ours and runner_source is not None:
            parts["runner"] = sha256_of_folder(runner_source)
        submodules = _read_submodules([script.parent, *([shared_folder] if shared_folder else [])])
    except (OSError, UnicodeDecodeError) as error:
        raise BuildFailed(f"recipe {name} cannot be read: {error}", hint=f"see {script.parent}") from error
    source = runner_source if uses_ours else None
    options = {**(read_names(shared_folder) if shared_folder else {}), **read_names(script.parent)}
    return Recipe(name, framework, script, sha256_of_texts(parts), source, submodules, options)


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


def run_recipe(
    recipe: Recipe,
    repository: Path,
    workdir: Workdir,
    *,
    title: str,
    abi: str = "",
    jobs: int | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> None:
    """Build the runner from a folder of files; the output of the recipe goes to the log of the working folder.

    Args:
        recipe: The recipe.
        repository: Folder of the files.
        workdir: Where to build; the runner is written to its `program`.
        title: Name of the build, for messages.
        abi: Machine architecture to build for, where it is not that of this machine.
        jobs: Number of compilers that may run at once; None for one per CPU.
        time_limit_s: Seconds after which the recipe is ended.

    Raises:
        BuildFailed: It failed or took too long. The first line gives the cause, if there is one in the log; the last
            lines of the log follow, and the hint names its file.
        EnvironmentProblem: It failed because the disk is full.
    """
    command = Command(
        argv=(
            *("sh", "-c", _INTO_LOG, "sh", str(workdir.log)),
            *("sh", str(recipe.script), str(repository), str(workdir.program)),
        ),
        env=_environment(recipe, workdir, abi, jobs or os.cpu_count() or 1),
        timeout_s=time_limit_s,
        cwd=workdir.build,
    )
    completed = shell.run(command)
    if completed.ok:
        return
    lines = last_lines(workdir.log, _SEARCHED_LINES)
    last, cause = lines[-_QUOTED_LINES:], next((line for line in lines if _CAUSE in line), "")
    failure = EnvironmentProblem if any(_FULL in line for line in last) else BuildFailed
    ending = replace(completed, stderr=cause or "\n".join(last)).describe()
    quoted = "".join(f"\n    {line}" for line in last) if len(last) > 1 else ""
    raise failure(
        f"{title} cannot be built: recipe {recipe.name} {ending}{quoted}", hint=f"the whole log is {workdir.log}"
    )


def last_lines(log: Path, count: int = _QUOTED_LINES) -> list[str]:
    """Return the last lines of a log, without blank ones; none when there is no log."""
    if not log.is_file():
        return []
    with log.open("rb") as stream:
        stream.seek(-min(log.stat().st_size, 1 << 16), os.SEEK_END)
        text = stream.read().decode(errors="replace")
    return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]


def _environment(recipe: Recipe, workdir: Workdir, abi: str, jobs: int) -> dict[str, str]:
    environment = {
        "HARNESS_PYTHON": sys.executable,
        "HARNESS_JOBS": str(jobs),
        "HARNESS_ABI": abi,
        BUILD_DIR: str(workdir.build),
        "TMPDIR": str(workdir.temporary),
    }
    if recipe.runner_source is not None:
        environment[RUNNER_SOURCE] = str(recipe.runner_source.absolute())
    if shell.which("ccache") is not None:
        # Builds that run at the same time are in different folders, and shall find each other's objects.
        environment |= {"CCACHE_BASEDIR": str(workdir.folder), "CCACHE_NOHASHDIR": "1"}
    return environment
