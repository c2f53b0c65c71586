"""Retries of launches after throttling or loss of the device, with an unreliable session on this machine."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from frameworks.generic.framework import Generic
from harness.analysis.compare.statistics import launch_statistics
from harness.core.benchmark import Benchmark, Model, SpecificationPlace
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import DeviceState
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.measurement import Job, Measurement
from harness.core.protocols import Gated, Reconnectable, Session, Staged
from harness.core.result import Outcome
from harness.running.interleaving import SequentialLaunches
from harness.running.launcher import Launcher
from harness.running.measure import measure
from harness.running.pairs import PairedLaunches
from harness.testing.progress import RecordedProgress

SAID = json.dumps({"type": "NET", "metric": "latency", "unit": "us", "value": "5"})
CODE = f"print('PyTorchObserver ' + {SAID!r})"


class UnreliableSession:
    """Session that is lost at some program starts, throttled at others, and may be reconnected.

    Args:
        inner: Session that runs the programs.
        gone_at: Numbers of the starts at which it goes away.
        hot_at: Numbers of the starts during which it is hot.
        returns: Whether it comes back.
    """

    def __init__(
        self, inner: Session, gone_at: tuple[int, ...] = (), hot_at: tuple[int, ...] = (), *, returns: bool = True
    ) -> None:
        self._inner = inner
        self.device = inner.device
        self._gone_at, self._hot_at, self._returns = gone_at, hot_at, returns
        self.starts = self.regained = self.settled = self.stagings = 0

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        self.stagings += 1
        return self._inner.stage(files, programs)

    def run(self, command: Command) -> Completed:
        self.starts += 1
        if self.starts in self._gone_at:
            raise DeviceLost("the phone was unplugged")
        return self._inner.run(command)

    def pull(self, remote: str, local: Path) -> None:
        self._inner.pull(remote, local)

    def state(self) -> DeviceState:
        return self._inner.state().model_copy(update={"thermal_status": 2 if self.starts in self._hot_at else 0})

    def wait_until_ready(self) -> None:
        self.settled += 1

    def reconnect(self) -> None:
        if not self._returns:
            raise DeviceLost("the phone did not come back")
        self.regained += 1


def job(launches: int) -> Job:
    benchmark = Benchmark(
        id=0,
        model=Model(name="model", format="none"),
        identifier="test",
        metric="delay",
        framework="generic",
        commands=(shlex.join((sys.executable, "-c", CODE)),),
        launches=launches,
        origin=SpecificationPlace(file=Path("spec.json")),
        digest="0",
    )
    return Job(benchmark, Build(source="none", commit="none"))


def measure_with_retries(session: Session, scratch: Path, launches: int = 3) -> Measurement:
    return measure(job(launches), session, Generic({}), scratch=scratch, clock=time.time, progress=RecordedProgress())


def test_the_stub_session_satisfies_the_protocols(session: Session) -> None:
    unreliable = UnreliableSession(session)
    assert isinstance(unreliable, Gated)
    assert isinstance(unreliable, Reconnectable)


def test_a_launch_interrupted_by_a_lost_device_is_repeated_after_reconnecting(session: Session, tmp_path: Path) -> None:
    unreliable = UnreliableSession(session, gone_at=(2,))
    result = measure_with_retries(unreliable, tmp_path)
    assert result.outcome is Outcome.OK
    assert sum(len(observations) for observations in result.observations) == 3
    assert (unreliable.regained, unreliable.stagings) == (1, 2)
    assert [note.code for note in result.notes] == ["returned"]


def test_a_device_that_is_not_reconnected_ends_the_benchmark(session: Session, tmp_path: Path) -> None:
    result = measure_with_retries(UnreliableSession(session, gone_at=(2,), returns=False), tmp_path)
    assert (result.outcome, result.reason) == (Outcome.DEVICE_LOST, "the phone did not come back")


def test_a_device_lost_too_often_is_given_up(session: Session, tmp_path: Path) -> None:
    unreliable = UnreliableSession(session, gone_at=tuple(range(2, 50)))
    assert measure_with_retries(unreliable, tmp_path).outcome is Outcome.DEVICE_LOST
    assert unreliable.regained < 10


def test_a_throttled_launch_is_discarded_and_repeated(session: Session, tmp_path: Path) -> None:
    result = measure_with_retries(UnreliableSession(session, hot_at=(2,)), tmp_path, launches=2)
    assert result.outcome is Outcome.OK
    assert [len(observations) for observations in result.observations].count(1) == 2
    assert sum(launch.discarded is not None for launch in result.launches) == len(result.launches) - 2 > 0


def test_persistent_throttling_keeps_the_samples_with_a_warning(session: Session, tmp_path: Path) -> None:
    result = measure_with_retries(UnreliableSession(session, hot_at=tuple(range(50))), tmp_path, launches=1)
    assert result.outcome is Outcome.OK
    assert result.launches[-1].discarded is None
    assert result.launches[-1].throttled


def test_each_launch_waits_until_the_device_is_ready(session: Session, tmp_path: Path) -> None:
    unreliable = UnreliableSession(session)
    measure_with_retries(unreliable, tmp_path, launches=3)
    assert unreliable.settled == 3


def test_a_device_that_never_becomes_ready_fails_the_benchmark_with_its_message(
    session: Session, tmp_path: Path
) -> None:
    class Hot(UnreliableSession):
        def wait_until_ready(self) -> None:
            raise EnvironmentProblem("the battery is at 12 %", hint="charge it")

    result = measure_with_retries(Hot(session), tmp_path)
    assert (result.outcome, result.reason, result.hint) == (Outcome.FAILED, "the battery is at 12 %", "charge it")


def test_an_interrupted_pair_is_discarded_and_the_next_one_counts(session: Session, tmp_path: Path) -> None:
    unreliable = UnreliableSession(session, gone_at=(4,))  # two starts warm up; the pair's second launch is cut short
    launchers = [
        Launcher(job(1), unreliable, Generic({}), tmp_path / side, time.time) for side in ("control", "treatment")
    ]
    pairs = PairedLaunches(*launchers, seed=1, key="k", statistics=launch_statistics, interleaving=SequentialLaunches())
    pairs.begin()
    assert pairs.measure_pair().pair is None
    assert pairs.measure_pair().pair is not None
    assert pairs.discarded == 1
    counts = [
        len(observations)
        for launcher in launchers
        for observations in launcher.measurement(Outcome.OK, None, None).observations
    ]
    assert sum(counts) == 2  # the single launch of the discarded pair does not count
