"""From a planned pair to a job with everything it needs, or to the reason why there is none."""

from __future__ import annotations

import time

from pydantic import JsonValue

from harness.analysis.conclude import without_numbers
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.device import Device
from harness.core.files import CachedFile
from harness.core.measurement import Job
from harness.core.result import Outcome, Report
from harness.flows.plan import Assignment, Builds, Failure, Files, file_key
from harness.settings import Settings


def job_of(pair: Assignment, builds: Builds, files: Files) -> Job | Failure:
    """The job, when its runner and all its files are there."""
    if pair.obstacle is not None:
        return Failure(Outcome.SKIPPED, pair.obstacle)
    made = builds[pair.benchmark.framework, pair.device.identity]
    if isinstance(made, Failure):
        return made
    found: dict[str, CachedFile] = {}
    for file in pair.benchmark.cached_files():
        cached = files[file_key(file, pair.benchmark)]
        if isinstance(cached, Failure):
            return cached
        found[file.key] = cached.model_copy(update={"key": file.key})
    return Job(pair.benchmark, made, found)


def meta_of(settings: Settings) -> dict[str, JsonValue]:
    """Who ran it, as far as they said."""
    given: dict[str, JsonValue] = {"user": settings.user, "user_identifier": settings.user_identifier}
    return {**settings.meta, **{key: value for key, value in given.items() if value is not None}}


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
