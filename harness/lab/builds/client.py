"""Builds of commits by hosts of a lab that say they can build: one for each commit and recipe, whoever asks for it."""

from __future__ import annotations

import contextlib
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from harness.builders.dependencies import read_submodules
from harness.builders.recipes import Recipe
from harness.config.settings import Settings
from harness.core.commit import SubmoduleSource
from harness.core.device import Device
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.core.protocols import Display, Framework, Platform, is_local
from harness.core.submodules import SubmoduleSelection
from harness.flows.measure.runners import CommitRunner
from harness.lab.builds import tasks as build_tasks
from harness.lab.builds.orders import (
    BuildAnswer,
    BuildOrder,
    build_resource,
    pack_folder,
    pack_recipe,
    toolchain_resource,
)
from harness.lab.client import LabClient, connect
from harness.lab.configuration import load_security
from harness.lab.host_files import fetch_file, prune_files, read_part
from harness.lab.jobs import FILES, LabFile, describe_file, own_versions

_NAMESPACE: Final = uuid.UUID("6d1b3c0a-8b1e-5f0d-9a53-0d8e2f1f7c62")
_POLL_S: Final = 2.0
_MOST: Final = 5
"""How often a build is ordered: again where a host lacks its files, or went away before they could be fetched."""


class WantedBuild(NamedTuple):
    """Runner that a command needs.

    Attributes:
        runner: The commit.
        framework: Framework of the runner.
        platform: Platform of the devices.
        device: One of the devices.
        toolchain: Toolchain of the hosts that may build it; empty for any.
    """

    runner: CommitRunner
    framework: Framework
    platform: Platform
    device: Device
    toolchain: str = ""

    @property
    def kind(self) -> str:
        """What each host has that can build for such devices."""
        return build_resource(self.platform, self.device)

    @property
    def resource(self) -> str:
        """What a host has that may build it."""
        return toolchain_resource(self.kind, self.toolchain)

    @property
    def title(self) -> str:
        """Its name for people."""
        return f"{self.framework.name} {self.runner.commit.short}"

    @property
    def recipe(self) -> Recipe:
        """Its recipe.

        Raises:
            BuildFailed: There is none.
        """
        return self.runner.recipe(self.framework, self.device.platform)

    @property
    def submodules(self) -> SubmoduleSelection:
        """Submodules of the commit that it needs."""
        return self.recipe.submodules if self.runner.submodules is None else self.runner.submodules


class LabBuilds:
    """Client of the hosts of a lab that build.

    Args:
        settings: Which lab, and where files are kept.
        display: Shows who builds.
        check: Called every few seconds; what it raises ends the waiting. The host builds on, for whoever asks next.
    """

    def __init__(self, settings: Settings, display: Display, check: Callable[[], None] = lambda: None) -> None:
        self._settings = settings
        self._display = display
        self._check = check

    def build(self, wanted: WantedBuild) -> BuildAnswer | None:
        """Return the build of a commit, whose files are in the cache of this machine.

        Returns:
            None where no host builds for such devices, or none could: this machine has to.

        Raises:
            BuildFailed: The commit cannot be built.
        """
        title, commit = wanted.title, wanted.runner.commit
        try:
            with connect(self._settings.lab or "", load_security(self._settings.lab_certificates)) as client:
                if not client.find_processes(wanted.resource):
                    name = wanted.device.platform
                    self._display.say(f"{title}: no host of the lab builds for {name}, so this machine does")
                    return None
                with TemporaryDirectory(prefix="harness-lab-") as scratch:
                    answer = self._order(client, wanted, Path(scratch))
        except BuildFailed:
            raise
        except (EnvironmentProblem, OSError) as problem:
            self._check()  # it may be the reason
            reason = problem.message if isinstance(problem, EnvironmentProblem) else problem
            self._display.warn(f"! {title}: {reason}: this machine builds it")
            return None
        if answer.failure:
            log = answer.log.below(self._settings.cache_dir / FILES) if answer.log is not None else None
            raise BuildFailed(answer.failure, hint=answer.hint, log=log)
        described = answer.build and answer.build.model_copy(
            update={"source": commit.source, "commit_time": commit.time, **wanted.runner.description}
        )
        return answer.model_copy(update={"build": described})

    def _order(self, client: LabClient, wanted: WantedBuild, scratch: Path) -> BuildAnswer:
        """Return a host's answer, whose files are here. It has a build, or says why the commit cannot be built."""
        recipe, resource, title = wanted.recipe, wanted.resource, wanted.title
        packed = scratch / "recipe.tar"
        pack_recipe(recipe, packed)
        order = BuildOrder(
            commit=wanted.runner.commit,
            name=wanted.runner.name,
            framework=wanted.framework.name,
            platform=wanted.device.platform,
            abi="" if is_local(wanted.platform) else wanted.device.abi,
            kind=wanted.kind,
            recipe_digest=recipe.digest,
            submodules=str(wanted.submodules),
            recipe=describe_file(packed, packed.name),
            versions=own_versions(),
        )
        files: dict[Path, LabFile] = {packed: order.recipe}
        for attempt in range(_MOST):
            answer = self._find(client, resource, order.key)
            if answer is None:
                if order.files is None:
                    with self._display.task(f"packing {title}"):
                        order = _pack(order, wanted, scratch)
                    files |= {scratch / "files.tar": order.files} if order.files is not None else {}
                self._display.say(f"{title}: a host of the lab builds it")
                answer = self._build_there(client, resource, order, files, attempt)
            if answer.problem:
                raise EnvironmentProblem(f"{answer.host} cannot build it: {answer.problem}", hint=answer.hint)
            if answer.failure:
                return self._fetch_log(client, answer)
            if answer.build is not None and self._fetch(client, answer):
                took = f"built it in {answer.seconds:.0f} s" if answer.seconds else "had built it"
                self._display.say(f"{title}: {answer.host} {took}")
                return answer
        raise EnvironmentProblem("hosts of the lab that build went away", hint="look at `harness lab status`")

    def _find(self, client: LabClient, resource: str, key: str) -> BuildAnswer | None:
        """Return the answer of a host that has the build."""
        for address in client.find_processes(resource):
            try:
                text = client.ask(address, build_tasks.find_answer, key)
            except EnvironmentProblem:
                continue  # it has just ended
            if text:
                return BuildAnswer.model_validate_json(text).model_copy(update={"address": address})
        return None

    def _build_there(
        self, client: LabClient, resource: str, order: BuildOrder, files: Mapping[Path, LabFile], attempt: int
    ) -> BuildAnswer:
        """Let a host build: all that order the same meanwhile get the answer of one.

        Raises:
            EnvironmentProblem: No host is left that could.
        """
        for address in client.find_processes(resource):
            with contextlib.suppress(EnvironmentProblem):  # it asks for them, if it gets the order
                client.send_files_to(address, files)
        identity = uuid.uuid5(_NAMESPACE, f"{order.key} {resource} {attempt}")  # `harness lab status` cuts it off
        key = f"build of {order.framework} {order.commit.short} {identity}"
        future = client.submit_build(order.model_dump_json(), key, resource)
        alone_since: float | None = None
        while not client.is_done(future, _POLL_S):
            self._check()
            is_alone = not client.find_processes(resource)
            alone_since = (alone_since or time.monotonic()) if is_alone else None
            if alone_since is not None and time.monotonic() - alone_since > self._settings.return_timeout:
                raise EnvironmentProblem("all hosts that build went away")
        return BuildAnswer.model_validate_json(client.text_of(future))

    def _fetch(self, client: LabClient, answer: BuildAnswer) -> bool:
        """Fetch the files that are not here, each once, and verify them; return whether all are here."""
        for file in answer.content.values():
            read = partial(client.ask, answer.address, read_part, file.sha256)
            try:
                fetch_file(file, self._settings.cache_dir, read)
            except EnvironmentProblem as problem:
                self._display.warn(f"! {answer.host} does not send its build: {problem.message}: asking again")
                return False
        prune_files(self._settings.cache_dir)
        return True

    def _fetch_log(self, client: LabClient, answer: BuildAnswer) -> BuildAnswer:
        """Return the answer of a build that failed, with its log on this machine where that can be had."""
        if answer.log is None:
            return answer
        try:
            fetch_file(
                answer.log, self._settings.cache_dir, partial(client.ask, answer.address, read_part, answer.log.sha256)
            )
        except (EnvironmentProblem, OSError):
            return answer.model_copy(update={"log": None})
        place = answer.log.below(self._settings.cache_dir / FILES)
        return answer.model_copy(update={"hint": f"the whole log, from {answer.host}, is {place}"})


def _pack(order: BuildOrder, wanted: WantedBuild, scratch: Path) -> BuildOrder:
    """Return an order with the files of its commit, which are in `scratch/files.tar`.

    Raises:
        BuildFailed: The files cannot be had whole.
        EnvironmentProblem: Network or disk stood in the way.
    """
    folder, archive = scratch / "files", scratch / "files.tar"
    folder.mkdir()
    source, commit = wanted.runner.source, wanted.runner.commit
    if isinstance(source, SubmoduleSource):
        source.materialise_with(commit, folder, wanted.submodules)
    else:
        source.materialise(commit, folder)
    dependencies = read_submodules(folder)
    pack_folder(folder, archive)
    shutil.rmtree(folder, ignore_errors=True)
    file = describe_file(archive, archive.name)
    return order.model_copy(update={"files": file, "dependencies": dependencies})
