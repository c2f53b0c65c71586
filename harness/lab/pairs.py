"""Batch of pairs on one device of a lab, by the flow of `harness compare`. Runs in the process of the device."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Display, Reporter
from harness.flows.compare.compare import run_comparison
from harness.flows.compare.requests import CompareRequest, open_cache, resolve_request
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.flows.measure.plan import Plan
from harness.flows.measure.runners import Programs
from harness.lab.jobs import FILES, Job, LabFile, PairsRequest, SideOfPairs


def measure_pairs(
    job: Job, pairs: PairsRequest, plan: Plan, settings: Settings, *, display: Display, listener: Reporter
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
    folder = settings.local_reporter.absolute() / "programs"
    control, treatment = (
        _side(side, job.files, settings.cache_dir, folder / name)
        for name, side in (("control", pairs.control), ("treatment", pairs.treatment))
    )
    request = CompareRequest(
        control=control,
        treatment=treatment,
        source=pairs.source or None,
        self_check=pairs.control is None,
        parameters=pairs.parameters.model_dump(exclude={"interleave"}),
        metrics=pairs.metrics,
        interleave=pairs.parameters.interleave,
        unequal_options=pairs.unequal_options,
    )
    with open_cache(request, settings) as cache:
        task = resolve_request(request, settings, SourceFetcher(display), cache)
        task = replace(task, with_outputs=pairs.with_outputs)
        run_comparison(plan, task, settings, display, [listener])


def _side(
    side: SideOfPairs | None, files: Mapping[str, LabFile], cache_dir: Path, folder: Path
) -> str | Programs | None:
    """Return a side as the command line names it, with its programs under the names that they had at the client."""
    if side is None or side.commit is not None:
        return None if side is None else side.commit
    programs: dict[str, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, location in side.programs.items():
            path = folder / name / files[location].name
            path.parent.mkdir(exist_ok=True)
            shutil.copyfile(files[location].below(cache_dir / FILES), path)
            path.chmod(0o755)
            programs[name] = path
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentProblem(f"the programs of a job cannot be kept: {reason}", hint="make room") from error
    return Programs(programs, side.reported_commit, side.commit_time, side.variables, side.name)
