"""Functions that run in the process of a host that builds for others (`harness lab join --builds`)."""

from __future__ import annotations

import contextlib
import socket
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from harness import plugins
from harness.analysis.results import build_info
from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.recipes import Recipe, find_recipe
from harness.core.build import Build
from harness.core.commit import Commit
from harness.core.errors import BuildFailed, EnvironmentProblem, HarnessError, UsageError
from harness.core.protocols import Framework, RunnerSources
from harness.core.submodules import SubmoduleSelection
from harness.files.atomic import write_atomically
from harness.files.digests import files_below
from harness.files.programs import RUNNER
from harness.flows.measure.runners import with_options
from harness.lab.builds.orders import BuildAnswer, BuildOrder, unpack
from harness.lab.builds.progress import SilentProgress
from harness.lab.host_files import keep_file, missing_files
from harness.lab.jobs import FILES, LabFile, own_versions
from harness.lab.processes import served_builds
from harness.lab.sharing import use_host

if TYPE_CHECKING:
    from distributed import Worker

_ANSWERS: Final = Path("lab", "built")
"""Folder of the answers to orders, in the cache of a host."""


@dataclass(slots=True)
class _SentSource:
    """Source of the one commit whose files a client sent (`SubmoduleSource`).

    Attributes:
        name: Name of the source at the client.
        commit: The commit.
        archive: Its files, with those of the submodules that were chosen.
    """

    name: str
    commit: Commit
    archive: Path
    newest: str = ""

    def fetch(self) -> None:
        """Do nothing: there is one commit."""

    def resolve(self, name: str) -> Commit:  # noqa: ARG002 - a protocol
        """Return the commit."""
        return self.commit

    def between(self, older: Commit, newer: Commit) -> Sequence[Commit]:
        """Refuse: there is one commit.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{older.short} and {newer.short} are not here")

    def materialise(self, commit: Commit, folder: Path) -> None:  # noqa: ARG002 - a protocol
        """Unpack its files into an empty folder."""
        try:
            unpack(self.archive, folder)
        except (OSError, tarfile.TarError) as error:
            raise EnvironmentProblem(f"the files of {self.commit.short} cannot be unpacked: {error}") from error

    def materialise_with(self, commit: Commit, folder: Path, submodules: SubmoduleSelection) -> None:  # noqa: ARG002
        """Unpack its files: they have the submodules that were chosen, and no others."""
        self.materialise(commit, folder)


def find_answer(key: str) -> str:
    """Return the `BuildAnswer` to an order that this host built and still has; empty where there is none."""
    cache_dir = served_builds().cache_dir
    try:
        answer = BuildAnswer.model_validate_json((cache_dir / _ANSWERS / f"{key}.json").read_bytes())
    except (OSError, ValidationError):
        return ""
    digests = tuple(file.sha256 for file in answer.content.values())
    return "" if missing_files(digests) else answer.model_copy(update={"seconds": 0.0}).model_dump_json()


def run_build(text: str) -> str:
    """Build what is ordered, and return the `BuildAnswer`."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    return _run_build(text, get_worker())


def _run_build(text: str, worker: Worker | None) -> str:
    order = BuildOrder.model_validate_json(text)
    known = find_answer(order.key)
    if known:
        return known
    here = {
        "host": socket.gethostname(),
        "address": str(worker.address) if worker is not None else "",
        "toolchain": served_builds().toolchain,
    }
    archives = (*([order.files] if order.files is not None else []), order.recipe)
    missing = missing_files(tuple(file.sha256 for file in archives))
    if missing:
        return BuildAnswer(missing=missing, **here).model_dump_json()
    began = time.monotonic()
    try:
        answer = _build(order)
    except BuildFailed as error:
        answer = BuildAnswer(failure=error.message, hint=f"on {here['host']}: {error.hint}", **here)
        return answer.model_copy(update={"log": _keep_log(error.log)}).model_dump_json()
    except (HarnessError, OSError, tarfile.TarError) as error:
        message, hint = (error.message, error.hint) if isinstance(error, HarnessError) else (str(error), None)
        return BuildAnswer(problem=message, hint=hint, **here).model_dump_json()
    answer = answer.model_copy(update={**here, "seconds": time.monotonic() - began})
    place = served_builds().cache_dir / _ANSWERS / f"{order.key}.json"
    write_atomically(place, answer.model_dump_json().encode())
    return answer.model_dump_json()


def _build(order: BuildOrder) -> BuildAnswer:
    """Build what is ordered, and keep its files by their content.

    Raises:
        BuildFailed: The commit cannot be built.
        HarnessError: This host cannot build it.
    """
    served = served_builds()
    if difference := own_versions().explain_difference(order.versions):
        raise EnvironmentProblem(f"the client has {difference}", hint="install the same everywhere")
    framework = plugins.framework(order.framework, served.host_settings)
    folder = served.cache_dir / FILES
    scratch = served.cache_dir / "lab" / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory(prefix="build-", dir=scratch) as name,
        use_host(served.cache_dir, alone=False),
        BuildCache(served.cache_dir / "builds") as cache,
    ):
        unpack(order.recipe.below(folder), Path(name))
        recipe = _find_recipe(order, framework, Path(name))
        archive = order.files.below(folder) if order.files is not None else Path(name)
        build = build_commit(
            _SentSource(order.commit.source, order.commit, archive),
            order.commit,
            recipe,
            platform=order.platform,
            abi=order.abi,
            submodules=SubmoduleSelection.parse(order.submodules.split(), "the order"),
            name=order.name,
            cache=cache,
            progress=SilentProgress(),
        )
        build = build.model_copy(update={"dependencies": order.dependencies})
        return _keep(with_options(build, framework), served.cache_dir)


def _find_recipe(order: BuildOrder, framework: Framework, folder: Path) -> Recipe:
    sources = framework.runner_sources() if isinstance(framework, RunnerSources) else None
    recipe = find_recipe(order.framework, order.platform, [folder], runner_source=sources)
    if recipe.digest != order.recipe_digest:
        raise EnvironmentProblem(
            "the recipe that was sent means another build here: the sources of runners differ",
            hint="install the same versions everywhere",
        )
    return recipe


def _keep_log(log: Path | None) -> LabFile | None:
    """Keep the log of a build by its content; None where that cannot be."""
    with contextlib.suppress(OSError, EnvironmentProblem):
        return keep_file(log, served_builds().cache_dir) if log is not None else None
    return None


def _keep(build: Build, cache_dir: Path) -> BuildAnswer:
    top = build.programs[RUNNER].parent
    content = {path.relative_to(top).as_posix(): keep_file(path, cache_dir) for path in sorted(files_below(top))}
    return BuildAnswer(
        build=build_info(build),
        programs={name: path.relative_to(top).as_posix() for name, path in build.programs.items()},
        content=content,
        variables=dict(build.variables),
    )
