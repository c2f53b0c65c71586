"""From a planned pair to a job with everything it needs, or to the reason why there is none."""

from __future__ import annotations

from pydantic import JsonValue

from harness.core.files import CachedFile
from harness.core.measurement import Job
from harness.core.result import Outcome
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
