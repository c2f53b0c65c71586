"""Rounds of launches: every program once, in an order that a recorded coin decides, as it decides that of a pair."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from harness.core.benchmark import Benchmark
from harness.core.errors import BenchmarkFailed, DeviceLost
from harness.core.result import DISCARDED_FOR_HEAT, Outcome
from harness.running.compared_metric import ComparedMetric
from harness.running.failures import TooManyFailures
from harness.running.launcher import Launcher, ObservedLaunch
from harness.running.padding import padding_length
from harness.running.retry import RetryPolicy, launch_with_retry
from harness.running.tuning import shorten_first_launch, tune
from harness.shell import pause

_FEWEST_FAILURES = 3
_FAILING_SHARE = 0.2
"""A program that fails in a fifth of its launches is the finding; one that fails now and then costs its pairs."""

_WARMED_UP = "it warmed up"


def toss_order(seed: int, key: str, index: int, programs: Sequence[int]) -> list[int]:
    """Return the programs in the order of one round: the same for the same seed, key and round, whoever asks.

    Each program draws a number; those that are left out of a round leave the order of the others as random as it was.

    Args:
        seed: Of the coin.
        key: Name of the ranking, so that each has a coin of its own.
        index: Number of the round.
        programs: Numbers of the programs to launch.
    """
    return sorted(programs, key=lambda number: hashlib.sha256(f"round:{seed}:{key}:{index}:{number}".encode()).digest())


@dataclass(slots=True)
class LaunchedProgram:
    """One program of a ranking while it is launched.

    Attributes:
        launcher: Launches it.
        benchmark: Its benchmark, with as many iterations as a launch is worth.
        rounds: Number of rounds that it was launched in.
        failures: Number of those in which it failed.
    """

    launcher: Launcher
    benchmark: Benchmark
    rounds: int = 0
    failures: int = 0


class Round(Struct, frozen=True):
    """One round.

    Attributes:
        index: Its number.
        order: The programs in the order of their launches.
        samples: Samples of each launch that counts.
        seconds: Device time.
    """

    index: int
    order: tuple[int, ...]
    samples: Mapping[int, tuple[float, ...]]
    seconds: float


class RoundedLaunches:
    """Source of the rounds of one ranking on one device.

    Args:
        launchers: Launches each program.
        seed: Of the coin.
        key: Name of the ranking and the device.
    """

    def __init__(self, launchers: Sequence[Launcher], *, seed: int, key: str) -> None:
        self.programs = [
            LaunchedProgram(launcher, shorten_first_launch(launcher.job.benchmark)) for launcher in launchers
        ]
        self.metric = ComparedMetric(None, "", launchers[0].job.benchmark.direction)
        self.overhead_s = 0.0
        self._seed = seed
        self._key = key
        self._next_index = 0
        self._retry = RetryPolicy(launchers)

    def begin(self, number: int) -> None:
        """Launch one program once without counting it: that warms caches, and shows what a launch costs.

        Raises:
            BenchmarkFailed: It cannot be launched, or reports nothing that compares with the others.
            DeviceLost: The device went away for good.
        """
        program = self.programs[number]
        launcher = program.launcher
        launcher.begin()
        launch, observations = launch_with_retry(launcher, program.benchmark, self._retry)
        self.overhead_s += launch.wall_s
        if launch.outcome is not Outcome.OK:
            raise TooManyFailures("program", launch, "it warms up", failed=1, launches=1)
        observation = self.metric.find(observations)
        if observation is None:
            wanted = self.metric.name or "any metric"
            raise BenchmarkFailed(f"it reports no samples of {wanted}, which the others report")
        launcher.discard(_WARMED_UP)
        figures = self.metric.choose_metric(observation).choose_figures([observations])
        if self.metric.name is None:
            self.metric = figures
        elif not figures.is_by_token:  # then no program is compared so
            self.metric = replace(self.metric, is_by_token=False)
        if (mismatch := self.metric.explain_unit(observation)) is not None:
            raise BenchmarkFailed(f"it cannot be compared: {mismatch}", hint="let all report one unit")
        program.benchmark = tune(launch, observations, observation, launcher.job.benchmark)

    def launch_round(self, numbers: Sequence[int], fail: Callable[[int, BenchmarkFailed], None]) -> Round:
        """Launch programs once more, in an order that the coin tosses.

        Args:
            numbers: The programs to launch.
            fail: Called with a program that fails too often, which is to be launched no more.

        Raises:
            DeviceLost: The device went away for good.
        """
        index, self._next_index = self._next_index, self._next_index + 1
        order = toss_order(self._seed, self._key, index, numbers)
        samples: dict[int, tuple[float, ...]] = {}
        seconds = 0.0
        for number in order:
            program = self.programs[number]
            program.launcher.set_padding(padding_length(self._seed, self._key, index, str(number)))
            try:
                observed = program.launcher.launch(program.benchmark)
            except DeviceLost as loss:
                self._retry.reconnect_after(loss)
                continue
            except BenchmarkFailed as error:
                fail(number, error)
                continue
            program.rounds += 1
            seconds += observed.launch.wall_s
            values = self._read(program, observed)
            if values is not None:
                samples[number] = values
            elif (problem := self._count_failure(program, observed)) is not None:
                fail(number, problem)
            pause(program.benchmark.cooldown_s)
        return Round(index, tuple(order), samples, seconds)

    def _read(self, program: LaunchedProgram, observed: ObservedLaunch) -> tuple[float, ...] | None:
        """Return the samples of a launch; None, and it is discarded, where it does not count."""
        values = self.metric.values(observed.observations) if observed.counts else None
        if values is None:
            is_hot = observed.launch.outcome is Outcome.OK and observed.launch.throttled
            program.launcher.discard(DISCARDED_FOR_HEAT if is_hot else "it has no numbers")
        return values

    def _count_failure(self, program: LaunchedProgram, observed: ObservedLaunch) -> BenchmarkFailed | None:
        """Count a launch without numbers; return the failure of a program that has too many."""
        if observed.launch.outcome is Outcome.OK and observed.launch.throttled:
            return None
        program.failures += 1
        if program.failures < _FEWEST_FAILURES or program.failures <= _FAILING_SHARE * program.rounds:
            return None
        reason = self.metric.explain_missing(observed.observations)
        return TooManyFailures("program", observed.launch, reason, failed=program.failures, launches=program.rounds)
