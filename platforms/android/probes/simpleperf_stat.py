"""The probe `simpleperf-stat`: events that `simpleperf stat` counts on a phone, of a launch and of one iteration.

Source: system/extras/simpleperf/cmd_stat.cpp (`--csv`): a heading, then lines `value,event,comment...,(percent%),`, and
`Total test time,seconds,seconds,` at the end. Times are `number(ms)`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.probe import ProbeRequest
from harness.core.protocols import ProbedCommand, ProbedLaunch, ProbeProblem, ProbeReading, Session
from harness.probes.counters import COUNTS, EventCount, parse_counting, plan_counting
from harness.probes.options import ProbeOptions, check_types
from platforms.android.probes import simpleperf

EVENTS: Final = (
    *("instructions", "cpu-cycles", "cache-misses", "branch-misses"),
    *("task-clock", "page-faults", "context-switches", "cpu-migrations"),
)
"""Events that are counted unless others are named, by simpleperf's names."""

_LINE: Final = re.compile(r"([0-9.]{1,40})(\(ms\))?,([^,]{1,200}),(.{0,500})")
_PERCENT: Final = re.compile(r"\(([0-9]{1,3})%\)")
_USER: Final = re.compile(r":u[a-zA-Z]*$")


class SimpleperfStat:
    """Probe that counts events on a phone (`Probe` of `harness.core.protocols`).

    Args:
        events: What to count.
        pairs: Number of pairs of launches.
        program: simpleperf on the phone.
    """

    name = "simpleperf-stat"
    platforms = simpleperf.PLATFORMS

    def __init__(self, events: Sequence[str] = EVENTS, pairs: int = 3, program: str = simpleperf.PROGRAM) -> None:
        self._events = tuple(events)
        self._pairs = pairs
        self._program = program

    def find_problem(self, session: Session) -> ProbeProblem | None:
        """Return why simpleperf cannot count."""
        return simpleperf.find_problem(session, self._program)

    def plan(self, benchmark: Benchmark, iteration_s: float | None) -> Sequence[Benchmark]:  # noqa: ARG002 - see `Probe`
        """Return pairs of launches that differ in their number of iterations."""
        return plan_counting(benchmark, self._pairs)

    def wrap(self, command: Command, session: Session) -> ProbedCommand:
        """Return the command under `simpleperf stat`, which writes into a file."""
        folder = session.stage({}, {}).folder
        file = f"{folder}/counts.csv"
        tool = (self._program, "stat", "--csv", "-o", file, "-e", ",".join(self._events))
        return ProbedCommand(simpleperf.put_around(tool, command, f"{folder}/status"), {COUNTS: file})

    def parse(self, launches: Sequence[ProbedLaunch]) -> ProbeReading:
        """Parse the counts of all launches."""
        return parse_counting(
            self.name, launches, parse_counts, self._events
        )  # simpleperf leaves out what the processor does not count


def create(request: ProbeRequest) -> SimpleperfStat:
    """Entry point of the probe `simpleperf-stat`.

    Raises:
        UsageError: An unknown type or option.
    """
    check_types(request, SimpleperfStat.name, ("cpu",))
    options = ProbeOptions(SimpleperfStat.name, request.options)
    probe = SimpleperfStat(
        options.words("events", EVENTS),
        options.number("pairs", 3, 1, 100),
        options.text("program") or simpleperf.PROGRAM,
    )
    options.finish()
    return probe


def parse_counts(text: str) -> Iterator[EventCount]:
    """Yield the counts of the CSV of `simpleperf stat --csv`; lines that are none are skipped."""
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        value = None if match is None else _number(match[1])
        if match is None or value is None:
            continue
        percent = _PERCENT.search(match[4])
        running = int(percent[1]) / 100 if percent is not None else 1.0
        event = match[3].strip()
        # What it counted for a part of the time it extrapolates itself.
        yield EventCount(
            _USER.sub("", event), value, "ms" if match[2] else "", running, user_only=bool(_USER.search(event))
        )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
