"""The main job as stages: load, plan, fetch, build, measure, report. Each takes values and returns values."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, ModelFile
from harness.core.build import Build
from harness.core.errors import BenchmarkFailed, EnvironmentProblem, ExitCode, gravest
from harness.core.files import CachedFile
from harness.core.measurement import Job
from harness.core.protocols import Exporter, Progress
from harness.core.result import Outcome
from harness.flows.compare.sides import Side, build_side, installed
from harness.flows.measure.jobs import job_of, not_run
from harness.flows.measure.lowering import describe
from harness.flows.measure.plan import Assignment, Builds, Failure, Files, Plan, file_key
from harness.flows.measure.queues import Own, Pool
from harness.flows.measure.reporting import Reporting
from harness.flows.measure.worker import Worker
from harness.models.cache import ModelCache

_FETCHES = 2
"""Files that are fetched at once; an export needs a core and up to a gigabyte for itself."""


def run(plan: Plan, settings: Settings, progress: Progress, side: Side = installed) -> ExitCode:
    """Measure every benchmark of the plan once, and report.

    Args:
        plan: What to measure where.
        settings: How to measure, and which reporters to tell.
        progress: Told what happens.
        side: Where the runner comes from.
    """
    reporting = Reporting(plugins.reporters(settings), progress)
    try:
        files = fetch(plan, settings, progress)
        builds = build(plan, settings, progress, side)
        devices = measure_all(
            plan, files=files, builds=builds, settings=settings, reporting=reporting, progress=progress
        )
    finally:
        reporting.close()
    progress.say(reporting.summary(settings.local_reporter))
    return reporting.exit_code(environment_of(builds), devices)


def fetch(plan: Plan, settings: Settings, progress: Progress) -> Files:
    """Bring every file into the cache, several at once; a missing file fails only the benchmarks that need it."""
    cache = ModelCache(settings.model_cache)
    possible = {id(pair.benchmark) for pair in plan.assignments if pair.obstacle is None}
    needed: dict[str, tuple[ModelFile, Benchmark]] = {}
    for benchmark in plan.benchmarks:
        for file in benchmark.required_files() if id(benchmark) in possible else ():
            needed.setdefault(file_key(file, benchmark), (file, benchmark))

    def fetch_file(file: ModelFile, benchmark: Benchmark) -> CachedFile | Failure:
        framework = plan.frameworks[benchmark.framework]
        exporter = framework if isinstance(framework, Exporter) else None
        try:
            cached = cache.fetch(
                file, model=benchmark.model, exporter=exporter, progress=progress, force=settings.force_export
            )
        except (BenchmarkFailed, EnvironmentProblem) as error:
            progress.say(f"✗ {file.filename}: {error.message}")
            return Failure(Outcome.FAILED, error.message, error.hint)
        progress.say(describe(cached))
        return cached

    with ThreadPoolExecutor(_FETCHES) as pool:
        return dict(zip(needed, pool.map(lambda pair: fetch_file(*pair), needed.values()), strict=True))


def build(plan: Plan, settings: Settings, progress: Progress, side: Side) -> Builds:
    """Bring the runner of every framework for every device."""
    app_given = any(path.suffix == ".apk" for path in settings.program.values())
    builds = build_side(plan, side, progress, app_given=app_given)
    return {key: made if isinstance(made, Failure) else _named(made, settings) for key, made in builds.items()}


def measure_all(
    plan: Plan, *, files: Files, builds: Builds, settings: Settings, reporting: Reporting, progress: Progress
) -> ExitCode:
    """Measure on every device at once, on each of them one benchmark after the other.

    Returns:
        Whether something stays undone because a device could not be used.
    """
    jobs, refused = _jobs(plan, files, builds)
    for one, failure in refused:
        reporting.report(not_run(one.benchmark, one.device, failure, settings))
    shared = Pool(jobs) if plan.spread else None
    devices = {one.device.identity: one.device for one in plan.assignments}
    shares = {name: shared.of(name) if shared else Own(its.values()) for name, its in jobs.items()}
    with ThreadPoolExecutor(len(devices)) as pool:
        workers = [
            pool.submit(
                Worker(device, shares[name], plan, settings=settings, reporting=reporting, progress=progress).run
            )
            for name, device in devices.items()
        ]
        return gravest(worker.result() for worker in workers)


def _jobs(
    plan: Plan, files: Files, builds: Builds
) -> tuple[dict[str, dict[int, Job]], Sequence[tuple[Assignment, Failure]]]:
    """What each device can do, by benchmark; and what cannot be done, where each benchmark is done once: nowhere."""
    jobs: dict[str, dict[int, Job]] = {one.device.identity: {} for one in plan.assignments}
    number = {benchmark: place for place, benchmark in enumerate({id(one.benchmark): 0 for one in plan.assignments})}
    refused: list[tuple[Assignment, Failure]] = []
    for one in plan.assignments:
        job = job_of(one, builds, files)
        if isinstance(job, Job):
            jobs[one.device.identity][number[id(one.benchmark)]] = job
        else:
            refused.append((one, job))
    if plan.spread:
        possible = {place for its in jobs.values() for place in its}
        told = ((number[id(one.benchmark)], one, failure) for one, failure in refused)
        hopeless = {place: (one, failure) for place, one, failure in told if place not in possible}
        refused = list(hopeless.values())
    return jobs, refused


def _named(made: Build, settings: Settings) -> Build:
    """The build under the commit that the caller gave its program."""
    if settings.commit is None:
        return made
    return made.model_copy(update={"commit": settings.commit, "commit_time": settings.commit_time})


def environment_of(builds: Builds) -> ExitCode:
    """What the builds say about the environment."""
    failed = any(isinstance(made, Failure) and made.environment for made in builds.values())
    return ExitCode.ENVIRONMENT if failed else ExitCode.OK
