"""Runners that a client sends or names, and batches of pairs by `harness compare`. Runs in the process of a device."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp

from msgspec.structs import replace

from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Display, Progress, Reporter
from harness.flows.compare.compare import ComparisonTask, run_comparison
from harness.flows.compare.requests import CompareRequest, open_cache, resolve_request, resolve_side
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.flows.measure.plan import Plan
from harness.flows.measure.runners import BuildTarget, Programs, Side, installed_runner
from harness.lab.host_files import use_build
from harness.lab.jobs import FILES, LabFile, LabJob, PairsRequest, SideOfPairs


def measure_pairs(
    job: LabJob, pairs: PairsRequest, plan: Plan, settings: Settings, *, display: Display, listener: Reporter
) -> None:
    """Measure a batch of pairs.

    Args:
        job: The job, with the programs of both sides among its files.
        pairs: Its pairs.
        plan: The benchmark on the device.
        settings: Settings of this host.
        display: Shows what happens.
        listener: Gets a result of each metric, with the pairs that were measured.

    Raises:
        HarnessError: The two sides cannot be had here.
    """
    if pairs.control is not None and pairs.treatment is not None and pairs.control.build is not None:
        control, treatment = (
            _sent_build(side, job.files, settings.cache_dir) for side in (pairs.control, pairs.treatment)
        )
        task = ComparisonTask(
            control,
            treatment,
            pairs.parameters,
            pairs.metrics,
            unequal_options=pairs.unequal_options,
            with_outputs=pairs.with_outputs,
            with_first_token=True,
        )
        run_comparison(plan, task, settings, display, [listener], reporters=())
        return
    request = _request(job, pairs, settings)
    with open_cache(request, settings) as cache:
        task = resolve_request(request, settings, SourceFetcher(display), cache)
        task = replace(task, with_outputs=pairs.with_outputs, keeps_self_check=False)
        run_comparison(plan, task, settings, display, [listener], reporters=())


@contextlib.contextmanager
def open_runner(job: LabJob, settings: Settings, display: Display) -> Iterator[Side]:
    """Provide the runner of a job that measures its benchmark once.

    Raises:
        HarnessError: It cannot be had here.
    """
    side = job.runner
    if side is None:
        yield installed_runner
    elif side.build is not None:
        yield _sent_build(side, job.files, settings.cache_dir)
    else:
        request = CompareRequest(treatment=side.commit, source=job.source)
        with open_cache(request, settings) as cache:
            yield resolve_side(request, settings, SourceFetcher(display), display, cache)


def _request(job: LabJob, pairs: PairsRequest, settings: Settings) -> CompareRequest:
    folder = settings.local_reporter.absolute() / "programs"
    control, treatment = (
        _side(side, job.files, settings.cache_dir, folder / name)
        for name, side in (("control", pairs.control), ("treatment", pairs.treatment))
    )
    return CompareRequest(
        control=control,
        treatment=treatment,
        source=pairs.source or None,
        self_check=pairs.control is None,
        parameters=pairs.parameters.model_dump(exclude={"interleave"}),
        metrics=pairs.metrics,
        interleave=pairs.parameters.interleave,
        unequal_options=pairs.unequal_options,
    )


def _side(
    side: SideOfPairs | None, files: Mapping[str, LabFile], cache_dir: Path, folder: Path
) -> str | Programs | None:
    """Return a side as the command line names it, with its programs under the names that they had at the client."""
    if side is None or side.commit is not None:
        return None if side is None else side.commit
    programs: dict[str, Path] = {}
    for name, location in side.programs.items():
        programs[name] = folder / name / files[location].name
        _copy(files[location], cache_dir, programs[name])
    return Programs(programs, side.reported_commit, side.commit_time, side.variables, side.name)


def _sent_build(side: SideOfPairs, files: Mapping[str, LabFile], cache_dir: Path) -> Side:
    """Return a build that the client made, which this host keeps by its content."""
    content = {path: files[location] for path, location in side.content.items()}
    if foreign := sorted(set(side.programs.values()) - content.keys()):
        raise EnvironmentProblem(f"{foreign[0]} is no file of the build that was sent", hint="build it again")
    folder, is_there = use_build(content, cache_dir)
    if not is_there:
        _make_build(content, cache_dir, folder)
    programs = {name: folder / path for name, path in side.programs.items()}
    known = side.build.model_dump() if side.build is not None else {}
    build = Build.model_validate({**known, "programs": programs, "variables": side.variables})

    def provide(target: BuildTarget, progress: Progress) -> Build:  # noqa: ARG001 - a protocol
        return build

    return provide


def _make_build(content: Mapping[str, LabFile], cache_dir: Path, folder: Path) -> None:
    """Put the files of a build into a folder, which appears whole."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(dir=folder.parent))
    except OSError as error:
        raise _no_room(error) from error
    try:
        for path, file in content.items():
            _copy(file, cache_dir, made / path)
        made.chmod(0o755)
        with contextlib.suppress(OSError):  # another process of this host was first
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    if not folder.is_dir():
        raise EnvironmentProblem(f"{folder} cannot be made", hint="make room there, or grant permission")


def _copy(file: LabFile, cache_dir: Path, to: Path) -> None:
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.below(cache_dir / FILES), to)
        to.chmod(0o755)
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the programs of a job cannot be kept: {error.strerror or error}", hint="make room in the cache of the host"
    )
