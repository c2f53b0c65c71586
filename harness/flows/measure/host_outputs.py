"""Outputs of this machine's runtime: a stage between quantisation and another device, which runs the same program."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from msgspec.structs import replace

from harness import plugins
from harness.config.settings import Settings
from harness.core import DEFAULT_PLATFORM
from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from harness.core.examples import MANIFEST, Stage
from harness.core.measurement import Job
from harness.core.outcome import Outcome
from harness.core.protocols import Progress, Session, is_local
from harness.files.drafts import open_scratch_folder
from harness.files.examples import read_manifest
from harness.flows.measure.example_types import fit_examples
from harness.flows.measure.jobs import JobsAndFailures, substitute_runner
from harness.flows.measure.plan import Plan
from harness.running.outputs import take_outputs


def add_host_outputs(made: JobsAndFailures, plan: Plan, settings: Settings, progress: Progress) -> JobsAndFailures:
    """Return the jobs with the outputs of their programs on this machine, where they are measured on another device.

    What cannot be taken here is told and left out: it is no reason to measure nothing there.

    Args:
        made: The jobs.
        plan: The platform and the frameworks.
        settings: Where the cache is. A runner that the user gives is one for the device.
        progress: Told what happens.
    """
    jobs, failures = made
    evaluated = [job for by_number in jobs.values() for job in by_number.values() if job.references is not None]
    if not evaluated or is_local(plan.platform) or settings.program:
        return made
    folders: dict[str, Path] = {}
    try:
        host = plugins.platform(DEFAULT_PLATFORM, settings)
        with host.open(host.devices()[0], progress) as session:
            for job in evaluated:
                if job.benchmark.digest not in folders:
                    folders[job.benchmark.digest] = _take(job, plan, session, settings=settings, progress=progress)
    except (BenchmarkFailed, EnvironmentProblem) as error:
        progress.warn(f"! no outputs of this machine's runtime to compare with: {error.message}")
    extended = {
        identity: {number: _with_host(job, folders) for number, job in by_number.items()}
        for identity, by_number in jobs.items()
    }
    return extended, failures


def _with_host(job: Job, folders: dict[str, Path]) -> Job:
    folder = folders.get(job.benchmark.digest)
    if job.references is None or folder is None:
        return job
    return replace(job, references=replace(job.references, stages={**job.references.stages, Stage.HOST: folder}))


def _take(job: Job, plan: Plan, session: Session, *, settings: Settings, progress: Progress) -> Path:
    """Return the output folder of a program on this machine, from the cache or executed now.

    Raises:
        BenchmarkFailed: It cannot be executed here.
        EnvironmentProblem: There is no runner here, or the cache cannot be written.
    """
    framework = plan.frameworks[job.benchmark.framework]
    build = substitute_runner(framework, framework.build(session.device, progress), job.benchmark, job.files)
    references = job.references
    if references is None:
        raise BenchmarkFailed(f"{job.benchmark.title}: there are no examples")
    parts = [build.digest, read_manifest(references.examples).digest, *(file.md5 for file in job.files.values())]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    folder = settings.model_cache / "references" / DEFAULT_PLATFORM / key
    if (folder / MANIFEST).is_file():
        return folder
    local = replace(job, build=build, benchmark=job.benchmark.model_copy(update={"platform": None, "cpus": None}))
    with (
        progress.task(f"taking outputs of {job.benchmark.title} on this machine") as task,
        open_scratch_folder() as scratch,
    ):
        examples = fit_examples(job, references.examples, scratch / "fitted")
        taken = take_outputs(
            local, session, framework, examples, folder, stage=Stage.HOST, scratch=scratch, progress=task
        )
    if taken.outcome is not Outcome.OK:
        raise BenchmarkFailed(taken.reason or taken.outcome.words, hint=taken.hint)
    return folder
