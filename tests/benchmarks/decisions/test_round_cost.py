"""CPU cost of everything that the harness does for one pair, in a round of a thousand benchmarks.

Devices are simulated: launches take no time, and all that is left is the harness. Journals of earlier pairs make every
comparison an old one, whose interval rests on many pairs. A live board is drawn on a terminal of usual size.
"""

from __future__ import annotations

import dataclasses
import io
import random
import time
from pathlib import Path

import pytest
from rich.console import Console

from harness.analysis.compare.statistics import launch_statistics, statistics_of
from harness.config.settings import Settings
from harness.core.comparison import Interleave, Pair, Parameters
from harness.display.live import LiveDisplay
from harness.flows.compare.compare import ComparisonStages, ComparisonTask
from harness.flows.compare.comparison_run import ComparisonSubject
from harness.flows.compare.journal import Header, LostLaunches
from harness.flows.measure.jobs import make_job
from harness.flows.measure.plan import Failure, Plan
from harness.flows.measure.reporting import Reporting
from harness.flows.measure.runners import installed_runner
from harness.shell import Interrupted
from tests.benchmarks.figures import claim
from tests.flows.instant import Instant, builds, plan

BENCHMARKS = 1000
EARLIER = 40
PARAMETERS = Parameters(seed=3)
pytestmark = pytest.mark.benchmark


@dataclasses.dataclass
class Meter:
    """CPU time of a round, by the launches: two of each benchmark warm up, and two are its pair."""

    launches: int = 0
    began: float = 0.0
    ended: float = 0.0

    def __call__(self, launch: str) -> None:
        del launch
        if self.launches == 2 * BENCHMARKS:
            self.began = time.process_time()
        if self.launches == 4 * BENCHMARKS:
            self.ended = time.process_time()
            raise Interrupted("the round is over")
        self.launches += 1


def write_journals(made: Plan, folder: Path) -> None:
    """Write earlier pairs of every benchmark, which decide nothing: noise of 5 % on both sides."""
    chance = random.Random(1)
    control, treatment = builds(made, "control"), builds(made, "treatment")
    pairs = []
    for index in range(EARLIER):
        sides = [launch_statistics([1000 * chance.lognormvariate(0, 0.05) for _ in range(12)]) for _ in range(2)]
        pairs.append(
            Pair(
                index=index,
                control_first=index % 2 == 0,
                control=sides[0],
                treatment=sides[1],
                control_launch=index,
                treatment_launch=index,
                seconds=0.2,
            )
        )
    header = Header(seed=3, metric="NET latency", unit="us", statistics=statistics_of(higher_is_better=False))
    for assignment in made.assignments:
        jobs = [make_job(assignment, side, {}) for side in (control, treatment)]
        assert not isinstance(jobs[0], Failure)
        assert not isinstance(jobs[1], Failure)
        journal = ComparisonSubject(jobs[0], jobs[1], assignment.device).journal(folder, Interleave.LAUNCH)
        journal.start(header)
        for pair in pairs:
            journal.append_pair(pair, None, LostLaunches())


def test_a_round_of_a_thousand_benchmarks_is_cheap(tmp_path: Path) -> None:
    meter = Meter()
    made = plan(Instant(["A"], meter), [f"same-{number}" for number in range(BENCHMARKS)])
    settings = Settings(cache_dir=tmp_path)
    write_journals(made, tmp_path / "comparisons")
    task = ComparisonTask(installed_runner, installed_runner, PARAMETERS, resume=True)
    console = Console(file=io.StringIO(), width=120, height=50, force_terminal=True)
    with LiveDisplay(console) as display:
        reporting = Reporting((), display)
        stages = ComparisonStages(task, settings, made, files={}, reporting=reporting, display=display)
        with pytest.raises(Interrupted):
            stages.run(builds(made, "control"), builds(made, "treatment"))
    assert meter.launches == 4 * BENCHMARKS, "nothing may be decided by the earlier pairs"
    claim(
        "CPU of a round of 1,000 benchmarks, for each pair", 1000 * (meter.ended - meter.began) / BENCHMARKS, 10, " ms"
    )
