"""Measured loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from frameworks.python_runner.arguments import Arguments
from frameworks.python_runner.clocks import Clocks
from frameworks.python_runner.engine import LoadedModel
from frameworks.python_runner.pacing import KeptSamples, PacedSample, sleep_until
from frameworks.python_runner.turns import Turn, Turns


@dataclass(slots=True)
class RunnerTimes:
    """Samples of the loop.

    Attributes:
        first_iteration_ns: The very first execution after loading.
        warmup_done: Executions that were not timed.
        wall_ns: Wall clock of each timed iteration.
        cpu_ns: CPU clock of each timed iteration.
        paced: Samples of iterations that are paced or go on for long, instead; None where they are back to back.
        stopped_by_time_limit: Whether the time limit ended it before all requested iterations.
    """

    first_iteration_ns: int = 0
    warmup_done: int = 0
    wall_ns: list[int] = field(default_factory=list)
    cpu_ns: list[int] = field(default_factory=list)
    paced: KeptSamples | None = None
    stopped_by_time_limit: bool = False

    @property
    def iterations_done(self) -> int:
        """Number of timed iterations."""
        return len(self.wall_ns) if self.paced is None else self.paced.count

    def add(self, wall_ns: int, cpu_ns: int) -> None:
        """Add a timed iteration."""
        self.first_iteration_ns = self.first_iteration_ns or wall_ns
        self.wall_ns.append(wall_ns)
        self.cpu_ns.append(cpu_ns)


class Work(Protocol):
    """What an iteration does."""

    def prepare(self) -> None:
        """Get ready for the next iteration. Not timed."""

    def iterate(self, *, timed: bool) -> tuple[int, int]:
        """Iterate once, and return wall and CPU nanoseconds.

        Args:
            timed: Whether they are kept.
        """

    def pause_between(self, turn: Turn, pause: Callable[[], None]) -> None:
        """Call a function between tokens, whose time does not count; nothing happens where nothing is generated.

        Args:
            turn: After how many tokens of each iteration it is called, and how often the prompt is processed before.
            pause: The function.
        """

    def tokens_per_s(self) -> float | None:
        """Return the rate at which the last iteration decoded; None where nothing is generated."""


class Execution:
    """Executes a model with fresh inputs.

    Args:
        model: The model.
        inputs: Its inputs, as `LoadedModel.set_inputs` takes them.
        clocks: Clocks of its times.
    """

    def __init__(self, model: LoadedModel, inputs: Sequence[bytes], clocks: Clocks) -> None:
        self._model = model
        self._inputs = inputs
        self._clocks = clocks
        self._overwritten = model.consumes_inputs
        model.set_inputs(inputs)
        self._fresh = True

    def prepare(self) -> None:
        """Set the inputs again where executing may have overwritten them."""
        if self._overwritten and not self._fresh:
            self._model.set_inputs(self._inputs)
        self._fresh = False

    def iterate(self, *, timed: bool = True) -> tuple[int, int]:  # noqa: ARG002 - the protocol's
        """Execute once and return wall and CPU nanoseconds."""
        execute, (wall_clock, cpu_clock) = self._model.execute, self._clocks
        cpu_begin = cpu_clock()
        begin = wall_clock()
        execute()
        end = wall_clock()
        cpu_end = cpu_clock()
        return end - begin, cpu_end - cpu_begin

    def pause_between(self, turn: Turn, pause: Callable[[], None]) -> None:
        """Do nothing."""

    def tokens_per_s(self) -> None:
        """Return nothing."""


def measure(
    work: Work, arguments: Arguments, turns: Turns | None = None, *, warmed: Callable[[], None] = lambda: None
) -> RunnerTimes:
    """Warm up, then measure, within the time limit (see the package's text).

    Args:
        work: What each iteration does.
        arguments: Numbers of iterations, and the time limit.
        turns: Turns of iterations, instead of `--iter` within the time limit.
        warmed: Called between warm-up and measurement.
    """
    measurement = RunnerTimes()
    start = time.perf_counter()

    def is_over(share: float) -> bool:
        return arguments.time_limit_s > 0 and time.perf_counter() - start >= share * arguments.time_limit_s

    def iterate(*, timed: bool) -> tuple[int, int]:
        work.prepare()
        return work.iterate(timed=timed)

    while measurement.warmup_done < arguments.warmup and (measurement.warmup_done == 0 or not is_over(0.25)):
        wall_ns, _ = iterate(timed=False)
        measurement.first_iteration_ns = measurement.first_iteration_ns or wall_ns
        measurement.warmup_done += 1
    warmed()
    if turns is not None:
        for turn in turns:
            work.pause_between(turn, turns.pause)
            for _ in range(turn.iterations):
                measurement.add(*iterate(timed=True))
        return measurement
    if arguments.arrival is not None or arguments.sustained_s > 0:
        measurement.paced = KeptSamples()
        measurement.stopped_by_time_limit = not _iterate_paced(work, arguments, measurement.paced, lambda: is_over(1.0))
        return measurement
    while len(measurement.wall_ns) < arguments.iterations:
        if len(measurement.wall_ns) >= arguments.min_iterations and is_over(1.0):
            measurement.stopped_by_time_limit = True
            break
        measurement.add(*iterate(timed=True))
    return measurement


def _iterate_paced(work: Work, arguments: Arguments, kept: KeptSamples, is_over: Callable[[], bool]) -> bool:
    """Iterate when iterations are due, or for long; return whether all were made that were asked for."""
    due_times = None if arguments.arrival is None else arguments.arrival.due_times_ns()
    clock, begin = time.monotonic_ns, time.monotonic_ns()
    end = begin + round(arguments.sustained_s * 1e9)
    while arguments.sustained_s or kept.count < arguments.iterations:
        due = None if due_times is None else begin + next(due_times)
        if arguments.sustained_s and kept.count and max(clock(), due or 0) >= end:
            break
        if not arguments.sustained_s and kept.count >= arguments.min_iterations and is_over():
            return False
        work.prepare()
        if due is not None:
            sleep_until(due)
        start = clock()
        wall_ns, cpu_ns = work.iterate(timed=True)
        response = None if due is None else clock() - due
        kept.add(PacedSample(wall_ns, cpu_ns, start - begin, response, work.tokens_per_s()))
    return True
