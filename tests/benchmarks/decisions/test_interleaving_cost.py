"""Device time of a decision: pairs of launches against pairs of live processes that take turns or play a duet.

`INTERLEAVING_PERCENT` is the slow-down of the treatment (default 3), `INTERLEAVING_DECISIONS` the number of decisions
of each way (default 8). The ways alternate, so that both meet the same minutes of the machine.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from frameworks.executorch.framework import ExecuTorch
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, Export, Model, ModelFile, SpecificationPlace
from harness.core.build import Build
from harness.core.cached_files import CachedFile
from harness.core.comparison import STATISTICS, Comparison, Interleave, Parameters
from harness.core.measurement import Job
from harness.core.protocols import Session
from harness.core.verdict import Verdict
from harness.flows.compare.comparison_run import ComparisonRun, ComparisonSubject
from harness.running.launcher import Launcher
from harness.testing.progress import RecordedProgress
from platforms.host.platform import Host
from tests.benchmarks.decisions.neighbours import bursts
from tests.benchmarks.decisions.slowed_runner import VARIABLE, compile_slowed_runner
from tests.benchmarks.figures import claim, spread

PERCENT = float(os.environ.get("INTERLEAVING_PERCENT", "3"))
DECISIONS = int(os.environ.get("INTERLEAVING_DECISIONS", "8"))
MOST_PAIRS = 60
ERROR = 0.0025
P25 = STATISTICS.index("p25")
INTERLEAVES = (Interleave.LAUNCH, Interleave.PROCESS, Interleave.DUET)
LIMITS = {"quiet": 1.5, "bursty": 1.0}
"""Share of launches' device time, by what else the machine does. On a quiet one the difference between two starts of
the same program is the noise, which turns do not touch: there they must not cost much more."""

pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_slowed_runner(tmp_path_factory.mktemp("slowed"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "mv2.pte"
    framework = ExecuTorch(Settings())
    export = Export(definition="mv2", recipe="xnnpack_q8")
    with RecordedProgress().task("exporting") as task:
        framework.export(export, path, task)
    return path


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    host = Host(tmp_path / "work")
    with host.open(host.devices()[0], RecordedProgress()) as host_session:
        yield host_session


def side(folder: Path, runner: Path, percent: float) -> Build:
    program = folder / f"slower-{percent:04.1f}"
    program.write_text(f'#!/bin/sh\n{VARIABLE}={percent:04.1f} exec {runner} "$@"\n')
    program.chmod(0o755)
    return Build(source="prebuilt", commit=program.name, digest=program.name, programs={"program": program})


def decide(subject: ComparisonSubject, session: Session, folder: Path, interleave: Interleave, seed: int) -> Comparison:
    """Run one comparison, from its first launch to its verdict."""
    parameters = Parameters(seed=seed, interleave=interleave, max_pairs=MOST_PAIRS)
    framework = ExecuTorch(Settings())
    run = ComparisonRun(
        subject,
        parameters,
        make_launcher=lambda job: Launcher(job, session, framework, folder, lambda: 0.0),
        journals=folder / "journals",
        resume=False,
    )
    run.begin()
    (decision,) = run.decisions
    while run.failure is None and decision.test.decided is None and not decision.test.is_budget_spent:
        run.measure_pair()
    run.end()
    assert run.failure is None, run.failure
    return run.comparison(decision)


@pytest.fixture(params=LIMITS)
def machine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Load of the machine beside the benchmark."""
    with bursts([None] * (os.cpu_count() or 1) if request.param == "bursty" else []):
        yield request.param


def test_both_programs_at_once_need_less_device_time_than_launches(
    session: Session, runner: Path, model: Path, *, tmp_path: Path, machine: str
) -> None:
    file = CachedFile(
        key="files.model", filename="mv2.pte", path=model, md5="", size_bytes=model.stat().st_size, source=""
    )
    origin = SpecificationPlace(file=Path("mv2.json"))
    benchmark = Benchmark(
        id=0,
        model=Model(name="mv2", format="executorch"),
        identifier="t1",
        metric="delay",
        framework="executorch",
        files=(ModelFile(key="files.model", filename="mv2.pte", location=str(model), origin=origin),),
        threads=1,
        origin=origin,
        digest="0" * 64,
    )
    jobs = [Job(benchmark, side(tmp_path, runner, percent), {file.key: file}) for percent in (0.0, PERCENT)]
    subject = ComparisonSubject(jobs[0], jobs[1], session.device)
    comparisons_by_interleave: dict[Interleave, list[Comparison]] = {interleave: [] for interleave in INTERLEAVES}
    for seed in range(DECISIONS):
        for interleave in INTERLEAVES:
            comparison = decide(subject, session, tmp_path, interleave, seed)
            assert comparison.parameters.interleave is interleave, comparison.notes
            assert comparison.verdict is not Verdict.IMPROVEMENT
            comparisons_by_interleave[interleave].append(comparison)
            print(
                f"\n{interleave}: {comparison.verdict}, {len(comparison.pairs)} pairs, {comparison.seconds:.2f} s, "
                f"difference {comparison.difference}"
            )
    for interleave, comparisons in comparisons_by_interleave.items():
        print(f"\n{interleave}: device s of a decision {spread([comparison.seconds for comparison in comparisons])}")
        print(f"{interleave}: device s to a standard error of {ERROR:.2%} {seconds_to_error(comparisons):.3g}")
    in_launches, *others = (seconds_to_error(comparisons_by_interleave[interleave]) for interleave in INTERLEAVES)
    for interleave, seconds in zip(INTERLEAVES[1:], others, strict=True):
        claim(
            f"{machine}: device time of {interleave} to the same standard error, as a share of that of launches",
            seconds / in_launches,
            LIMITS[machine],
        )


def seconds_to_error(comparisons: Sequence[Comparison]) -> float:
    """Device seconds until the mean of the pairs' log-ratios (p25) is known to `ERROR`, from their robust spread."""
    pairs = [pair for comparison in comparisons for pair in comparison.pairs]
    ratios = [math.log(pair.treatment[P25] / pair.control[P25]) for pair in pairs]
    middle = statistics.median(ratios)
    deviation = 1.4826 * statistics.median(abs(ratio - middle) for ratio in ratios)
    return (deviation / ERROR) ** 2 * statistics.mean(pair.seconds for pair in pairs)
