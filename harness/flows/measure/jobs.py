"""From a planned pair to a job with everything it needs, or to the reason why there is none."""

from __future__ import annotations

import time

from pydantic import JsonValue

from harness.analysis.results import without_numbers
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.device import Device
from harness.core.files import CachedFile
from harness.core.measurement import Job
from harness.core.result import Outcome, Report, Result
from harness.flows.measure.plan import Assignment, Builds, Failure, Files, file_key


def job_of(pair: Assignment, builds: Builds, files: Files) -> Job | Failure:
    """The job, when its runner and all its files are there."""
    if pair.obstacle is not None:
        return Failure(Outcome.SKIPPED, pair.obstacle)
    made = build_of(pair, builds)
    if isinstance(made, Failure):
        return made
    found: dict[str, CachedFile] = {}
    for file in pair.benchmark.required_files():
        cached = files[file_key(file, pair.benchmark)]
        if isinstance(cached, Failure):
            return cached
        found[file.key] = cached.model_copy(update={"key": file.key})
    return Job(pair.benchmark, made, found)


def build_of(pair: Assignment, builds: Builds) -> Build | Failure:
    """The runner; an app that nobody gave is on the device already."""
    made = builds.get((pair.benchmark.framework, pair.device.identity))
    if made is not None:
        return made
    app = pair.benchmark.app
    return Build(source="app", commit="installed" if app is None else app.package)


def meta_of(settings: Settings) -> dict[str, JsonValue]:
    """Who ran it, as far as they said."""
    given: dict[str, JsonValue] = {
        "user": settings.user,
        "user_identifier": settings.user_identifier,
        "regressed_types": list(settings.regressed_types) or None,
    }
    return {**settings.meta, **{key: value for key, value in given.items() if value is not None}}


def marked(result: Result, settings: Settings) -> Result:
    """The result with FAI-PEP's mark on what an earlier run called regressed.

    FAI-PEP held types such as `NET` against names such as `NET latency`, and never found one. Here both are found.
    """
    names = frozenset(settings.regressed_types)
    if not names:
        return result
    metrics = (
        metric.model_copy(update={"regressed": bool(names & {metric.type, metric.name})}) for metric in result.metrics
    )
    return result.model_copy(update={"metrics": tuple(metrics)})


def not_run(
    benchmark: Benchmark, device: Device, failure: Failure, settings: Settings, *, build: Build | None = None
) -> Report:
    """The result of a benchmark that could not be measured."""
    result = without_numbers(
        benchmark,
        device,
        build,
        outcome=failure.outcome,
        reason=failure.reason,
        hint=failure.hint,
        now=time.time(),
        run_type=settings.run_type,
        meta=meta_of(settings),
    )
    return Report(result=result)
