"""Launches within the trace of a meter."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TypeVar

from harness.core.errors import EnvironmentProblem
from harness.core.power import PowerReading
from harness.power.meters import PowerMeter
from harness.power.steps import UnusableTrace, find_load
from harness.shell import pause

Made = TypeVar("Made")


class TraceMeter:
    """Meter of launches (`harness.core.protocols.LaunchMeter`) that records a trace and finds the load in it.

    Args:
        name: Name of the meter in results.
        open_meter: Opens the meter; called before each launch. It is closed after each, however that ended, so that
            benchmarks take turns with one meter, and none stays behind.
        baseline_s: Seconds of idling before and after each launch.
        clock: Seconds that only move forward.
        wait: Waits for seconds.
    """

    def __init__(
        self,
        name: str,
        open_meter: Callable[[], PowerMeter],
        *,
        baseline_s: float,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = pause,
    ) -> None:
        self.name = name
        self._open = open_meter
        self._baseline_s = baseline_s
        self._clock = clock
        self._wait = wait

    def record(self, launch: Callable[[], Made]) -> tuple[Made, PowerReading]:
        """Record idling, a launch, and idling.

        Raises:
            EnvironmentProblem: The meter cannot be opened or started.
        """
        with contextlib.closing(self._open()) as meter:
            meter.start()
            zero_s = self._clock()
            try:
                self._wait(self._baseline_s)
                began_s = self._clock() - zero_s
                made = launch()
                ended_s = self._clock() - zero_s
                self._wait(self._baseline_s)
            finally:
                meter.stop()
            try:
                samples = meter.samples()
            except EnvironmentProblem as error:
                return made, PowerReading(reason=error.message)
        try:
            load = find_load(samples, began_s, ended_s)
        except UnusableTrace as error:
            return made, PowerReading(reason=str(error))
        return made, PowerReading(load.load_w, load.idle_w, load.ended_s - load.began_s)
